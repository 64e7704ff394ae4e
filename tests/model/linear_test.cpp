// SPDX-License-Identifier: BSD-3-Clause
#include "linear.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace shm::linear {
namespace {

using History = std::vector<Operation>;

// Builds operations; threads are told apart by who calls it last: each has its own by default.
struct Maker {
  History history;

  Operation& add(Kind kind, std::uint64_t called, std::uint64_t returned, Outcome outcome = Outcome::done) {
    Operation operation;
    operation.kind = kind, operation.outcome = outcome;
    operation.called = called, operation.returned = returned;
    operation.thread = static_cast<std::uint32_t>(history.size());
    return history.emplace_back(operation);
  }
  Operation& write(Kind kind, std::uint64_t word, std::uint64_t called, std::uint64_t returned,
                   Outcome outcome = Outcome::done) {
    Operation& operation = add(kind, called, returned, outcome);
    operation.argument = {word, word};
    return operation;
  }
  Operation& get(Value value, std::uint64_t called, std::uint64_t returned) {
    Operation& operation = add(Kind::get, called, returned);
    operation.seen = value;
    return operation;
  }
  Operation& sum(Kind kind, std::uint64_t word, std::uint64_t old, std::uint64_t called,
                 std::uint64_t returned) {
    Operation& operation = add(kind, called, returned);
    operation.argument.word = word, operation.seen.word = old;
    return operation;
  }
  Operation& swap(std::uint64_t expected, std::uint64_t desired, std::uint64_t old, std::uint64_t called,
                  std::uint64_t returned) {
    Operation& operation =
        add(Kind::compare_swap, called, returned, expected == old ? Outcome::done : Outcome::mismatch);
    operation.expected = expected, operation.argument.word = desired, operation.seen.word = old;
    return operation;
  }
  bool ok(State initial = {}) const { return check(history, initial).linearizable; }
};

const State kSeven{true, {7, 7}};

TEST(Linear, NothingIsLinearizable) { EXPECT_TRUE(check({}).linearizable); }

TEST(Linear, OneAfterTheOther) {
  Maker all;
  all.write(Kind::insert, 1, 1, 2);
  all.write(Kind::insert, 2, 3, 4, Outcome::exists);
  all.get({1, 1}, 5, 6);
  all.write(Kind::update, 3, 7, 8);
  all.sum(Kind::add, 4, 3, 9, 10);
  all.swap(7, 9, 7, 11, 12);
  all.swap(7, 8, 9, 13, 14);
  all.get({9, 3}, 15, 16);
  all.add(Kind::remove, 17, 18);
  all.add(Kind::remove, 19, 20, Outcome::not_found);
  all.add(Kind::contains, 21, 22, Outcome::not_found);
  all.write(Kind::update, 3, 23, 24, Outcome::not_found);
  all.sum(Kind::upsert, 5, 0, 25, 26);
  all.sum(Kind::upsert, 5, 5, 27, 28);
  all.get({10, kUpserted}, 29, 30);
  EXPECT_TRUE(all.ok());
}

TEST(Linear, StaleRead) {
  Maker all;
  all.write(Kind::put, 1, 1, 2);
  all.get({7, 7}, 3, 4);
  EXPECT_FALSE(all.ok(kSeven));
  all.history[1].called = 2;  // not after it any more
  EXPECT_TRUE(all.ok(kSeven));
}

TEST(Linear, ValueFromNowhere) {
  Maker all;
  all.write(Kind::put, 1, 1, 9);
  all.get({2, 2}, 2, 3);
  EXPECT_FALSE(all.ok());
}

TEST(Linear, HalfOfOneAndHalfOfAnother) {
  Maker all;
  all.write(Kind::put, 1, 1, 9);
  all.write(Kind::put, 2, 1, 9);
  all.get({1, 2}, 2, 3);
  EXPECT_FALSE(all.ok());
}

TEST(Linear, LostUpdate) {
  Maker all;
  all.sum(Kind::add, 1, 7, 1, 10);
  all.sum(Kind::add, 1, 7, 2, 9);
  EXPECT_FALSE(all.ok(kSeven));
  all.history[1].seen.word = 8;
  EXPECT_TRUE(all.ok(kSeven));
}

TEST(Linear, LostSumOfWhichOldValuesAreNotWrong) {
  Maker all;
  all.sum(Kind::add, 1, 7, 1, 2);
  all.sum(Kind::add, 1, 8, 3, 4);
  all.get({8, 7}, 5, 6);
  EXPECT_FALSE(all.ok(kSeven));
}

TEST(Linear, TwoInsertsWin) {
  Maker all;
  all.write(Kind::insert, 1, 1, 9);
  all.write(Kind::insert, 2, 1, 9);
  EXPECT_FALSE(all.ok());
  all.history[1].outcome = Outcome::exists;
  EXPECT_TRUE(all.ok());
}

TEST(Linear, TwoRemovesWin) {
  Maker all;
  all.add(Kind::remove, 1, 9);
  all.add(Kind::remove, 1, 9);
  EXPECT_FALSE(all.ok(kSeven));
  all.write(Kind::put, 1, 8, 9);  // that came between them
  EXPECT_TRUE(all.ok(kSeven));
}

TEST(Linear, NobodyWins) {
  Maker all;
  all.write(Kind::insert, 1, 1, 9, Outcome::exists);
  all.write(Kind::insert, 2, 1, 9, Outcome::exists);
  EXPECT_FALSE(all.ok());
}

TEST(Linear, RemovedAndStillThere) {
  Maker all;
  all.add(Kind::remove, 1, 2);
  all.add(Kind::contains, 3, 4);
  EXPECT_FALSE(all.ok(kSeven));
}

// Whether there was anything or not.
TEST(Linear, ClearedAndStillThere) {
  Maker all;
  all.add(Kind::clear, 1, 2);
  EXPECT_TRUE(all.ok());
  all.add(Kind::contains, 3, 4);
  EXPECT_FALSE(all.ok(kSeven));
  all.history[1].outcome = Outcome::not_found;
  EXPECT_TRUE(all.ok(kSeven));
}

// What a scan that has not met a key says, and one that has met it twice.
TEST(Linear, AbsentAtSomeInstant) {
  Maker all;
  all.get({7, 7}, 1, 4);
  all.add(Kind::contains, 1, 8, Outcome::not_found);
  all.get({7, 7}, 5, 8);
  for (Operation& operation : all.history) operation.thread = 1;
  EXPECT_FALSE(all.ok(kSeven));
  all.add(Kind::remove, 2, 3).thread = 2;
  EXPECT_FALSE(all.ok(kSeven));
  all.write(Kind::insert, 7, 6, 7).thread = 2;
  EXPECT_TRUE(all.ok(kSeven));
}

TEST(Linear, SwapOfWhatWasNotThere) {
  Maker all;
  all.swap(5, 6, 5, 1, 2);
  EXPECT_FALSE(all.ok(kSeven));
}

TEST(Linear, MismatchThatWasNone) {
  Maker all;
  all.swap(7, 6, 7, 1, 2).outcome = Outcome::mismatch;
  EXPECT_FALSE(all.ok(kSeven));
}

// Two readers see two concurrent writes in different orders.
TEST(Linear, ReadersDisagree) {
  Maker all;
  all.write(Kind::put, 1, 1, 100);
  all.write(Kind::put, 2, 1, 100);
  all.get({1, 1}, 4, 5);
  all.get({2, 2}, 6, 7);
  all.get({2, 2}, 2, 3);
  EXPECT_FALSE(all.ok());
  all.history[4].returned = 4;  // not before the other's first
  EXPECT_TRUE(all.ok());
  all.get({1, 1}, 8, 9);  // back again
  EXPECT_FALSE(all.ok());
}

// A put of what is there already has its effect where it is needed.
TEST(Linear, SamePutTwice) {
  Maker all;
  all.write(Kind::put, 7, 1, 100);
  all.add(Kind::remove, 2, 3);
  all.get({7, 7}, 4, 5);
  EXPECT_TRUE(all.ok(kSeven));
}

// Nonblocking operations: concurrent by their times, but in the order of their calls.
TEST(Linear, OneThreadKeepsItsOrder) {
  Maker all;
  all.write(Kind::put, 1, 1, 100);
  all.write(Kind::put, 2, 2, 100);
  all.get({1, 1}, 101, 102);
  EXPECT_TRUE(all.ok());
  all.history[1].thread = all.history[0].thread;
  EXPECT_FALSE(all.ok());
}

TEST(Linear, WhatHasNotReturnedMayHaveTakenEffectOrNot) {
  Maker all;
  all.write(Kind::put, 1, 1, kNever);
  all.get({7, 7}, 2, 3);
  EXPECT_TRUE(all.ok(kSeven));
  all.get({1, 1}, 4, 5);
  EXPECT_TRUE(all.ok(kSeven));
  all.get({7, 7}, 6, 7);
  EXPECT_FALSE(all.ok(kSeven));
}

// Of a long history the report names the operation that is wrong, and little else.
TEST(Linear, OffendingPart) {
  Maker all;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    if (i == 600) all.get({i + 1, 7}, 10 * i - 5, 10 * i - 4);  // there were i
    all.sum(Kind::add, 1, i, 10 * i, 10 * i + 1);
  }
  const Verdict verdict = check(all.history, {true, {0, 7}});
  EXPECT_FALSE(verdict.linearizable);
  EXPECT_TRUE(verdict.decided);
  EXPECT_EQ(verdict.part, std::vector<std::size_t>{600});
  EXPECT_EQ(verdict.before, (State{true, {600, 7}}));
  EXPECT_NE(describe(all.history, verdict).find("get"), std::string::npos);
}

