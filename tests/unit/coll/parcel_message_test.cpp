// SPDX-License-Identifier: BSD-3-Clause
// Each field of what travels for parcels, at its limit and beyond it.
#include "coll/parcel_message.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "coll/choose.hpp"
#include "coll/internal.hpp"
#include "one_pe.hpp"

namespace shm {
namespace {

std::string say_of(const char* wrong) { return wrong == nullptr ? "" : wrong; }

std::vector<std::byte> parcel_message(std::uint64_t slot, std::uint64_t kind, int from, std::size_t n,
                                      std::uint64_t phase = 7) {
  const ParcelKey key{phase, slot << 52 | kind << 50 | static_cast<unsigned>(from)};
  std::vector<std::byte> message(sizeof key + n);
  std::memcpy(message.data(), &key, sizeof key);
  return message;
}

TEST(ParcelMessage, Key) {
  const auto check = [](std::uint64_t slot, std::uint64_t kind, int from, std::size_t n) {
    const std::vector<std::byte> message = parcel_message(slot, kind, from, n);
    return say_of(wrong_with_parcel(message.data(), message.size(), 3, 512));
  };
  EXPECT_EQ(check(511, kReady, 3, 1), "");
  EXPECT_EQ(check(512, kReady, 3, 1), "of an unknown kind");
  EXPECT_EQ(check(0, 2, 3, 1), "of an unknown kind");
  EXPECT_EQ(check(0, kData, 4, 1), "in the name of another PE");
  EXPECT_EQ(check(0, kData, 3, 0), "that is cut off");
  EXPECT_EQ(say_of(wrong_with_parcel(nullptr, 0, 3, 512)), "that is cut off");
}

TEST(ParcelMessage, Length) {
  EXPECT_EQ(say_of(wrong_with_more(3, 7, 10)), "");
  EXPECT_EQ(say_of(wrong_with_more(3, 8, 10)), "that is longer than what is expected");
  EXPECT_EQ(say_of(wrong_with_more(11, 0, 10)), "that is longer than what is expected");
}

TEST(ParcelMessage, WhereItIsWanted) {
  constexpr ReadyLimits limits{1000, 100, 64, 4};
  const auto check = [&](SegmentId segment, std::uint64_t offset, std::uint64_t mark, std::size_t n = 100,
                         std::uint64_t direct = 1, SegmentId mark_segment = SegmentId::heap) {
    return say_of(wrong_with_ready({direct, {segment, offset}, {mark_segment, mark}}, n, limits));
  };
  const char* const elsewhere = "for memory that is not symmetric";
  EXPECT_EQ(check(SegmentId::heap, 900, 88), "");
  EXPECT_EQ(check(SegmentId::heap, 901, 88), elsewhere);
  EXPECT_EQ(check(SegmentId::heap, ~std::uint64_t{0}, 88), elsewhere);
  EXPECT_EQ(check(SegmentId::heap, 0, 88, 1001), elsewhere);
  EXPECT_EQ(check(SegmentId::statics, 0, 64), "");
  EXPECT_EQ(check(SegmentId::statics, 1, 64), elsewhere);
  EXPECT_EQ(check(SegmentId::pool, 0, 64), elsewhere);
  for (const std::uint64_t mark : {56, 65, 96})
    EXPECT_EQ(check(SegmentId::heap, 0, mark), "with a mark that is none");
  EXPECT_EQ(check(SegmentId::heap, 0, 64, 100, 1, SegmentId::statics), "with a mark that is none");
  EXPECT_EQ(check(SegmentId::pool, 99999, 1, 100, 0), "") << "by messages: the places are not used";
  EXPECT_EQ(check(SegmentId::heap, 0, 64, 100, 2), "of an unknown kind");
}

class ParcelRefused : public test::OnePe {
 protected:
  static void arrive(const std::vector<std::byte>& message, int from = 0) {
    Progress::deliver(from, static_cast<std::uint16_t>(MessageId::collective), message.data(),
                      message.size());
  }
};
using ParcelRefusedDeathTest = ParcelRefused;

TEST_F(ParcelRefusedDeathTest, NamesWhoSentIt) {
  EXPECT_DEATH(arrive(parcel_message(1, kData, 0, 8), 5),
               "internal error: PE 5 sent a parcel in the name of another PE");
  EXPECT_DEATH(arrive(parcel_message(1, kReady, 0, sizeof(Ready) + 1)),
               "PE 0 sent a parcel that is longer than what is expected");
  std::byte into[16];
  const auto receive_short = [&] {
    arrive(parcel_message(1, kData, 0, 17, 1));
    receive_parcel({1, 1, 0}, 0, into, 16);
  };
  EXPECT_DEATH(receive_short(), ": a collective operation: PE 0 has sent more than this PE expects of it: ")
      << "it came before it was expected";
  const auto send_far = [&] {
    const Ready ready{1, {SegmentId::heap, ~std::uint64_t{0}}, {SegmentId::heap, 0}};
    std::vector<std::byte> message = parcel_message(1, kReady, 0, sizeof ready, 2);
    std::memcpy(message.data() + sizeof(ParcelKey), &ready, sizeof ready);
    arrive(message);
    const std::vector<std::byte> data(eager_limit() + 1);
    send_parcel({1, 2, 0}, 0, data.data(), data.size());
  };
  EXPECT_DEATH(send_far(), "PE 0 sent a parcel for memory that is not symmetric");
}

// It is not more than was expected, though it is more than may come unexpected.
TEST_F(ParcelRefused, NotWhatIsExpected) {
  std::vector<std::byte> into(eager_limit() + 1);
  Expected expected;
  expected.expect({1, 3, 0}, 0, into.data(), into.size());
  for (std::size_t left = into.size(); left != 0;) {
    const std::size_t n = std::min<std::size_t>(left, 8000);
    arrive(parcel_message(1, kData, 0, n, 3));
    left -= n;
  }
  expected.wait();
}

}  // namespace
}  // namespace shm
