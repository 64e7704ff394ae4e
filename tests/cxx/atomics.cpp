// SPDX-License-Identifier: BSD-3-Clause
// Atomics, waits, tests and locks of shmem.hpp, on the default context and on one of its own.
#include <shmem.hpp>

#include <array>
#include <mutex>
#include <vector>

#include "check.h"

namespace {

template <class T>
T word;
int me, n, right;

template <class T, class Where>
void swaps(const Where& on) {
  word<T> = T{5};
  shmem::barrier_all();
  CHECK(shmem::atomic_swap(&word<T>, 7, right, on) == T{5});
  CHECK(shmem::atomic_fetch(&word<T>, right, on) == T{7});
  shmem::atomic_max(&word<T>, 9, right, on);
  CHECK(shmem::atomic_fetch_max(&word<T>, 8, right, on) == T{9});
  shmem::atomic_min(&word<T>, 3, right, on);
  CHECK(shmem::atomic_fetch_min(&word<T>, 4, right, on) == T{3});
  T old[4] = {};
  shmem::atomic_swap_nbi(&old[0], &word<T>, 6, right, on);
  shmem::quiet(on);
  shmem::atomic_fetch_max_nbi(&old[1], &word<T>, 7, right, on);
  shmem::quiet(on);
  shmem::atomic_fetch_min_nbi(&old[2], &word<T>, 2, right, on);
  shmem::quiet(on);
  shmem::atomic_fetch_nbi(&old[3], &word<T>, right, on);
  shmem::quiet(on);
  CHECK(old[0] == T{3} && old[1] == T{6} && old[2] == T{7} && old[3] == T{2});
  shmem::atomic_set(&word<T>, 4, right, on);
  shmem::quiet(on);
  shmem::barrier_all();
  CHECK(word<T> == T{4});
  shmem::barrier_all();
}

template <class T, class Where>
void adds(const Where& on) {
  swaps<T>(on);
  CHECK(shmem::atomic_compare_swap(&word<T>, 4, 10, right, on) == T{4});
  CHECK(shmem::atomic_compare_swap(&word<T>, 4, 11, right, on) == T{10});
  CHECK(shmem::atomic_fetch_inc(&word<T>, right, on) == T{10});
  shmem::atomic_inc(&word<T>, right, on);
  shmem::atomic_add(&word<T>, 8, right, on);
  CHECK(shmem::atomic_fetch_add(&word<T>, 10, right, on) == T{20});
  T old[3] = {};
  shmem::atomic_fetch_add_nbi(&old[0], &word<T>, 1, right, on);
  shmem::quiet(on);
  shmem::atomic_fetch_inc_nbi(&old[1], &word<T>, right, on);
  shmem::quiet(on);
  shmem::atomic_compare_swap_nbi(&old[2], &word<T>, 32, 0, right, on);
  shmem::quiet(on);
  CHECK(old[0] == T{30} && old[1] == T{31} && old[2] == T{32});
  shmem::wait_until(&word<T>, shmem::cmp::eq, 0);
  shmem::barrier_all();
}

template <class T, class Where>
void bits(const Where& on) {
  word<T> = 12;
  shmem::barrier_all();
  shmem::atomic_or(&word<T>, 3, right, on);
  shmem::atomic_and(&word<T>, 13, right, on);
  shmem::atomic_xor(&word<T>, 1, right, on);
  CHECK(shmem::atomic_fetch_or(&word<T>, 16, right, on) == T{12});
  CHECK(shmem::atomic_fetch_and(&word<T>, 24, right, on) == T{28});
  CHECK(shmem::atomic_fetch_xor(&word<T>, 9, right, on) == T{24});
  T old[3] = {};
  shmem::atomic_fetch_or_nbi(&old[0], &word<T>, 2, right, on);
  shmem::quiet(on);
  shmem::atomic_fetch_and_nbi(&old[1], &word<T>, 18, right, on);
  shmem::quiet(on);
  shmem::atomic_fetch_xor_nbi(&old[2], &word<T>, 3, right, on);
  shmem::quiet(on);
  CHECK(old[0] == T{17} && old[1] == T{19} && old[2] == T{18});
  shmem::barrier_all();
  CHECK(word<T> == T{17});
  shmem::barrier_all();
}

template <class Where>
void everything(const Where& on) {
  swaps<float>(on);
  swaps<double>(on);
  adds<int>(on);
  adds<unsigned long>(on);
  adds<long long>(on);
  bits<int>(on);
  bits<long long>(on);
  bits<unsigned>(on);
  bits<unsigned long>(on);
}

void many_words() {
  static long ivars[4];
  const std::array<long, 4> values{1, 1, 1, 1};
  const std::array<int, 4> skip{0, 1, 0, 1};
  std::array<std::size_t, 4> indices{};
  using shmem::cmp;
  CHECK(shmem::test_any(ivars, cmp::ne, 0) == SIZE_MAX && !shmem::test_all(ivars, cmp::ne, 0));
  CHECK(shmem::test_some(ivars, indices, cmp::ne, 0) == 0 && !shmem::test(&ivars[0], cmp::ne, 0));
  CHECK(shmem::test_any_vector(ivars, cmp::eq, values) == SIZE_MAX &&
        !shmem::test_all_vector(ivars, cmp::eq, values));
  CHECK(shmem::test_some_vector(ivars, indices, cmp::eq, values) == 0);
  shmem::barrier_all();
  shmem::p(&ivars[2], 1, right);
  CHECK(shmem::wait_until_any(ivars, cmp::eq, 1) == 2 &&
        shmem::wait_until_any_vector(ivars, cmp::eq, values) == 2);
  CHECK(shmem::wait_until_some(ivars, indices, cmp::eq, 1) == 1 && indices[0] == 2);
  indices[0] = 9;
  CHECK(shmem::wait_until_some_vector(ivars, indices, cmp::eq, values) == 1 && indices[0] == 2);
  shmem::barrier_all();  // all have seen that one alone
  shmem::p(&ivars[0], 1, right);
  shmem::wait_until_all(ivars, cmp::eq, 1, skip);  // the others would never be
  shmem::wait_until_all_vector(ivars, cmp::eq, values, skip);
  CHECK(shmem::test_all(ivars, cmp::eq, 1, skip) && shmem::test_all_vector(ivars, cmp::eq, values, skip));
  CHECK(shmem::test_any(ivars, cmp::eq, 0, skip) == SIZE_MAX && shmem::test(&ivars[1], cmp::eq, 0));
  CHECK(shmem::test_some(ivars, indices, cmp::eq, 0) == 2 && indices[0] == 1 && indices[1] == 3);
  shmem::barrier_all();
}

void locks() {
  static long lock, total;
  shmem::mutex all(&lock);
  for (int i = 0; i < 20; ++i) {
    const std::lock_guard hold(all);
    shmem::p(&total, shmem::g(&total, 0) + 1, 0);
    shmem::quiet();
  }
  shmem::barrier_all();
  CHECK(shmem::g(&total, 0) == 20 * n);
  if (me == 0) CHECK(all.try_lock());
  shmem::barrier_all();
  if (me != 0) CHECK(!all.try_lock());
  shmem::barrier_all();
  if (me == 0) all.unlock();
}

}  // namespace

int main() {
  const shmem::library library;
  me = shmem::my_pe(), n = shmem::n_pes(), right = (me + 1) % n;
  everything(shmem::default_context);
  everything(shmem::context());
  many_words();
  locks();
  return 0;
}
