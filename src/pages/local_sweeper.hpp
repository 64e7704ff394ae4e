// SPDX-License-Identifier: BSD-3-Clause
// The thread behind LocalPages: it keeps frames at hand, so that who faults need not wait for a page to
// leave, and resolves faults of threads that are where they must not use the network.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <thread>

#include "pages/page_word.hpp"

namespace shm::pages {

/// Thread safety: start() and stop() by one thread at a time; the rest by any, and async-signal-safe.
class LocalSweeper {
 public:
  class Work {
   public:
    /// Makes as many frames ready as there should be.
    virtual void sweep() = 0;
    /// The page may be accessed so, or could be a moment ago.
    virtual void bring_mapped(PageNumber page, Access access) = 0;

   protected:
    ~Work() = default;
  };

  explicit LocalSweeper(Work& work) : work_(work) {}
  ~LocalSweeper() { stop(); }
  LocalSweeper(const LocalSweeper&) = delete;
  LocalSweeper& operator=(const LocalSweeper&) = delete;

  void start();
  void stop();
  bool runs() const { return runs_.load(std::memory_order_relaxed); }
  /// There is something to sweep.  Nothing happens if it does not run.
  void ring();
  /// Has the page mapped, and waits for it.  Returns false if it does not run, or has too much to do.
  bool ask(PageNumber page, Access access);

 private:
  struct Request {
    enum State : std::uint32_t { kFree, kTaken, kAsked, kServed, kDone };
    std::atomic<std::uint32_t> state{kFree};
    PageNumber page = 0;
    Access access = Access::read;
  };
  static constexpr std::size_t kRequests = 64;

  void run();
  void answer_all();

  Work& work_;
  std::thread thread_;
  std::atomic<bool> runs_{false};
  std::atomic<std::uint32_t> bell_{0}, asleep_{0};
  std::array<Request, kRequests> requests_;
};

}  // namespace shm::pages
