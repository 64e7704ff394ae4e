// SPDX-License-Identifier: BSD-3-Clause
#include "core/p2p.hpp"

#include <sched.h>

#include "base/fatal.hpp"
#include "core/amo.hpp"
#include "core/region.hpp"

namespace shm {

void check_wait(Call call, const char* argument, const void* words, std::size_t word, std::size_t n,
                int cmp) {
  if (static_cast<unsigned>(cmp) > SHMEM_CMP_GE) {
    fatal("%s: cmp is %d; allowed are the SHMEM_CMP_ constants EQ, NE, GT, LE, LT and GE", call.name, cmp);
  }
  check_aligned(call, argument, words, word);
  resolve(call, argument, words, n, rt.me);
}

std::uint64_t load_from_region(const void* word, std::size_t n) {
  const auto address = reinterpret_cast<std::uintptr_t>(word);
  std::uint64_t value = 0;
  find_region(address, n)->load(address, &value, n);
  return value;
}

namespace {

// Looks of a thread at a word on which it spins, each as cheap as an instruction, after which it polls.
constexpr unsigned kLooksPerPoll = 16;

const char* symbol_of(int cmp) {
  switch (cmp) {
    case SHMEM_CMP_EQ: return "==";
    case SHMEM_CMP_NE: return "!=";
    case SHMEM_CMP_GT: return ">";
    case SHMEM_CMP_LE: return "<=";
    case SHMEM_CMP_LT: return "<";
    default: return ">=";
  }
}

}  // namespace

void describe_word(WaitRecord& record, Call call, const char* argument, const void* word, int cmp,
                   long double value, long double now) {
  describe_wait(record, call.name, WaitRecord::kNobody, "until %s at %s is %s %.20Lg; it is %.20Lg", argument,
                PlaceName(word).text, symbol_of(cmp), value, now);
}

void describe_words(WaitRecord& record, Call call, const void* words, std::size_t count) {
  describe_wait(record, call.name, WaitRecord::kNobody, "until one of %zu words at %s compares as asked",
                count, PlaceName(words).text);
}

// A program that polls with the test functions may be all that runs on this core: let the PE that it waits
// for run.
void poll_progress() {
  if (rt.progress != nullptr) {
    rt.progress->flush_all();  // what is tested for may be the answer
    rt.progress->poll();
  }
  static thread_local unsigned polls = 0;
  if (++polls > rt.spin_polls) {
    polls = 0;
    sched_yield();
  }
}

void note_look(const void* word, std::uint64_t found) {
  static thread_local struct {
    const void* word = nullptr;
    std::uint64_t found = 0;
    unsigned looks = 0;
  } last;
  if (word != last.word || found != last.found) {
    last = {word, found, 0};
  } else if (++last.looks % kLooksPerPoll == 0) {
    poll_progress();
  }
}

}  // namespace shm
