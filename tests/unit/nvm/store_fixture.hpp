// SPDX-License-Identifier: BSD-3-Clause
// What the tests of stores share: contents that are known, and devices that a store may lose without a loss.
#pragma once

#include <gtest/gtest.h>

#include <cstring>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../pages/pool_fixture.hpp"
#include "nvm/storage/store.hpp"
#include "transfers.hpp"

namespace shm::nvm {

/// What each block of an object holds: a number that stands for its bytes; 0: zeros.
using Contents = std::vector<std::uint32_t>;

inline void fill_block(std::byte* at, std::uint32_t value, std::size_t block = kBlock) {
  auto* words = reinterpret_cast<std::uint32_t*>(at);
  for (std::uint32_t i = 0; i < block / 4; ++i) words[i] = value == 0 ? 0 : value ^ (i * 0x9e3779b9U);
}

inline bool block_holds(const std::byte* at, std::uint32_t value, std::size_t block = kBlock) {
  alignas(kBlock) static thread_local std::byte expected[kMaxStoreBlock];
  fill_block(expected, value, block);
  return std::memcmp(at, expected, block) == 0;
}

/// Another device that outlives this one.
class Borrowed final : public Device {
 public:
  explicit Borrowed(Device& device) : device_(device) {}
  std::string describe() const override { return device_.describe(); }
  Status reserve(std::uint64_t offset, std::uint64_t n) override { return device_.reserve(offset, n); }
  Status release(std::uint64_t offset, std::uint64_t n) override { return device_.release(offset, n); }
  void start(Transfer& transfer) override { device_.start(transfer); }
  void submit() override { device_.submit(); }
  Transfer* take_read(Transfer& transfer) override { return device_.take_read(transfer); }
  void carry_out(Transfer& taken) override { device_.carry_out(taken); }
  Transfer* finished() override { return device_.finished(); }
  std::size_t under_way() const override { return device_.under_way(); }
  Status persist() override { return device_.persist(); }

 private:
  Device& device_;
};

/// Bytes in memory, and a list of all that was done to them.
class LogDevice final : public Device {
 public:
  struct Step {
    enum class Kind { write, release, persist } kind;
    std::uint64_t offset = 0;
    std::vector<std::byte> data;  // of a write; of a release: zeros
  };

  explicit LogDevice(std::uint64_t size) : bytes(size) {}
  explicit LogDevice(std::vector<std::byte> image) : bytes(std::move(image)) {}

  std::string describe() const override { return "memory with a log"; }
  Status reserve(std::uint64_t, std::uint64_t) override { return {}; }
  Status release(std::uint64_t offset, std::uint64_t n) override {
    if (n > 0) std::memset(bytes.data() + offset, 0, n);
    if (logging) log.push_back({Step::Kind::release, offset, std::vector<std::byte>(n)});
    return {};
  }
  void start(Transfer& transfer) override {
    ended_.push_back(&transfer);
    transfer.error = transfer.offset + transfer.n <= bytes.size() ? 0 : EINVAL;
    if (transfer.error != 0) return;
    if (transfer.kind == Kind::read) {
      std::memcpy(transfer.data, bytes.data() + transfer.offset, transfer.n);
      return;
    }
    std::memcpy(bytes.data() + transfer.offset, transfer.data, transfer.n);
    if (logging)
      log.push_back({Step::Kind::write, transfer.offset, {transfer.data, transfer.data + transfer.n}});
  }
  Transfer* finished() override {
    if (ended_.empty()) return nullptr;
    Transfer* first = ended_.front();
    ended_.pop_front();
    return first;
  }
  std::size_t under_way() const override { return ended_.size(); }
  Status persist() override {
    if (logging) log.push_back({Step::Kind::persist, 0, {}});
    return {};
  }

  std::vector<std::byte> bytes;
  std::vector<Step> log;
  bool logging = true;

 private:
  std::deque<Transfer*> ended_;
};

inline Identity test_object(std::uint64_t blocks, std::uint64_t block = kBlock) {
  return {.name = "field", .id = 77, .bytes = blocks * block, .npes = 1, .pe = 0, .block = block};
}

inline std::uint64_t file_bytes(const Identity& object) {
  return FileLayout(object.bytes, object.block).file_bytes();
}

/// A store that was made or opened; a failed test and null if it could not be.
inline std::unique_ptr<Store> expect_store(Result<std::unique_ptr<Store>> store) {
  EXPECT_TRUE(store.ok()) << store.status().text();
  return std::move(store.value());
}

/// Writes one block, to its end; returns errno.
inline int write_block(Store& store, std::uint64_t block, std::uint32_t value) {
  const std::uint64_t size = store.identity().block;
  const Buffer buffer(size);
  fill_block(buffer.data(), value, size);
  return write(store, block * size, buffer, size);
}

/// All blocks are as expected, read in one transfer.
inline ::testing::AssertionResult holds(Store& store, const Contents& expected) {
  const std::uint64_t size = store.identity().block;
  const Buffer all(expected.size() * size, 0xee);
  const int error = read(store, 0, all, expected.size() * size);
  if (error != 0)
    return ::testing::AssertionFailure() << std::strerror(error) << " " << store.damage(0, store.size());
  for (std::size_t b = 0; b < expected.size(); ++b) {
    if (!block_holds(all.data() + b * size, expected[b], size))
      return ::testing::AssertionFailure() << "block " << b << " is not " << expected[b];
  }
  return ::testing::AssertionSuccess();
}

}  // namespace shm::nvm
