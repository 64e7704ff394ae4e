// SPDX-License-Identifier: BSD-3-Clause
// Lists of tagged receives: two endpoints in this process.
#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <string>

#include "ofi/fabric.hpp"

namespace shm {
namespace {

constexpr std::uint64_t kAny = ~std::uint64_t{0};

struct Event {
  Arrival::Kind kind;
  Receive* receive;
  std::string text;
};

class MatcherTest : public ::testing::Test {
 protected:
  void open(std::size_t receives, bool reports_unmatched = true) {
    for (auto& end : ends_) {
      Result<std::unique_ptr<Matcher>> made = open_tagged({.provider = "tcp;ofi_rxm",
                                                           .one_host = true,
                                                           .receives = receives,
                                                           .reports_unmatched = reports_unmatched});
      ASSERT_TRUE(made.ok()) << made.status().text();
      end = std::move(made.value());
    }
    std::array<std::vector<std::byte>, 2> names = {ends_[0]->address().value(), ends_[1]->address().value()};
    for (auto& end : ends_) {
      ASSERT_LE(names[0].size(), kMaxMatcherAddress);
      ASSERT_TRUE(end->connect(2, [&](int pe) { return std::span<const std::byte>(names[pe]); }).ok());
    }
  }

  Receive& post(std::uint64_t tag, std::uint64_t ignore = 0) {
    Receive& receive = receives_.emplace_back();
    rooms_.emplace_back(kMostMatched);
    receive.tag = tag;
    receive.ignore = ignore;
    receive.room = rooms_.back().data();
    receive.room_bytes = kMostMatched;
    EXPECT_TRUE(ends_[1]->post(receive));
    return receive;
  }
  void send(std::uint64_t tag, const std::string& text) { ends_[0]->send(1, tag, text.data(), text.size()); }

  /// Polls until `n` more have come.
  void await(std::size_t n) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    for (n += events_.size(); events_.size() < n && std::chrono::steady_clock::now() < limit;) {
      ends_[0]->poll([](const Arrival&) { FAIL(); });
      ends_[1]->poll([&](const Arrival& arrival) {
        events_.push_back({arrival.kind, arrival.receive,
                           std::string(reinterpret_cast<const char*>(arrival.bytes), arrival.n)});
      });
    }
    ASSERT_EQ(events_.size(), n);
  }
  void expect(Arrival::Kind kind, const Receive* receive, const std::string& text) {
    await(1);
    EXPECT_EQ(events_.back().kind, kind);
    EXPECT_EQ(events_.back().receive, receive);
    EXPECT_EQ(events_.back().text, text);
  }

  std::deque<Receive> receives_;
  std::deque<std::vector<std::byte>> rooms_;
  std::vector<Event> events_;
  std::array<std::unique_ptr<Matcher>, 2> ends_;
};

TEST_F(MatcherTest, FindsTheReceiveOfATag) {
  open(64);
  std::array<Receive*, 20> receives{};
  for (std::size_t i = 0; i < receives.size(); ++i) receives[i] = &post(i);
  for (const std::size_t i : {7U, 0U, 19U}) {
    send(i, "for " + std::to_string(i));
    expect(Arrival::matched, receives[i], "for " + std::to_string(i));
  }
}

TEST_F(MatcherTest, TakesTheFirstThatFits) {
  open(64);
  Receive& wild = post(5U << 8, 0xff);
  Receive& exact = post((5U << 8) + 1);
  Receive& again = post((5U << 8) + 1);
  for (Receive* receive : {&wild, &exact, &again}) {
    send((5U << 8) + 1, "x");
    expect(Arrival::matched, receive, "x");
  }
}

TEST_F(MatcherTest, ReportsWhatNoReceiveFits) {
  open(64);
  Receive& other = post(1);
  for (int i = 0; i < 50; ++i) send(2, std::to_string(i));
  for (int i = 0; i < 50; ++i) expect(Arrival::unmatched, nullptr, std::to_string(i));
  send(1, "late");
  expect(Arrival::matched, &other, "late");
  send(kAny, std::string(kMostMatched, 'l'));
  expect(Arrival::unmatched, nullptr, std::string(kMostMatched, 'l'));
}

TEST_F(MatcherTest, KeepsItUntilAReceiveFitsIfToldSo) {
  open(64, false);
  send(3, "early");
  for (int i = 0; i < 2000; ++i) {
    for (auto& end : ends_) end->poll([](const Arrival&) { FAIL(); });
  }
  expect(Arrival::matched, &post(0, kAny), "early");
}

TEST_F(MatcherTest, ReportsWhatWasCancelled) {
  open(64);
  Receive& receive = post(1);
  Receive& stays = post(1);
  ends_[1]->cancel(receive);
  expect(Arrival::cancelled, &receive, "");
  send(1, "x");
  expect(Arrival::matched, &stays, "x");
  ends_[1]->cancel(stays);  // too late
  send(1, "y");
  expect(Arrival::unmatched, nullptr, "y");
}

TEST_F(MatcherTest, AListThatIsFullSaysSoAndStillReportsTheRest) {
  open(100);
  std::size_t n = 0;
  Receive one;
  std::byte room[8];
  one.room = room;
  one.room_bytes = sizeof room;
  one.tag = kAny;
  for (bool posted = true; posted && n < 10000; n += posted ? 1 : 0) {
    EXPECT_EQ(ends_[1]->has_room(), n < ends_[1]->most_receives());
    receives_.push_back(one);
    posted = ends_[1]->post(receives_.back());
  }
  EXPECT_GE(n, 100U);
  EXPECT_LT(n, 10000U);
  EXPECT_EQ(n, ends_[1]->most_receives());
  send(7, "rest");
  expect(Arrival::unmatched, nullptr, "rest");
  send(kAny, "1");
  await(1);
  EXPECT_EQ(events_.back().kind, Arrival::matched);
  EXPECT_TRUE(ends_[1]->post(*events_.back().receive));
  EXPECT_FALSE(ends_[1]->post(receives_.back()));
}

// Against a list of our own: what is first in it gets the message.
TEST_F(MatcherTest, DoesWhatAListDoes) {
  open(4096);
  std::mt19937_64 random(9);
  std::multimap<std::uint64_t, Receive*> list;  // by tag; equal ones in order
  for (int i = 0; i < 2000; ++i) {
    const std::uint64_t tag = random() % 50;
    switch (random() % 3) {
      case 0: list.emplace(tag, &post(tag)); break;
      case 1: {
        const auto at = list.find(tag);
        send(tag, std::to_string(i));
        expect(at == list.end() ? Arrival::unmatched : Arrival::matched,
               at == list.end() ? nullptr : at->second, std::to_string(i));
        if (at != list.end()) list.erase(at);
        break;
      }
      default: {
        const auto at = list.find(tag);
        if (at == list.end()) break;
        ends_[1]->cancel(*at->second);
        expect(Arrival::cancelled, at->second, "");
        list.erase(at);
      }
    }
  }
}

}  // namespace
}  // namespace shm
