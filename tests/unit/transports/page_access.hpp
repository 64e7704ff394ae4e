// SPDX-License-Identifier: BSD-3-Clause
// Runs a function at the moment when somebody touches a page: for what must be so just then, and for what
// another process may do just then.
#pragma once

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <functional>
#include <utility>

namespace shm::test {

/// Pages of zeros.  One object at a time.
class WatchedPages {
 public:
  explicit WatchedPages(std::size_t pages)
      : page_(static_cast<std::size_t>(sysconf(_SC_PAGESIZE))),
        size_(pages * page_),
        base_(static_cast<std::byte*>(
            mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
    watched_ = this;
    struct sigaction action {};
    action.sa_sigaction = on_access;
    action.sa_flags = SA_SIGINFO | SA_NODEFER;
    sigaction(SIGSEGV, &action, &before_);
  }
  ~WatchedPages() {
    sigaction(SIGSEGV, &before_, nullptr);
    munmap(base_, size_);
    watched_ = nullptr;
  }
  WatchedPages(const WatchedPages&) = delete;
  WatchedPages& operator=(const WatchedPages&) = delete;

  std::size_t page() const { return page_; }
  std::byte* at(std::size_t number) const { return base_ + number * page_; }

  /// The next access to the page has `run` called first, once, in a signal handler of the thread that makes
  /// it; then the page is as any other again.
  void at_next_access(std::size_t number, std::function<void()> run) {
    ASSERT_LT(used_, functions_.size());
    run_ = &functions_[used_++];
    *run_ = std::move(run);
    number_ = number;
    EXPECT_EQ(mprotect(at(number), page_, PROT_NONE), 0);
  }

 private:
  static void on_access(int, siginfo_t* what, void*) {
    const auto* address = static_cast<std::byte*>(what->si_addr);
    if (watched_->run_ == nullptr || address < watched_->at(watched_->number_) ||
        address >= watched_->at(watched_->number_ + 1)) {
      signal(SIGSEGV, SIG_DFL);  // a crash: returns to it
      return;
    }
    mprotect(watched_->at(watched_->number_), watched_->page_, PROT_READ | PROT_WRITE);
    (*std::exchange(watched_->run_, nullptr))();
  }

  inline static WatchedPages* watched_ = nullptr;
  const std::size_t page_, size_;
  std::byte* const base_;
  std::size_t number_ = 0;
  // Kept until the end, as who calls at_next_access() may be one of them; no list, as that may be in a
  // handler.
  std::array<std::function<void()>, 4> functions_;
  std::size_t used_ = 0;
  std::function<void()>* run_ = nullptr;  // at the next access
  struct sigaction before_ {};
};

}  // namespace shm::test
