// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/slab.hpp"

#include <sys/mman.h>

#include "base/fatal.hpp"

namespace shm::ofi {

Slab::Slab(std::size_t record_size, std::size_t count)
    : record_size_((record_size + 63) & ~std::size_t{63}), count_(count) {
  void* memory =
      mmap(nullptr, bytes(), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) fatal("no address space for %zu bytes of network buffers", bytes());
  base_ = static_cast<std::byte*>(memory);
}

Slab::~Slab() { munmap(base_, bytes()); }

void* Slab::take_fresh() {
  if (fresh_ == count_) return nullptr;
  count_in_use(1);
  return base_ + record_size_ * fresh_++;
}

}  // namespace shm::ofi
