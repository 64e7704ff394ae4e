// SPDX-License-Identifier: BSD-3-Clause
#include "setup/observation.hpp"

#include <dlfcn.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "base/fatal.hpp"
#include "base/observer.hpp"
#include "boot/boot.hpp"
#include "core/runtime.hpp"
#include "setup/call_slots.hpp"

namespace shm {
namespace {

constexpr std::uint64_t kEvents = 32768;
constexpr char kObserverLibrary[] = "libshmem_observe.so";

// Beside this library, not beside a link that it was loaded by; empty: this is no library, as in programs
// that test its insides.
std::string observer_path() {
  Dl_info self{};
  if (dladdr(reinterpret_cast<void*>(&begin_observation), &self) == 0 || self.dli_fname == nullptr) return "";
  const std::unique_ptr<char, decltype(&std::free)> real(realpath(self.dli_fname, nullptr), &std::free);
  const std::string path = real != nullptr ? real.get() : self.dli_fname;
  const std::size_t slash = path.rfind('/');
  return path.find(".so") == path.npos || slash == path.npos ? ""
                                                             : path.substr(0, slash + 1) + kObserverLibrary;
}

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
  static void* library = nullptr;  // never unloaded: calls go through it from now on
  const char* variable = rt.env.trace.empty() ? "SHMEM_STATS (who talks to whom)" : "SHMEM_TRACE";
  const std::string path = observer_path();
  if (library == nullptr && !path.empty()) library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* why = path.empty() ? "it lies beside libatoll.so, and that is not used here" : dlerror();
    warn("%s needs %s, which cannot be loaded: %s", variable, kObserverLibrary, why);
    return nullptr;
  }
  const Observer* found = open_observer(library);
  if (found == nullptr) warn("%s: %s is of another version of Atoll", variable, path.c_str());
  return found;
}

}  // namespace

void begin_observation() {
  if (rt.env.trace.empty() && !rt.env.stats) return;
  const Observer* here = load_observer();
  observer.store(here);
  if (here == nullptr) return;
  here->starts();
  lead_calls_to(*here);
}

void end_observation() {
  if (const Observer* here = observer.load()) here->ends();
  observer.store(nullptr);
}

}  // namespace shm
