// SPDX-License-Identifier: BSD-3-Clause
#include "setup/observation.hpp"

#include <dlfcn.h>

#include <string>

#include "base/call_stack.hpp"
#include "base/fatal.hpp"
#include "base/observer.hpp"
#include "boot/boot.hpp"
#include "core/runtime.hpp"
#include "setup/call_slots.hpp"
#include "setup/full_checks.hpp"
#include "setup/tool_library.hpp"

namespace shm {
namespace {

constexpr std::uint64_t kEvents = 32768;

const Observer* open_observer(void* library) {
  const auto* entry = static_cast<const ObserverEntry*>(dlsym(library, "atoll_observer"));
  if (entry == nullptr) return nullptr;
  ObserverSettings settings{};
  settings.trace = rt.env.trace.c_str();
  settings.events = static_cast<std::size_t>(rt.env.trace_events.value_or(kEvents));
  settings.pairs = rt.env.stats;
  settings.pairs_file = rt.env.stats_file.c_str();
  settings.window = reinterpret_cast<std::byte*>(rt.heap.base);
  settings.window_size = rt.heap.size;
  settings.host = rt.boot->job().host.c_str();
  settings.node = rt.node_number;
  return entry->open(kObserverVersion, settings);
}

const Observer* load_observer() {
  static void* library = nullptr;
  const char* variable = rt.env.trace.empty() ? "SHMEM_STATS (who talks to whom)" : "SHMEM_TRACE";
  if (library == nullptr) library = load_tool_library("libshmem_observe.so", variable);
  if (library == nullptr) return nullptr;
  const Observer* found = open_observer(library);
  if (found == nullptr) warn("%s: libshmem_observe.so is of another version of Atoll", variable);
  return found;
}

}  // namespace

void begin_observation() {
  if (rt.env.trace.empty() && !rt.env.stats) return;
  const Observer* here = load_observer();
  observer.store(here);
  if (here == nullptr) return;
  here->starts();
  pass_over_in_call_stacks(here);
  lead_calls_to(here, full_checks_library());
}

void end_observation() {
  if (const Observer* here = observer.load()) here->ends();
  observer.store(nullptr);
}

}  // namespace shm
