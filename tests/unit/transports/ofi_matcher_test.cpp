// SPDX-License-Identifier: BSD-3-Clause
// Lists of tagged receives: two endpoints in this process.
#include <gtest/gtest.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_errno.h>

#include <array>
#include <chrono>
#include <cstring>
#include <deque>
#include <map>
#include <random>
#include <string>

#include "base/fatal.hpp"
#include "base/stats.hpp"
#include "fabric_faults.hpp"
#include "ofi/fabric.hpp"

namespace shm {
namespace {

using test::FabricCall;
using test::FabricFaults;

constexpr std::uint64_t kAny = ~std::uint64_t{0};

struct Event {
  Arrival::Kind kind;
  TaggedReceive* receive;
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

  TaggedReceive& post(std::uint64_t tag, std::uint64_t ignore = 0) {
    TaggedReceive& receive = receives_.emplace_back();
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
  void expect(Arrival::Kind kind, const TaggedReceive* receive, const std::string& text) {
    await(1);
    EXPECT_EQ(events_.back().kind, kind);
    EXPECT_EQ(events_.back().receive, receive);
    EXPECT_EQ(events_.back().text, text);
  }

  std::deque<TaggedReceive> receives_;
  std::deque<std::vector<std::byte>> rooms_;
  std::vector<Event> events_;
  std::array<std::unique_ptr<Matcher>, 2> ends_;
};

TEST_F(MatcherTest, FindsTheReceiveOfATag) {
  open(64);
  EXPECT_EQ(ends_[1]->describe(),
            "libfabric tcp;ofi_rxm, " + std::to_string(ends_[1]->most_receives()) + " tagged receives");
  std::array<TaggedReceive*, 20> receives{};
  for (std::size_t i = 0; i < receives.size(); ++i) receives[i] = &post(i);
  for (const std::size_t i : {7U, 0U, 19U}) {
    send(i, "for " + std::to_string(i));
    expect(Arrival::matched, receives[i], "for " + std::to_string(i));
  }
}

TEST_F(MatcherTest, TakesTheFirstThatFits) {
  open(64);
  TaggedReceive& wild = post(5U << 8, 0xff);
  TaggedReceive& exact = post((5U << 8) + 1);
  TaggedReceive& again = post((5U << 8) + 1);
  for (TaggedReceive* receive : {&wild, &exact, &again}) {
    send((5U << 8) + 1, "x");
    expect(Arrival::matched, receive, "x");
  }
}

TEST_F(MatcherTest, ReportsWhatNoReceiveFits) {
  open(64);
  TaggedReceive& other = post(1);
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
  TaggedReceive& receive = post(1);
  TaggedReceive& stays = post(1);
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
  TaggedReceive one;
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
  std::multimap<std::uint64_t, TaggedReceive*> list;  // by tag; equal ones in order
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

TEST_F(MatcherTest, ACancelledReceiveMakesRoomForAnother) {
  open(100);
  while (ends_[1]->has_room()) post(1);
  ends_[1]->cancel(receives_.front());
  expect(Arrival::cancelled, &receives_.front(), "");
  EXPECT_TRUE(ends_[1]->has_room());
  EXPECT_TRUE(ends_[1]->post(receives_.front()));
  EXPECT_FALSE(ends_[1]->has_room());
}

// Where the provider has no room, or reports errors.
class MatcherFaultsTest : public MatcherTest {
 protected:
  void SetUp() override {
    open(64);
    TaggedReceive& receive = post(kAny);  // both are connected when this has come
    send(kAny, "connected");
    expect(Arrival::matched, &receive, "connected");
  }
  void TearDown() override {
    for (auto& end : ends_) end.reset();
  }
  static void nothing(const Arrival&) {}
  static auto error() { return ::testing::ExitedWithCode(kErrorExit); }

  FabricFaults faults_;
};

TEST_F(MatcherFaultsTest, AMessageStaysBehindOneThatHadNoRoom) {
  faults_.fail(FabricCall::tagged_inject, -FI_EAGAIN);
  send(1, "first");
  EXPECT_FALSE(ends_[0]->may_block());
  send(2, "second");
  expect(Arrival::unmatched, nullptr, "first");
  expect(Arrival::unmatched, nullptr, "second");
  ends_[0]->poll(nothing);
}

TEST_F(MatcherFaultsTest, MessagesThatHadNoRoomKeepTheirOrder) {
  faults_.fail(FabricCall::tagged_inject, -FI_EAGAIN, 2);
  for (const char* text : {"first", "second", "third"}) send(1, text);
  EXPECT_TRUE(ends_[0]->poll(nothing));  // the first is refused once more
  for (const char* text : {"first", "second", "third"}) expect(Arrival::unmatched, nullptr, text);
}

TEST_F(MatcherFaultsTest, APeWithoutRoomHoldsUpNoOther) {
  const auto send_to = [&](int pe, const char* text) { ends_[0]->send(pe, 3, text, std::strlen(text)); };
  send_to(0, "to itself, which makes the connection");
  while (!ends_[0]->poll(nothing)) {
  }
  faults_.fail(FabricCall::tagged_inject, -FI_EAGAIN, 2);
  send_to(1, "first");
  send_to(0, "to itself");
  std::size_t own = 0;
  while (own == 0) ends_[0]->poll([&](const Arrival& arrival) { own = arrival.n; });
  EXPECT_EQ(own, std::strlen("to itself"));
  expect(Arrival::unmatched, nullptr, "first");
}

TEST_F(MatcherFaultsTest, AReceiveWithoutRoomIsNotPosted) {
  TaggedReceive receive;
  std::byte room[8];
  receive.room = room;
  receive.room_bytes = sizeof room;
  faults_.fail(FabricCall::tagged_recv, -FI_EAGAIN);
  EXPECT_FALSE(ends_[1]->post(receive));
  EXPECT_TRUE(ends_[1]->post(receive));
}

// A stranger knows where an end is, and not its cookie.
class MatcherStrangers : public MatcherTest {
 protected:
  void SetUp() override {
    open(64);
    stranger_ = std::move(open_tagged({.provider = "tcp;ofi_rxm", .one_host = true, .receives = 64}).value());
    std::vector<std::byte> guessed = ends_[1]->address().value();
    guessed[0] ^= std::byte{1};
    ASSERT_TRUE(stranger_->connect(1, [&](int) { return std::span<const std::byte>(guessed); }).ok());
    before_ = refused();
  }
  void TearDown() override {
    stranger_.reset();
    for (auto& end : ends_) end.reset();
  }
  void disturb(std::uint64_t tag, const std::string& text) {
    stranger_->send(0, tag, text.data(), text.size());
  }
  static std::uint64_t refused() {
    return detail::stat_counters[static_cast<std::size_t>(Stat::refused_messages)].load();
  }
  void await_refused(std::uint64_t n) {
    const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (refused() < before_ + n && std::chrono::steady_clock::now() < limit)
      for (Matcher* end : {stranger_.get(), ends_[1].get()}) end->poll([](const Arrival&) { FAIL(); });
    EXPECT_EQ(refused(), before_ + n);
  }

  FabricFaults faults_;
  std::unique_ptr<Matcher> stranger_;
  std::uint64_t before_ = 0;
};

TEST_F(MatcherStrangers, NothingOfThemIsReported) {
  TaggedReceive& receive = post(1);
  TaggedReceive& other = post(2);
  disturb(1, "takes the receive");
  disturb(1, "");
  disturb(3, "fits none");
  disturb(3, std::string(kMostMatched, 'x'));
  await_refused(4);
  send(1, "of a PE");
  expect(Arrival::matched, &receive, "of a PE");
  send(2, "too");
  expect(Arrival::matched, &other, "too");
  send(3, "and this");
  expect(Arrival::unmatched, nullptr, "and this");
  EXPECT_EQ(refused(), before_ + 4);
}

// Where they take all receives.
TEST_F(MatcherStrangers, EachReceiveHasItsPlaceAgain) {
  const std::size_t most = ends_[1]->most_receives();
  for (std::size_t i = 0; i < most; ++i) post(i);
  EXPECT_FALSE(ends_[1]->has_room());
  for (std::size_t i = 0; i < most; ++i) disturb(i, std::string(100, 'x'));
  await_refused(most);
  EXPECT_FALSE(ends_[1]->has_room());
  for (std::size_t i = 0; i < most; ++i) {
    send(i, std::to_string(i));
    expect(Arrival::matched, &receives_[i], std::to_string(i));
  }
}

TEST_F(MatcherStrangers, AReceiveThatTheyTookCanBeCancelled) {
  TaggedReceive& receive = post(1);
  disturb(1, "takes it");
  // It stays without a place at the provider.
  faults_.fail_always(FabricCall::tagged_recv, -FI_EAGAIN);
  await_refused(1);
  EXPECT_FALSE(ends_[1]->may_block());
  ends_[1]->cancel(receive);
  expect(Arrival::cancelled, &receive, "");
  EXPECT_TRUE(ends_[1]->has_room());
}

// Longer than the receive.
TEST_F(MatcherStrangers, WhatIsTooLongIsRefusedToo) {
  std::byte room[8];
  TaggedReceive& receive = receives_.emplace_back();
  receive.tag = 5;
  receive.room = room;
  receive.room_bytes = sizeof room;
  EXPECT_TRUE(ends_[1]->post(receive));
  disturb(5, std::string(1000, 'x'));
  await_refused(1);
  send(5, "12345678");
  expect(Arrival::matched, &receive, "12345678");
}

TEST_F(MatcherFaultsTest, AsksAgainIfThereWasNoRoomToAsk) {
  faults_.fail(FabricCall::tagged_peek, -FI_EAGAIN, 5);
  send(1, "found later");
  expect(Arrival::unmatched, nullptr, "found later");
}

TEST_F(MatcherFaultsTest, AnErrorThatAnotherThreadHasTakenIsNone) {
  faults_.fail(FabricCall::cq_read, -FI_EAVAIL);
  faults_.fail(FabricCall::cq_readerr, -FI_EAGAIN);
  EXPECT_FALSE(ends_[1]->poll(nothing));
  send(1, "goes on");
  expect(Arrival::unmatched, nullptr, "goes on");
}

TEST_F(MatcherFaultsTest, OtherErrorsEndTheJob) {
  fi_cq_err_entry lost{};
  lost.err = FI_EIO;
  lost.op_context = &receives_;
  EXPECT_EXIT(faults_.report(lost); ends_[1]->poll(nothing), error(),
                                    "libfabric tcp;ofi_rxm: a tagged message was lost: Input/output error");
  lost.err = FI_ENOMSG;  // says something to a question only
  EXPECT_EXIT(faults_.report(lost); ends_[1]->poll(nothing), error(), "a tagged message was lost: ");
  lost.err = FI_ECANCELED;
  lost.op_context = nullptr;
  EXPECT_EXIT(faults_.report(lost); ends_[1]->poll(nothing), error(), "a tagged message was lost: ");
  EXPECT_EXIT(faults_.fail(FabricCall::cq_read, -FI_EIO);
              ends_[1]->poll(nothing), error(), "fi_cq_read: Input");
  EXPECT_EXIT(faults_.fail(FabricCall::tagged_peek, -FI_EIO);
              ends_[1]->poll(nothing), error(), "fi_trecvmsg\\(FI_PEEK\\): Input");
  EXPECT_EXIT(faults_.fail(FabricCall::tagged_recv, -FI_EIO); post(1), error(), "fi_trecvv: Input");
  EXPECT_EXIT(faults_.fail(FabricCall::tagged_inject, -FI_EIO);
              send(1, "text"), error(), "fi_tinject of 4 bytes to PE 1: Input");
}

TEST_F(MatcherFaultsTest, AMessageThatCannotBeClaimedEndsTheJob) {
  EXPECT_EXIT(faults_.fail(FabricCall::tagged_claim, -FI_EIO); send(1, "text");
              while (faults_.count(FabricCall::tagged_claim) == 0) ends_[1]->poll(nothing), error(),
              "fi_trecvmsg\\(FI_CLAIM\\): Input");
}

TEST_F(MatcherFaultsTest, SetUpThatFailsIsAnError) {
  faults_.fail(FabricCall::av_insert, 0, 1, 1);
  const std::vector<std::byte> name = ends_[0]->address().value();
  const Status status = ends_[0]->connect(2, [&](int) { return std::span<const std::byte>(name); }).status();
  EXPECT_EQ(status.text(), "libfabric: the address of PE 1 was refused");
  faults_.mr_mode = FI_MR_LOCAL;
  const Result<std::unique_ptr<Matcher>> made = open_tagged({.provider = "tcp;ofi_rxm", .one_host = true});
  ASSERT_FALSE(made.ok());
  EXPECT_NE(made.status().text().find("is not known to find tagged messages"), std::string::npos);
}

}  // namespace
}  // namespace shm
