// SPDX-License-Identifier: BSD-3-Clause
// The MSHR file against a model that executes one atomic after the other.
#include "nic/mshr.hpp"

#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cstring>
#include <deque>
#include <random>
#include <set>
#include <thread>

#include "base/fatal.hpp"
#include "seed.hpp"

namespace shm::nic {
namespace {

using test::seed_of_run;

constexpr std::size_t kLines = 6;

struct Lines {
  alignas(64) std::array<std::byte, kLines * 64> bytes{};
};

// A file beside its model: random atomics on few lines, words of both widths that overlap.
class Program {
 public:
  Program(std::uint64_t seed, MshrSize size) : random_(seed), file_(size) {
    for (std::size_t i = 0; i < memory_.bytes.size(); ++i)
      memory_.bytes[i] = model_.bytes[i] = static_cast<std::byte>(random_());
  }

  void run(int steps) {
    for (int i = 0; i < steps; ++i) {
      step();
      if (random_() % 97 == 0) check();
    }
    check();
    const MshrCounts& counts = file_.counts();
    EXPECT_EQ(counts.executed, static_cast<std::uint64_t>(steps));
    EXPECT_LE(counts.lines + counts.merged, counts.executed);
    EXPECT_LE(counts.updates, counts.executed);
  }

 private:
  struct Issued {
    std::uint64_t operands[2];
    std::uint64_t old = 0, expected = 0;
  };

  void step() {
    AtomicOp op;
    AtomicType type;
    do {
      op = static_cast<AtomicOp>(random_() % kAtomicOps);
      type = static_cast<AtomicType>(random_() % kAtomicTypes);
    } while (!is_defined(op, type));
    const std::size_t width = atomic_size(type);
    const std::size_t at = random_() % (memory_.bytes.size() / width) * width;
    Issued& issued = issued_.emplace_back();
    issued.operands[0] = random_() % 4 == 0 ? random_() : random_() % 8;
    std::memcpy(&issued.operands[1], model_.bytes.data() + at, width);  // often what compare_swap will find
    if (random_() % 3 == 0) ++issued.operands[1];
    const bool fetches = !has_non_fetching_form(op) || random_() % 2 == 0;
    file_.add(memory_.bytes.data() + at, op, type, reinterpret_cast<const std::byte*>(issued.operands),
              fetches ? reinterpret_cast<std::byte*>(&issued.old) : nullptr);
    std::byte* modelled = model_.bytes.data() + at;
    std::uint64_t old = 0;
    atomic_apply(op, type, modelled, &issued.operands[0], &issued.operands[1], &old);
    if (fetches && op != AtomicOp::set) std::memcpy(&issued.expected, &old, width);
    if (op == AtomicOp::set) issued.old = issued.expected = 0;  // says nothing
    widths_.push_back(op == AtomicOp::set ? 0 : width);
  }

  void check() {
    file_.drain();
    EXPECT_EQ(memory_.bytes, model_.bytes);
    for (std::size_t i = 0; i < issued_.size(); ++i)
      EXPECT_EQ(std::memcmp(&issued_[i].old, &issued_[i].expected, widths_[i]), 0) << "atomic " << i;
    issued_.clear();
    widths_.clear();
  }

