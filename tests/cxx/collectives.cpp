// SPDX-License-Identifier: BSD-3-Clause
// Collective operations of shmem.hpp, with types that have functions of their own and with others.
#include <shmem.hpp>

#include <complex>

#include "check.h"

namespace {

struct Pair {
  long first;
  char second;
};
template <class T>
T make(long n);
template <>
int make<int>(long n) {
  return static_cast<int>(n);
}
template <>
Pair make<Pair>(long n) {
  return {n, 'x'};
}
long number(int made) { return made; }
long number(const Pair& made) { return made.second == 'x' ? made.first : -1; }

template <class T>
void moves(const shmem::team& team) {
  const int me = team.my_pe(), n = team.n_pes();
  const auto all = static_cast<std::size_t>(n);
  static T from[16], to[16];
  for (int i = 0; i < 16; ++i) from[i] = make<T>(100 * me + i), to[i] = make<T>(-7);
  const std::span<T> source(from);
  shmem::sync(team);
  CHECK(shmem::broadcast(team, to, source.first(3), n - 1) == 0);
  CHECK(number(to[2]) == 100 * (n - 1) + 2 && number(to[3]) == -7);
  shmem::sync(team);
  CHECK(shmem::fcollect(team, to, source.first(2)) == 0);
  for (int pe = 0; pe < n; ++pe) CHECK(number(to[2 * pe + 1]) == 100 * pe + 1);
  shmem::sync(team);
  CHECK(shmem::collect(team, to, source.first(static_cast<std::size_t>(me) + 1)) == 0);
  for (int pe = 0, at = 0; pe < n; at += ++pe)
    CHECK(number(to[at]) == 100 * pe && number(to[at + pe]) == 100 * pe + pe);
  shmem::sync(team);
  CHECK(shmem::alltoall(team, to, from, 2) == 0);
  for (int pe = 0; pe < n; ++pe) CHECK(number(to[2 * pe + 1]) == 100 * pe + 2 * me + 1);
  shmem::sync(team);
  if constexpr (shmem::rma_type<T>) {
    CHECK(shmem::alltoalls(team, to, from, 2, 1, 1) == 0);
    for (int pe = 0; pe < n; ++pe) CHECK(number(to[2 * pe]) == 100 * pe + me);
    shmem::sync(team);
  }
  CHECK(all >= 1);
}

void reduces(const shmem::team& team) {
  const int me = team.my_pe(), n = team.n_pes();
  static long from[2], to[2];
  static unsigned mask, masks;
  static std::complex<double> z[1], sum[1];
  from[0] = me + 1, from[1] = -me;
  mask = 1U << me;
  z[0] = {1.0, static_cast<double>(me)};
  shmem::sync(team);
  const std::span<unsigned, 1> bits(&mask, 1);
  CHECK(shmem::or_reduce(team, &masks, bits) == 0 && masks == (1U << n) - 1);
  CHECK(shmem::xor_reduce(team, &masks, bits) == 0 && masks == (1U << n) - 1);
  CHECK(shmem::and_reduce(team, &masks, bits) == 0 && masks == (n == 1 ? 1U : 0U));
  CHECK(shmem::max_reduce(team, to, from) == 0 && to[0] == n && to[1] == 0);
  CHECK(shmem::min_reduce(team, to, from) == 0 && to[0] == 1 && to[1] == 1 - n);
  CHECK(shmem::prod_reduce(team, to, from) == 0 && to[1] == 0 && to[0] == (n == 4 ? 24 : n == 3 ? 6 : n));
  CHECK(shmem::sum_inscan(team, to, from) == 0 && to[0] == (me + 1) * (me + 2) / 2);
  CHECK(shmem::sum_exscan(team, to, from) == 0 && to[0] == me * (me + 1) / 2);
  CHECK(shmem::sum_reduce(team, sum, z) == 0 && sum[0] == std::complex<double>(n, n * (n - 1) / 2.0));
  CHECK(shmem::sum_reduce(team.handle(), from, from) == 0 && from[0] == n * (n + 1) / 2);  // in place
}

}  // namespace

int main() {
  const shmem::library library;
  shmem::team world = shmem::team::world();
  moves<int>(world);
  moves<Pair>(world);
  reduces(world);
  shmem::team backwards = world.split_strided(world.n_pes() - 1, -1, world.n_pes());
  moves<int>(backwards);
  reduces(backwards);
  shmem::sync_all();
  return 0;
}
