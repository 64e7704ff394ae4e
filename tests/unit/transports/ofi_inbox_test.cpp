// SPDX-License-Identifier: BSD-3-Clause
// The inbox without a provider: entries of random sizes are stored piece by piece, as a stream would bring
// them.
#include "ofi/inbox.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <functional>
#include <random>

#include "base/fatal.hpp"

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

// An inbox with a ring of PE 5.
struct OneRing {
  OneRing() {
    EXPECT_TRUE(inbox.open());
    inbox.welcome(5);
    ring = static_cast<std::byte*>(inbox.base()) + Inbox::ring_offset(1);
  }
  Inbox inbox;
  std::byte* ring = nullptr;
};

// Of another PE than the ring's, and too short for a message.
TEST(OfiInboxDeath, AnEntryThatItsPeCannotHaveMeant) {
  OneRing one;
  Inbox& inbox = one.inbox;
  std::byte* const ring = one.ring;
  const auto deliver = [&] {
    inbox.survey();
    inbox.take();
    std::uint16_t expected = 0;
    inbox.deliver(5, expected, [](const MessageHeader&, const std::byte*, std::size_t) {});
  };
  constexpr const char* kSaid = "PE 5 wrote an entry that it cannot have meant";
  InboxEntry::write(ring, {6, 7, 0}, nullptr, 0);
  EXPECT_EXIT(deliver(), ::testing::ExitedWithCode(kErrorExit), kSaid);
  const std::uint64_t too_short = 3;
  InboxEntry::write(ring, {5, 7, 0}, nullptr, 0);
  std::memcpy(ring, &too_short, sizeof too_short);
  ring[InboxEntry::size(too_short) - 1] = InboxEntry::kEnd;
  EXPECT_EXIT(deliver(), ::testing::ExitedWithCode(kErrorExit), kSaid);
}

// More than a ring may have, and an entry that is longer when it is delivered than when it was found.
TEST(OfiInboxDeath, EntriesWithoutAnEnd) {
  OneRing one;
  Inbox& inbox = one.inbox;
  std::byte* const ring = one.ring;
  constexpr const char* kSaid = "PE 5 wrote an entry that it cannot have meant";
  constexpr std::size_t kEntry = InboxEntry::size(sizeof(MessageHeader));
  const auto fill = [&](std::size_t bytes) {
    for (std::size_t at = 0; at < bytes; at += kEntry)
      InboxEntry::write(ring + at, {5, 7, static_cast<std::uint16_t>(at / kEntry)}, nullptr, 0);
  };
  fill(RingCursor::kBytes);
  EXPECT_EXIT(inbox.survey(), ::testing::ExitedWithCode(kErrorExit), kSaid);
  std::memset(ring, 0, RingCursor::kBytes + RingCursor::kLargestEntry);
  fill(2 * kEntry);
  EXPECT_TRUE(inbox.survey());
  inbox.take();
  const std::byte payload[3 * kEntry] = {};
  InboxEntry::write(ring, {5, 7, 0}, payload, sizeof payload);
  std::uint16_t expected = 0;
  const auto deliver = [&] {
    inbox.deliver(5, expected, [](const MessageHeader&, const std::byte*, std::size_t) { std::_Exit(99); });
  };
  EXPECT_EXIT(deliver(), ::testing::ExitedWithCode(kErrorExit), kSaid);
}

