// SPDX-License-Identifier: BSD-3-Clause
// How a shard is reached.  A memory has these members, with offsets from the shard's start:
//
//   load, store, add, compare_swap     words of 4 or 8 bytes; loads acquire, stores release
//   read, write                        bytes at a multiple of 8; what they touch is padded to 8
//   is                                 whether bytes are those that the caller has
//   look_again                         between looks at what another thread is about to change, of which
//                                      these were so many
//   kWordsAreQuick                     whether several loads are quicker than one read() of what is around
//   prefetch                           says that the line there will be read soon
//   expect                             says that several steps follow around there, which write or only read
//
// Readers of what others may be changing get anything; they look at the version afterwards.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shm::kv {

/// A shard that is mapped here.
class Mapped {
 public:
  static constexpr bool kWordsAreQuick = true;

  explicit Mapped(std::byte* shard) : shard_(shard) {}
  std::byte* at(std::uint64_t offset) const { return shard_ + offset; }

  template <class T>
  T load(std::uint64_t at) const {
    return __atomic_load_n(reinterpret_cast<const T*>(shard_ + at), __ATOMIC_ACQUIRE);
  }
  template <class T>
  void store(std::uint64_t at, T word) const {
    __atomic_store_n(reinterpret_cast<T*>(shard_ + at), word, __ATOMIC_RELEASE);
  }
  template <class T>
  T add(std::uint64_t at, T more) const {
    return __atomic_fetch_add(reinterpret_cast<T*>(shard_ + at), more, __ATOMIC_ACQ_REL);
  }
  template <class T>
  bool compare_swap(std::uint64_t at, T expected, T desired) const {
    return __atomic_compare_exchange_n(reinterpret_cast<T*>(shard_ + at), &expected, desired, false,
                                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
  }

  void prefetch(std::uint64_t at) const { __builtin_prefetch(shard_ + at); }
  void expect(std::uint64_t, bool) const {}

  [[gnu::always_inline]] void read(std::uint64_t at, void* to, std::size_t n) const {
    if (n > kInWords) return read_bulk(at, to, n);
    auto* out = static_cast<std::byte*>(to);
    for (; n >= sizeof(Word); at += sizeof(Word), out += sizeof(Word), n -= sizeof(Word)) {
      const Word word = load<Word>(at);
      std::memcpy(out, &word, sizeof word);
    }
    if (n == 0) return;
    const Word word = load<Word>(at);
    std::memcpy(out, &word, n);
  }

  void write(std::uint64_t at, const void* from, std::size_t n) const {
    if (n > kInWords) return write_bulk(at, from, n);
    const auto* in = static_cast<const std::byte*>(from);
    for (; n >= sizeof(Word); at += sizeof(Word), in += sizeof(Word), n -= sizeof(Word)) {
      Word word;
      std::memcpy(&word, in, sizeof word);
      store(at, word);
    }
    if (n == 0) return;
    Word word = 0;
    std::memcpy(&word, in, n);
    store(at, word);
  }

  [[gnu::always_inline]] bool is(std::uint64_t at, const void* bytes, std::size_t n) const {
    const auto* in = static_cast<const std::byte*>(bytes);
    for (; n >= sizeof(Word); at += sizeof(Word), in += sizeof(Word), n -= sizeof(Word)) {
      Word word;
      std::memcpy(&word, in, sizeof word);
      if (load<Word>(at) != word) return false;
    }
    if (n == 0) return true;
    const Word word = load<Word>(at);
    return std::memcmp(&word, in, n) == 0;
  }

  void look_again(unsigned looks) const;

 private:
  using Word = std::uint64_t;
#if defined(__SANITIZE_THREAD__)
  static constexpr std::size_t kInWords = SIZE_MAX;  // it must see that they are words, and knows no fences
#else
  static constexpr std::size_t kInWords = 256;
#endif

  void read_bulk(std::uint64_t at, void* to, std::size_t n) const;
  void write_bulk(std::uint64_t at, const void* from, std::size_t n) const;

  std::byte* shard_;
};

}  // namespace shm::kv
