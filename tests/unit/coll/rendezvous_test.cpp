// SPDX-License-Identifier: BSD-3-Clause
#include "coll/rendezvous.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <string>

#include "../core/wait_line.hpp"
#include "around_loop.hpp"
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
    send_parcel(parcel_, 0, data.data(), n);
    expected.wait();
    EXPECT_EQ(std::memcmp(into, data.data(), n), 0);
    ++parcel_.phase;
  }

  // A parcel of several pieces to this PE itself, the first of which is there.
  struct Long {
    static constexpr std::size_t n = 1000003;
    const std::size_t piece = piece_of(n);
    std::vector<std::byte> data = pattern(n, 3);
    Expected expected;
    Outgoing outgoing;

    Long(const Parcel& parcel, std::byte* into) : outgoing(parcel, 0, data.data(), n) {
      EXPECT_LT(piece * 2, n);
      expected.expect(parcel, 0, into, n);
      outgoing.send(piece);
      expected.wait(piece);
      EXPECT_TRUE(came(into, piece));
    }
    bool came(const std::byte* into, std::size_t bytes) const {
      return std::memcmp(into, data.data(), bytes) == 0;
    }
  };

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

// As many pieces as a mark has bits.
TEST_F(Mail, EachOf64PiecesIsAwaited) {
  const std::size_t n = 64 * piece_of(1);
  const std::vector<std::byte> data = pattern(n, 5);
  Expected expected;
  expected.expect(parcel_, 0, heap(), n);
  Outgoing outgoing(parcel_, 0, data.data(), n);
  outgoing.send();
  expected.wait();
  EXPECT_EQ(std::memcmp(heap(), data.data(), n), 0);
  outgoing.finish();
}

TEST_F(Mail, WaitsAtTheReceiverWhenItIsEarly) {
  const std::vector<std::byte> first = pattern(20000, 1), second = pattern(500, 2);
  send_parcel({3, 7, 0}, 0, first.data(), first.size());
  send_parcel({3, 7, 1}, 0, second.data(), second.size());
  while (rt.progress->poll()) {
  }
  std::vector<std::byte> got(first.size());
  receive_parcel({3, 7, 1}, 0, got.data(), second.size());
  EXPECT_EQ(std::memcmp(got.data(), second.data(), second.size()), 0);
  receive_parcel({3, 7, 0}, 0, got.data(), first.size());
  EXPECT_EQ(got, first);
}

TEST_F(Mail, LongPiecesCanBePassedOnBeforeTheRest) {
  Long parcel(parcel_, heap());
  EXPECT_EQ(heap()[parcel.piece], std::byte{0});
  parcel.data.back() = std::byte{77};  // not on its way yet
  parcel.outgoing.send(2 * parcel.piece);
  parcel.expected.wait(2 * parcel.piece);  // now the network gets to it
  EXPECT_TRUE(parcel.came(heap(), 2 * parcel.piece));
  EXPECT_EQ(heap()[2 * parcel.piece], std::byte{0});
  parcel.outgoing.send();
  parcel.expected.wait();
  parcel.outgoing.finish();
  EXPECT_TRUE(parcel.came(heap(), Long::n));
}

TEST_F(Mail, SymmetricMemoryIsPutIntoAndCounted) {
  const std::uint64_t puts = parcel_count().puts.load(), parcels = parcel_count().parcels.load();
  exchange(heap(), eager_limit() + 1);
  EXPECT_EQ(parcel_count().puts.load() - puts, 2u);
  std::vector<std::byte> here(eager_limit() + 1);
  exchange(here.data(), here.size());
  EXPECT_EQ(parcel_count().puts.load() - puts, 2u);
  EXPECT_EQ(parcel_count().parcels.load() - parcels, 2u);
}