TEST(Linear, GivesUp) {
  Maker all;
  for (int i = 0; i < 12; ++i) all.write(Kind::put, static_cast<std::uint64_t>(i + 1), 1, 9);
  all.get({99, 99}, 10, 11);
  const Verdict verdict = check(all.history, {}, 100);
  EXPECT_FALSE(verdict.decided);
}

// ---- Against all orders there are

Operation random_operation(std::mt19937& dice) {
  Operation operation;
  operation.kind = static_cast<Kind>(dice() % kKinds);
  operation.argument = {dice() % 3, 1 + dice() % 2};
  operation.expected = dice() % 3;
  return operation;
}

// What `threads` threads see that call at random times, each operation taking effect at some instant.
History simulate(std::mt19937& dice, std::size_t count, unsigned threads, unsigned longest,
                 const State& initial) {
  History history;
  std::vector<std::uint64_t> free_at(threads, 0);
  State state = initial;
  for (std::uint64_t now = 1; history.size() < count; now += 1 + dice() % 4) {
    const auto thread = static_cast<std::uint32_t>(dice() % threads);
    if (free_at[thread] >= now) continue;
    Operation operation = apply(random_operation(dice), state);
    operation.thread = thread;
    const std::uint64_t earlier = dice() % longest;
    operation.called = std::max(free_at[thread] + 1, now - std::min(now, earlier));
    operation.returned = free_at[thread] = now + dice() % longest;
    history.push_back(operation);
  }
  return history;
}

