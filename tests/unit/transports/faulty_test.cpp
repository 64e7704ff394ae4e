// SPDX-License-Identifier: BSD-3-Clause
// Random programs on the faulty network against a sequential model, and the same seam around libfabric.
#include "faulty/faulty.hpp"

#include <map>
#include <random>

#include "loop_job.hpp"

namespace shm::test {
namespace {

constexpr int kPes = 4;
constexpr std::size_t kWords = 8;  // that each PE owns at each other PE

std::map<std::pair<int, int>, std::vector<std::uint64_t>> received;  // by sender and channel
void record(int from, std::uint16_t id, const std::byte* message, std::size_t) {
  std::uint64_t value = 0;
  std::memcpy(&value, message, 8);
  received[{from, id}].push_back(value);
}

// PE `writer` alone writes words [writer * kWords, +kWords) of each PE, and sets a fence between two
// operations on one word, so that program order decides their values.
struct Model {
  std::uint64_t word[kPes][kPes * kWords] = {};
  std::uint64_t written[kPes][kPes * kWords] = {};  // epoch of the last operation
  std::uint64_t epoch[kPes] = {1, 1, 1, 1};         // of each PE: one more with each fence
};

struct Fetched {
  std::unique_ptr<std::uint64_t> got;
  std::uint64_t expected;
};

class Program {
 public:
  explicit Program(std::uint64_t seed)
      : random_(seed), job_(kPes, kPes * kWords, record, [seed](std::unique_ptr<Network> inner, int pe) {
          return make_faulty(std::move(inner), {.seed = seed * 10 + static_cast<unsigned>(pe)});
        }) {
    received.clear();
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) step();
    for (LoopPe& pe : job_.pes) job_.quiet(pe);
    for (int i = 0; i < 100; ++i) job_.poll_all();
    for (const Fetched& fetched : fetched_) EXPECT_EQ(*fetched.got, fetched.expected);
    for (std::size_t pe = 0; pe < kPes; ++pe) {
      for (std::size_t w = 0; w < kPes * kWords; ++w) EXPECT_EQ(job_.pes[pe].heap[w], model_.word[pe][w]);
    }
    EXPECT_EQ(received, sent_);
    EXPECT_GT(refused_fences_ + granted_fences_, 0);
  }

 private:
  void fence(int me) {
    LoopPe& pe = job_.pes[static_cast<std::size_t>(me)];
    ++model_.epoch[me];
    if (pe.ops().fence(pe.channel)) {
      ++granted_fences_;
    } else {
      ++refused_fences_;
      job_.quiet(pe);
    }
  }
  void order(int me, int to, std::size_t index) {
    if (model_.written[to][index] == model_.epoch[me]) fence(me);
    model_.written[to][index] = model_.epoch[me];
  }
  void get(LoopPe& pe, int to, std::size_t index) {
    std::uint64_t got = 0;
    job_.quiet(pe);
    pe.ops().get(pe.channel, to, &got, LoopPe::word(index), 8, nullptr);
    job_.quiet(pe);
    EXPECT_EQ(got, model_.word[to][index]);
  }

  void step() {
    const int me = static_cast<int>(random_() % kPes), to = static_cast<int>(random_() % kPes);
    LoopPe& pe = job_.pes[static_cast<std::size_t>(me)];
    const std::size_t index = static_cast<std::size_t>(me) * kWords + random_() % kWords;
    std::uint64_t& modelled = model_.word[to][index];
    const std::uint64_t value = random_();
    switch (random_() % 8) {
      case 0:
      case 1:
        order(me, to, index);
        pe.ops().put(pe.channel, to, LoopPe::word(index), &value, 8, true, nullptr);
        modelled = value;
        break;
      case 2: return get(pe, to, index);
      case 3:
        order(me, to, index);
        fetched_.push_back({std::make_unique<std::uint64_t>(), modelled});
        pe.ops().amo(pe.channel, to, LoopPe::word(index), AtomicOp::add, AtomicType::u64, &value, nullptr,
                     fetched_.back().got.get(), nullptr);
        modelled += value;
        break;
      case 4: {
        const std::uint64_t compare = random_() % 2 ? modelled : value;
        order(me, to, index);
        pe.ops().amo(pe.channel, to, LoopPe::word(index), AtomicOp::compare_swap, AtomicType::u64, &value,
                     &compare, nullptr, nullptr);
        if (compare == modelled) modelled = value;
        break;
      }
      case 5:
        pe.ops().send(pe.channel, to, static_cast<std::uint16_t>(to), &value, 8);
        sent_[{me, to}].push_back(value);
        break;
      case 6: return fence(me);
      default: job_.poll_all();
    }
  }