TEST_F(Mail, VariablesArePutIntoToo) {
  std::vector<std::byte> variables(eager_limit() + 100);
  const std::ptrdiff_t no_delta = 0;
  rt.statics = {reinterpret_cast<std::uintptr_t>(variables.data()), variables.size(), &no_delta};
  ASSERT_TRUE(rt.network->add_segment(SegmentId::statics, variables.data(), variables.size()).ok());
  const std::uint64_t puts = parcel_count().puts.load();
  exchange(variables.data() + 99, eager_limit() + 1);  // to their end
  EXPECT_EQ(parcel_count().puts.load() - puts, 2u);
  rt.statics = {};
}

TEST_F(Mail, NeedsNoAnswerUpToTheLimit) {
  const std::size_t fragment = kMaxMessage - 16;  // the name of the parcel goes with each
  const std::uint64_t messages = parcel_count().messages.load();
  std::vector<std::byte> here(eager_limit());
  exchange(here.data(), here.size());
  EXPECT_EQ(parcel_count().messages.load() - messages, (here.size() + fragment - 1) / fragment);
}

TEST_F(Mail, IsToldApartBySlotPhaseAndStep) {
  const Parcel parcels[] = {{3, 7, 0}, {3, 7, 2}, {3, 7, Parcel::kSteps - 1},     {3, 8, 0},
                            {4, 7, 0}, {3, 7, 1}, {3, std::uint64_t{1} << 60, 0}, {kSlots - 1, 7, 0}};
  constexpr int kParcels = std::size(parcels);
  for (int i = 0; i < kParcels; ++i) send_parcel(parcels[i], 0, &i, sizeof i);
  while (rt.progress->poll()) {
  }
  for (int i = kParcels - 1; i >= 0; --i) {
    int got = -1;
    receive_parcel(parcels[i], 0, &got, sizeof got);
    EXPECT_EQ(got, i);
  }
}

TEST_F(Mail, MayBeChangedOnceItIsSent) {
  for (const std::size_t n : {std::size_t{100}, eager_limit(), eager_limit() + 1, std::size_t{1000003}}) {
    std::vector<std::byte> data = pattern(n, 5);
    Expected expected;
    expected.expect(parcel_, 0, heap(), n);
    send_parcel(parcel_, 0, data.data(), n);
    std::fill(data.begin(), data.end(), std::byte{77});
    expected.wait();
    ASSERT_EQ(std::memcmp(heap(), pattern(n, 5).data(), n), 0) << n << " bytes";
    ++parcel_.phase;
  }
}

TEST_F(Mail, FindsAMarkThatSaysNothingOfTheParcelBefore) {
  const std::size_t n = eager_limit() + 1;
  const std::vector<std::byte> data = pattern(n, 6);
  for (int i = 0; i < kParcelMarks; ++i, ++parcel_.phase) {  // from then on marks are used again
    Expected one;
    one.expect(parcel_, 0, heap(), n);
    send_parcel(parcel_, 0, data.data(), n);
    one.wait();
  }
  exchange(heap(), 1000003);  // of eight pieces
  std::memset(heap(), 0, n);
  const std::uint64_t puts = parcel_count().puts.load();
  Expected expected;
  expected.expect(parcel_, 0, heap(), n);
  Outgoing outgoing(parcel_, 0, data.data(), n);
  outgoing.send();  // the network has it, but has not come to it
  expected.wait();
  EXPECT_EQ(std::memcmp(heap(), data.data(), n), 0);
  outgoing.finish();
  EXPECT_EQ(parcel_count().puts.load() - puts, 2u) << "marks have been given back";
}

/// Keeps puts until it is told to start them.
class HoldingNetwork : public test::AroundLoop {
 protected:
  bool start_first() { return start(held_.begin()); }
  bool start_last() { return !held_.empty() && start(held_.end() - 1); }

 private:
  using Held = std::deque<std::function<void()>>;