// Its sender may write the entry again while a handler looks at the message.
TEST(OfiInbox, AHandlerHasACopy) {
  OneRing one;
  Inbox& inbox = one.inbox;
  std::byte* const ring = one.ring;
  const std::byte payload[24] = {std::byte{1}};
  InboxEntry::write(ring, {5, 7, 0}, payload, sizeof payload);
  EXPECT_TRUE(inbox.survey());
  inbox.take();
  std::uint16_t expected = 0;
  inbox.deliver(5, expected, [&](const MessageHeader&, const std::byte* message, std::size_t n) {
    std::memset(ring, 0x77, InboxEntry::size(sizeof(MessageHeader) + sizeof payload));
    ASSERT_EQ(n, sizeof payload);
    EXPECT_EQ(std::memcmp(message, payload, n), 0);
  });
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

// What one PE sends another, in order, and what of it has been stored or delivered there.  Stores are made in
// parts; a message is delivered after all that was stored before it.
class Stream {
 public:
  void store(std::byte* to, std::vector<std::byte> bytes) { items_.push_back({to, std::move(bytes), {}}); }
  void message(std::function<void()> deliver) { items_.push_back({nullptr, {}, std::move(deliver)}); }
  bool empty() const { return items_.empty(); }

  // Brings up to n bytes more; a message counts as one.
  void bring(std::size_t n) {
    while (n != 0 && !items_.empty()) {
      Item& item = items_.front();
      const std::size_t part = item.to == nullptr ? 1 : std::min(n, item.bytes.size() - stored_);
      if (item.to != nullptr) std::memcpy(item.to + stored_, item.bytes.data() + stored_, part);
      n -= part;
      stored_ += part;
      if (item.to != nullptr && stored_ < item.bytes.size()) continue;
      const Item whole = std::move(item);
      items_.pop_front();
      stored_ = 0;
      if (whole.deliver) whole.deliver();
    }
  }

 private:
  struct Item {
    std::byte* to;  // null: a message
    std::vector<std::byte> bytes;
    std::function<void()> deliver;
  };
  std::deque<Item> items_;
  std::size_t stored_ = 0;
};

// PE 0, which has fewer rings than there are PEs that send to it.  Each does what Engine does.
class FewRings {
 public:
  static constexpr int kSenders = 5, kReceiver = 0;

  FewRings(std::uint64_t seed, std::size_t rings) : random_(seed), senders_(1 + kSenders) {
    EXPECT_TRUE(inbox_.open(rings));
    for (int pe = 1; pe <= kSenders; ++pe) EXPECT_TRUE(sender(pe).table.open());
  }

  void run(int steps) {
    for (int step = 0; step < steps && !testing::Test::HasFailure(); ++step) {
      // Who sends much changes, so that rings move.
      const int busy = 1 + step / 3000 % kSenders;
      const int pe = random_() % 8 != 0 ? busy : 1 + static_cast<int>(random_() % kSenders);
      switch (random_() % 4) {
        case 0: send(pe, random_() % 6 == 0 ? InboxEntry::kLargestMessage : random_() % 200, 7); break;
        case 1: bring(1 + static_cast<int>(random_() % kSenders), random_() % 400); break;
        case 2: bring(pe, random_() % 2000); break;
        default: poll(random_() % 4 != 0); break;
      }
    }
    for (int round = 0; round < 1000; ++round) {
      for (int pe = 1; pe <= kSenders; ++pe) bring(pe, 1 << 20);
      poll(true);
    }
    for (int pe = 1; pe <= kSenders; ++pe) {
      EXPECT_EQ(sender(pe).delivered, sender(pe).sent) << "of PE " << pe;
      EXPECT_GT(sender(pe).written, 200u) << "PE " << pe << " had a ring for a while";
    }
    EXPECT_GT(recalls_, 10);
    EXPECT_EQ(recalls_, returns_);
    const auto* bytes = static_cast<const std::byte*>(inbox_.base());
    EXPECT_TRUE(std::all_of(bytes + Inbox::ring_offset(1), bytes + Inbox::bytes(),
                            [](std::byte b) { return b == std::byte{0}; }));
  }

 private:
  struct Sender {
    Inbox table;  // where PE 0 writes grants
    RingCursor ring;
    std::uint16_t sequence = 0, expected = 0;
    std::uint64_t sent = 0, delivered = 0, written = 0;  // messages of the test; `written`: by ring
    Stream to, from;
  };
  Sender& sender(int pe) { return senders_[static_cast<std::size_t>(pe)]; }

  void bring(int pe, std::size_t n) {
    sender(pe).to.bring(n);
    sender(pe).from.bring(n);
  }

  // As Engine::try_send().
  void send(int pe, std::size_t n, std::uint16_t id) {
    Sender& self = sender(pe);
    n = std::min(n, InboxEntry::kLargestMessage - sizeof(MessageHeader));
    const MessageHeader header{pe, id, self.sequence++};
    if (id == 7) ++self.sent;
    const Grant grant = self.table.granted_by(kReceiver);
    const std::size_t size = InboxEntry::size(sizeof header + n);
    if (grant.ring != 0 && self.ring.has_room(size, grant.cleared)) {
      const std::vector<std::byte> payload(n, static_cast<std::byte>(header.sequence));
      std::vector<std::byte> entry(size);
      InboxEntry::write(entry.data(), header, payload.data(), n);
      self.to.store(
          static_cast<std::byte*>(inbox_.base()) + Inbox::ring_offset(grant.ring) + self.ring.offset(),
          std::move(entry));
      self.ring.advance(size);
      if (id == 7) ++self.written;
      EXPECT_NE(id, kReturned) << "it has no grant any more";
      return;
    }
    self.to.message([this, header] {
      inbox_.survey();
      arrived_.push_back(header);
    });
  }

  void handle(const MessageHeader& header, const std::byte* payload, std::size_t n) {
    if (header.id == kReturned) {
      ++returns_;
      return inbox_.returned(header.from_pe);
    }
    const auto value = static_cast<std::byte>(header.sequence);
    EXPECT_TRUE(std::all_of(payload, payload + n, [&](std::byte b) { return b == value; }));
    ++sender(header.from_pe).delivered;
  }

  // As Engine::poll() and deliver().
  void poll(bool tells) {
    inbox_.survey();
    std::vector<MessageHeader> batch;
    batch.swap(arrived_);
    inbox_.take();
    const auto run = [this](const MessageHeader& header, const std::byte* payload, std::size_t n) {
      handle(header, payload, n);
    };
    for (const MessageHeader& header : batch) {
      std::uint16_t& expected = sender(header.from_pe).expected;
      inbox_.deliver(header.from_pe, expected, run);
      ASSERT_EQ(header.sequence, expected) << "of PE " << header.from_pe;
      ++expected;
      handle(header, nullptr, 0);
      if (header.id != kReturned) ask(inbox_.welcome(header.from_pe));
    }
    inbox_.deliver_all([this](int pe) -> std::uint16_t& { return sender(pe).expected; }, run);
    if (tells) tell();
  }

  void ask(int pe) {
    if (pe == Inbox::kNobody) return;
    ++recalls_;
    sender(pe).from.message([this, pe] {
      sender(pe).table.forget(kReceiver);
      sender(pe).ring = {};
      send(pe, 0, kReturned);
    });
  }

  void tell() {
    inbox_.tell([this](int pe, const Grant& grant) {
      if (random_() % 4 == 0) return false;  // no room
      const auto* bytes = reinterpret_cast<const std::byte*>(&grant);
      sender(pe).from.store(static_cast<std::byte*>(sender(pe).table.base()) + Inbox::grant_offset(kReceiver),
                            {bytes, bytes + sizeof grant});
      return true;
    });
  }

  std::mt19937_64 random_;
  Inbox inbox_;  // of PE 0
  std::vector<Sender> senders_;
  std::vector<MessageHeader> arrived_;
  int recalls_ = 0, returns_ = 0;
};

TEST(OfiInbox, RingsMoveBetweenSenders) {
  const std::uint64_t seed = seed_of_run();
  for (std::size_t rings = 1; rings <= 3; ++rings) {
    SCOPED_TRACE(rings);
    FewRings(seed + rings, rings).run(120'000);
  }
}

// Who has sent since another one began to do without keeps its ring.
TEST(OfiInbox, ARingThatIsUsedIsNotRecalled) {
  Inbox inbox;
  ASSERT_TRUE(inbox.open(1));
  inbox.welcome(5);
  Writer writer(inbox, 5);
  const auto tell = [&] {
    inbox.tell([&](int, const Grant& grant) {
      writer.grant(grant);
      return true;
    });
  };
  const auto sends_without = [&](int pe) {
    int asked = Inbox::kNobody;
    for (unsigned i = 0; i < Inbox::kWorthARing && asked == Inbox::kNobody; ++i) asked = inbox.welcome(pe);
    return asked;
  };
  EXPECT_EQ(sends_without(6), Inbox::kNobody) << "PE 5 does not know of its ring yet";
  tell();
  inbox.welcome(6);
  ASSERT_TRUE(writer.write(8));
  writer.store(1000);
  inbox.survey();
  inbox.take();
  std::uint16_t expected = 0;
  inbox.deliver(5, expected, [](const MessageHeader&, const std::byte*, std::size_t) {});
  EXPECT_EQ(expected, 1);
  EXPECT_EQ(sends_without(6), Inbox::kNobody);
  EXPECT_EQ(sends_without(6), 5);
  EXPECT_EQ(sends_without(7), Inbox::kNobody) << "one recall at a time";
  inbox.returned(5);
  EXPECT_EQ(inbox.welcome(7), Inbox::kNobody);
  int told = Inbox::kNobody;
  inbox.tell([&](int pe, const Grant& grant) {
    EXPECT_EQ(grant.ring, 1u);
    EXPECT_EQ(grant.cleared, 0u);
    told = pe;
    return true;
  });
  EXPECT_EQ(told, 7);
}

}  // namespace
}  // namespace shm::ofi
