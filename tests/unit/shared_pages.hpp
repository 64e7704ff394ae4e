// SPDX-License-Identifier: BSD-3-Clause
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <string>

#include "base/huge_pages.hpp"

namespace shm::test {

/// Memory that processes share, at a huge page, and how much of it lies on such.
class SharedPages {
 public:
  static constexpr std::size_t kBytes = 2 * kHugePage;

  SharedPages() {
    EXPECT_EQ(ftruncate(file_, kBytes), 0);
    around_ = mmap(nullptr, kBytes + kHugePage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    const auto start = reinterpret_cast<std::uintptr_t>(around_);
    at_ = static_cast<std::byte*>(around_) + (kHugePage - start % kHugePage) % kHugePage;
    EXPECT_EQ(mmap(at_, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, file_, 0), at_);
  }
  ~SharedPages() {
    munmap(around_, kBytes + kHugePage);
    close(file_);
  }
  SharedPages(const SharedPages&) = delete;
  SharedPages& operator=(const SharedPages&) = delete;

  std::byte* at() const { return at_; }
  std::size_t huge_bytes() const {
    std::ifstream maps("/proc/self/smaps");
    std::ostringstream first;
    first << std::hex << reinterpret_cast<std::uintptr_t>(at_) << '-';
    bool here = false;
    for (std::string line; std::getline(maps, line);) {
      if (line.find('-') < 17) here = line.starts_with(first.str());
      if (here && line.starts_with("ShmemPmdMapped:")) return std::stoul(line.substr(15)) * 1024;
    }
    return 0;
  }

 private:
  const int file_ = memfd_create("pages", MFD_CLOEXEC);
  void* around_;
  std::byte* at_;
};

}  // namespace shm::test
