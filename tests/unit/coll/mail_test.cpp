// SPDX-License-Identifier: BSD-3-Clause
#include "coll/mail.hpp"

#include "coll/choose.hpp"
#include "one_pe.hpp"

namespace shm {
namespace {

std::vector<std::byte> pattern(std::size_t n, int salt) {
  std::vector<std::byte> bytes(n);
  for (std::size_t i = 0; i < n; ++i)
    bytes[i] = static_cast<std::byte>(i * 7 + i / 251 + static_cast<unsigned>(salt));
  return bytes;
}

class Mail : public test::OnePe {
 protected:
  // Sends to this PE itself, which has said before that it expects it.
  void exchange(std::byte* into, std::size_t n) {
    const std::vector<std::byte> data = pattern(n, 1);
    Expected expected;
    expected.expect(parcel_, 0, into, n);
    send_mail(parcel_, 0, data.data(), n);
    expected.wait();
    EXPECT_EQ(std::memcmp(into, data.data(), n), 0);
    ++parcel_.phase;
  }

  Parcel parcel_{3, 100, 0};
};

TEST_F(Mail, ArrivesWhateverItsLength) {
  std::vector<std::byte> here(kHeap);
  for (const std::size_t n : {std::size_t{1}, std::size_t{112}, kMaxMessage, kMaxMessage * 2, eager_limit(),
                              eager_limit() + 1, std::size_t{1000003}}) {
    exchange(here.data(), n);  // private memory: by messages
    exchange(heap(), n);
  }
}

TEST_F(Mail, WaitsAtTheReceiverWhenItIsEarly) {
  const std::vector<std::byte> first = pattern(20000, 1), second = pattern(500, 2);
  send_mail({3, 7, 0}, 0, first.data(), first.size());
  send_mail({3, 7, 1}, 0, second.data(), second.size());
  while (rt.progress->poll()) {
  }
  std::vector<std::byte> got(first.size());
  receive_mail({3, 7, 1}, 0, got.data(), second.size());
  EXPECT_EQ(std::memcmp(got.data(), second.data(), second.size()), 0);
  receive_mail({3, 7, 0}, 0, got.data(), first.size());
  EXPECT_EQ(got, first);
}

TEST_F(Mail, LongPiecesCanBePassedOnBeforeTheRest) {
  const std::size_t n = 1000000, piece = piece_of(n);
  ASSERT_LT(piece * 2, n);
  std::vector<std::byte> data = pattern(n, 3);
  Expected expected;
  expected.expect(parcel_, 0, heap(), n);
  Outgoing outgoing(parcel_, 0, data.data(), n);
  outgoing.send(piece);
  expected.wait(piece);
  EXPECT_EQ(std::memcmp(heap(), data.data(), piece), 0);
  EXPECT_EQ(heap()[piece], std::byte{0});
  data[n - 1] = std::byte{77};  // not on its way yet
  outgoing.send(2 * piece);
  outgoing.send();
  expected.wait();
  outgoing.finish();
  EXPECT_EQ(std::memcmp(heap(), data.data(), n), 0);
}

TEST_F(Mail, SymmetricMemoryIsPutIntoAndCounted) {
  const std::uint64_t puts = mail_count().puts.load(), parcels = mail_count().parcels.load();
  exchange(heap(), eager_limit() + 1);
  EXPECT_EQ(mail_count().puts.load() - puts, 2u);
  std::vector<std::byte> here(eager_limit() + 1);
  exchange(here.data(), here.size());
  EXPECT_EQ(mail_count().puts.load() - puts, 2u);
  EXPECT_EQ(mail_count().parcels.load() - parcels, 2u);
}

TEST_F(Mail, MoreThanThereAreMarksGoesByMessages) {
  constexpr std::size_t kMany = kMailMarks + 10;
  const std::size_t n = eager_limit() + 1;
  const auto expected = std::make_unique<Expected[]>(kMany);
  for (std::size_t i = 0; i < kMany; ++i) expected[i].expect({4, i, 0}, 0, heap(), n);
  const std::vector<std::byte> data = pattern(n, 4);
  for (std::size_t i = 0; i < kMany; ++i) {
    std::memset(heap(), 0, n);
    send_mail({4, i, 0}, 0, data.data(), n);
    expected[i].wait();
    ASSERT_EQ(std::memcmp(heap(), data.data(), n), 0) << i;
  }
}

TEST(Piece, IsAWholeNumberOfCacheLinesAndAtMost64MakeAParcel) {
  for (std::size_t n = 1; n < (std::size_t{1} << 40); n = n * 3 + 1) {
    EXPECT_EQ(piece_of(n) % kCacheLine, 0u);
    EXPECT_LE((n + piece_of(n) - 1) / piece_of(n), 64u);
  }
}

}  // namespace
}  // namespace shm