  std::mt19937_64 random_;
  MshrFile file_;
  Lines memory_, model_;
  std::deque<Issued> issued_;
  std::vector<std::size_t> widths_;
};

TEST(NicMshr, RandomAtomicsGiveWhatTheModelGives) {
  const std::uint64_t first = seed_of_run();
  for (std::uint64_t seed = first; seed < first + 20; ++seed) {
    for (const MshrSize size : {MshrSize{64, 64}, {1, 1}, {2, 3}, {3, 1}, {1, 64}, {5, 1024}}) {
      SCOPED_TRACE("seed " + std::to_string(seed) + ", " + std::to_string(size.entries) + " x " +
                   std::to_string(size.subentries));
      Program(seed, size).run(2000);
      if (testing::Test::HasFailure()) return;
    }
  }
}

// Nothing is lost and no value is fetched twice while CPUs change the same words with their own instructions.
TEST(NicMshr, MixesWithOtherFilesAndWithCpus) {
  constexpr std::uint64_t kAdds = 20000;
  Lines memory;
  auto* words = reinterpret_cast<std::uint64_t*>(memory.bytes.data());
  constexpr std::size_t kWords = 4;
  std::array<std::vector<std::uint64_t>, 4> fetched[kWords];
  const auto by_file = [&](std::size_t me) {
    MshrFile file({2, 7});
    const std::uint64_t one = 1;
    std::vector<std::uint64_t> old(kAdds);
    for (std::uint64_t i = 0; i < kAdds; ++i) {
      file.add(reinterpret_cast<std::byte*>(&words[i % kWords]), AtomicOp::add, AtomicType::u64,
               reinterpret_cast<const std::byte*>(&one), reinterpret_cast<std::byte*>(&old[i]));
      if (i % 13 == 0) file.drain();
    }
    file.drain();
    for (std::uint64_t i = 0; i < kAdds; ++i) fetched[i % kWords][me].push_back(old[i]);
  };
  const auto by_cpu = [&](std::size_t me) {
    for (std::uint64_t i = 0; i < kAdds; ++i)
      fetched[i % kWords][me].push_back(atomic_apply<AtomicOp::add>(&words[i % kWords], std::uint64_t{1}));
  };
  std::vector<std::thread> threads;
  for (std::size_t me = 0; me < 2; ++me) threads.emplace_back(by_file, me);
  for (std::size_t me = 2; me < 4; ++me) threads.emplace_back(by_cpu, me);
  for (std::thread& thread : threads) thread.join();
  for (std::size_t w = 0; w < kWords; ++w) {
    std::set<std::uint64_t> all;
    for (const auto& list : fetched[w]) all.insert(list.begin(), list.end());
    EXPECT_EQ(all.size(), kAdds);
    EXPECT_EQ(*all.rbegin(), kAdds - 1);
    EXPECT_EQ(words[w], kAdds);
  }
}

// A file of two entries of 64 atomics, each of which adds 1 to a word.
class NicMshrFull : public ::testing::Test {
 protected:
  void add(std::size_t word) {
    file.add(reinterpret_cast<std::byte*>(&words[word]), AtomicOp::add, AtomicType::u64,
             reinterpret_cast<const std::byte*>(&one_), nullptr);
  }
  void fetch(std::size_t word) {
    file.add(reinterpret_cast<std::byte*>(&words[word]), AtomicOp::fetch, AtomicType::u64, nullptr,
             reinterpret_cast<std::byte*>(&old_));
  }

 private:
  Lines memory_;
  const std::uint64_t one_ = 1;
  std::uint64_t old_ = 0;

