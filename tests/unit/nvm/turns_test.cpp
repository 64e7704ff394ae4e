// SPDX-License-Identifier: BSD-3-Clause
// Whose turn it is, in all interleavings of who makes rounds of a pager, each written as nvm/pager.cpp does
// it.
#include "nvm/turns.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <set>
#include <tuple>

namespace shm::nvm {
namespace {

TEST(Turns, OneHasThem) {
  Turns turns;
  EXPECT_TRUE(turns.begin());
  EXPECT_FALSE(turns.begin());
  EXPECT_FALSE(turns.end()) << "called by whom?";
  EXPECT_TRUE(turns.begin_or_call());
  EXPECT_FALSE(turns.begin_or_call());
  EXPECT_TRUE(turns.end());
}

TEST(Turns, ACallIsForTheNextRound) {
  Turns turns;
  turns.call();
  EXPECT_TRUE(turns.called());
  EXPECT_TRUE(turns.begin());
  EXPECT_FALSE(turns.called());
  turns.call();
  EXPECT_TRUE(turns.end());
  EXPECT_TRUE(turns.called()) << "forgotten, though no round was made";
}

// The pager's thread (0), a thread that takes a message off the network (1), and two that wait for a page
// each, make rounds, and then hand back (2, 3).  Each step is one of the atomic operations.
constexpr int kThreads = 4;
enum Step : std::uint8_t {
  begin,   // a round, or
  work,    //   take what there is
  end,     //   and look whether somebody has called
  listen,  // the pager's thread: what rings from now on wakes it
  look,    //   takes the turn to look whether there is something,
  looked,  //   and gives it back
  sleep,
  post,  // the others: something new,
  call,  //   which a round has to find
  ring,  //   or the pager's thread
  over,
};
struct State {
  bool taken = false, called = false, news = false, listens = false, rung = false;
  std::array<bool, 2> asked{};  // by those that wait
  std::array<Step, kThreads> at{begin, post, post, post};
  std::array<std::uint8_t, kThreads> rounds{};
  bool finds = false;  // what the pager's thread saw when it looked

  auto tie() const { return std::tie(taken, called, news, listens, rung, asked, at, rounds, finds); }
  bool operator<(const State& other) const { return tie() < other.tie(); }
  bool anything() const { return news || asked[0] || asked[1]; }
};

class Exploration {
 public:
  // `seen` in its last round by who hands back whether it has what it waits for; false: it always rings.
  int run() {
    visit(State{});
    while (!queue_.empty()) {
      const State state = queue_.front();
      queue_.pop_front();
      bool any = false;
      for (int thread = 0; thread < kThreads; ++thread) any |= step(state, thread);
      if (any) continue;
      ++ends_;
      EXPECT_FALSE(state.anything()) << "all sleep, and something was forgotten";
      EXPECT_FALSE(state.taken);
    }
    return ends_;
  }

 private:
  void visit(const State& state) {
    if (seen_.insert(state).second) queue_.push_back(state);
  }
  // The real word, as it is in this state.
  template <class Use>
  static bool use(State& state, Use operation) {
    Turns turns;
    if (state.taken) turns.begin();
    if (state.called) turns.call();
    const bool result = operation(turns);
    state.called = turns.called();
    state.taken = !turns.begin();
    return result;
  }
  static bool try_begin(State& state, bool calls) {
    return use(state, [calls](Turns& turns) { return calls ? turns.begin_or_call() : turns.begin(); });
  }
  static bool try_end(State& state) {
    return use(state, [](Turns& turns) { return turns.end(); });
  }
  static void ring_pager(State& state) {
    if (state.listens) state.rung = true;
  }

  bool step(const State& before, int thread) {
    State state = before;
    const auto t = static_cast<std::size_t>(thread);
    if (!(thread == 0 ? step_pager(state) : step_other(state, t))) return false;
    visit(state);
    return true;
  }

  static bool step_pager(State& state) {
    Step& at = state.at[0];
    switch (at) {
      case begin: at = try_begin(state, true) ? work : listen; return true;
      case work:
        take_all(state);
        at = end;
        return true;
      case end: at = try_end(state) ? begin : listen; return true;
      case listen:
        state.listens = true;
        state.rung = false;
        at = look;
        return true;
      case look:
        if (!try_begin(state, true)) {
          at = sleep;
        } else {
          state.finds = state.anything();
          at = looked;
        }
        return true;
      case looked: {
        const bool again = try_end(state) || state.finds;
        state.finds = false;
        if (again) state.listens = state.rung = false;
        at = again ? begin : sleep;
        return true;
      }
      case sleep:
        if (!state.rung) return false;
        state.listens = state.rung = false;
        at = begin;
        return true;
      default: return false;
    }
  }

  // Who has the message makes two rounds at most, those who wait one, in which they may find the turn taken.
  static bool step_other(State& state, std::size_t t) {
    Step& at = state.at[t];
    const bool waits = t > 1;
    switch (at) {
      case post:
        (waits ? state.asked[t - 2] : state.news) = true;
        at = waits ? begin : call;
        return true;
      case call:
        use(state, [](Turns& turns) {
          turns.call();
          return true;
        });
        at = begin;
        return true;
      case begin: {
        const bool calls_unheard = state.rounds[t] == 2;
        if (calls_unheard)
          at = ring;
        else
          at = try_begin(state, false) ? work : waits ? ring : over;
        return true;
      }
      case work:
        take_all(state);
        at = end;
        return true;
      case end:
        ++state.rounds[t];
        if (try_end(state))
          at = begin;
        else
          at = waits ? ring : over;
        return true;
      case ring:  // hands back: to its thread, unless it has got what it asked for, or had to stop
        if (!waits || state.asked[t - 2] || state.rounds[t] == 2) ring_pager(state);
        at = over;
        return true;
      default: return false;
    }
  }

  static void take_all(State& state) {
    state.news = false;
    state.asked = {};
  }

  std::set<State> seen_;
  std::deque<State> queue_;
  int ends_ = 0;
};

TEST(Turns, NothingIsForgottenInAnyInterleaving) { EXPECT_GT(Exploration().run(), 0); }

}  // namespace
}  // namespace shm::nvm
