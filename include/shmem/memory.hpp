// SPDX-License-Identifier: BSD-3-Clause
// Part of shmem.hpp: symmetric memory that belongs to an object.
//
// Making such an object is collective over the world, with the same arguments, as shmem_malloc is.  Its end
// is not: this PE uses the block no more, and others may.  The memory is free again when all PEs have ended
// their objects and the next one of any type is made, or with the library.  close() frees it at once and is
// collective; once a PE's object has ended nobody may call it for that block.  An object may outlive
// shmem_finalize; but all must have ended before shmem_init starts the library once more.
//
// Ending an object, and using the memory, is for any thread; what is collective, and moves, for one at a
// time.
#ifndef SHMEM_MEMORY_HPP
#define SHMEM_MEMORY_HPP

#include <algorithm>
#include <cstring>
#include <mutex>
#include <span>
#include <utility>
#include <vector>

#include "concepts.hpp"

namespace shmem {

namespace detail {

/// The blocks of this PE's objects, in the order in which all PEs made them, and which of them it has left.
class blocks {
 public:
  static blocks& of_this_pe() {
    static blocks* const only = new blocks;  // objects may end after all static ones
    return *only;
  }

  /// Collective.  What `allocate` returns, after the blocks that all have left are free.
  template <class Allocate>
  void* make(Allocate allocate) {
    free_left();
    void* const made = allocate();
    const std::lock_guard hold(lock_);
    if (made != nullptr) blocks_.push_back({made, false});
    return made;
  }

  /// Not collective.
  void leave(void* at) noexcept {
    const std::lock_guard hold(lock_);
    for (entry& each : blocks_)
      if (each.at == at) each.left = true;
  }

  /// Collective.
  void close(void* at) {
    {
      const std::lock_guard hold(lock_);
      std::erase_if(blocks_, [at](const entry& each) { return each.at == at; });
    }
    ::shmem_free(at);
  }

 private:
  struct entry {
    void* at;
    bool left;
  };
  static constexpr std::size_t kWords = 4, kBits = 8 * sizeof(unsigned long), kAtOnce = kWords * kBits;
  static constexpr unsigned long kMark = 0xb10c5;

  // The lock is not held while this PE waits for others: theirs may wait for what it does after leave().
  void free_left() {
    if (!has_words()) return;
    std::vector<void*> to_free;
    const std::size_t n = size();
    for (std::size_t from = 0; from < n; from += kAtOnce) {
      unsigned long *const mine = words_, *const all = words_ + kWords;
      const std::size_t to = std::min(n, from + kAtOnce);
      mark_left(mine, from, to);
      ::shmem_and_reduce(SHMEM_TEAM_WORLD, all, mine, kWords);
      const std::lock_guard hold(lock_);
      for (std::size_t i = from; i < to; ++i)
        if ((all[(i - from) / kBits] >> (i - from) % kBits & 1) != 0) to_free.push_back(blocks_[i].at);
      if (to < n) ::shmem_team_sync(SHMEM_TEAM_WORLD);  // all have read it
    }
    for (void* at : to_free) close(at);
  }

  void mark_left(unsigned long* bits, std::size_t from, std::size_t to) {
    std::fill_n(bits, kWords, 0UL);
    const std::lock_guard hold(lock_);
    for (std::size_t i = from; i < to; ++i)
      bits[(i - from) / kBits] |= static_cast<unsigned long>(blocks_[i].left) << (i - from) % kBits;
  }

  std::size_t size() {
    const std::lock_guard hold(lock_);
    return blocks_.size();
  }

  // Where PEs agree.  A library that was started once more has none, and none of the blocks: its heap is new,
  // so that the mark is gone.
  bool has_words() {
    if (words_ != nullptr && ::shmem_addr_accessible(words_, ::shmem_my_pe()) != 0 &&
        words_[2 * kWords] == kMark)
      return true;
    {
      const std::lock_guard hold(lock_);
      blocks_.clear();
    }
    words_ = static_cast<unsigned long*>(
        ::shmem_malloc_with_hints((2 * kWords + 1) * sizeof *words_, SHMEM_MALLOC_ATOMICS_REMOTE));
    if (words_ != nullptr) words_[2 * kWords] = kMark;
    return words_ != nullptr;
  }

  std::mutex lock_;
  std::vector<entry> blocks_;
  unsigned long* words_ = nullptr;
};

/// Owns a block of n elements.
template <element T>
class block {
 public:
  using element_type = T;
  using value_type = T;
  using size_type = std::size_t;
  using iterator = T*;
  using const_iterator = const T*;

  block() = default;
  block(block&& other) noexcept
      : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}
  /// The block that this has is left.
  block& operator=(block&& other) noexcept {
    if (this != &other) {
      leave();
      data_ = std::exchange(other.data_, nullptr);
      size_ = std::exchange(other.size_, 0);
    }
    return *this;
  }
  ~block() { leave(); }

  /// Collective, unless there is no block or the library is not running.
  void close() {
    T* const given_up = std::exchange(data_, nullptr);
    size_ = 0;
    if (given_up != nullptr && running()) blocks::of_this_pe().close(given_up);
  }

  /// Whether there is memory: not where there was no room, on all PEs, or after a move.
  explicit operator bool() const { return data_ != nullptr; }

