// SPDX-License-Identifier: BSD-3-Clause
#include "setup/info.hpp"

#include <unistd.h>

#include <cstdio>
#include <string>

#include "base/human.hpp"
#include "core/runtime.hpp"
#include "setup/process_state.hpp"
#include "shmem.h"

namespace shm {
namespace {

std::string list(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    std::size_t last = i;
    while (last + 1 < ranks.size() && ranks[last + 1] == ranks[last] + 1) ++last;
    if (!text.empty()) text += ", ";
    text += std::to_string(ranks[i]);
    if (last > i) text.append("-").append(std::to_string(ranks[last]));
    i = last;
  }
  return text;
}

// Which path reaches which PE, and why.
std::string paths(const ProcessState& state) {
  std::string text = "  PEs " + list(rt.node_pes) + ": loads and stores on shared memory (mapper " +
                     state.mapper + "), because they share this node\n";
  if (rt.network == nullptr) return text;
  std::vector<int> others;
  for (int pe = 0; pe < static_cast<int>(rt.npes); ++pe) {
    if (rt.heap.delta[pe] == kNoMapping) others.push_back(pe);
  }
  const bool pretended = rt.env.virtual_nodes.value_or(0) > 1;
  text += "  PEs " + list(others) + ": " + state.network->describe() + ", because they are on " +
          (pretended ? "other virtual nodes (SHMEM_VIRTUAL_NODES)" : "other nodes") + "\n";
  return text;
}

// Nothing where there is no network.
std::string registered(const ProcessState& state) {
  if (rt.network == nullptr) return "";
  const ToPin pages = registered_memory(state);
  return "Registered with the network: " + human_bytes(pages.own + pages.shared) + " per PE, " +
         (state.network->pins_segments() ? "pinned" : "not pinned") + "\n";
}

}  // namespace

void print_start_information(const ProcessState& state) {
  if (rt.me != 0) return;
  if (rt.env.version || rt.env.info) {
    std::printf("%s %s, OpenSHMEM %d.%d\n", SHMEM_VENDOR_STRING, ATOLL_VERSION, SHMEM_MAJOR_VERSION,
                SHMEM_MINOR_VERSION);
  }
  if (!rt.env.info) return fflush(stdout), void();
  std::printf("PE 0 of %u on %s, %zu node(s)\n", rt.npes, state.boot->job().host.c_str(), rt.leaders.size());
  std::printf("%s: %s per PE at %p; variables: %s at %p\n",
              rt.paged_by_default ? "Side heap in memory" : "Symmetric heap",
              human_bytes(rt.user_heap).c_str(), reinterpret_cast<void*>(rt.heap.base),
              human_bytes(rt.statics.size).c_str(), reinterpret_cast<void*>(rt.statics.base));
  if (!rt.paged_text.empty())
    std::printf("%s: %s\n",
                state.nvm.on_servers  ? "Symmetric heap on memory servers"
                : rt.paged_by_default ? "Symmetric heap on NVM"
                                      : "NVM heap",
                rt.paged_text.c_str());
  std::fputs(registered(state).c_str(), stdout);
  std::printf("Atomics are executed by CPUs on the target's memory, on every path\n");
  std::printf("Paths from PE 0:\n%s", paths(state).c_str());
  std::printf("Environment variables:\n%s", rt.env.describe().c_str());
  std::fflush(stdout);
}

}  // namespace shm