bool in_some_order(const History& history, const State& initial) {
  std::vector<std::size_t> order(history.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  do {
    State state = initial;
    bool good = true;
    for (std::size_t a = 0; good && a < order.size(); ++a) {
      for (std::size_t b = a + 1; good && b < order.size(); ++b) {
        const Operation &first = history[order[a]], &second = history[order[b]];
        good = first.called <= second.returned &&
               (first.thread != second.thread || first.called < second.called);
      }
      const Operation answer = apply(history[order[a]], state);
      good = good && answer.outcome == history[order[a]].outcome && answer.seen == history[order[a]].seen;
    }
    if (good) return true;
  } while (std::next_permutation(order.begin(), order.end()));
  return false;
}

// Something in it is made wrong, or perhaps not.
void disturb(std::mt19937& dice, Operation& operation) {
  switch (dice() % 4) {
    case 0: operation.seen.word = dice() % 3; break;
    case 1: operation.outcome = static_cast<Outcome>(dice() % 4); break;
    case 2: operation.argument.word = dice() % 3; break;
    default: operation.kind = static_cast<Kind>(dice() % kKinds);
  }
}

TEST(Linear, AgreesWithAllOrders) {
  std::mt19937 dice(1);
  int wrong = 0;
  for (int i = 0; i < 4000; ++i) {
    const State initial = i % 2 ? State{} : State{true, {1, 1}};
    History history = simulate(dice, 6, 3, 12, initial);
    ASSERT_TRUE(check(history, initial).linearizable) << i;
    disturb(dice, history[dice() % history.size()]);
    const bool expected = in_some_order(history, initial);
    wrong += !expected;
    ASSERT_EQ(check(history, initial).linearizable, expected) << i;
  }
  EXPECT_GT(wrong, 1000);
  EXPECT_LT(wrong, 3900);
}

TEST(Linear, LongHistories) {
  std::mt19937 dice(2);
  for (const unsigned threads : {2u, 8u, 16u}) {
    const History history = simulate(dice, 3000, threads, 200, {});
    const Verdict verdict = check(history);
    EXPECT_TRUE(verdict.linearizable) << threads;
  }
}

}  // namespace
}  // namespace shm::linear
