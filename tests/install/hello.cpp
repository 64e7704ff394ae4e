// SPDX-License-Identifier: BSD-3-Clause
#include <shmem.h>

#include <iostream>
#include <string>

namespace {
double from = -1;
}

int main() {
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  shmem_p(&from, static_cast<double>(me), (me + 1) % npes);
  shmem_barrier_all();
  std::cout << "C++: PE " + std::to_string(me) + " of " + std::to_string(npes) + "\n";
  shmem_finalize();
  return from == (me + npes - 1) % npes ? 0 : 1;
}
