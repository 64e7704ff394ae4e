// SPDX-License-Identifier: BSD-3-Clause
#include "transfers.hpp"

#include <sys/stat.h>

#include <cstring>

#include "blocks.hpp"

namespace remote_malloc {
namespace {

constexpr std::size_t kMostOfACall = 0x7ffff000;  // Linux transfers no more
constexpr std::size_t kPieceOfAStream = std::size_t{4} << 20;

bool is_file(int fd) {
  struct stat info;
  return fstat(fd, &info) == 0 && (S_ISREG(info.st_mode) || S_ISBLK(info.st_mode));
}

}  // namespace

bool Buffers::touch_remote() const {
  if (blocks::touches(list_, count_ * sizeof *list_)) return true;
  return std::any_of(list_, list_ + count_,
                     [](const iovec& one) { return blocks::touches(one.iov_base, one.iov_len); });
}

std::size_t Buffers::bytes() const {
  std::size_t all = 0;
  for (std::size_t i = 0; i < count_; ++i) all += std::min(list_[i].iov_len, kMostOfACall - all);
  return all;
}

template <typename Copy>
void Buffers::for_each(std::size_t from, std::size_t n, Copy copy) const {
  for (std::size_t i = 0; i < count_ && n > 0; ++i) {
    const std::size_t length = list_[i].iov_len;
    if (from >= length) {
      from -= length;
      continue;
    }
    const std::size_t part = std::min(n, length - from);
    copy(static_cast<std::byte*>(list_[i].iov_base) + from, part);
    from = 0;
    n -= part;
  }
}

void Buffers::gather(std::size_t from, std::byte* into, std::size_t n) const {
  for_each(from, n, [&](const std::byte* buffer, std::size_t part) {
    std::memcpy(into, buffer, part);
    into += part;
  });
}

void Buffers::scatter(std::size_t from, const std::byte* out, std::size_t n) const {
  for_each(from, n, [&](std::byte* buffer, std::size_t part) {
    std::memcpy(buffer, out, part);
    out += part;
  });
}

Division Division::of_read(int fd) {
  return is_file(fd) ? Division{Stage::kKeptBytes, true} : Division{kPieceOfAStream, false};
}

Division Division::of_write(int fd) { return {is_file(fd) ? Stage::kKeptBytes : kPieceOfAStream, true}; }

}  // namespace remote_malloc