 protected:
  std::uint64_t* const words = reinterpret_cast<std::uint64_t*>(memory_.bytes.data());
  MshrFile file{{2, 64}};
};

// As many as an entry, and the file, has room for, and one more.
TEST_F(NicMshrFull, RetiresAnEntryForTheAtomicThatFindsNoRoom) {
  for (int i = 0; i < 64; ++i) add(0);
  EXPECT_EQ(words[0], 0u) << "held";
  EXPECT_EQ(file.counts().stalls, 0u);
  add(0);
  EXPECT_EQ(words[0], 64u);
  EXPECT_EQ(file.counts().stalls, 1u);
  EXPECT_EQ(file.counts().lines, 2u);
  add(8);
  EXPECT_EQ(file.counts().stalls, 1u);
  add(16);
  EXPECT_EQ(words[0], 65u) << "the oldest line makes room for a third";
  EXPECT_EQ(words[8], 0u);
  EXPECT_EQ(file.counts().stalls, 2u);
  file.drain();
  EXPECT_EQ(words[8] + words[16], 2u);
}

TEST_F(NicMshrFull, CountsHitsMissesAndStalls) {
  for (int i = 0; i < 640; ++i) add(0);  // an entry is full nine times
  file.drain();
  EXPECT_EQ(file.counts().lines, 10u);
  EXPECT_EQ(file.counts().merged, 630u);
  EXPECT_EQ(file.counts().stalls, 9u);
  EXPECT_EQ(file.counts().updates, 10u);
  for (std::size_t line = 0; line < 4; ++line) add(8 * line);  // the file is full twice
  file.drain();
  EXPECT_EQ(file.counts().lines, 14u);
  EXPECT_EQ(file.counts().stalls, 11u);
  EXPECT_EQ(words[0], 641u);
}

// Several atomics on a line access each of its words once, whether or not one of them writes.
TEST_F(NicMshrFull, CountsEachWordOfALineOnce) {
  for (const std::size_t word : {0, 1, 1, 2}) fetch(word);
  file.drain();
  EXPECT_EQ(file.counts().updates, 3u);
  for (const std::size_t word : {0, 1, 1}) add(word);
  file.drain();
  EXPECT_EQ(file.counts().updates, 5u);
  fetch(7);
  file.drain();
  EXPECT_EQ(file.counts().updates, 6u);
}

// Atomics on 4096 lines, which do not merge, then on four words, which do.
TEST(NicMshr, LeavesTheFileOutWhereNothingMerges) {
  constexpr std::size_t kMany = 4096, kStep = 8;
  const std::uint64_t seed = seed_of_run();
  SCOPED_TRACE("seed " + std::to_string(seed));
  std::mt19937_64 random(seed);
  std::vector<std::uint64_t> memory(kMany * kStep), model(kMany);
  MshrFile file({});
  struct Issued {
    std::uint64_t operands[2];
    std::uint64_t old, expected;
  };
  std::deque<Issued> issued;
  const auto run = [&](std::size_t words, int atomics) {
    for (int i = 0; i < atomics; ++i) {
      const std::size_t at = random() % words;
      const AtomicOp ops[] = {AtomicOp::add, AtomicOp::swap, AtomicOp::compare_swap};
      const AtomicOp op = ops[random() % 3];
      Issued& one = issued.emplace_back(Issued{{random() % 8, model[at] + (random() % 2)}, 0, model[at]});
      file.add(reinterpret_cast<std::byte*>(&memory[at * kStep]), op, AtomicType::u64,
               reinterpret_cast<const std::byte*>(one.operands), reinterpret_cast<std::byte*>(&one.old));
      atomic_apply(op, AtomicType::u64, &model[at], &one.operands[0], &one.operands[1], nullptr);
      if (i % 1000 != 999) continue;
      file.drain();
      for (const Issued& done : issued) ASSERT_EQ(done.old, done.expected);
      issued.clear();
    }
    for (std::size_t i = 0; i < kMany; ++i) ASSERT_EQ(memory[i * kStep], model[i]);
  };
  run(kMany, 60'000);
  EXPECT_LE(file.counts().lines, 2000u) << "a sample of 1024, at the end of a packet of 1000";
  EXPECT_EQ(file.counts().executed, 60'000u);
  run(4, 160'000);
  EXPECT_GE(file.counts().merged, 100'000u) << "it has noticed that they merge";
  EXPECT_EQ(file.counts().executed, 220'000u);
}

TEST(NicMshrDeath, SizesAreOneToTheMost) {
  const auto error = ::testing::ExitedWithCode(kErrorExit);
  EXPECT_EXIT(MshrFile({0, 5}), error, "an MSHR file of 0 entries of 5\n");
  EXPECT_EXIT(MshrFile({5, 0}), error, "an MSHR file of 5 entries of 0\n");
  EXPECT_EXIT(MshrFile({kMostMshrs + 1, 5}), error, "of 1025 entries of 5\n");
  EXPECT_EXIT(MshrFile({5, kMostMshrs + 1}), error, "of 5 entries of 1025\n");
  MshrFile({kMostMshrs, kMostMshrs});
}

}  // namespace
}  // namespace shm::nic
