// SPDX-License-Identifier: BSD-3-Clause
// Whose turn it is, in all interleavings of who makes rounds of a pager, each written as nvm/pager.cpp does
// it.
#include "nvm/turns.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <deque>
#include <functional>
#include <initializer_list>
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
// page which the device has, and one that drives the network while a page that was sent arrives.  The page of
// the message is being copied, and nobody rings when that has ended.  A thread of another process has
// faulted, and rings the pager, which its ear hears.  In the end somebody may stop the pager. Each step is
// one of the atomic operations of pager.cpp and requests.cpp. The device tells of the end of a transfer only
// if it has been asked to (Device::listen()).
// Left out: rounds that begin or cease to be shared, a pager without a descriptor, two of a kind.
enum Who : std::size_t { pager, driver, waiter, faulted, device, sender, copier, ear, stopper, kActors };
enum Step : std::uint8_t {
  begin,      // a round, or
  work,       //   take what there is,
  submit,     //   (the pager's thread) hand transfers to the device,
  end,        //   and look whether somebody has called
  listen,     // the pager's thread: what rings from now on wakes it
  forget,     //   what has rung,
  look,       //   takes the turn to look whether there is something,
  looked,     //   gives it back,
  last_look,  //   whether it is to stop
  sleep,
  post,        // the others: something new,
  look_up,     // (who has seen a page arrive) whether somebody has the turn, who may have looked before,
  carry_out,   // (who waits) reads its page itself, once,
  call,        //   which a round has to find
  ring,        //   or the pager's thread,
  wake,        // (of another process) or its ear
  look_out,    // the ear: whether it is to stop, or
  compare,     //   the bell has rung, or
  asleep,      //
  hear,        //   what has rung
  tell,        //   is what wakes the pager
  unlatch,     // who copies from the page
  stop,        // the pager: says so, rings,
  join,        //   when its thread has ended
  take_turn,   //   for good,
  await_read,  //   wakes the ear
  join_ear,    //
  over,
};
enum Transfer : std::uint8_t { none, started, submitted, taken, ended };
enum Rest : std::uint8_t { at_once, nap, for_ever };
constexpr std::array<Step, kActors> kFirst{begin, post, post, post, over, post, unlatch, look_out, stop};
struct State {
  bool has_turn = false, called = false, listens = false, rung = false;
  bool message = false, asked = false, faults = false, sent = false;  // that no round has taken yet
  bool latched = false, waits = false;                                // the message, for its page
  Transfer transfer = none;                                           // for who waits
  bool tells = false;                                                 // the device
  bool got = false, may_read = true;                                  // who waits
  bool stays = false;                    // what the pager's thread saw when it looked
  Rest sleeps = at_once;                 // for how long it does
  bool bell = false, ear_wakes = false;  // it has rung since the ear looked; who rang has woken it
  bool stops = false;
  std::array<bool, kActors> submits{}, naps{};  // what each saw at the end of its round
  std::array<std::uint8_t, kActors> rounds{};
  std::array<Step, kActors> at{};

