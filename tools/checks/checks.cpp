// SPDX-License-Identifier: BSD-3-Clause
// What the library tells, and what is said of what is wrong: the other side of base/call_checks.hpp.
#include "checks.hpp"

#include <cxxabi.h>
#include <pthread.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>

#include "base/call_checks.hpp"
#include "base/format.hpp"
#include "base/human.hpp"
#include "check.hpp"
#include "objects.hpp"

namespace checks {

using shm::format;

constinit std::atomic<bool> active{false};
constinit thread_local std::uintptr_t caller = 0;

namespace {

// The last allocation that has returned NULL.
struct NoRoom {
  Deed deed;
  std::size_t size = 0, used = 0;
  shm::CheckedHeap heap{};
};

// All of it lives as long as the process: threads may call while it exits.
Objects& objects = *new Objects;
shm::CheckedJob job{};
std::mutex no_room_mutex;
NoRoom last_no_room;

// "shmem_malloc at sort.c:33".
std::string text_of(const Deed& deed) {
  char place[400] = "";
  if (deed.place != 0) job.place(deed.place, place, sizeof place);
  return place[0] != '\0' ? std::string(deed.call) + " " + place : deed.call;
}

std::string demangled(const char* name) {
  char* made = abi::__cxa_demangle(name, nullptr, nullptr, nullptr);
  std::string text = made != nullptr ? made : name;
  std::free(made);
  return text;
}

std::string text_of(const Object& object) {
  const auto* base = reinterpret_cast<const void*>(object.base);
  if (object.variable != nullptr)
    return format("the variable %.200s, %zu bytes at %p", demangled(object.variable).c_str(), object.size,
                  base);
  return format("the block of %zu bytes at %p that %s has made", object.size, base,
                text_of(object.made).c_str());
}

std::string text_of(const NoRoom& none) {
  return format("%s has returned NULL: %s do not fit; %s has %s (%s), of which blocks take %s",
                text_of(none.deed).c_str(), shm::human_bytes(none.size).c_str(), none.heap.name,
                shm::human_bytes(none.heap.limit).c_str(), none.heap.variable,
                shm::human_bytes(none.used).c_str());
}

constexpr char kAllowed[] =
    "allowed are memory from shmem_malloc and the like, and global and static variables";

const char* name_of(const shm::CheckedRange& area) {
  return area.base == job.paged.range.base ? job.paged.name : job.memory.name;
}

// What is wrong with n bytes at `at`; empty: nothing.
std::string problem_of(const Finding& finding, std::uintptr_t at, std::size_t n) {
  const Object& object = finding.object;
  const auto from_there = [n] {
    return n == SIZE_MAX ? std::string("more bytes than can be counted")
                         : format("the %zu bytes from there", n);
  };
  switch (finding.what) {
    case Finding::fine:
    case Finding::elsewhere: return "";
    case Finding::past_end:
      return format("and %s reach past the end of %s; allowed are at most %zu bytes from there",
                    from_there().c_str(), text_of(object).c_str(), object.end() - at);
    case Finding::freed:
      return format("lies in %s, and that %s has freed; allowed are blocks until they are freed",
                    text_of(object).c_str(), text_of(object.freed).c_str());
    case Finding::into:
      return format("and %s reach into %s; allowed is memory of one variable", from_there().c_str(),
                    text_of(object).c_str());
    case Finding::between: break;
  }
  if (object.size == 0) return format("lies in no block of %s; %s", name_of(finding.area), kAllowed);
  return format("lies in no block, %zu bytes behind the end of %s; %s", at - object.end(),
                text_of(object).c_str(), kAllowed);
}

[[noreturn]] void refuse(const std::string& line) {
  job.refuse(line.c_str());
  std::abort();  // it does not return
}

void refuse_if_wrong(const char* call, const char* argument, const void* at, const Finding& finding,
                     std::uintptr_t address, std::size_t n) {
  const std::string problem = problem_of(finding, address, n);
  if (!problem.empty()) refuse(format("%s: %s %p ", call, argument, at) + problem);
}

[[noreturn]] void refuse_null(const char* call, const char* argument, std::size_t n) {
  const std::lock_guard lock(no_room_mutex);
  const std::string why = last_no_room.deed.call != nullptr ? text_of(last_no_room) : std::string(kAllowed);
  refuse(
      format("%s: %s NULL is not a symmetric address, and %zu bytes are needed there; ", call, argument, n) +
      why);
}

// Where a peer's heap is mapped here there are the same blocks.
std::uintptr_t own_address(std::uintptr_t address) {
  const std::uintptr_t offset = address - job.heaps.base;
  return offset < job.heaps.size ? job.own + offset % job.stride : address;
}

}  // namespace

void check_symmetric(const char* call, const char* argument, const void* at, std::size_t n) {
  if (at == nullptr) refuse_null(call, argument, n);
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  const Finding finding = objects.look(address, n);
  if (finding.what != Finding::fine) refuse_if_wrong(call, argument, at, finding, address, n);
}

void check_local(const char* call, const char* argument, const void* at, std::size_t n) {
  if (at == nullptr) refuse(format("%s: %s is NULL; allowed is memory of %zu bytes", call, argument, n));
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (n > PTRDIFF_MAX || address + n < address) {
    refuse(
        format("%s: %s %p and the bytes from there, %zu, are more than a process has; allowed is what memory "
               "can hold",
               call, argument, at, n));
  }
  const std::uintptr_t own = own_address(address);
  const Finding finding = objects.look(own, n);
  if (finding.what != Finding::fine) refuse_if_wrong(call, argument, at, finding, own, n);
}

void check_block(const char* call, const char* argument, const void* at) {
  const auto address = reinterpret_cast<std::uintptr_t>(at);
  if (objects.is_block(address)) return;
  const Finding finding = objects.look(address, 1);
  const Object& object = finding.object;
  if (finding.what == Finding::elsewhere || object.variable != nullptr) return;
  std::string why;
  if (finding.what == Finding::freed) {
    why = format("%s has freed %s", text_of(object.freed).c_str(), text_of(object).c_str());
  } else if (finding.what == Finding::fine && object.size > 0) {
    why = format("it lies %zu bytes into %s", address - object.base, text_of(object).c_str());
  } else {
    why = problem_of(finding, address, 1);
    if (why.empty()) return;
  }
  refuse(format("%s: %s %p is not the start of an allocated block: ", call, argument, at) + why);
}

int members_of(shmem_team_t team) { return job.team_size(team); }

namespace {

void begin(const shm::CheckedJob& told) {
  job = told;
  last_no_room = {};
  objects.begin(told, variables_of_program(told.variables));
  static const bool in_children = [] {
    pthread_atfork(nullptr, nullptr, [] { active = false; });
    return true;
  }();
  active = in_children;
}

void end() { active = false; }

void made(const char* call, const void* block, std::size_t size) {
  objects.add(reinterpret_cast<std::uintptr_t>(block), size, {call, caller});
}

void ended(const char* call, const void* block) {
  objects.remove(reinterpret_cast<std::uintptr_t>(block), {call, caller});
}

void no_room(const char* call, std::size_t size, bool paged) {
  const std::lock_guard lock(no_room_mutex);
  const shm::CheckedHeap& heap = paged ? job.paged : job.memory;
  last_no_room = {{call, caller}, size, objects.used(heap.range), heap};
  if (job.pe == 0) job.warn(text_of(last_no_room).c_str());
}

void range(const char* call, const char* argument, const void* at, std::size_t n) {
  if (active && n > 0) check_symmetric(call, argument, at, n);
}

constexpr shm::CallChecks kCallChecks{begin, end, made, ended, no_room, range};

const shm::CallChecks* open(unsigned version) {
  return version == shm::kCallChecksVersion ? &kCallChecks : nullptr;
}

}  // namespace
}  // namespace checks

extern "C" __attribute__((visibility("default"))) const shm::CallChecksEntry atoll_call_checks;
const shm::CallChecksEntry atoll_call_checks{checks::open};
