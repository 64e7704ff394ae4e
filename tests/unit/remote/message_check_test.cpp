// SPDX-License-Identifier: BSD-3-Clause
// Each field of what PEs and memory servers say to each other, at its limit and beyond it.
#include "remote/message_check.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

#include "base/fatal.hpp"
#include "remote/lender.hpp"

namespace shm::remote {
namespace {

constexpr int kPes = 2;
const char* const kOtherLength = "of another length than its kind has";
const char* const kOthers = "about memory that it was not lent";

// PE 0 has [0, 8192), PE 1 the page behind that.
struct LinkRequest : ::testing::Test {
  LinkRequest() {
    leases.lend(0, 8192);
    leases.lend(1, 4096);
  }
  Leases leases{1 << 20};

  template <class Message>
  std::string check(LendMessage id, const Message& message, std::ptrdiff_t more = 0, int from = 0) const {
    std::byte bytes[sizeof message + 1] = {};
    std::memcpy(bytes, &message, sizeof message);
    const auto n = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(sizeof message) + more);
    const char* wrong = wrong_with_request(from, static_cast<std::uint16_t>(id), bytes, n, kPes, leases);
    return wrong == nullptr ? "" : wrong;
  }
};

TEST_F(LinkRequest, OfEachKindHasItsLength) {
  EXPECT_EQ(check(LendMessage::lease, LeaseRequest{1, 4096}), "");
  EXPECT_EQ(check(LendMessage::give_back, GiveBack{0, 4096}), "");
  EXPECT_EQ(check(LendMessage::finish, FinishRequest{1}), "");
  EXPECT_EQ(check(LendMessage::page, PageRequest{1, 0, 4096}), "");
  for (const int more : {-1, 1}) {
    EXPECT_EQ(check(LendMessage::lease, LeaseRequest{1, 4096}, more), kOtherLength);
    EXPECT_EQ(check(LendMessage::give_back, GiveBack{0, 4096}, more), kOtherLength);
    EXPECT_EQ(check(LendMessage::finish, FinishRequest{1}, more), kOtherLength);
    EXPECT_EQ(check(LendMessage::page, PageRequest{1, 0, 4096}, more), kOtherLength);
  }
  for (const LendMessage kind : {LendMessage::answer, LendMessage::ready, static_cast<LendMessage>(77)})
    EXPECT_EQ(check(kind, LendAnswer{}), "of an unknown kind");
}

TEST_F(LinkRequest, ComesFromAPe) {
  EXPECT_EQ(check(LendMessage::finish, FinishRequest{1}, 0, kPes - 1), "");
  for (const int from : {-1, kPes})
    EXPECT_EQ(check(LendMessage::finish, FinishRequest{1}, 0, from), "though it is no PE");
}

TEST_F(LinkRequest, ForALeaseIsOfWholePages) {
  EXPECT_EQ(check(LendMessage::lease, LeaseRequest{1, std::uint64_t{1} << 40}), "")
      << "more than there is: that is answered";
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{4095}, ~std::uint64_t{0}})
    EXPECT_EQ(check(LendMessage::lease, LeaseRequest{1, bytes}), "for a part of a page");
}

TEST_F(LinkRequest, IsAboutMemoryThatItWasLent) {
  EXPECT_EQ(check(LendMessage::give_back, GiveBack{4096, 4096}), "");
  for (const GiveBack back : {GiveBack{8192, 4096}, GiveBack{4096, 8192}, GiveBack{0, 0}, GiveBack{0, 100},
                              GiveBack{100, 4096}, GiveBack{~std::uint64_t{4095}, 8192}})
    EXPECT_EQ(check(LendMessage::give_back, back), kOthers) << back.offset << " " << back.bytes;
  EXPECT_EQ(check(LendMessage::page, PageRequest{1, 100, 8092}), "");
  for (const PageRequest page : {PageRequest{1, 8192, 4096}, PageRequest{1, 4096, 4097}, PageRequest{1, 0, 0},
                                 PageRequest{1, ~std::uint64_t{0}, 2}})
    EXPECT_EQ(check(LendMessage::page, page), kOthers) << page.offset << " " << page.bytes;
}

TEST(LinkAnswer, IsToTheRequest) {
  const auto check = [](const LendAnswer& answer, std::size_t n = sizeof(LendAnswer), int from = kPes,
                        LendMessage id = LendMessage::answer, std::uint64_t awaited = 7) {
    const char* wrong = wrong_with_answer(from, static_cast<std::uint16_t>(id),
                                          reinterpret_cast<const std::byte*>(&answer), n, kPes, awaited);
    return std::string(wrong == nullptr ? "" : wrong);
  };
  const LendAnswer answer{7, 4096, 0, 1};
  EXPECT_EQ(check(answer), "");
  EXPECT_EQ(check(answer, sizeof answer - 1), kOtherLength);
  EXPECT_EQ(check(answer, sizeof answer, 0), "though it is no memory server");
  EXPECT_EQ(check(answer, sizeof answer, kPes, LendMessage::lease), "of an unknown kind");
  EXPECT_EQ(check(answer, sizeof answer, kPes, LendMessage::answer, 8), "that nobody has asked for");
  EXPECT_EQ(check({0, 0, 0, 0}, sizeof answer, kPes, LendMessage::answer, 0), "that nobody has asked for");
  EXPECT_EQ(check({7, 4095, 0, 1}), "with a lease of a part of a page");
  EXPECT_EQ(check({7, 4096, 0, 2}), "with a lease of a part of a page");
  EXPECT_EQ(check(answer, sizeof(PageReady), kPes, LendMessage::ready), "");
  EXPECT_EQ(check(answer, sizeof(PageReady) + 1, kPes, LendMessage::ready), kOtherLength);
}

TEST(LenderDeathTest, NamesWhoSentWhatCannotBeMeant) {
  set_identity(2, kPes, "here");
  Result<LentMemory> memory = LentMemory::create(std::size_t{2} << 20);
  Lender lender(std::move(memory.value()), kPes);
  const GiveBack back{0, 4096};
  const auto receive = [&](int from) {
    lender.receive(from, static_cast<std::uint16_t>(LendMessage::give_back),
                   reinterpret_cast<const std::byte*>(&back), sizeof back);
  };
  EXPECT_DEATH(receive(1), "internal error: PE 1 sent a request about memory that it was not lent");
  EXPECT_DEATH(receive(3), "internal error: memory server 1 sent a request though it is no PE");
}

}  // namespace
}  // namespace shm::remote