  bool operator==(const State&) const = default;
  bool anything() const { return message || asked || faults || sent; }
  Rest longest_sleep() const { return waits ? nap : for_ever; }
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
  // With those who take part.  Returns in how many states nobody does anything more.
  int run(std::initializer_list<Who> who_there_is) {
    State first;
    std::ranges::fill(first.at, over);
    for (const Who who : who_there_is) first.at[who] = kFirst[who];
    first.latched = first.at[copier] != over;
    const bool is_stopped = first.at[stopper] != over;
    const bool has_waiter = first.at[waiter] != over;
    visit(first);
    while (!queue_.empty()) {
      const State state = queue_.front();
      queue_.pop_front();
      if (is_stopped && state.at[stopper] == over) {  // the pager is destroyed
        EXPECT_EQ(state.at[pager], over);
        EXPECT_EQ(state.at[ear], over);
        EXPECT_NE(state.transfer, taken) << "somebody reads";
      }
      bool any = false;
      for (std::size_t who = pager; who < kActors; ++who) {
        State next = state;
        if (!step(next, who)) continue;
        any = true;
        visit(next);
      }
      if (any) continue;
      ++ends_;
      if (is_stopped) {
        for (const Step at : state.at) EXPECT_EQ(at, over) << "somebody waits for ever";
        EXPECT_TRUE(state.has_turn);
      } else {
        EXPECT_FALSE(state.anything() || state.waits || state.transfer != none)
            << "all sleep, and something was forgotten";
        EXPECT_EQ(state.got, has_waiter);
        EXPECT_FALSE(state.has_turn);
      }
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
  static void ring_pager(State& state) {
    state.bell = true;
    state.rung |= state.listens;
  }
  static void wake_ear(State& state) { state.ear_wakes |= state.at[ear] == asleep; }

  static bool step(State& state, std::size_t who) {
    switch (who) {
      case pager: return step_pager(state);
      case device: return step_device(state);
      case copier: return step_copier(state);
      case ear: return step_ear(state);
      case stopper: return step_stopper(state);
      default: return step_other(state, who);
    }
  }

  static bool step_device(State& state) {
    if (state.transfer != submitted) return false;
    state.transfer = ended;
    if (state.tells) ring_pager(state);
    return true;
  }

  static bool step_copier(State& state) {
    if (state.at[copier] == over) return false;
    state.latched = false;
    state.at[copier] = over;
    return true;
  }

  // hear_other_processes()
  static bool step_ear(State& state) {
    Step& at = state.at[ear];
    switch (at) {
      case look_out: at = state.stops ? over : compare; return true;
      case compare: at = state.bell ? hear : asleep; return true;
      case asleep:
        if (!state.ear_wakes) return false;
        state.ear_wakes = false;
        at = hear;
        return true;
      case hear:
        state.bell = false;
        at = tell;
        return true;
      case tell:
        state.rung = true;
        at = look_out;
        return true;
      default: return false;
    }
  }

  // Pager::stop()
  static bool step_stopper(State& state) {
    Step& at = state.at[stopper];
    switch (at) {
      case stop:
        state.stops = true;
        at = ring;
        return true;
      case ring:
        ring_pager(state);
        at = join;
        return true;
      case join:
        if (state.at[pager] != over) return false;
        at = take_turn;
        return true;
      case take_turn:
        if (state.has_turn || !try_begin(state)) return false;
        at = await_read;
        return true;
      case await_read:
        if (state.transfer == taken) return false;
        state.bell = true;
        wake_ear(state);
        at = join_ear;
        return true;
      case join_ear:
        if (state.at[ear] != over) return false;
        at = over;
        return true;
      default: return false;
    }
  }

  static void take_all(State& state) {
    state.waits = (state.waits || state.message) && state.latched;
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
    const auto wake_up = [&] {
      state.sleeps = at_once;
      state.listens = false;
      at = begin;
      return true;
    };
    switch (at) {
      case begin: at = state.stops ? over : try_begin(state) ? work : listen; return true;
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
        at = forget;
        return true;
      case forget:
        state.rung = false;
        at = look;
        return true;
      case look:
        if (!try_begin(state)) return wake_up();  // after a nap
        state.stays = state.anything() || state.transfer == started || state.transfer == ended ||
                      (state.transfer == submitted && !state.tells);
        state.tells |= state.transfer != none;
        state.sleeps = state.stays ? at_once : state.longest_sleep();
        at = looked;
        return true;
      case looked: {
        const bool again = try_end(state) || state.stays;
        state.stays = false;
        if (again) return wake_up();
        at = last_look;
        return true;
      }
      case last_look:
        if (state.stops) return wake_up();
        at = sleep;
        return true;
      case sleep: return (state.rung || state.sleeps == nap) && wake_up();
      default: return false;
    }
  }

  static bool end_round(State& state, std::size_t who) {
    ++state.rounds[who];
    const bool called = try_end(state);
    if (who == waiter && state.transfer == taken) {
      if (called || state.naps[who]) ring_pager(state);
      state.naps[who] = false;
      state.at[who] = carry_out;
    } else if (!state.submits[who] && called) {
      state.at[who] = begin;
    } else {
      state.at[who] = state.submits[who] || state.naps[who] || who == waiter ? ring : over;
    }
    return true;
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
          ring_pager(state);
          at = over;
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
        state.naps[who] = state.longest_sleep() < state.sleeps;
        at = end;
        return true;
      case end: return end_round(state, who);
      case ring:  // who waits may have got its page, and hands nothing back
        if (who == faulted && state.at[ear] != over) {
          state.bell = true;
          at = wake;
          return true;
        }
        if (who != waiter || !state.got || state.submits[who] || state.naps[who]) ring_pager(state);
        at = over;
        return true;
      case wake:
        if (state.listens) wake_ear(state);
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

// In small companies: all together have too many states.
TEST(Turns, NothingIsForgottenInAnyInterleaving) {
  using namespace rounds;
  EXPECT_GT(Exploration().run({pager, driver, waiter, faulted, device, sender}), 0);
  EXPECT_GT(Exploration().run({pager, driver, waiter, device, copier}), 0);
  EXPECT_GT(Exploration().run({pager, driver, faulted, sender, copier, ear}), 0);
}

// Nobody that the end waits for waits for ever.  What becomes of requests is not looked at: Pager::stop()
// completes them.
TEST(Turns, ThePagerStopsInAnyInterleaving) {
  using namespace rounds;
  EXPECT_GT(Exploration().run({pager, waiter, device, sender, stopper}), 0);
  EXPECT_GT(Exploration().run({pager, driver, faulted, copier, ear, stopper}), 0);
}

}  // namespace
}  // namespace shm::nvm