  std::mt19937_64 random_;
  LoopJob job_;
  Model model_;
  std::vector<Fetched> fetched_;
  std::map<std::pair<int, int>, std::vector<std::uint64_t>> sent_;
  int refused_fences_ = 0, granted_fences_ = 0;
};

TEST(Faulty, RandomProgramsGiveWhatTheModelGives) {
  const std::uint64_t first = seed_of_run();
  for (std::uint64_t seed = first; seed < first + 30; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    Program(seed).run(600);
    if (testing::Test::HasFailure()) return;
  }
}

TEST(Faulty, HoldsBackAndReordersBetweenTargets) {
  bool reordered = false;
  for (std::uint64_t seed = 1; seed < 50 && !reordered; ++seed) {
    LoopJob job(3, 8, record, [seed](std::unique_ptr<Network> inner, int) {
      return make_faulty(std::move(inner), {.seed = seed});
    });
    LoopPe& pe = job.pes[0];
    const std::uint64_t value = 1;
    Completion first, second;
    pe.ops().put(pe.channel, 1, LoopPe::word(0), &value, 8, true, &first);
    pe.ops().put(pe.channel, 2, LoopPe::word(0), &value, 8, true, &second);
    EXPECT_FALSE(pe.ops().idle(pe.channel));
    while (!first.done() && !second.done()) pe.net->poll();
    reordered = second.done() && !first.done();
  }
  EXPECT_TRUE(reordered);
}

// Puts and atomics of one channel to one PE keep no order, but behind a fence; messages do.
TEST(Faulty, ReordersTowardsOnePeExceptMessagesAndAcrossAFence) {
  int reordered = 0, across_a_fence = 0;
  for (std::uint64_t seed = 1; seed < 200; ++seed) {
    received.clear();
    LoopJob job(2, 8, record, [seed](std::unique_ptr<Network> inner, int) {
      return make_faulty(std::move(inner), {.seed = seed});
    });
    LoopPe& pe = job.pes[0];
    const bool fenced = seed % 2 == 0;
    const std::uint64_t value = 1;
    Completion first, second;
    pe.ops().put(pe.channel, 1, LoopPe::word(0), &value, 8, true, &first);
    for (std::uint64_t i = 0; i < 4; ++i) pe.ops().send(pe.channel, 1, 1, &i, 8);
    if (fenced && !pe.ops().fence(pe.channel)) job.quiet(pe);
    pe.ops().amo(pe.channel, 1, LoopPe::word(1), AtomicOp::add, AtomicType::u64, &value, nullptr, nullptr,
                 &second);
    while (!first.done() && !second.done()) pe.net->poll();
    if (second.done() && !first.done()) ++(fenced ? across_a_fence : reordered);
    job.quiet(pe);
    while (received[{0, 1}].size() < 4) job.poll_all();
    EXPECT_EQ((received[{0, 1}]), (std::vector<std::uint64_t>{0, 1, 2, 3}));
  }
  EXPECT_GT(reordered, 10);
  EXPECT_EQ(across_a_fence, 0);
}

TEST(Faulty, RefusesSomeAtomicsAndLongCopies) {
  auto net = make_faulty(open_loop(make_loop_fabric()), {.seed = 3});
  EXPECT_EQ(net->copy_limit(), 16u);
  int refused = 0;
  for (int op = 0; op < kAtomicOps; ++op) {
    const bool first = net->supports(static_cast<AtomicOp>(op), AtomicType::u64, true);
    EXPECT_EQ(first, net->supports(static_cast<AtomicOp>(op), AtomicType::u64, true));
    refused += !first;
  }
  EXPECT_LT(refused, kAtomicOps);
  EXPECT_EQ(net->describe(), "faulty loop");
}

}  // namespace
}  // namespace shm::test
