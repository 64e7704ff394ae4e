// SPDX-License-Identifier: BSD-3-Clause
// The files of named objects: <folder>/<name>.pe<P>.atoll is the part of PE P.  How the PEs of a job agree on
// what to do with what they find, and what tools do with objects that no job uses.
//
//   look() on each PE  ->  agree() on all that was found  ->  open_store() on each PE  ->  begin_at()
//
// What was never persisted (epoch 0 only) is nothing that anybody would miss: it may be made anew, with
// another size or number of PEs too.  So a crash while an object is made needs no cleaning up.
//
// Thread safety: all; of stores see there.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "nvm/storage/open_device.hpp"
#include "nvm/storage/store.hpp"

namespace shm::nvm {

/// "<folder>/<name>.pe<P>.atoll"
std::string object_file(const std::string& folder, const std::string& name, int pe);

/// What a PE finds of its part; to be sent to the others as it is.
struct Found {
  std::int64_t pe = 0;
  std::uint64_t id = 0;  // 0: no part, or one that holds nothing
  std::uint64_t epochs[2] = {};
  std::uint64_t count = 0;  // of epochs
};

/// Looks at PE `asked.pe`'s part, which a job may be using.  An error: there is a part that is of no use, or
/// of another object than the one asked for (asked.id == 0: any of that name).
Result<Found> look(const std::string& folder, const Identity& asked);

struct Plan {
  bool make = false;        // all parts are to be made
  std::uint64_t epoch = 0;  // to begin at: the newest one that all parts hold
};

/// What all PEs shall do, decided by each of them from the same `found`, one for each PE.  An error: parts
/// are missing, or of different objects, or have no epoch in common.
Result<Plan> agree(const std::string& name, std::span<const Found> found);

struct StoreOptions {
  std::string folder;
  Identity object;    // make: with an id, which all PEs share; else `id` 0 means any, and `block` is ignored
  bool make = false;  // as in Plan
  IoEngine engine = IoEngine::automatic;
  bool direct = true;
};

/// Makes or opens a part.  make: a part that holds an epoch beyond 0 is refused; what else is there goes.
Result<std::unique_ptr<Store>> open_store(const StoreOptions& options);

/// Removes a part that holds no epoch beyond 0, and that nobody uses: where other parts could not be made.
void remove_unused_part(const std::string& folder, const Identity& part);

/// A file in a folder whose name is that of a part.
struct PartFile {
  std::string name;
  int pe;
  std::string path;
};
/// All of them, by name and PE.
Result<std::vector<PartFile>> find_parts(const std::string& folder);

/// The slots of a file, which a job may be using.
Result<Slots> slots_of(const std::string& path);

/// How long a process that was killed may keep its files locked.
inline constexpr std::chrono::milliseconds kDying{5000};

/// Waits so long at most until nobody uses the file; an error: somebody does.
Status wait_until_unused(const std::string& path, std::chrono::milliseconds patience = kDying);

struct Removal {
  std::vector<std::string> removed;  // paths
  Status status;                     // why not all, or none
};
/// Removes all parts of an object that are in the folder; none if there is one in use.
Removal remove_object(const std::string& folder, const std::string& name);

}  // namespace shm::nvm
