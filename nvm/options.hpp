// SPDX-License-Identifier: BSD-3-Clause
// What the environment says about the NVM heap.
#pragma once

#include <string>

#include "base/env.hpp"
#include "nvm/pages.hpp"
#include "nvm/storage/open_device.hpp"
#include "pages/pool.hpp"
#include "pages/replacement.hpp"

namespace shm::nvm {

struct Options {
  std::string folder;           // of the files
  bool on_servers = false;      // pages lie in the memory of memory servers; there are no files
  std::size_t user_bytes = 0;   // of each PE, for programs
  std::size_t page_bytes = 0;   // a power of two
  std::size_t cache_bytes = 0;  // of the node's pool
  bool cache_asked = false;     // by the program's user
  IoEngine engine = IoEngine::automatic;
  Env::Count most_ahead;  // pages that are brought before they are needed
  ReplacementKind replacement = ReplacementKind::two_queues;
  bool cooperative = true;  // nodes get pages from each other
  bool remote_ops = true;   // small operations go to pages that are elsewhere
  bool is_default = false;  // the symmetric heap lies here, not only what is asked for by hint

  /// The error names the variable and says what is allowed.  `default_heap` is what a PE's heap in memory has
  /// where nothing is set.
  static Result<Options> read(const Env& env, std::size_t default_heap);

  bool wanted() const { return !folder.empty() || on_servers; }
  /// What a PE's segment spans: half as much again as programs may have, for the allocator's size classes.
  std::size_t segment_bytes() const;
  /// How many pages are brought ahead at most: a part of the pool's frames.
  std::size_t ahead(std::size_t frames) const;
  PoolShape shape(int node_size, int job_size) const;
  /// What a pool of this shape has instead of the bytes that it was asked to have, as a sentence; empty if it
  /// has them.
  std::string other_size(const PoolShape& shape) const;
};

}  // namespace shm::nvm
