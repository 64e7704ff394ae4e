// SPDX-License-Identifier: BSD-3-Clause
// Semantics 135: in C++ overloads take the place of C11's generic names.
#include <cstdint>
#include <type_traits>

#include "check.h"

namespace {

long words[8];
unsigned char bytes[8];
std::size_t count;
std::uint64_t signal_word;

template <class T>
void round_trip(T* symmetric, T value) {
  shmem_barrier_all();
  shmem_put(symmetric, &value, 1, right_pe());
  shmem_barrier_all();
  CHECK_EQ(*symmetric, value);
  T back{};
  const T* constant = symmetric;
  shmem_get(SHMEM_CTX_DEFAULT, &back, constant, 1, right_pe());
  CHECK_EQ(back, value);
  static_assert(std::is_same_v<decltype(shmem_g(constant, 0)), T>);
  CHECK_EQ(shmem_g(constant, right_pe()), value);
}

}  // namespace

int main() {
  shmem_init();
  round_trip(words, 5L);
  round_trip(bytes, static_cast<unsigned char>(200));
  round_trip(static_cast<double*>(shmem_calloc(1, sizeof(double))), 2.5);
  round_trip(static_cast<long double*>(shmem_calloc(1, sizeof(long double))), 2.5L);
  round_trip(&count, std::size_t{1} << 40);
  shmem_barrier_all();
  count = 0;
  shmem_barrier_all();
  shmem_atomic_add(&count, std::size_t{3}, right_pe());
  shmem_wait_until(&count, SHMEM_CMP_EQ, std::size_t{3});
  CHECK_EQ(shmem_test(&count, SHMEM_CMP_GT, std::size_t{2}), 1);
  for (int i = 0; i < 2; ++i) shmem_signal_set(SHMEM_CTX_DEFAULT, &signal_word, 9, right_pe());
  shmem_quiet();
  shmem_barrier_all();
  CHECK_EQ(signal_word, 9U);
  shmem_barrier_all();
  shmem_signal_add(SHMEM_CTX_DEFAULT, &signal_word, 2, right_pe());
  shmem_signal_wait_until(&signal_word, SHMEM_CMP_EQ, 11);
  shmem_finalize();
}
