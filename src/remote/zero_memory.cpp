// SPDX-License-Identifier: BSD-3-Clause
#include "remote/zero_memory.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace shm::remote {
namespace {

constexpr std::size_t kTogether = 512;  // pages of the system that are asked for at a time

std::size_t system_page() { return static_cast<std::size_t>(sysconf(_SC_PAGESIZE)); }

bool is_zero(const std::byte* at, std::size_t n) {
  return at[0] == std::byte{0} && std::memcmp(at, at + 1, n - 1) == 0;
}

}  // namespace

// Lines as "begin-end rw-p offset device inode": a private mapping of no file begins as zeros.
ZeroMemory::ZeroMemory() : pagemap_(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC)) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    Range range{};
    char dash = 0;
    std::string access, offset, device;
    std::uint64_t inode = 1;
    fields >> std::hex >> range.begin >> dash >> range.end >> access >> offset >> device >> std::dec >> inode;
    if (fields && access.ends_with('p') && inode == 0) anonymous_.push_back(range);
  }
}

ZeroMemory::~ZeroMemory() {
  if (pagemap_ >= 0) close(pagemap_);
}

bool ZeroMemory::holds(const std::byte* at, std::size_t n) const {
  const std::size_t page = system_page(), most = kTogether * page;
  for (std::size_t done = 0; done < n; done += most) {
    const std::size_t now = std::min(most, n - done);
    std::array<bool, kTogether> used;
    used.fill(true);
    const auto begin = reinterpret_cast<std::uintptr_t>(at + done);
    if (is_anonymous(begin, now)) find_used(begin, std::span(used).first(now / page));
    for (std::size_t i = 0; i < now / page; ++i) {
      if (used[i] && !is_zero(at + done + i * page, page)) return false;
    }
  }
  return true;
}

bool ZeroMemory::is_anonymous(std::uintptr_t begin, std::size_t n) const {
  return std::ranges::any_of(
      anonymous_, [=](const Range& range) { return begin >= range.begin && begin + n <= range.end; });
}

// Of a page of the system, bit 63 of its entry says that it is in memory, bit 62 that it is swapped out.
void ZeroMemory::find_used(std::uintptr_t begin, std::span<bool> used) const {
  std::array<std::uint64_t, kTogether> entries;
  const auto at = static_cast<off_t>(begin / system_page() * sizeof entries[0]);
  const std::size_t bytes = used.size() * sizeof entries[0];
  if (pagemap_ < 0 || pread(pagemap_, entries.data(), bytes, at) != static_cast<ssize_t>(bytes)) return;
  for (std::size_t i = 0; i < used.size(); ++i) used[i] = entries[i] >> 62 != 0;
}

}  // namespace shm::remote
