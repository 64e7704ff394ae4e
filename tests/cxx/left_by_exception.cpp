// SPDX-License-Identifier: BSD-3-Clause
// An exception on one PE leaves the scope of the library while the others wait: the job ends, with a line.
#include <shmem.hpp>

#include <stdexcept>

int main() {
  try {
    const shmem::library library;
    if (shmem::my_pe() == 1) throw std::runtime_error("on one PE alone");
    shmem::barrier_all();
  } catch (const std::runtime_error&) {
    return 0;
  }
  return 0;
}
