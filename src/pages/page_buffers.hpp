// SPDX-License-Identifier: BSD-3-Clause
// Memory for pages on their way between a device and another node: so many buffers and no more.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

namespace shm::pages {

class PageBuffers;

struct GiveBuffer {
  PageBuffers* from;
  void operator()(std::byte* buffer) const;
};
/// A buffer of PageBuffers, which outlives it; may be null.
using PageBuffer = std::unique_ptr<std::byte[], GiveBuffer>;

/// Buffers of a page each, of any contents, that are used again and again: devices move few large pieces of
/// memory that is there faster than many that have to be made, so they lie in huge pages where there are any.
/// Thread safety: one thread at a time.
class PageBuffers {
 public:
  /// Memory is taken at the first take(): about this, but kFewest pages at least and kMost at most.
  static constexpr std::size_t kBytes = std::size_t{8} << 20;
  static constexpr std::size_t kFewest = 4, kMost = 64;

  explicit PageBuffers(std::size_t page_bytes);
  ~PageBuffers();
  PageBuffers(const PageBuffers&) = delete;
  PageBuffers& operator=(const PageBuffers&) = delete;

  /// Null if all are in use.  Ends the job if there is no memory.
  PageBuffer take();
  std::size_t size() const { return count_; }

 private:
  friend GiveBuffer;
  void make();

  const std::size_t page_bytes_, count_;
  void* memory_ = nullptr;  // `bytes_` of them
  std::size_t bytes_ = 0;
  std::vector<std::byte*> free_;  // the one that was used last is the next
};

inline void GiveBuffer::operator()(std::byte* buffer) const { from->free_.push_back(buffer); }

}  // namespace shm::pages
