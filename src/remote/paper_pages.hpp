// SPDX-License-Identifier: BSD-3-Clause
// Pages on memory servers, swapped as a paper of 2017 has it: by threads of the library's own, one page that
// comes against one that leaves, while the threads of the program stand still.  To be compared with
// pages::LocalPages, whose place it takes.
//
//   a thread that faults    queues a request (internal queue), and waits
//   R3    com-thread        request by request: asks, receives in a buffer, sends a victim;
//                           suspends, copies into place, resumes
//   R58   com-thread        from both queues in turn: asks;  or suspends, copies into place, sends a victim,
//                           resumes
//         recv-thread       receives in one of four buffers, and queues that (external queue)
//   R77   com-thread        asks
//         recv-thread       suspends, receives in place, sends a victim, resumes
//
// To ask is a message; the server's answer, that the page is ready, is another; then the page is read.
// Each fault brings a page from its server, and, when the frames are full, sends another one to its own,
// whether it has been written to or not.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <thread>
#include <utility>

#include "base/backoff.hpp"
#include "base/mutex.hpp"
#include "base/status.hpp"
#include "pages/fault.hpp"
#include "pages/local_space.hpp"
#include "pages/local_statistics.hpp"
#include "remote/lent_pages.hpp"
#include "remote/lent_range.hpp"
#include "remote/paper_requests.hpp"
#include "remote/paper_table.hpp"

namespace shm::remote {

enum class SwapProtocol : std::uint8_t { r3, r58, r77 };

/// One at a time in a process.  Calls as those of pages::LocalPages, with the same contracts.
class PaperPages final : private pages::FaultResolver, private ReadyPages {
 public:
  struct Settings {
    SwapProtocol protocol = SwapProtocol::r77;
    std::size_t frames = 0;
  };
  static constexpr std::size_t kFewestFrames = 4;  // one of them is free

  /// Pages are those of `range`, which outlives it; they are reserved there before they are used.
  static Result<std::unique_ptr<PaperPages>> create(const LentRange& range, const Settings& settings);
  /// REQUIRES: no access and no call is under way, or follows.
  ~PaperPages();
  PaperPages(const PaperPages&) = delete;
  PaperPages& operator=(const PaperPages&) = delete;

  std::byte* base() const { return space_->base(); }
  std::size_t size() const { return space_->size(); }
  bool contains(const void* address) const { return space_->contains(address); }
  const pages::Windows& windows() const { return space_->windows(); }  // none
  std::size_t offset_of(const void* address) const { return space_->offset_of(address); }

  /// Puts memory below all frames.  See LocalSpace.
  void lay_out() const { space_->lay_out(); }

  /// The threads that bring pages: accesses before start() wait for it.  No access follows stop().
  void start();
  void stop();

  void forget(std::size_t offset, std::size_t n);
  /// The protocols make nothing of it.
  void overwrite(std::size_t /*offset*/, std::size_t /*n*/) {}
  /// By loads and stores: there is no way past the cache.
  void read(std::size_t offset, void* into, std::size_t n) const;
  void write(std::size_t offset, const void* from, std::size_t n) const;
  bool pin(std::size_t offset, std::size_t n, pages::Access access);
  bool unpin(std::size_t offset, std::size_t n);
  bool any_pinned(std::size_t offset, std::size_t n);

  const pages::LocalStatistics& statistics() const { return statistics_; }
  const pages::SwapStages& stages() const { return stages_; }

 private:
  PaperPages(const LentRange& range, const Settings& settings, std::unique_ptr<pages::LocalSpace> space);
  void resolve(std::size_t offset, pages::Access access) override;
  bool page_is_ready(int server, std::uint64_t number) override;

  void communicate();
  void receive_pages();
  bool serve_internal();
  bool serve_external();
  void ask(SwapRequest& request);
  SwapRequest* poll_for_ready(Backoff& backoff, WaitWatch& watch);
  void swap_r3();
  void receive_r58(SwapRequest& request);
  void apply_r58(SwapRequest& request);
  void swap_r77(SwapRequest& request);

  void receive(pages::PageNumber page, std::byte* into);
  void put_in_place(pages::PageNumber page, pages::FrameNumber frame);
  void send_victims(std::size_t free_frames);
  bool send_victim();
  void finish(SwapRequest& request, pages::FrameNumber frame);

  std::size_t page_bytes() const { return range_.shape().page_bytes; }
  Place place(pages::PageNumber page) const { return range_.place(page * page_bytes()); }
  std::byte* buffer(std::size_t number) const;

  const LentRange& range_;
  LentPages lent_;
  const Settings settings_;
  const std::unique_ptr<pages::LocalSpace> space_;  // frames, and the buffers behind them
  PaperTable table_;
  pages::LocalStatistics statistics_;
  pages::SwapStages stages_;

  SwapQueue internal_, external_;  // the paper's
  SwapQueue asked_, ready_;        // on their way between com-thread, server and who receives
  SwapBell com_bell_, recv_bell_;
  std::atomic<std::uint32_t> buffers_in_use_{0};  // R58: a bit for each
  std::atomic<bool> stopping_{false};
  std::thread com_thread_, recv_thread_;

  Mutex pins_mutex_;
  std::multimap<std::size_t, std::size_t> pins_ GUARDED_BY(pins_mutex_);  // sizes, by offset
  std::size_t pinned_ GUARDED_BY(pins_mutex_) = 0;                        // pages
};

}  // namespace shm::remote
