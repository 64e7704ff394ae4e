// SPDX-License-Identifier: BSD-3-Clause
#include "core/address.hpp"

#include <cstdio>
#include <cstring>

#include "base/fatal.hpp"
#include "core/region.hpp"
#include "heap/node_memory.hpp"

namespace shm {

Runtime rt;

namespace {

void* pointer(std::uintptr_t address) { return reinterpret_cast<void*>(address); }

// A peer whose executable lays out variables otherwise has no object at the same place.
void check_statics_of(Call call, const char* argument, const void* address, int pe) {
  if (same_statics(rt.memory->record(rt.me), rt.memory->record(pe))) return;
  fatal(
      "%s: %s %p is a global or static variable, and PE %d runs another executable, which lays them out "
      "differently; use memory from shmem_malloc between different programs",
      call.name, argument, address, pe);
}

[[noreturn]] void refuse(Call call, const char* argument, std::uintptr_t address, std::size_t n) {
  if (is_constant(address, n)) {
    fatal(
        "%s: %s %p is a constant of the program, which can only be a source; allowed are memory from "
        "shmem_malloc and the like, and global and static variables that are not const",
        call.name, argument, pointer(address));
  }
  for (const auto& [segment, name] :
       {std::pair(&rt.heap, "symmetric heap"), std::pair(&rt.statics, "program's variables")}) {
    if (segment->holds(address, 1)) {
      fatal("%s: %s %p and the %zu bytes from there reach past the end of the %s at %p", call.name, argument,
            pointer(address), n, name, pointer(segment->base + segment->size));
    }
  }
  if (const Region* region = find_region(address, 1)) {
    fatal("%s: %s %p and the %zu bytes from there reach past the end of %s at %p", call.name, argument,
          pointer(address), n, region->name(), pointer(region->base() + region->size()));
  }
  fatal(
      "%s: %s %s is not a symmetric address; allowed are memory from shmem_malloc and the like, and global "
      "and static variables of the executable",
      call.name, argument, PlaceName(pointer(address)).text);
}

}  // namespace

void refuse_uninitialised(Call call) {
  fatal("%s: called before shmem_init or after shmem_finalize", call.name);
}

void check_pe(Call call, int pe) {
  check_started(call);
  if (static_cast<unsigned>(pe) >= rt.npes)
    fatal("%s: pe is %d; allowed is 0 to %u", call.name, pe, rt.npes - 1);
}

void refuse_unaligned(Call call, const char* argument, const void* address, std::size_t alignment) {
  check_started(call);
  fatal("%s: %s %p is not aligned to %zu bytes", call.name, argument, address, alignment);
}

void refuse_null(Call call, const char* argument) {
  fatal("%s: %s is NULL; allowed is the address of a variable for the result", call.name, argument);
}

void refuse_null_array(Call call, const char* argument, std::size_t n) {
  fatal("%s: %s is NULL; allowed is the address of an array of %zu", call.name, argument, n);
}

PlaceName::PlaceName(const void* address) {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  if (rt.heap.holds(a, 1)) {
    std::snprintf(text, sizeof text, "heap+%#zx", a - rt.heap.base);
  } else if (rt.statics.holds(a, 1)) {
    std::snprintf(text, sizeof text, "variables+%#zx", a - rt.statics.base);
  } else if (address == nullptr) {
    std::snprintf(text, sizeof text, "NULL");
  } else {
    std::snprintf(text, sizeof text, "%p", address);
  }
}

namespace {

enum Memory : std::uint64_t { kPrivate, kHeap, kVariables, kConstants, kPaged };

// The heap's segment with what is not the program's, such as the staging memory of collective calls.
bool in_heap_segment(std::uintptr_t address) {
  return address - rt.heap.origin < rt.heap.base - rt.heap.origin + rt.heap.size;
}

}  // namespace

Place place_of(const void* address) {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  if (in_heap_segment(a)) return {kHeap, a - rt.heap.origin};
  if (rt.statics.holds(a, 1)) return {kVariables, a - rt.statics.base};
  if (is_constant(a, 1)) return {kConstants, a - rt.statics.base};
  if (rt.paged != nullptr && rt.paged->holds(a, 1)) return {kPaged, a - rt.paged->base()};
  return {kPrivate, a};
}

const void* address_of(const Place& place) {
  switch (place.memory) {
    case kHeap: return pointer(rt.heap.origin + place.offset);
    case kVariables:
    case kConstants: return pointer(rt.statics.base + place.offset);
    case kPaged: return pointer(rt.paged->base() + place.offset);
    default: return pointer(place.offset);
  }
}

Target resolve(Call call, const char* argument, const void* address, std::size_t n, int pe) {
  check_pe(call, pe);
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  Target target;
  if (rt.heap.holds(a, n)) {
    target.remote = {SegmentId::heap, a - rt.heap.origin};
    if (rt.heap.delta[pe] != kNoMapping) target.local = mapped(address, n, pe);
  } else if (rt.statics.holds(a, n)) {
    check_statics_of(call, argument, address, pe);
    target.remote = {SegmentId::statics, a - rt.statics.origin};
    if (rt.statics.delta[pe] != kNoMapping) target.local = mapped(address, n, pe);
  } else if (Region* region = find_region(a, n)) {
    target.region = region;
  } else if (is_constant(a, n) && std::strcmp(argument, "source") == 0) {
    // What is only read may be a constant: those of one executable are the same in all its processes.
    check_statics_of(call, argument, address, pe);
    target.local = reinterpret_cast<std::byte*>(a);
  } else {
    refuse(call, argument, a, n);
  }
  return target;
}

}  // namespace shm
