// SPDX-License-Identifier: BSD-3-Clause
// A part of a table in memory of its own.
#pragma once

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <random>
#include <string>

#include "kv/hash.hpp"
#include "kv/shard.hpp"

namespace shm::kv {

/// ATOLL_TEST_SEED repeats a run.
inline std::uint64_t test_seed() {
  const char* text = std::getenv("ATOLL_TEST_SEED");
  const std::uint64_t seed = text == nullptr ? std::random_device()() : std::strtoull(text, nullptr, 10);
  std::printf("ATOLL_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

struct FreeLines {
  void operator()(std::byte* memory) const { std::free(memory); }
};
using Lines = std::unique_ptr<std::byte[], FreeLines>;

inline Lines zeros(std::size_t n) {
  n = (n + 63) / 64 * 64;
  auto* memory = static_cast<std::byte*>(std::aligned_alloc(64, n));
  std::memset(memory, 0, n);
  return Lines(memory);
}

/// One PE's, which is all there are.
class OneShard {
 public:
  explicit OneShard(const ShardLayout& made)
      : layout(made), memory(zeros(made.bytes)), shard(Mapped(memory.get()), layout) {
    shard.prepare(0);
  }

  /// Keys and values as strings; `hash`: what the key's is taken for.
  Key key(const std::string& text) const {
    return {hash(text.data(), text.size()), text.data(), static_cast<std::uint32_t>(text.size())};
  }
  Code store(KvOp op, const std::string& key_text, const std::string& value) const {
    ValueRoom result;
    return shard.execute({.op = op, .key = key(key_text), .value = value.data(), .n = value.size()}, result,
                         ~0U);
  }
  Code put(const std::string& k, const std::string& v) const { return store(KvOp::put, k, v); }
  Code insert(const std::string& k, const std::string& v) const { return store(KvOp::insert, k, v); }
  Code update(const std::string& k, const std::string& v) const { return store(KvOp::update, k, v); }
  Code remove(const std::string& k) const { return store(KvOp::remove, k, ""); }
  Code get(const std::string& k, std::string& v) const {
    std::string room(layout.value_bytes, '\0');
    std::uint64_t n = 0;
    const Code status = shard.get(key(k), room.data(), room.size(), n, ~0U);
    if (status == SHMEMX_KV_OK) v = room.substr(0, n);
    return status;
  }
  Code compare_swap(const std::string& k, std::size_t offset, const std::string& expected,
                    const std::string& desired) const {
    KvRequest request{.op = KvOp::compare_swap, .key = key(k), .value = desired.data(), .n = desired.size()};
    request.expected = expected.data();
    request.offset = offset;
    ValueRoom result;
    return shard.execute(request, result, ~0U);
  }
  Code add(KvOp op, const std::string& k, std::uint64_t more, std::uint64_t& old) const {
    KvRequest request{
        .op = op, .atomic = AtomicOp::add, .type = AtomicType::u64, .key = key(k), .value = &more};
    ValueRoom result{&old, 0};
    return shard.execute(request, result, ~0U);
  }

  SlotGroup group(std::uint64_t number) const {
    SlotGroup state;
    std::memcpy(&state, memory.get() + layout.group_at(number), sizeof state);
    return state;
  }
  /// Whether some lock is held that others spin for without end.
  bool is_locked() const {
    ShardHeader header;
    std::memcpy(&header, memory.get(), sizeof header);
    bool locked = header.lock != 0;
    for (std::uint64_t i = 0; i < layout.groups; ++i) locked |= group(i).version % 2 != 0;
    return locked;
  }

  std::uint64_t (*hash)(const void*, std::size_t) = [](const void* bytes, std::size_t n) {
    return hash_of(nullptr, bytes, n);
  };
  const ShardLayout layout;
  const Lines memory;
  const Shard<Mapped> shard;
};

}  // namespace shm::kv
