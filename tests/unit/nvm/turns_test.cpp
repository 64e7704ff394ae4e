// SPDX-License-Identifier: BSD-3-Clause
// Whose turn it is, in all interleavings of who makes rounds of a pager, each written as nvm/pager.cpp does
// it.
#include "nvm/turns.hpp"

#include <gtest/gtest.h>

#include <array>
#include <deque>
#include <functional>
#include <string_view>
#include <type_traits>
#include <unordered_set>

namespace shm::nvm {
namespace {

TEST(Turns, OneHasThem) {
  Turns turns;
  EXPECT_TRUE(turns.begin());
  EXPECT_FALSE(turns.begin());
  EXPECT_FALSE(turns.end()) << "nobody has called";
  EXPECT_FALSE(turns.taken());
  EXPECT_TRUE(turns.begin());
  EXPECT_TRUE(turns.taken());
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

namespace rounds {  // the names are common

// Who makes rounds: the pager's thread, one that takes a message off the network, one that waits for a
// page which the device has, and one that drives the network while a page that was sent arrives.  A fifth has
// faulted, and rings the pager.  Each step is one of the atomic operations of pager.cpp and requests.cpp.
// The device tells of the end of a transfer only if it has been asked to (Device::listen()).
enum Who : std::size_t { pager, driver, waiter, faulted, device, sender, kActors };
enum Step : std::uint8_t {
  begin,   // a round, or
  work,    //   take what there is,
  submit,  //   (the pager's thread) hand transfers to the device,
  end,     //   and look whether somebody has called
  listen,  // the pager's thread: what rings from now on wakes it
  look,    //   takes the turn to look whether there is something,
  looked,  //   and gives it back
  sleep,
  post,       // the others: something new,
  look_up,    // (who has seen a page arrive) whether somebody has the turn, who may have looked before,
  carry_out,  // (who waits) reads its page itself, once,
  call,       //   which a round has to find
  ring,       //   or the pager's thread
  over,
};
enum Transfer : std::uint8_t { none, started, submitted, taken, ended };
struct State {
  bool has_turn = false, called = false, listens = false, rung = false;
  bool message = false, asked = false, faults = false, sent = false;  // that no round has taken yet
  Transfer transfer = none;                                           // for who waits
  bool tells = false;                                                 // the device
  bool got = false, may_read = true;                                  // who waits
  bool stays = false;                   // what the pager's thread saw when it looked
  std::array<bool, kActors> submits{};  // what each saw at the end of its round
  std::array<std::uint8_t, kActors> rounds{};
  std::array<Step, kActors> at{begin, post, post, post, over, post};

  bool operator==(const State&) const = default;
  bool anything() const { return message || asked || faults || sent; }
};

// Equal states are equal bytes.
static_assert(std::has_unique_object_representations_v<State>);
struct HashOfState {
  std::size_t operator()(const State& state) const {
    return std::hash<std::string_view>()({reinterpret_cast<const char*>(&state), sizeof state});
  }
};

class Exploration {
 public:
  // Returns in how many states nobody does anything more.
  int run() {
    visit(State{});
    while (!queue_.empty()) {
      const State state = queue_.front();
      queue_.pop_front();
      bool any = false;
      for (std::size_t who = pager; who < kActors; ++who) {
        State next = state;
        if (!step(next, who)) continue;
        any = true;
        visit(next);
      }
      if (any) continue;
      ++ends_;
      EXPECT_FALSE(state.anything() || state.transfer != none) << "all sleep, and something was forgotten";
      EXPECT_TRUE(state.got);
      EXPECT_FALSE(state.has_turn);
    }
    return ends_;
  }

 private:
  static constexpr int kRounds = 2;  // that others make at most

  void visit(const State& state) {
    if (seen_.insert(state).second) queue_.push_back(state);
  }
  // The real word, as it is in this state.
  template <class Use>
  static bool use(State& state, Use operation) {
    Turns turns;
    if (state.has_turn) turns.begin();
    if (state.called) turns.call();
    const bool result = operation(turns);
    state.called = turns.called();
    state.has_turn = turns.taken();
    return result;
  }
  static bool try_begin(State& state) {
    return use(state, [](Turns& turns) { return turns.begin(); });
  }
  static bool try_end(State& state) {
    return use(state, [](Turns& turns) { return turns.end(); });
  }
  static void ring_pager(State& state) { state.rung |= state.listens; }
  static void hear(State& state) { state.listens = state.rung = false; }

  static bool step(State& state, std::size_t who) {
    if (who == pager) return step_pager(state);
    if (who == device) return step_device(state);
    return step_other(state, who);
  }

  static bool step_device(State& state) {
    if (state.transfer != submitted) return false;
    state.transfer = ended;
    if (state.tells) ring_pager(state);
    return true;
  }

  static void take_all(State& state) {
    state.message = state.faults = state.sent = false;
    if (state.transfer == ended) {
      state.transfer = none;
      state.got = true;
    }
    if (state.asked) state.transfer = started;
    state.asked = false;
  }

  static bool step_pager(State& state) {
    Step& at = state.at[pager];
    switch (at) {
      case begin: at = try_begin(state) ? work : listen; return true;
      case work:
        take_all(state);
        at = submit;
        return true;
      case submit:
        if (state.transfer == started) state.transfer = submitted;
        at = end;
        return true;
      case end: at = try_end(state) ? begin : listen; return true;
      case listen:
        state.listens = true;
        state.rung = false;
        at = look;
        return true;
      case look:
        if (!try_begin(state)) {  // a nap
          hear(state);
          at = begin;
          return true;
        }
        state.stays = state.anything() || state.transfer == started || state.transfer == ended ||
                      (state.transfer == submitted && !state.tells);
        state.tells |= state.transfer != none;
        at = looked;
        return true;
      case looked: {
        const bool again = try_end(state) || state.stays;
        state.stays = false;
        if (again) hear(state);
        at = again ? begin : sleep;
        return true;
      }
      case sleep:
        if (!state.rung) return false;
        hear(state);
        at = begin;
        return true;
      default: return false;
    }
  }

  static bool step_other(State& state, std::size_t who) {
    Step& at = state.at[who];
    switch (at) {
      case post:
        (who == driver   ? state.message
         : who == waiter ? state.asked
         : who == sender ? state.sent
                         : state.faults) = true;
        at = who == driver ? call : who == waiter ? begin : who == sender ? look_up : ring;
        return true;
      case look_up: at = use(state, [](Turns& turns) { return turns.taken(); }) ? call : begin; return true;
      case carry_out:
        state.transfer = ended;
        state.may_read = false;
        at = begin;
        return true;
      case call:
        use(state, [](Turns& turns) {
          turns.call();
          return true;
        });
        at = begin;
        return true;
      case begin:
        if (state.rounds[who] == kRounds) {
          at = ring;
        } else if (try_begin(state)) {
          at = work;
        } else {
          at = who == waiter ? ring : over;
        }
        return true;
      case work:
        take_all(state);
        if (who == waiter && state.transfer == started && state.may_read) state.transfer = taken;
        state.submits[who] = state.transfer == started;
        at = end;
        return true;
      case end: {
        ++state.rounds[who];
        const bool called = try_end(state);
        if (who == waiter && state.transfer == taken) {
          if (called) ring_pager(state);
          at = carry_out;
          return true;
        }
        at = state.submits[who] ? ring : called ? begin : who == waiter ? ring : over;
        return true;
      }
      case ring:  // who waits may have got its page, and hands nothing back
        if (who != waiter || !state.got || state.submits[who] || state.rounds[who] == kRounds)
          ring_pager(state);
        at = over;
        return true;
      default: return false;
    }
  }

  std::unordered_set<State, HashOfState> seen_;
  std::deque<State> queue_;
  int ends_ = 0;
};

}  // namespace rounds

TEST(Turns, NothingIsForgottenInAnyInterleaving) { EXPECT_GT(rounds::Exploration().run(), 0); }

}  // namespace
}  // namespace shm::nvm
