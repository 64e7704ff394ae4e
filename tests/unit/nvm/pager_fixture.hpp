// SPDX-License-Identifier: BSD-3-Clause
// Pagers without a runtime: each with a host that maps nothing and a device in memory.
#pragma once

#include <gtest/gtest.h>
#include <signal.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <concepts>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include "../pages/pool_fixture.hpp"
#include "base/wait_record.hpp"
#include "base/wait_report.hpp"
#include "nvm/pager.hpp"
#include "test_device.hpp"
#include "transfers.hpp"

namespace shm::nvm {

inline constexpr std::uint64_t kSegmentPages = 64;
inline constexpr std::size_t kPoolFrames = 16;
inline constexpr int kStranger = 9;  // a PE of another node

inline PoolShape shape_of(int node_size) {
  return {kPageBytes, kPoolFrames, kSegmentPages, node_size, node_size};
}

/// PEs up to kStranger: the first `node_size` are node 0, all others node 1.
inline Nodes nodes_of(int node_size) {
  Nodes nodes;
  nodes.members.resize(2);
  for (int pe = 0; pe <= kStranger; ++pe) nodes.add(pe < node_size ? 0 : 1);
  return nodes;
}

/// A word of the page in `frame`.
inline std::uint64_t& word_in(const Pool& pool, FrameNumber frame, std::size_t word) {
  return reinterpret_cast<std::uint64_t*>(pool.bytes(frame))[word];
}

inline FrameNumber free_frames(const Pool& pool) {
  const LockGuard guard(pool.head().lock);
  return pool.head().free.size;
}

/// What the device has of a page when a test begins, in all its words.
constexpr std::uint64_t page_of(PageNumber page) { return 1000 + page; }

/// Calls visit(answer, what it brings) for each answer of a message.
template <class Visit>
void for_answers(const std::byte* message, std::size_t n, Visit visit) {
  EXPECT_NE(n, 0U);
  for (std::size_t at = 0; at < n;) {
    Answer answer;
    std::memcpy(&answer, message + at, sizeof answer);
    visit(answer, message + at + sizeof answer);
    at += padded_to_words(sizeof answer + answer.n);
    EXPECT_LE(at, n);
  }
}

/// The time of a pager: that of the system until it is stopped.  Thread safety: any thread.
class TestClock {
 public:
  using Time = std::chrono::steady_clock::time_point;

  void stop() { stopped_ = std::chrono::steady_clock::now(); }
  void advance(std::chrono::steady_clock::duration by) { stopped_ = stopped_.load() + by; }
  Time now() const {
    const Time stopped = stopped_;
    return stopped == Time() ? std::chrono::steady_clock::now() : stopped;
  }

 private:
  std::atomic<Time> stopped_{Time()};
};

/// Records what it is asked for.
class FakeHost final : public Host {
 public:
  struct Mapping {
    enum What { none, to_read, to_write } what;
    PageNumber page;
    FrameNumber frame;
    std::uint64_t first_word;  // at that time
    bool operator==(const Mapping&) const = default;
  };
  struct Sent {
    int pe;
    Answer answer;
    std::vector<std::byte> data;

    std::uint64_t old() const {
      std::uint64_t word = 0;
      EXPECT_EQ(data.size(), sizeof word);
      if (data.size() == sizeof word) std::memcpy(&word, data.data(), sizeof word);
      return word;
    }
  };

  FakeHost(const Pool& pool, int me) : pool_(pool), me_(me) {}

  std::byte* segment() const { return reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40); }

