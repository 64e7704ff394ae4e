// SPDX-License-Identifier: BSD-3-Clause
#include "setup/full_checks.hpp"

#include <dlfcn.h>

#include <cstdio>
#include <string>

#include "base/call_checks.hpp"
#include "base/call_stack.hpp"
#include "base/fatal.hpp"
#include "coll/teams.hpp"
#include "core/region.hpp"
#include "core/runtime.hpp"
#include "heap/node_memory.hpp"
#include "setup/call_slots.hpp"
#include "setup/tool_library.hpp"

namespace shm {
namespace {

const CallChecks* loaded = nullptr;  // never unloaded

void refuse_line(const char* line) { fatal("%s", line); }
void warn_line(const char* line) { warn("%s", line); }

struct PlaceText {
  char* text;
  std::size_t size;
  bool done;
};

// The innermost of functions that were inlined there is where the call stands.
void write_place(const FrameName& frame, void* to) {
  auto& place = *static_cast<PlaceText*>(to);
  if (place.done) return;
  place.done = true;
  if (frame.file != nullptr) {
    std::snprintf(place.text, place.size, "at %s:%d", frame.file, frame.line);
  } else {
    const Demangled function(frame.function, true);
    std::snprintf(place.text, place.size, "in %s (%s+0x%zx)",
                  function.text() != nullptr ? function.text() : "?",
                  frame.object != nullptr ? frame.object : "no file", frame.at);
  }
}

void place_of_call(std::uintptr_t at, char* text, std::size_t size) {
  PlaceText place{text, size, false};
  name_frames(at, write_place, &place);
}

int team_size(const void* team) { return size_of_team(static_cast<shmem_team_t>(const_cast<void*>(team))); }

const CallChecks* open_checks() {
  void* library = load_tool_library("libshmem_checks.so", "SHMEM_CHECKS=full");
  if (library == nullptr) return nullptr;
  const auto* entry = static_cast<const CallChecksEntry*>(dlsym(library, "atoll_call_checks"));
  const CallChecks* found = entry != nullptr ? entry->open(kCallChecksVersion) : nullptr;
  if (found == nullptr) warn("SHMEM_CHECKS=full: libshmem_checks.so is of another version of Atoll");
  return found;
}

// Strings that the checks keep.
struct VariableNames {
  std::string memory, paged;
};

CheckedJob job_to_check() {
  static VariableNames names;
  names = {variable_in_use("SYMMETRIC_SIZE"),
           variable_in_use(rt.paged_by_default ? "SYMMETRIC_SIZE" : "NVM_SIZE")};
  CheckedJob job{};
  job.pe = rt.me;
  job.memory = {{rt.heap.base, rt.heap.size}, "the symmetric heap", rt.user_heap, names.memory.c_str()};
  if (rt.paged != nullptr) {
    job.paged = {{rt.paged->base(), rt.paged->size()}, rt.paged->name(), rt.paged_limit, names.paged.c_str()};
  }
  job.variables = {rt.statics.base, rt.statics.size};
  job.stride = rt.memory->heap_stride();
  job.heaps = {reinterpret_cast<std::uintptr_t>(rt.memory->heap(0)), job.stride * rt.node_pes.size()};
  job.own = rt.heap.origin;
  job.team_size = team_size;
  job.refuse = refuse_line;
  job.warn = warn_line;
  job.place = place_of_call;
  return job;
}

}  // namespace

void begin_full_checks() {
  if (rt.env.checks != Checks::full) return;
  if (loaded == nullptr) loaded = open_checks();
  if (loaded == nullptr) return;
  loaded->begin(job_to_check());
  call_checks.store(loaded);
  pass_over_in_call_stacks(loaded);
  lead_calls_to(loaded, nullptr);
}

void end_full_checks() {
  if (const CallChecks* checks = call_checks.exchange(nullptr)) checks->end();
}

const void* full_checks_library() { return loaded; }

}  // namespace shm
