// SPDX-License-Identifier: BSD-3-Clause
#include "gather.hpp"

#include <pshmem.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace observe {
namespace {

struct Header {
  std::uint64_t bytes;  // behind it
  std::uint64_t sum;    // of all PEs
};

}  // namespace

Window::Window(std::size_t wanted, std::byte* spare, std::size_t spare_bytes) {
  bytes_ = static_cast<std::byte*>(pshmem_malloc(wanted));
  allocated_ = bytes_ != nullptr;
  size_ = wanted;
  if (allocated_) return;
  bytes_ = spare;
  size_ = spare == nullptr ? 0 : std::min(wanted, spare_bytes);
}

Window::~Window() {
  if (allocated_) pshmem_free(bytes_);
}

void gather(const Window& window, const std::function<void(std::string&, std::size_t)>& make,
            const std::function<void(int, const std::string&)>& take) {
  auto* header = reinterpret_cast<Header*>(window.bytes());
  std::byte* const body = window.bytes() + sizeof(Header);
  const std::size_t room = window.size() - sizeof(Header);
  const int npes = pshmem_my_pe() == 0 ? pshmem_n_pes() : 0;
  while (true) {
    std::string mine;
    make(mine, room);
    header->bytes = std::min(mine.size(), room);
    std::memcpy(body, mine.data(), header->bytes);
    pshmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, &header->sum, &header->bytes, 1);
    if (header->sum == 0) break;
    pshmem_barrier_all();  // all have written, and read the sum
    for (int pe = 0; pe < npes; ++pe) {
      std::string theirs(pshmem_uint64_g(&header->bytes, pe), '\0');
      pshmem_getmem(theirs.data(), body, theirs.size(), pe);
      if (!theirs.empty()) take(pe, theirs);
    }
    pshmem_barrier_all();
  }
}

}  // namespace observe