  // Returns false if there is none.
  bool start(Held::iterator at) {
    if (held_.empty()) return false;
    const std::function<void()> put = std::move(*at);
    held_.erase(at);
    put();
    return true;
  }
  void put(Channel* inner, const Put& put) override {
    std::vector<std::byte> kept(put.source, put.source + (put.copy ? put.n : 0));
    held_.push_back([this, inner, later = put, bytes = std::move(kept)]() mutable {
      if (later.copy) later.source = bytes.data();
      AroundLoop::put(inner, later);
    });
  }
  bool holds() const override { return !held_.empty(); }

  Held held_;
};

/// Starts puts one by one, the last first, and grants no fence.
class UnorderedNetwork final : public HoldingNetwork {
 public:
  bool poll() override {
    start_last();
    return AroundLoop::poll();
  }

 private:
  bool orders() const override { return false; }
};

class UnorderedMail : public Mail {
  std::unique_ptr<Network> make_network() override { return std::make_unique<UnorderedNetwork>(); }
};

TEST_F(UnorderedMail, IsMarkedWhenItIsThere) {
  Long parcel(parcel_, heap());
  parcel.outgoing.send();
  parcel.expected.wait();
  EXPECT_TRUE(parcel.came(heap(), Long::n));
  parcel.outgoing.finish();
}

/// Makes puts when it is told to.
class SlowNetwork final : public HoldingNetwork {
 public:
  bool poll() override {
    while (go_.load() && start_first()) {
    }
    return AroundLoop::poll();
  }
  void go() { go_.store(true); }

 private:
  bool orders() const override { return true; }

  std::atomic<bool> go_{false};
};

class SlowMail : public Mail {
 protected:
  std::unique_ptr<Network> make_network() override {
    auto made = std::make_unique<SlowNetwork>();
    network_ = made.get();
    return made;
  }
  // What is said of a wait that ends with the puts.
  void expect(const std::string& text, const std::function<void()>& wait) {
    test::expect_wait_line(text, wait, [this] { network_->go(); });
    network_->go();
  }

  SlowNetwork* network_ = nullptr;
};

TEST_F(SlowMail, AWaitForALongParcelNamesItsSender) {
  const std::vector<std::byte> data = pattern(40000, 1);
  expect(" waits for PE 0, which has not sent all; since", [&] {
    Expected expected;
    expected.expect(parcel_, 0, heap(), data.size());
    Outgoing outgoing(parcel_, 0, data.data(), data.size());
    outgoing.send();
    expected.wait();
    outgoing.finish();
  });
}

TEST_F(SlowMail, AWaitForItsReceiverSaysHowMuchThatIs) {
  const std::vector<std::byte> data = pattern(40000, 1);
  expect(" waits for PE 0 to take 40000 bytes; since", [&] {
    Expected expected;
    expected.expect(parcel_, 0, heap(), data.size());
    send_parcel(parcel_, 0, data.data(), data.size());
    expected.wait();
  });
}

TEST_F(SlowMail, AWaitForAParcelThatNobodyHasSentSaysSo) {
  const int sent = 7;
  int got = 0;
  test::expect_wait_line(
      " waits for PE 0, which has not come as far; since",
      [&] {
        receive_parcel(parcel_, 0, &got, sizeof got);
        EXPECT_EQ(got, sent);
      },
      [&] { send_parcel(parcel_, 0, &sent, sizeof sent); });
}

TEST_F(Mail, MoreThanThereAreMarksGoesByMessages) {
  constexpr std::size_t kMany = kParcelMarks + 10;
  const std::size_t n = eager_limit() + 1;
  const auto expected = std::make_unique<Expected[]>(kMany);
  for (std::size_t i = 0; i < kMany; ++i) expected[i].expect({4, i, 0}, 0, heap(), n);
  const std::vector<std::byte> data = pattern(n, 4);
  for (std::size_t i = 0; i < kMany; ++i) {
    std::memset(heap(), 0, n);
    send_parcel({4, i, 0}, 0, data.data(), n);
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
