// SPDX-License-Identifier: BSD-3-Clause
// What the runtime needs from whatever started the job: who am I, who shares my node, exchange, abort.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/env.hpp"
#include "base/status.hpp"

namespace shm {

/// The job as this process sees it.  Constant for the life of the process.
struct Job {
  int rank = 0;
  int size = 1;     ///< PEs
  int servers = 0;  ///< memory servers: the ranks behind the PEs, each a (virtual) node of its own
  std::vector<int>
      node_pes;    ///< the PEs of this (virtual) node, ascending, this one included; of a server: itself
  std::string id;  ///< unique on every host that the job touches
  std::string host;
  bool by_oshrun = false;  ///< it is oshrun's, which knows it by this id
  bool one_host = true;    ///< all of the job runs on this host (it may still have several virtual nodes)

  bool is_server() const { return rank >= size; }
  /// PEs and memory servers.
  int processes() const { return size + servers; }
  /// The index of this PE in node_pes.
  int node_rank() const {
    return static_cast<int>(std::find(node_pes.begin(), node_pes.end(), rank) - node_pes.begin());
  }
};

/// Thread safety: one thread at a time, except abort().
class Boot {
 public:
  virtual ~Boot() = default;

  /// Joins the job.  May be called again after leave() (OpenSHMEM allows init after finalize).
  virtual Status join(const Env& env) = 0;
  virtual const Job& job() const = 0;

  /// Collective over the node: 64 random bits that its leader has made for it, and that nobody but its PEs
  /// knows.  Waits for the leader, at most init_timeout; once in the life of the process, before exchange().
  virtual Result<std::uint64_t> node_token() = 0;

  /// Collective over the job, memory servers included, as barrier() is: makes `mine` of each process that has
  /// something readable by all, and is a barrier.
  /// Once in the life of the process.
  virtual Status exchange(const std::vector<std::byte>& mine) = 0;
  /// What `rank` gave to exchange().
  virtual Result<std::vector<std::byte>> fetch(int rank) = 0;

  /// The name of the host of a rank, as the launcher says it; "?" if it does not.  Any thread.
  virtual std::string host_of(int) const { return "?"; }

  /// Collective over the job, not over our own network: for the end, when PEs stop to drive it.
  virtual Status barrier() = 0;

  /// Tells the launcher that this PE ends in order; where a process could not come back after that, only
  /// end() does so.
  virtual void leave() = 0;
  /// The process ends, after leave().
  virtual void end() {}
  /// Whether a process that has left may join() again.
  virtual bool comes_back() const { return true; }

  /// Ends all PEs of the job with `code`; returns if that takes a moment, or there is no launcher.
  /// `suspicion`, if not null, is a line that matters only if no other PE has died: oshrun waits for that and
  /// says it, elsewhere it is printed at once.
  virtual void abort(int code, const char* suspicion) = 0;
};

/// Chooses by what the environment shows: a PMIx server; nothing (a job of one PE); or a launcher that cannot
/// start this library, which is an error that says what to do instead of N silent singletons.
Result<std::unique_ptr<Boot>> make_boot();

std::unique_ptr<Boot> make_pmix_boot();
std::unique_ptr<Boot> make_single_boot();

/// Splits `host_ranks` into `virtual_nodes` parts and returns the one that holds `rank`; 0 or 1 nodes: all.
/// A part is a block of neighbours, or if `cyclic` every virtual_nodes-th rank, as launchers place PEs in
/// turn.
std::vector<int> virtual_node(const std::vector<int>& host_ranks, int rank, std::uint64_t virtual_nodes,
                              bool cyclic = false);

}  // namespace shm