  bool map(std::byte* at, std::size_t offset, std::size_t n, bool writable) override {
    if (!has_room()) return false;
    const auto frame = static_cast<FrameNumber>((offset - pool_.offset(0)) / kPageBytes);
    EXPECT_EQ(n, kPageBytes);
    EXPECT_EQ(offset, pool_.offset(frame));
    record({writable ? Mapping::to_write : Mapping::to_read, page_at(at), frame, word_in(pool_, frame, 0)});
    ++mapped;
    return true;
  }
  /// Recorded as another mapping of the frame.
  bool protect(std::byte* at, std::size_t n, bool writable) override {
    EXPECT_EQ(n, kPageBytes);
    const FrameNumber frame = pool_.word(page_at(at)).frame();
    record({writable ? Mapping::to_write : Mapping::to_read, page_at(at), frame, word_in(pool_, frame, 0)});
    return true;
  }
  bool unmap(std::byte* at, std::size_t n) override {
    EXPECT_EQ(n, kPageBytes);
    record({Mapping::none, page_at(at), kNoFrame, 0});
    --mapped;
    return true;
  }
  bool give_up_spares() override {
    most_mapped += spares;
    return spares.exchange(0) != 0;
  }
  void make_spares() override {}
  /// So many pages can be mapped at a time, and so many more for once.
  std::atomic<int> most_mapped{1 << 20}, spares{0};
  std::atomic<int> mapped{0};
  void answer(int pe, const std::byte* message, std::size_t n) override {
    ++answer_messages;
    for_answers(message, n, [&](const Answer& answer, const std::byte* brought) {
      const std::scoped_lock guard(mutex_);
      sent_.push_back({pe, answer, {brought, brought + answer.n}});
    });
    if (on_answer) on_answer();
  }
  std::atomic<int> answer_messages{0};
  /// Called in the round that answers.
  std::function<void()> on_answer;
  void send(int pe, const std::byte*, std::size_t) override { ADD_FAILURE() << "a message to PE " << pe; }
  void put(int pe, std::uint64_t, const std::byte*, std::size_t, Completion&) override {
    ADD_FAILURE() << "a page to PE " << pe;
  }
  bool messages_follow_puts() const override { return false; }
  void get(int pe, std::uint64_t, std::byte*, std::size_t, Completion&) override {
    ADD_FAILURE() << "a page from PE " << pe;
  }
  void drive() override {}
  bool will_answer_calls() const override { return drives; }
  /// Whether threads take messages off a network.
  std::atomic<bool> drives{false};
  std::chrono::steady_clock::time_point now() const override { return clock.now(); }

  TestClock clock;

  std::vector<Mapping> mappings() const {
    const std::scoped_lock guard(mutex_);
    return mappings_;
  }
  void wait_for_answers(std::size_t n) const {
    await("answers", [&] { return count_answers() >= n; });
  }
  std::size_t count_answers() const {
    const std::scoped_lock guard(mutex_);
    return sent_.size();
  }
  /// Once there are n.
  std::vector<Sent> answers(std::size_t n) const {
    wait_for_answers(n);
    const std::scoped_lock guard(mutex_);
    return sent_;
  }

 private:
  bool has_room() const {
    errno = ENOMEM;
    return mapped < most_mapped;
  }
  PageNumber page_at(const std::byte* at) const {
    return pool_.number(me_, static_cast<std::uint64_t>(at - segment()));
  }
  void record(const Mapping& mapping) {
    const std::scoped_lock guard(mutex_);
    mappings_.push_back(mapping);
  }

  const Pool& pool_;
  const int me_;
  mutable std::mutex mutex_;
  std::vector<Mapping> mappings_;
  std::vector<Sent> sent_;
};

/// A thread that makes rounds, whether it is served or not.
class RoundsForever final : public WaitingThread {
 public:
  bool served() const override { return is_served; }
  void stop_driving() override { ++stops; }

  std::atomic<bool> is_served{false};
  std::atomic<int> stops{0};
};

/// A request on its way to the pager of PE `to`.
class Asked {
 public:
  Asked(const Pool& pool, int node_rank, int to, PageRequest::Kind kind, Access access, PageNumber page,
        bool wakes = true)
      : ticket_(pool, node_rank) {
    PageRequest& request = ticket_.request();
    request.kind = kind;
    request.access = access;
    request.page = page;
    request.frame = kNoFrame;
    request.failed = false;
    ticket_.post(to, wakes);
  }
  /// What fill(request) says.
  template <std::invocable<PageRequest&> Fill>
  Asked(const Pool& pool, int node_rank, int to, Fill fill) : ticket_(pool, node_rank) {
    fill(ticket_.request());
    ticket_.post(to);
  }
  /// A command to the pager at `to`.
  Asked(const Pool& pool, int node_rank, int to, RangeCommand command, PageNumber page, PageNumber last)
      : ticket_(pool, node_rank) {
    fill_in(ticket_.request(), command, page, last);
    ticket_.post(to);
  }
  bool done() const { return ticket_.done(); }
  const PageRequest& wait() const {
    await("a pager", [this] { return done(); });
    return ticket_.request();
  }
  /// The same by a thread that has not woken the pager, and tries so often to make its rounds before it does.
  const PageRequest& wait(PagerRounds& rounds, std::uint64_t tries) const {
    RoundsForever self;
    for (; tries > 0 && !done(); --tries) {
      if (!rounds.make_round(self)) sched_yield();
    }
    if (!done()) rounds.hand_back();
    return wait();
  }

