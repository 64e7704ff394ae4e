// SPDX-License-Identifier: BSD-3-Clause
// Operations that other PEs are to execute, gathered: one message for several, of which those to a PE leave
// in the order of add().
//
//   add() -> the open message for the PE -> closed, because it is alone  nothing is under way to that PE
//                                                              or none is to share (SHMEM_PACK=off)
//                                                              full
//                                                              answered  all before it is
//                                                              wanted    flush(): somebody waits
//                                                              old       tick(), the second since it was
//                                                              opened
//         -> sent, by one thread at a time, in order
//
// Who adds never waits: how much there may be its callers bound.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <vector>

#include "base/mutex.hpp"
#include "base/spin.hpp"
#include "base/stats.hpp"
#include "nvm/coherence/messages.hpp"

namespace shm::nvm {

/// What gathered messages leave by.
class Outlet {
 public:
  /// May run handlers, and these answered().
  virtual void send_operations(int pe, const std::byte* message, std::size_t n) = 0;
  /// Something is held: tick() is to be called within half the time that it may be, and again as long as that
  /// says so.  Neither waits nor polls.
  virtual void hold() = 0;

 protected:
  ~Outlet() = default;
};

/// Thread safety: all of it.  No lock is held while the outlet is called.
class Gathering {
 public:
  /// Without `shares` each operation leaves at once, in a message of its own.
  Gathering(Outlet& outlet, std::size_t npes, bool shares = true)
      : outlet_(outlet), shares_(shares), targets_(npes) {}

  /// Copies the record of an operation for `pe`; `data`: of a put, else null.  What it does before is seen by
  /// who executes it.
  void add(int pe, const Operation& operation, const std::byte* data);
  /// So many that were added for `pe` have been answered.
  void answered(int pe, std::uint32_t operations);
  /// All that was added before leaves now, or as soon as who sends to that PE has sent what is before it.
  void flush();
  /// What was opened before the last tick leaves.  Returns whether anything is held still.
  bool tick();

  /// Whether one that is added for `pe` now would share its message, or its journey.
  bool is_under_way(int pe) const {
    return shares_ && targets_[static_cast<std::size_t>(pe)].under_way.load(std::memory_order_relaxed) != 0;
  }
  /// Whether any message is open.
  bool holds() const { return open_.load(std::memory_order_seq_cst) != 0; }

 private:
  using Message = std::vector<std::byte>;
  struct Target {
    SpinLock lock;
    Message open GUARDED_BY(lock), spare GUARDED_BY(lock);
    std::uint32_t gathered GUARDED_BY(lock) = 0;  // operations in `open`
    std::uint32_t opened GUARDED_BY(lock) = 0;    // at which tick
    std::deque<Message> closed GUARDED_BY(lock);  // to be sent
    bool sending GUARDED_BY(lock) = false;        // by a thread that will look again
    std::atomic<std::uint32_t> under_way{0};      // operations: closed or sent, and not answered
  };

  Target& target(int pe) { return targets_[static_cast<std::size_t>(pe)]; }
  void close(Target& of) REQUIRES(of.lock);
  void close(Target& of, Stat why) REQUIRES(of.lock);
  static bool begin(Target& to, Message& message) REQUIRES(to.lock);
  void transmit(int pe, Target& to, Message message) EXCLUDES(to.lock);
  template <class Which>
  void close_and_send(Stat why, Which which);

  Outlet& outlet_;
  const bool shares_;
  std::vector<Target> targets_;
  std::atomic<std::uint32_t> open_{0};  // messages that are open
  std::atomic<std::uint32_t> ticks_{0};
};

}  // namespace shm::nvm
