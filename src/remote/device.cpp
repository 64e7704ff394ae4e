// SPDX-License-Identifier: BSD-3-Clause
#include "remote/device.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <list>
#include <string>
#include <utility>
#include <vector>

#include "pages/buffer.hpp"

namespace shm::remote {
namespace {

using pages::Transfer;
using Clock = std::chrono::steady_clock;

class RemoteDevice final : public pages::Device {
 public:
  explicit RemoteDevice(std::unique_ptr<LentRange> range)
      : range_(std::move(range)),
        page_bytes_(range_->shape().page_bytes),
        stored_((range_->shape().bytes + page_bytes_ - 1) / page_bytes_) {}

  std::string describe() const override { return range_->servers().describe(); }

  Status reserve(std::uint64_t offset, std::uint64_t n) override {
    return range_->reserve(offset / page_bytes_, (offset + n + page_bytes_ - 1) / page_bytes_);
  }

  // Pages that are released in part stay.
  Status release(std::uint64_t offset, std::uint64_t n) override {
    const std::uint64_t first = (offset + page_bytes_ - 1) / page_bytes_, last = (offset + n) / page_bytes_;
    for (std::uint64_t page = first; page < last; ++page)
      stored_[page].store(false, std::memory_order_relaxed);
    if (first < last) range_->release(first, last);
    return {};
  }

  void start(Transfer& transfer) override {
    Moving& moving = moving_.emplace_back();
    moving.transfer = &transfer;
    moving.since = Clock::now();
    transfer.error = 0;
    for (std::size_t done = 0; done < transfer.n;) {
      const std::uint64_t at = transfer.offset + done;
      const std::uint64_t page = at / page_bytes_;
      const std::size_t n = std::min<std::size_t>(transfer.n - done, page_bytes_ - at % page_bytes_);
      move(moving, page, at, transfer.data + done, n);
      done += n;
    }
  }

  Transfer* finished() override {
    if (moving_.empty()) return nullptr;
    Transfer* ended = take_ended();
    if (ended == nullptr) {
      range_->servers().poll();
      ended = take_ended();
    }
    if (ended == nullptr) {
      range_->servers().look_for_silence(moving_.front().since, watch_);
    } else {
      watch_.end();
    }
    return ended;
  }

  std::size_t under_way() const override { return moving_.size(); }
  /// Memory outlives nothing.
  Status persist() override { return {}; }

 private:
  struct Moving {
    Transfer* transfer;
    Clock::time_point since;
    std::deque<Completion> pieces;            // deque: they stay where they are
    std::vector<pages::AlignedBuffer> zeros;  // written around the first piece of a page
  };

  // What was never written reads as zeros, and costs no transfer.
  void move(Moving& moving, std::uint64_t page, std::uint64_t at, std::byte* data, std::size_t n) {
    const bool stored = stored_[page].load(std::memory_order_relaxed);
    if (moving.transfer->kind == Transfer::Kind::read) {
      if (!stored) {
        std::memset(data, 0, n);
      } else {
        range_->servers().read(range_->place(at), data, n, moving.pieces.emplace_back());
      }
      return;
    }
    if (!stored) begin_page(moving, page);
    range_->servers().write(range_->place(at), data, n, moving.pieces.emplace_back());
  }

  // The first write to a page: what it does not reach becomes zeros, so far as the transfer leaves that open.
  void begin_page(Moving& moving, std::uint64_t page) {
    stored_[page].store(true, std::memory_order_relaxed);
    const std::uint64_t begin = page * page_bytes_, end = begin + page_bytes_;
    const std::uint64_t from = moving.transfer->offset, to = from + moving.transfer->n;
    write_zeros(moving, begin, std::max(begin, std::min(from, end)));
    write_zeros(moving, std::min(end, std::max(to, begin)), end);
  }

  void write_zeros(Moving& moving, std::uint64_t first, std::uint64_t last) {
    if (first >= last) return;
    pages::AlignedBuffer& zeros = moving.zeros.emplace_back(pages::aligned_buffer(last - first));
    std::memset(zeros.get(), 0, last - first);
    range_->servers().write(range_->place(first), zeros.get(), last - first, moving.pieces.emplace_back());
  }

  Transfer* take_ended() {
    const auto ended = std::ranges::find_if(
        moving_, [](const Moving& moving) { return std::ranges::all_of(moving.pieces, &Completion::done); });
    if (ended == moving_.end()) return nullptr;
    Transfer* transfer = ended->transfer;
    moving_.erase(ended);
    return transfer;
  }

  const std::unique_ptr<LentRange> range_;
  const std::uint64_t page_bytes_;
  std::vector<std::atomic<bool>> stored_;  // by page: something has been written there
  std::list<Moving> moving_;
  WaitWatch watch_;  // of who asks again and again what is finished
};

}  // namespace

std::unique_ptr<pages::Device> make_device(std::unique_ptr<LentRange> range) {
  return std::make_unique<RemoteDevice>(std::move(range));
}

}  // namespace shm::remote
