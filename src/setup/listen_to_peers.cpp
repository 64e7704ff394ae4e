// SPDX-License-Identifier: BSD-3-Clause
#include "setup/listen_to_peers.hpp"

#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <vector>

#include "base/wait_report.hpp"
#include "boot/boot.hpp"
#include "core/runtime.hpp"
#include "transports/net.hpp"

namespace shm {
namespace {

using Clock = std::chrono::steady_clock;

std::vector<pid_t> node_pids;                  // by node rank; empty: not to be seen from here
std::atomic<Clock::time_point> ended_since{};  // when the end of one was noticed

bool has_ended(pid_t pid) { return kill(pid, 0) != 0 && errno == ESRCH; }

// PEs of a node answer in memory, so only their end can be seen.  The launcher ends the others then, but for
// one that has lost the hosts that it asks: PEs of such a host wait for neighbours that have given up.
Silence end_of_neighbour(int pe) {
  for (std::size_t i = 0; i < node_pids.size(); ++i) {
    if ((pe != Silence::kAnyPe && rt.node_pes[i] != pe) || !has_ended(node_pids[i])) continue;
    const auto now = Clock::now();
    auto first = Clock::time_point{};
    ended_since.compare_exchange_strong(first, now);
    const double seconds = std::chrono::duration<double>(now - ended_since.load()).count();
    return {rt.node_pes[i], seconds, true};
  }
  return {};
}

Silence silence_of(int pe) {
  const Silence neighbour = end_of_neighbour(pe);
  const bool here = std::ranges::find(rt.node_pes, pe) != rt.node_pes.end();
  // Memory servers have a limit of their own (SHMEM_REMOTE_TIMEOUT).
  if (neighbour.ended || here || pe >= static_cast<int>(rt.npes)) return neighbour;
  return rt.network->silence_of(pe, period_of_questions());
}

}  // namespace

void listen_to_peers(const NodeMemory& memory) {
  if (rt.network == nullptr || rt.env.peer_timeout == 0) return;
  node_pids.clear();
  const std::uint64_t own_space = memory.control(rt.node_rank).pid_space;
  bool same = own_space != 0;
  for (std::size_t i = 0; i < rt.node_pes.size(); ++i) {
    const PeControl& control = memory.control(static_cast<int>(i));
    node_pids.push_back(control.pid);
    same = same && control.pid_space == own_space;
  }
  if (!same) node_pids.clear();  // containers with numbers of their own
  ended_since = Clock::time_point{};
  static PeerWatch watch{};
  watch = {silence_of, [](int pe) { return rt.boot->host_of(pe); }, rt.env.peer_timeout};
  watch_peers(&watch);
}

}  // namespace shm
