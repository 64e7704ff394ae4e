// SPDX-License-Identifier: BSD-3-Clause
// Symmetric memory that belongs to objects: what it holds, and that its end waits for nobody and loses
// nothing.
#include <shmem.hpp>

#include <cstdlib>
#include <stdexcept>
#include <vector>

#include "check.h"

namespace {

struct alignas(64) Line {
  long value;
  char rest[56];
};
constexpr std::size_t kMiB = std::size_t{1} << 20;  // of a heap of 64

int right() { return (shmem::my_pe() + 1) % shmem::n_pes(); }

void arrays() {
  shmem::symmetric_array<long> numbers(10);
  CHECK(numbers && numbers.size() == 10 && !numbers.empty());
  for (long number : numbers) CHECK(number == 0);
  shmem::barrier_all();
  shmem::p(&numbers[3], shmem::my_pe() + 1, right());
  shmem::barrier_all();
  CHECK(shmem::g(&numbers[3], right()) == shmem::my_pe() + 1);
  CHECK(numbers.part(2, 3)[1] == (shmem::my_pe() + shmem::n_pes() - 1) % shmem::n_pes() + 1);
  CHECK(numbers.of(shmem::my_pe()).data() == numbers.data());
  const std::span<long> theirs = numbers.of(right());
  CHECK(theirs.empty() || theirs[3] == shmem::my_pe() + 1);

  shmem::symmetric_array<long> moved(std::move(numbers));
  CHECK(!numbers && numbers.empty() && moved.size() == 10);  // NOLINT: a move leaves none
  moved = shmem::symmetric_array<long>(5);
  CHECK(moved.size() == 5 && moved[0] == 0);
  shmem::symmetric_array<long> none(0);
  CHECK(!none && none.begin() == none.end());
  shmem::symmetric_array<Line> lines(3);
  CHECK(lines && reinterpret_cast<std::uintptr_t>(lines.data()) % 64 == 0 && lines[2].value == 0);
  shmem::symmetric_array<int> hinted(100, shmem::hint::atomics | shmem::hint::signals);
  CHECK(hinted && shmem_addr_accessible(hinted.data(), right()));
  shmem::symmetric_array<long> too_large(std::size_t{1} << 40), uncountable(SIZE_MAX / 2);
  CHECK(!too_large && !uncountable && too_large.size() == 0);
}

// Each is left and none closed; without their memory the heap would be full after a few.
void memory_comes_back() {
  for (int i = 0; i < 30; ++i) {
    shmem::symmetric_array<char> large(12 * kMiB);
    CHECK(large);
    if (large) large[12 * kMiB - 1] = 1;
  }
  std::vector<shmem::symmetric_array<char>> many;
  for (int i = 0; i < 600; ++i) many.emplace_back(70000);
  many.clear();
  shmem::symmetric_array<char> most(44 * kMiB);
  CHECK(most);
  most.close();
  CHECK(!most);
  void* const again = shmem_malloc(44 * kMiB);  // close() frees at once
  CHECK(again != nullptr);
  shmem_free(again);
}

// A block that some PE has is nobody else's.
void stays_while_one_has_it() {
  std::vector<shmem::symmetric_array<long>> block;
  block.emplace_back(1000);
  long* const at = block[0].data();
  if (shmem::my_pe() != 0) block.clear();
  for (int i = 0; i < 3; ++i) {
    const shmem::symmetric_array<long> other(1000);
    CHECK(other && other.data() != at);
  }
  if (shmem::my_pe() == 0)
    for (int pe = 0; pe < shmem::n_pes(); ++pe) shmem::p(at, 7, pe);
  shmem::barrier_all();
  CHECK(*at == 7);
  block.clear();
}

// An exception ends objects of one PE alone, while the others wait for what it does later.
void ends_of_one_pe_wait_for_nobody() {
  static long waited_for;
  shmem::symmetric_array<long> outer(4);
  if (shmem::my_pe() == shmem::n_pes() - 1) {
    bool caught = false;
    try {
      const shmem::symmetric_array<long> moved(std::move(outer));
      throw std::runtime_error("on one PE alone");
    } catch (const std::runtime_error&) {
      caught = true;
    }
    CHECK(caught);
    for (int pe = 0; pe < shmem::n_pes(); ++pe) shmem::p(&waited_for, 1, pe);
  }
  shmem::wait_until(&waited_for, shmem::cmp::eq, 1);
  if (outer) outer[0] = 3;
  shmem::barrier_all();
  waited_for = 0;
  shmem::barrier_all();
}

void objects_on_nvm() {
  if (std::getenv("SHMEM_NVM_DIR") == nullptr) return;
  for (long round = 0, first = 0; round < 3; ++round) {
    shmem::nvm_array<long> kept("cxx_memory", 1000);
    CHECK(kept && kept.size() == 1000);
    if (!kept) return;
    if (round == 0) first = kept[999];  // of an earlier life, or job
    CHECK(kept[999] == first + round);
    {
      const shmem::nvm_pin pinned(kept.part(0, 10), shmem::nvm_pin::mode::write);
      CHECK(pinned);
      kept[0] = round;
    }
    kept[999] = first + round + 1;
    kept.persist();
    kept[999] = 77;  // lost
    shmem::nvm_advise(kept, shmem::advice::dont_need);
  }
  shmem::nvm_array<long> other_size("cxx_memory", 2000);
  CHECK(!other_size);
  const shmem::symmetric_array<int> large(1000, shmem::hint::nvm);
  CHECK(large);
}

void words_to_keys() {
  shmem::kv_table<long, long> table(100);
  CHECK(table);
  table.put(shmem::my_pe(), 5);
  shmem::barrier_all();
  CHECK(table.get(right()).value_or(0) == 5);
}

}  // namespace

int main() {
  shmem::symmetric_array<long> outlives;
  for (int life = 0; life < 2; ++life) {
    const shmem::library library(shmem::thread_level::multiple);
    CHECK(library.threads() == shmem::thread_level::multiple);
    arrays();
    memory_comes_back();
    stays_while_one_has_it();
    ends_of_one_pe_wait_for_nobody();
    objects_on_nvm();
    words_to_keys();
    if (life == 1) outlives = shmem::symmetric_array<long>(10);
  }
  return 0;
}
