// SPDX-License-Identifier: BSD-3-Clause
// Faults as the system raises them, on a segment whose pager is the test.
#include "pages/fault.hpp"

#include <gtest/gtest.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <functional>
#include <thread>

#include "base/stats.hpp"
#include "pool_fixture.hpp"

namespace shm::pages {
namespace {

constexpr std::uint64_t kWatchedPages = 64;
constexpr std::size_t kWatchedBytes = kWatchedPages * kPageBytes;

// Not by mmap(), which ThreadSanitizer takes for a write.
std::byte* map_raw(std::byte* at, std::size_t n, int protection, int flags, int file, std::size_t offset) {
  const long mapped = syscall(SYS_mmap, at, n, protection, flags, file, offset);
  return mapped == -1 ? nullptr : reinterpret_cast<std::byte*>(mapped);
}

// The system's, over a pool in a file of memory.
class RealSpace final : public AddressSpace {
 public:
  explicit RealSpace(int file) : file_(file) {}
  bool map(std::byte* at, std::size_t offset, std::size_t n, bool writable) override {
    ++maps;
    if (before_map) before_map();
    const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    return !fails && map_raw(at, n, protection, MAP_SHARED | MAP_FIXED, file_, offset) != nullptr;
  }
  bool protect(std::byte* at, std::size_t n, bool writable) override {
    ++protects;
    return mprotect(at, n, writable ? PROT_READ | PROT_WRITE : PROT_READ) == 0;
  }
  bool unmap(std::byte* at, std::size_t n) override {
    return map_raw(at, n, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) != nullptr;
  }

  std::atomic<int> maps{0}, protects{0};
  std::atomic<bool> fails{false};
  std::function<void()> before_map;

 private:
  const int file_;
};

class FaultTest : public ::testing::Test {
 protected:
  FaultTest() {
    watch_faults({segment, kWatchedBytes, &pool, 0, 0, nullptr, &mappings, &read_ahead});
    static_cast<void>(take_stats());
  }
  ~FaultTest() override {
    end_watch();
    munmap(segment, kWatchedBytes);
    munmap(base, shape.bytes());
    close(file);
  }

  /// The page is in the frame of its number, with its number in all words.
  void bring(PageNumber page, PageState state = PageState::exclusive) const {
    auto* words = reinterpret_cast<std::uint64_t*>(pool.bytes(frame_of(page)));
    std::fill_n(words, kPageBytes / sizeof *words, 100 + page);
    pool.word(page).open(state, frame_of(page));
  }
  static FrameNumber frame_of(PageNumber page) { return static_cast<FrameNumber>(page); }
  std::uint64_t load(PageNumber page) const { return *word(page); }
  volatile std::uint64_t* word(PageNumber page) const {
    return reinterpret_cast<std::uint64_t*>(segment + page * kPageBytes);
  }
  static std::uint64_t counted(Stat stat) { return read_stats()[static_cast<std::size_t>(stat)]; }
  RequestQueue& queue() const { return pool.requests_of(0).queue; }
  /// The next one that a thread waits for.
  PageRequest& await_request() const {
    RequestId id = 0;
    await("a request", [&] { return (id = queue().take_requests()) != 0; });
    return pool.requests_of(0).slots[slot_of(id)];
  }

