// SPDX-License-Identifier: BSD-3-Clause
// What the tests of LocalPages share: 64 pages, few of them in memory.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <thread>
#include <vector>

#include "memory_backing.hpp"
#include "pages/local_pages.hpp"
#include "pool_fixture.hpp"

namespace shm::pages {

inline constexpr std::size_t kLocalPages = 64, kLocalFrames = 8;

class LocalPagesFixture : public ::testing::Test {
 protected:
  static constexpr int kOfHandlerBefore = 77;
  static LocalPages::Settings settings() {
    LocalPages::Settings settings;
    settings.page_bytes = kPageBytes;
    settings.frames = kLocalFrames;
    settings.bytes = kLocalPages * kPageBytes;
    settings.ahead = 0;
    return settings;
  }
  std::unique_ptr<LocalPages> make(const LocalPages::Settings& settings) {
    Result<std::unique_ptr<LocalPages>> made = LocalPages::create(backing, settings);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return std::move(made.value());
  }
  /// Others, with such settings.
  template <class Change>
  void remake(Change change) {
    LocalPages::Settings other = settings();
    change(other);
    pages.reset();
    places = {};
    pages = make(other);
  }

  volatile std::uint64_t& word(PageNumber page, std::size_t i = 0) const {
    return reinterpret_cast<volatile std::uint64_t*>(place(page))[i];
  }
  /// Where a page is.
  std::byte* place(PageNumber page) const {
    std::byte* at = places[page];
    return at != nullptr ? at : pages->base() + page * kPageBytes;
  }
  /// Pages [first, first + count) are at `at` from now on.
  void open_window(PageNumber first, PageNumber count, std::byte* at) {
    const Status status = pages->add_window(first * kPageBytes, count * kPageBytes, at);
    ASSERT_TRUE(status.ok()) << status.text();
    for (PageNumber i = 0; i < count; ++i) places[first + i] = at + i * kPageBytes;
  }
  /// Stores to so many pages, the first ones.
  void fill(PageNumber count, std::uint64_t add = 100) const {
    for (PageNumber page = 0; page < count; ++page) {
      word(page) = page + add;
      word(page, 511) = page + add;
    }
  }
  /// Calls `load` in a forked child, which has none of the pages: its fault has to be that of the handler
  /// that was there before ours, see with_handler_before().
  template <class Load>
  static void load_in_child(Load load) {
    const pid_t child = fork();
    if (child == 0) _exit(load() ? 0 : 1);
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
    // What a sanitizer needs in the child may have got those addresses.
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) != 0) << status;
#else
    EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == kOfHandlerBefore) << status;
#endif
  }
  /// Others, made while a handler is there that exits with kOfHandlerBefore; while `use` is called.
  template <class Use>
  void with_handler_before(Use use) {
    pages.reset();
    struct sigaction action {
    }, before{};
    action.sa_handler = [](int) { _exit(kOfHandlerBefore); };
    sigaction(SIGSEGV, &action, &before);
    pages = make(settings());
    use();
    pages.reset();
    sigaction(SIGSEGV, &before, nullptr);
  }
  const LocalStatistics& counted() const { return pages->statistics(); }

  const std::uint64_t seed = seed_of_run();
  MemoryBacking backing{kPageBytes, kLocalPages, seed};
  std::array<std::byte*, kLocalPages> places{};  // of pages in windows
  std::unique_ptr<LocalPages> pages = make(settings());
};

}  // namespace shm::pages
