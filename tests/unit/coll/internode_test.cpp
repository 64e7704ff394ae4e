// SPDX-License-Identifier: BSD-3-Clause
#include "coll/internode.hpp"

#include <deque>
#include <numeric>

#include "around_loop.hpp"
#include "coll/choose.hpp"
#include "coll/internode_scan.hpp"
#include "one_pe.hpp"
#include "processes.hpp"

namespace shm {
namespace {

/// Says that a put is complete only some polls after its data have arrived, and fails the test if its source
/// has changed by then: a network may read it, and send it once more, as long as it is not complete.
class StrictNetwork final : public test::AroundLoop {
 public:
  bool poll() override {
    const bool worked = AroundLoop::poll();
    for (Pending& put : pending_) --put.polls;
    while (!pending_.empty() && pending_.front().polls <= 0) {
      const Pending& put = pending_.front();
      EXPECT_EQ(std::memcmp(put.source, put.bytes.data(), put.bytes.size()), 0)
          << put.bytes.size() << " bytes were changed while they were sent";
      put.completion->set_done();
      pending_.pop_front();
    }
    return worked;
  }

 private:
  struct Pending {
    int polls;
    const std::byte* source;
    std::vector<std::byte> bytes;
    Completion* completion;
  };

  void put(Channel* inner, const Put& put) override {
    Put at_once = put;
    if (put.completion != nullptr && !put.copy) {
      pending_.push_back({5, put.source, {put.source, put.source + put.n}, put.completion});
      at_once.completion = nullptr;
    }
    AroundLoop::put(inner, at_once);
  }
  bool holds() const override { return !pending_.empty(); }
  bool orders() const override { return true; }

  std::deque<Pending> pending_;
};

/// A group on two nodes, both of whose leaders are this PE: what it sends to the other comes to itself.
class Leaders : public test::OnePe {
 protected:
  Leaders() { fill(group); }
  static void fill(Group& leaders) {
    leaders.team = {0, 0, 2, 0, nullptr, 0};
    leaders.slot = 5;
    leaders.nodes = {{{0}, 0}, {{1}, 0}};
    leaders.node_of = {0, 1};
    leaders.stripes = 1;
  }
  std::unique_ptr<Network> make_network() override { return std::make_unique<StrictNetwork>(); }

  Group group;
};

TEST_F(Leaders, DoNotChangeWhatTheySend) {
  test::run_process([this] {  // what is overruled stays so
    EXPECT_TRUE(overrule_choice("internode_reduce=doubling").ok());
    constexpr std::size_t kWords = 50000;  // four pieces
    std::vector<long> words(kWords);
    std::iota(words.begin(), words.end(), 1000);
    internode_reduce(group, 1, kReduction<ReduceOp::sum, long>, words.data(), kWords);
    finish_parcels({"the test"});  // it looks at the sources until the end
    for (std::size_t i = 0; i < kWords; ++i) {
      if (words[i] == 2 * (1000 + static_cast<long>(i))) continue;
      ADD_FAILURE() << "word " << i << " is " << words[i];
      break;
    }
    return true;
  });
}

class InternodeScanTest : public Leaders {
 protected:
  InternodeScanTest() {
    fill(second);
    second.node = 1;
  }
  Group second;
};

TEST_F(InternodeScanTest, PassesPartAfterPartOn) {
  const Reduction op = kReduction<ReduceOp::sum, long>;
  constexpr std::size_t kParts = 6, kLast = 1000;
  const std::size_t most = InternodeScan::kPartBytes / sizeof(long), count = (kParts - 1) * most + kLast;
  const auto word = [&](std::size_t part, std::size_t i) { return static_cast<long>(part * most + i); };
  InternodeScan to(second, 1, op, count, 0), from(group, 1, op, count, 0);
  std::size_t wrong = 0;
  for (std::size_t part = 0; part < kParts; ++part) {
    const std::size_t n = part + 1 < kParts ? most : kLast;
    auto* given = reinterpret_cast<long*>(from.own(part));
    for (std::size_t i = 0; i < n; ++i) given[i] = word(part, i);
    EXPECT_EQ(from.sum_before(part), nullptr);
    to.own(part);
    const auto* had = reinterpret_cast<const long*>(to.sum_before(part));
    for (std::size_t i = 0; i < n; ++i) wrong += had[i] != word(part, i);
  }
  EXPECT_EQ(wrong, 0u);
}

}  // namespace
}  // namespace shm