  // A contiguous range of this PE's own elements, whose addresses are those of the others' as well.
  [[nodiscard]] T* data() { return data_; }
  [[nodiscard]] const T* data() const { return data_; }
  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] T* begin() { return data_; }
  [[nodiscard]] T* end() { return data_ + size_; }
  [[nodiscard]] const T* begin() const { return data_; }
  [[nodiscard]] const T* end() const { return data_ + size_; }
  [[nodiscard]] T& operator[](std::size_t i) {
    assert(i < size_);
    return data_[i];
  }
  [[nodiscard]] const T& operator[](std::size_t i) const {
    assert(i < size_);
    return data_[i];
  }
  /// n elements from the one with this index on.
  [[nodiscard]] std::span<T> part(std::size_t from, std::size_t n) {
    assert(from <= size_ && n <= size_ - from);
    return {data_ + from, n};
  }
  [[nodiscard]] std::span<const T> part(std::size_t from, std::size_t n) const {
    assert(from <= size_ && n <= size_ - from);
    return {data_ + from, n};
  }

  /// The elements of another PE, to load and store; of none, if they cannot be reached so (shmem_ptr).
  [[nodiscard]] std::span<T> of(int pe) {
    T* const theirs = data_ == nullptr ? nullptr : static_cast<T*>(::shmem_ptr(data_, pe));
    return {theirs, theirs == nullptr ? 0 : size_};
  }

 protected:
  template <class Allocate>
  void make(std::size_t n, Allocate allocate) {
    if (n == 0) return;
    const std::size_t bytes = n > SIZE_MAX / sizeof(T) ? SIZE_MAX : n * sizeof(T);
    data_ = static_cast<T*>(blocks::of_this_pe().make([&] { return allocate(bytes); }));
    if (data_ != nullptr) size_ = n;
  }

 private:
  void leave() noexcept {
    if (data_ != nullptr && running()) blocks::of_this_pe().leave(data_);
    data_ = nullptr;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace detail

/// Where a block is best, for | with each other.
enum class hint : long {
  atomics = SHMEM_MALLOC_ATOMICS_REMOTE,
  signals = SHMEM_MALLOC_SIGNAL_REMOTE,
  nvm = SHMEMX_MALLOC_NVM
};
constexpr hint operator|(hint a, hint b) {
  return static_cast<hint>(static_cast<long>(a) | static_cast<long>(b));
}

/// An array on each PE, of the same size and at the same symmetric address.
template <element T>
class symmetric_array : public detail::block<T> {
 public:
  symmetric_array() = default;

  /// Collective: n elements of zero bytes, on all PEs by the time anybody has the object.
  explicit symmetric_array(std::size_t n) {
    this->make(n, [](std::size_t bytes) -> void* {
      if constexpr (alignof(T) <= alignof(std::max_align_t)) {
        return ::shmem_calloc(1, bytes);
      } else {
        void* const found = ::shmem_align(alignof(T), bytes);
        if (found != nullptr) std::memset(found, 0, bytes);
        if (found != nullptr) ::shmem_barrier_all();
        return found;
      }
    });
  }

  /// Collective: n elements whose values are undefined.
  symmetric_array(std::size_t n, hint where) requires(alignof(T) <= alignof(std::max_align_t)) {
    this->make(
        n, [where](std::size_t bytes) { return ::shmem_malloc_with_hints(bytes, static_cast<long>(where)); });
  }
};

/// A named array on each PE that survives the job (shmemx_nvm_open): it lies in the folder of the NVM heap,
/// and is as its last persist() has left it, or of zeros.  None (operator bool), on all PEs, where it cannot
/// be opened; a line on stderr says why.
template <element T>
class nvm_array : public detail::block<T> {
 public:
  nvm_array() = default;

  /// Collective.
  nvm_array(const char* name, std::size_t n) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    this->make(n, [name](std::size_t bytes) { return ::shmemx_nvm_open(name, bytes); });
  }

  /// Collective: all of it is durable, on all PEs or on none.  Nobody may write to it meanwhile.
  void persist() { ::shmemx_nvm_persist(this->data()); }
};

/// What nvm_advise says of memory (shmemx_nvm_advise).
enum class advice : int {
  overwrite = SHMEMX_NVM_OVERWRITE,
  sequential = SHMEMX_NVM_SEQUENTIAL,
  will_need = SHMEMX_NVM_WILLNEED,
  dont_need = SHMEMX_NVM_DONTNEED
};
template <elements R>
void nvm_advise(R&& range, advice what) {
  ::shmemx_nvm_advise(std::ranges::data(range), detail::size(range) * sizeof(element_of<R>),
                      static_cast<int>(what));
}

/// Keeps pages of this PE's own part where they are (shmemx_nvm_pin), until its end.
class nvm_pin {
 public:
  enum class mode : int { read = SHMEMX_NVM_READ, write = SHMEMX_NVM_WRITE };

  template <elements R>
  nvm_pin(R&& range, mode how)
      : at_(std::ranges::data(range)), bytes_(detail::size(range) * sizeof(element_of<R>)) {
    if (::shmemx_nvm_pin(at_, bytes_, static_cast<int>(how)) != 0) at_ = nullptr;
  }
  nvm_pin(nvm_pin&& other) noexcept : at_(std::exchange(other.at_, nullptr)), bytes_(other.bytes_) {}
  nvm_pin& operator=(nvm_pin&& other) noexcept {
    std::swap(at_, other.at_);
    std::swap(bytes_, other.bytes_);
    return *this;
  }
  ~nvm_pin() {
    if (at_ != nullptr && detail::running()) ::shmemx_nvm_unpin(at_, bytes_);
  }

  /// Not where too much would be pinned.
  explicit operator bool() const { return at_ != nullptr; }

 private:
  const void* at_;
  std::size_t bytes_;
};

}  // namespace shmem

#endif
