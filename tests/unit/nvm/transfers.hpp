// SPDX-License-Identifier: BSD-3-Clause
// What the tests of devices share: memory, folders, and transfers carried out one at a time.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string>
#include <thread>
#include <utility>

#include "nvm/storage/open_device.hpp"
#include "processes.hpp"

namespace shm::nvm {

using Kind = Transfer::Kind;
inline constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

/// Memory as transfers want it.
class Buffer {
 public:
  explicit Buffer(std::size_t n, int fill = 0)
      : n_(n), at_(static_cast<std::byte*>(std::aligned_alloc(kBlock, n))) {
    std::memset(at_, fill, n);
  }
  ~Buffer() { std::free(at_); }
  Buffer(Buffer&& other) noexcept : n_(other.n_), at_(std::exchange(other.at_, nullptr)) {}
  Buffer& operator=(Buffer&&) = delete;

  std::byte* data() const { return at_; }
  bool holds(int value) const {
    return std::all_of(at_, at_ + n_, [&](std::byte b) { return b == std::byte(value); });
  }

 private:
  std::size_t n_;
  std::byte* at_;
};

/// A folder of its own in the build tree (no tmpfs, most likely), which goes with all that is in it.
class Folder {
 public:
  Folder() : path_(std::filesystem::absolute(test::unique_key("nvm"))) {
    std::filesystem::create_directory(path_);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  std::string file(const std::string& name = "segment") const { return path_ / name; }
  const std::filesystem::path& path() const { return path_; }
  bool empty() const { return std::filesystem::is_empty(path_); }

 private:
  std::filesystem::path path_;
};

/// Submits, and returns the next one that has ended; null, and a failed test, if that takes a minute.
inline Transfer* wait_for_one(Device& device) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::minutes(1);
  while (std::chrono::steady_clock::now() < deadline) {
    device.submit();
    if (Transfer* transfer = device.finished()) return transfer;
    std::this_thread::yield();
  }
  ADD_FAILURE() << "no transfer ends; under way: " << device.under_way();
  return nullptr;
}

/// Carries out one transfer and returns its errno.
inline int run(Device& device, Kind kind, std::uint64_t offset, std::byte* data, std::size_t n) {
  Transfer transfer{kind, offset, data, n};
  device.start(transfer);
  return wait_for_one(device) == &transfer ? transfer.error : -1;
}
inline int read(Device& device, std::uint64_t offset, const Buffer& to, std::size_t n) {
  return run(device, Kind::read, offset, to.data(), n);
}
inline int write(Device& device, std::uint64_t offset, const Buffer& from, std::size_t n) {
  return run(device, Kind::write, offset, from.data(), n);
}

}  // namespace shm::nvm
