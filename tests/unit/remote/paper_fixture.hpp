// SPDX-License-Identifier: BSD-3-Clause
// What the tests of PaperPages share: an area of 64 pages and 8 frames on two servers of a loop network, and
// a record of what goes over it.
#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <memory>
#include <random>
#include <stdexcept>
#include <utility>
#include <vector>

#include "../coll/around_loop.hpp"
#include "remote/paper_pages.hpp"
#include "remote/paper_suspension.hpp"
#include "servers_job.hpp"

namespace shm::remote::test {

inline constexpr std::size_t kPaperPage = 4096, kPaperPages = 64, kPaperFrames = 8;

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kHandlersRunLate = true;
#else
inline constexpr bool kHandlersRunLate = false;
#endif

/// ATOLL_TEST_SEED repeats a run.
inline std::uint64_t seed_of_paper_run() {
  const char* text = std::getenv("ATOLL_TEST_SEED");
  const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 0) : std::random_device()();
  std::printf("ATOLL_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

/// Does something when a service thread is told to, as the threads that swap pages do.
template <class Body>
void on_service_thread(Body body) {
  start_service_thread("swaps", [&] {
    is_no_user_thread();
    body();
  }).join();
}

/// The link of a PE.  Allocates nothing after the start: threads that allocate may be suspended.
class RecordedLink final : public shm::test::AroundLoop {
 public:
  enum class What : std::uint8_t { request, ready, get, put };
  struct Event {
    What what;
    bool others_run;  // for transfers, as others_run has said
  };
  explicit RecordedLink(std::unique_ptr<Network> inner) : AroundLoop(std::move(inner)), events_(1 << 18) {}

  /// Asked as each transfer begins; null: it is not known.
  std::function<bool(What)> others_run;

  /// Of two servers, which are ranks 1 and 2: answers come as if the other one had sent them.
  std::atomic<bool> swaps_servers{false};

  void clear() { count_ = 0; }
  /// All since then.  REQUIRES: there was room for them; a test that runs for as long as others take does not
  /// ask.
  std::vector<Event> events() const {
    if (count_ > events_.size()) throw std::length_error("more events than there is room for");
    return {events_.begin(), events_.begin() + static_cast<std::ptrdiff_t>(count_.load())};
  }
  std::size_t count(What what) const {
    std::size_t n = 0;
    for (const Event& event : events()) n += event.what == what;
    return n;
  }

  Status connect(int me, int npes, AddressLookup lookup, MessageSink sink) override {
    return AroundLoop::connect(
        me, npes, lookup, [this, sink](int from, std::uint16_t id, const std::byte* message, std::size_t n) {
          if (id == static_cast<std::uint16_t>(LendMessage::ready)) note(What::ready);
          sink(swaps_servers ? 3 - from : from, id, message, n);
        });
  }

 private:
  void put(Channel* inner, const Put& put) override {
    note(What::put);
    AroundLoop::put(inner, put);
  }
  void sees_get(RemoteAddress) override { note(What::get); }
  void sees_message(std::uint16_t id) override {
    if (id == static_cast<std::uint16_t>(LendMessage::page)) note(What::request);
  }
  bool holds() const override { return false; }
  bool orders() const override { return true; }

  void note(What what) {
    const bool asks = others_run != nullptr && (what == What::get || what == What::put);
    const std::size_t index = count_++;
    if (index < events_.size()) events_[index] = {what, asks && others_run(what)};
  }

  std::vector<Event> events_;
  std::atomic<std::size_t> count_{0};
};

class PaperPagesTest : public ::testing::TestWithParam<SwapProtocol> {
 protected:
  PaperPagesTest() { pages->start(); }

  std::unique_ptr<Network> record(std::unique_ptr<Network> link) {
    auto recorded = std::make_unique<RecordedLink>(std::move(link));
    wire = recorded.get();
    return recorded;
  }
  std::unique_ptr<PaperPages> make() {
    EXPECT_TRUE(range.reserve(0, kPaperPages).ok());
    Result<std::unique_ptr<PaperPages>> made = PaperPages::create(range, {GetParam(), kPaperFrames});
    EXPECT_TRUE(made.ok()) << made.status().text();
    return std::move(made.value());
  }
  volatile std::uint64_t& word(std::size_t page, std::size_t i = 0) const {
    return reinterpret_cast<volatile std::uint64_t*>(pages->base() + page * kPaperPage)[i];
  }
  std::uint64_t faults() const { return pages->statistics().faults; }

  RecordedLink* wire = nullptr;
  ServersJob job{1, 2, std::size_t{4} << 20, 10,
                 [this](std::unique_ptr<Network> link) { return record(std::move(link)); }};
  LentRange range{job.servers(0), {kPaperPages * kPaperPage, 8 * kPaperPage, kPaperPage}};
  std::unique_ptr<PaperPages> pages = make();
};

inline std::string name_of(const ::testing::TestParamInfo<SwapProtocol>& info) {
  return info.param == SwapProtocol::r3 ? "R3" : info.param == SwapProtocol::r58 ? "R58" : "R77";
}
inline const auto kProtocols = ::testing::Values(SwapProtocol::r3, SwapProtocol::r58, SwapProtocol::r77);

}  // namespace shm::remote::test
