// SPDX-License-Identifier: BSD-3-Clause
// The inbox without a provider: entries of random sizes are stored piece by piece, as a stream would bring
// them.
#include "ofi/inbox.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <random>

namespace shm::ofi {
namespace {

// ATOLL_TEST_SEED repeats a run.
std::uint64_t seed_of_run() {
  const char* text = std::getenv("ATOLL_TEST_SEED");
  const std::uint64_t seed = text != nullptr ? std::strtoull(text, nullptr, 0) : std::random_device()();
  std::printf("ATOLL_TEST_SEED=%llu\n", static_cast<unsigned long long>(seed));
  return seed;
}

// One PE that writes into the inbox of another, whose stores lag behind: stored() bytes of the stream have
// arrived.
class Writer {
 public:
  Writer(Inbox& inbox, int pe) : inbox_(inbox), pe_(pe) {}

  // What the receiver tells; its bytes are stored at once.
  void grant(const Grant& grant) { grant_ = grant; }
  bool granted() const { return grant_.ring != 0; }

  // Whether the message fitted.
  bool write(std::size_t n) {
    const std::size_t size = InboxEntry::size(sizeof(MessageHeader) + n);
    if (grant_.ring == 0 || !cursor_.has_room(size, grant_.cleared)) return false;
    const std::vector<std::byte> payload(n, static_cast<std::byte>(sequence_));
    Piece piece{Inbox::ring_offset(grant_.ring) + cursor_.offset(), std::vector<std::byte>(size)};
    InboxEntry::write(piece.bytes.data(), {pe_, 7, sequence_++}, payload.data(), n);
    cursor_.advance(size);
    stream_.push_back(std::move(piece));
    return true;
  }

  // Stores up to n bytes more.
  void store(std::size_t n) {
    while (n != 0 && !stream_.empty()) {
      Piece& piece = stream_.front();
      const std::size_t part = std::min(n, piece.bytes.size() - stored_);
      std::memcpy(static_cast<std::byte*>(inbox_.base()) + piece.to + stored_, piece.bytes.data() + stored_,
                  part);
      stored_ += part;
      n -= part;
      if (stored_ < piece.bytes.size()) continue;
      stream_.pop_front();
      stored_ = 0;
      ++whole_;
    }
  }
  std::uint64_t whole() const { return whole_; }