 private:
  const Ticket ticket_;
};

/// A PE's pager, its host and its device, whose pages have their original contents.
class Pe {
 public:
  /// Its rounds are shared if the device never blocks.
  explicit Pe(const Pool& pool, int me = 0, TestDeviceOptions options = {}, std::size_t ahead = 0)
      : host(pool, me), pool_(pool), me_(me) {
    options.size = kSegmentPages * kPageBytes;
    auto made = std::make_unique<TestDevice>(options);
    device = made.get();
    const Buffer page(kPageBytes);
    for (std::uint64_t at = 0; at < kSegmentPages; ++at) {
      std::fill_n(reinterpret_cast<std::uint64_t*>(page.data()), kPageBytes / 8, page_of(number(at)));
      EXPECT_EQ(write(*device, at * kPageBytes, page, kPageBytes), 0);
    }
    device->clear_records();
    pager = std::make_unique<Pager>(
        host, pool, nodes_, std::move(made),
        Pager::Settings{me, host.segment(), false, true, ahead, ReplacementKind::vgasnet});
    pager->start();
    pager->share_rounds();
  }

  PageNumber number(std::uint64_t page) const { return pool_.number(me_, page * kPageBytes); }

  Asked ask(PageRequest::Kind kind, PageNumber page, Access access = Access::read) const {
    return Asked(pool_, me_, me_, kind, access, page);
  }
  bool room(PageNumber page, PageNumber last) const {
    return !Asked(pool_, me_, me_, RangeCommand::room, page, last).wait().failed;
  }
  /// Whatever was posted before has been received.
  void ping() const { room(number(0), number(0)); }

  /// The page leaves as if its frame were needed: who needs one asks again, as a page that has just been
  /// mapped stays.
  void evict(PageNumber page) const {
    await("an eviction", [&] {
      tell_to_evict(page);
      ping();  // none of these is left over for when the page has come again
      return pool_.word(page).state() == PageState::invalid;
    });
  }
  void tell_to_evict(PageNumber page) const {
    pool_.requests_of(me_).queue.post_hint({page, RequestQueue::What::evict});
  }

  /// Transfers of that kind of a page that have ended.
  long count(Kind kind, PageNumber page) const {
    const auto all = device->records();
    return std::count_if(all.begin(), all.end(), [&](const TestDevice::Record& record) {
      return record.kind == kind && record.offset == pool_.offset_of(page) && record.n == kPageBytes;
    });
  }
  long count(Kind kind) const {
    const auto all = device->records();
    return std::count_if(all.begin(), all.end(),
                         [&](const TestDevice::Record& record) { return record.kind == kind; });
  }
  /// The device holds one transfer: lets it end.
  void end_one() const {
    await("a transfer", [this] { return device->end(1) == 1; });
  }

  FakeHost host;
  TestDevice* device;

 private:
  const Pool& pool_;
  const Nodes nodes_ = nodes_of(pool_.shape().node_size);
  const int me_;

 public:
  std::unique_ptr<Pager> pager;  // last: it uses the others
};

/// The thread of the only pager of this process.
inline pid_t pager_thread() {
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    std::string name;
    std::ifstream(thread.path() / "comm") >> name;
    if (name == "atoll-pager") return std::stoi(thread.path().filename());
  }
  throw std::runtime_error("there is no pager");
}

/// A latch, as nvm/heap takes it: by the word if the page is here, else from its pager.
class Latch {
 public:
  Latch(const Pool& pool, int node_rank, PageNumber page, Access access) : pool_(pool), page_(page) {
    frame_ = pool.word(page).latch(access);
    if (frame_ == kNoFrame)
      frame_ = Asked(pool, node_rank, pool.pe_of(page), PageRequest::Kind::latch, access, page).wait().frame;
    pool.frame(frame_).touched.store(1, std::memory_order_relaxed);
  }
  ~Latch() { pool_.word(page_).unlatch(); }
  Latch(const Latch&) = delete;
  Latch& operator=(const Latch&) = delete;

  FrameNumber frame() const { return frame_; }
  std::uint64_t& operator[](std::size_t word) const { return word_in(pool_, frame_, word); }

 private:
  const Pool& pool_;
  const PageNumber page_;
  FrameNumber frame_;
};

/// What a process says that is asked what it waits for.  REQUIRES: answer_wait_questions().
inline std::string answer_of_this_process() {
  testing::internal::CaptureStderr();
  raise(kAskSignal);
  return testing::internal::GetCapturedStderr();
}

}  // namespace shm::nvm
