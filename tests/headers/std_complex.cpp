// SPDX-License-Identifier: BSD-3-Clause
// What only C++ programs do: reductions of std::complex, and shmem.h inside of extern "C".
extern "C" {
#include <shmem.h>
}

#include <complex>
#include <cstdio>

namespace {

template <class T>
struct Symmetric {
  static inline std::complex<T> mine[3], all[3];
};

template <class T>
bool near(std::complex<T> a, std::complex<T> b) {
  return std::abs(a - b) < T(1e-3) * (T(1) + std::abs(b));
}

// PE p contributes (p + 1) + i * element.
template <class T>
int wrong_results() {
  using Complex = std::complex<T>;
  auto& mine = Symmetric<T>::mine;
  auto& all = Symmetric<T>::all;
  const int me = shmem_my_pe(), n = shmem_n_pes();
  int wrong = 0;
  for (int e = 0; e < 3; ++e) mine[e] = Complex(T(me + 1), T(e));
  Complex sum[3], product[3], before[3];
  for (int e = 0; e < 3; ++e) {
    product[e] = 1;
    for (int pe = 0; pe < n; ++pe) {
      const Complex theirs(T(pe + 1), T(e));
      sum[e] += theirs;
      product[e] *= theirs;
      if (pe < me) before[e] += theirs;
    }
  }
  const auto check = [&](int code, const Complex* expected, const char* what) {
    for (int e = 0; e < 3; ++e) {
      if (code == 0 && near(all[e], expected[e])) continue;
      std::fprintf(stderr, "PE %d: %s[%d] is (%g, %g)\n", me, what, e, double(all[e].real()),
                   double(all[e].imag()));
      ++wrong;
    }
    shmem_barrier_all();
  };
  const Complex* const source = mine;
  check(shmem_sum_reduce(SHMEM_TEAM_WORLD, all, source, 3), sum, "sum_reduce");
  check(shmem_prod_reduce(SHMEM_TEAM_WORLD, all, mine, 3), product, "prod_reduce");
  check(shmem_sum_exscan(SHMEM_TEAM_WORLD, all, mine, 3), before, "sum_exscan");
  for (int e = 0; e < 3; ++e) before[e] += mine[e];
  check(shmem_sum_inscan(SHMEM_TEAM_WORLD, all, mine, 3), before, "sum_inscan");
  return wrong;
}

}  // namespace

int main() {
  shmem_init();
  const int wrong = wrong_results<double>() + wrong_results<float>();
  shmem_finalize();
  return wrong == 0 ? 0 : 1;
}