 private:
  struct Piece {
    std::uint64_t to;
    std::vector<std::byte> bytes;
  };
  Inbox& inbox_;
  int pe_;
  Grant grant_;
  RingCursor cursor_;
  std::uint16_t sequence_ = 0;
  std::deque<Piece> stream_;
  std::size_t stored_ = 0;
  std::uint64_t whole_ = 0;
};

// Invariant 2, of rings that are empty.
bool cleared(const Inbox& inbox, int rings) {
  const auto* bytes = static_cast<const std::byte*>(inbox.base());
  return std::all_of(bytes + Inbox::ring_offset(1),
                     bytes + Inbox::ring_offset(1 + static_cast<unsigned>(rings)),
                     [](std::byte b) { return b == std::byte{0}; });
}

TEST(OfiInbox, DeliversEachEntryOnceInOrderAndWhole) {
  std::mt19937_64 random(seed_of_run());
  Inbox inbox;
  ASSERT_TRUE(inbox.open());
  constexpr int kWriters = 3;
  std::vector<Writer> writers;
  std::vector<std::uint16_t> expected(kWriters);
  std::vector<std::uint64_t> delivered(kWriters);
  for (int pe = 0; pe < kWriters; ++pe) {
    writers.emplace_back(inbox, pe);
    inbox.welcome(pe);
  }
  const auto tell = [&] {
    return inbox.tell([&](int pe, const Grant& grant) {
      if (random() % 4 == 0) return false;  // no room
      writers[static_cast<std::size_t>(pe)].grant(grant);
      return true;
    });
  };
  while (!tell()) continue;
  std::uint64_t full = 0;
  for (int step = 0; step < 200'000; ++step) {
    Writer& writer = writers[random() % kWriters];
    const std::size_t longest = random() % 2 == 0 ? 64 : InboxEntry::kLargestMessage - sizeof(MessageHeader);
    if (!writer.write(random() % (longest + 1))) ++full;
    writers[random() % kWriters].store(random() % 800);
    if (random() % 8 != 0) continue;
    inbox.survey();
    if (random() % 8 != 0) inbox.take();
    const auto check = [&](const MessageHeader& header, const std::byte* payload, std::size_t n) {
      ASSERT_EQ(header.id, 7);
      const auto pe = static_cast<std::size_t>(header.from_pe);
      const auto value = static_cast<std::byte>(delivered[pe]);
      ASSERT_TRUE(std::all_of(payload, payload + n, [&](std::byte b) { return b == value; }))
          << delivered[pe];
      ++delivered[pe];
    };
    inbox.deliver_all([&](int pe) -> std::uint16_t& { return expected[static_cast<std::size_t>(pe)]; },
                      check);
    for (std::size_t pe = 0; pe < kWriters; ++pe) ASSERT_LE(delivered[pe], writers[pe].whole());
    tell();
  }
  EXPECT_GT(full, 0u);  // the run has met full rings
  for (int round = 0; round < 100; ++round) {
    for (Writer& writer : writers) writer.store(RingCursor::kBytes);
    inbox.survey();
    inbox.take();
    inbox.deliver_all([&](int pe) -> std::uint16_t& { return expected[static_cast<std::size_t>(pe)]; },
                      [&](const MessageHeader& header, const std::byte*, std::size_t) {
                        ++delivered[static_cast<std::size_t>(header.from_pe)];
                      });
  }
  for (std::size_t pe = 0; pe < kWriters; ++pe) {
    EXPECT_EQ(delivered[pe], writers[pe].whole());
    EXPECT_GT(delivered[pe], 10'000u);
  }
  EXPECT_FALSE(inbox.survey());
  EXPECT_TRUE(cleared(inbox, kWriters));
}

// A PE without room for its grant does not keep back the others'.
TEST(OfiInbox, TellsEachPeThatHasRoom) {
  Inbox inbox;
  ASSERT_TRUE(inbox.open());
  for (int pe = 0; pe < 3; ++pe) inbox.welcome(pe);
  std::vector<int> told;
  const auto tell = [&](bool room_for_0) {
    told.clear();
    return inbox.tell([&](int pe, const Grant&) {
      if (pe == 0 && !room_for_0) return false;
      told.push_back(pe);
      return true;
    });
  };
  EXPECT_FALSE(tell(false));
  EXPECT_EQ(told, (std::vector<int>{1, 2}));
  EXPECT_TRUE(tell(true));
  EXPECT_EQ(told, (std::vector<int>{0}));
  EXPECT_TRUE(tell(true));
  EXPECT_TRUE(told.empty());
}

// An entry behind a message that comes the ordinary way waits for it.
TEST(OfiInbox, KeepsBackWhatIsNotNext) {
  Inbox inbox;
  ASSERT_TRUE(inbox.open());
  inbox.welcome(5);
  Writer writer(inbox, 5);
  inbox.tell([&](int, const Grant& grant) {
    writer.grant(grant);
    return true;
  });
  ASSERT_TRUE(writer.write(8));
  writer.store(1000);
  EXPECT_TRUE(inbox.survey());
  inbox.take();
  int runs = 0;
  const auto handle = [&](const MessageHeader&, const std::byte*, std::size_t) { ++runs; };
  std::uint16_t expected = 0xffff;
  inbox.deliver(5, expected, handle);
  EXPECT_EQ(runs, 0);
  ++expected;
  inbox.deliver(5, expected, handle);
  EXPECT_EQ(runs, 1);
  EXPECT_EQ(expected, 1);
}

TEST(OfiInbox, GivesEachPeOneRingUntilAllAreTaken) {
  Inbox inbox;
  ASSERT_TRUE(inbox.open());
  inbox.welcome(static_cast<int>(Inbox::kMostPes));
  EXPECT_EQ(inbox.granted_by(static_cast<int>(Inbox::kMostPes)).ring, 0u);
  for (int pe = 0; pe < static_cast<int>(Inbox::kRings) + 10; ++pe) {
    inbox.welcome(pe);
    inbox.welcome(pe);
  }
  std::vector<std::uint64_t> rings;
  inbox.tell([&](int pe, const Grant& grant) {
    EXPECT_EQ(static_cast<std::uint64_t>(pe) + 1, grant.ring);
    rings.push_back(grant.ring);
    return true;
  });
  EXPECT_EQ(rings.size(), Inbox::kRings);
  EXPECT_LE(Inbox::ring_offset(Inbox::kRings) + RingCursor::kBytes + RingCursor::kLargestEntry,
            Inbox::bytes());
}

}  // namespace
}  // namespace shm::ofi