  const PoolShape shape{kPageBytes, kWatchedPages, kWatchedPages, 1, 1};
  const int file = [this] {
    const int made = memfd_create("pool", MFD_CLOEXEC);
    EXPECT_EQ(ftruncate(made, static_cast<off_t>(shape.bytes())), 0);
    return made;
  }();
  std::byte* const base = map_raw(nullptr, shape.bytes(), PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  std::byte* const segment = map_raw(nullptr, kWatchedBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const Pool pool{base, shape};
  RealSpace space{file};
  Mappings mappings{space, pool, segment};
  ThreadReadAhead read_ahead{16};
};

TEST_F(FaultTest, APageThatIsHereNeedsNoPager) {
  bring(7);
  EXPECT_EQ(load(7), 107U);
  *word(7) = 1;
  EXPECT_EQ(reinterpret_cast<std::uint64_t*>(pool.bytes(7))[0], 1U);
  EXPECT_EQ(pool.word(7).state(), PageState::modified);
  EXPECT_EQ(space.maps, 1);
  EXPECT_EQ(space.protects, 1) << "and no second mapping";
  EXPECT_EQ(counted(Stat::page_faults), 2U);
  EXPECT_EQ(counted(Stat::page_fault_hits), 2U);
  EXPECT_TRUE(queue().empty());
  EXPECT_EQ(queue().rings(), 0U) << "who rings wakes the pager";
}

// What the thread cannot do the pager does; and it is told what comes behind.
TEST_F(FaultTest, OtherPagesAreThePagers) {
  for (const PageNumber page : {PageNumber{10}, PageNumber{11}}) bring(page);
  std::thread thread([&] {
    for (PageNumber page = 10; page < 13; ++page) EXPECT_EQ(load(page), 100 + page);
  });
  RequestQueue::Hint hint{};
  await("a hint", [&] { return queue().take_hint(hint); });
  EXPECT_EQ(hint.page, 12U);
  EXPECT_EQ(hint.what, RequestQueue::What::bring);
  EXPECT_EQ(hint.count, 1U);
  PageRequest& request = await_request();
  EXPECT_EQ(request.kind, PageRequest::Kind::map);
  EXPECT_EQ(request.page, 12U);
  EXPECT_EQ(request.access, Access::read);
  EXPECT_EQ(request.ahead.first, 13U);
  EXPECT_EQ(request.ahead.step, 1);
  EXPECT_EQ(request.ahead.count, 2U);
  bring(12);
  EXPECT_TRUE(mappings.raise(12, frame_of(12), MapState::to_read));
  complete(request);
  thread.join();
  EXPECT_EQ(counted(Stat::page_faults), 2U) << "the pager counts what it maps";
}

TEST_F(FaultTest, WithoutRoomForMappingsThePagerIsAsked) {
  bring(7);
  space.fails = true;
  std::thread thread([&] { EXPECT_EQ(load(7), 107U); });
  PageRequest& request = await_request();
  EXPECT_FALSE(pool.word(7).latched());
  space.fails = false;
  EXPECT_TRUE(mappings.raise(7, frame_of(7), MapState::to_read));
  complete(request);
  thread.join();
  EXPECT_EQ(counted(Stat::page_fault_hits), 0U);
}

// Where pages are used in sequence some are mapped with the one that has faulted.
TEST_F(FaultTest, PagesOfASequenceAreMappedTogether) {
  for (PageNumber page = 0; page < kWatchedPages; ++page) bring(page);
  for (PageNumber page = 0; page < 32; ++page) EXPECT_EQ(load(page), 100 + page);
  // 0, 1, 2 and 3, then 5, 8, 13, 18, 23 and 28.
  EXPECT_EQ(counted(Stat::page_fault_hits), 10U);
  EXPECT_EQ(space.maps, 33) << "each once, and one behind";
  for (PageNumber page = 0; page < 33; ++page) {
    EXPECT_EQ(pool.frame(frame_of(page)).touched.load(), kTouched);
    EXPECT_EQ(pool.word(page).state(), PageState::exclusive) << "clean";
  }
  EXPECT_EQ(queue().rings(), 0U) << "all that comes next is here";
}

TEST_F(FaultTest, AStoreBehindALoadIsNoOtherUse) {
  for (PageNumber page = 0; page < kWatchedPages; ++page) bring(page);
  for (PageNumber page = 0; page < 32; ++page) {
    EXPECT_EQ(load(page), 100 + page);
    *word(page) = page;
  }
  EXPECT_EQ(counted(Stat::page_fault_hits), 10U + 32U);
  EXPECT_EQ(space.maps, 33);
  EXPECT_EQ(space.protects, 32);
}

TEST_F(FaultTest, PagesUsedHereAndThereAreMappedAlone) {
  for (PageNumber page = 0; page < kWatchedPages; ++page) bring(page);
  const PageNumber order[] = {9, 30, 4, 51, 22, 13, 60, 40};
  for (const PageNumber page : order) EXPECT_EQ(load(page), 100 + page);
  EXPECT_EQ(space.maps, 8);
}

std::function<void()> on_signal;

class SignalTest : public FaultTest {
 protected:
  SignalTest() {
    struct sigaction action {};
    action.sa_handler = [](int) { on_signal(); };
    sigaction(SIGUSR1, &action, &before_);
  }
  ~SignalTest() override { sigaction(SIGUSR1, &before_, nullptr); }
  void SetUp() override {
#if defined(__SANITIZE_THREAD__)
    GTEST_SKIP() << "ThreadSanitizer hands signals out when it sees fit";
#endif
  }

 private:
  struct sigaction before_;
};

// It would wait for the very thread that it has interrupted.
TEST_F(SignalTest, NoHandlerRunsWhileAPageIsBeingMapped) {
  bring(7);
  std::atomic<bool> mapping{false};
  std::uint64_t seen = 0;
  on_signal = [&] {
    EXPECT_FALSE(mapping);
    if (!mapping) seen = load(7);
  };
  space.before_map = [&] {
    mapping = true;
    raise(SIGUSR1);
    mapping = false;
  };
  EXPECT_EQ(load(7), 107U);
  EXPECT_EQ(seen, 107U);
  EXPECT_EQ(space.maps, 1);
}

TEST_F(SignalTest, AHandlerMayFaultWhileItsThreadWaitsInAFault) {
  bring(7);
  std::atomic<std::uint64_t> seen{0};
  on_signal = [&] { seen = load(7); };
  std::thread thread([&] { EXPECT_EQ(load(9), 109U); });
  PageRequest& request = await_request();
  pthread_kill(thread.native_handle(), SIGUSR1);
  await("the handler", [&] { return seen == 107; });
  bring(9);
  EXPECT_TRUE(mappings.raise(9, frame_of(9), MapState::to_read));
  complete(request);
  thread.join();
  EXPECT_EQ(counted(Stat::page_fault_hits), 1U);
}

}  // namespace
}  // namespace shm::pages
