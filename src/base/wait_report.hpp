// SPDX-License-Identifier: BSD-3-Clause
// Who waits for whom: what blocked calls wait for, told when somebody asks.  src/core/README.md has the whole
// picture.
//
// A blocked thread looks itself, now and then, whether it is asked, and then describes its wait.  So nothing
// is written down before that, a description may look at whatever the waiting call may look at, and nobody
// reads another thread's data.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include "base/silence.hpp"
#include "base/wait_record.hpp"

namespace shm {

/// Fills in call, for_pe and what of a record.  Refers to the callable it was made from, which must outlive
/// it.
class WaitReason {
 public:
  template <class Describe>
  explicit WaitReason(const Describe& describe)
      : object_(&describe), run_([](const void* object, WaitRecord& record) {
          (*static_cast<const Describe*>(object))(record);
        }) {}
  void operator()(WaitRecord& record) const { run_(object_, record); }

 private:
  const void* object_;
  void (*run_)(const void*, WaitRecord&);
};

/// Sets call and what of a record, and the PE that must act (WaitRecord::kNobody: not known).  `format` as
/// for printf; the text completes "<call> waits ".
[[gnu::cold, gnu::format(printf, 4, 5)]] void describe_wait(WaitRecord& record, const char* call, int for_pe,
                                                            const char* format, ...);

/// One blocked thread's place among those that can be asked.
class WaitWatch {
 public:
  WaitWatch() = default;
  ~WaitWatch() { end(); }
  WaitWatch(const WaitWatch&) = delete;
  WaitWatch& operator=(const WaitWatch&) = delete;

  /// To be called again and again while the thread waits, from when it no longer merely polls.  Reports if
  /// somebody has asked since the first call, or, once, if the wait has taken SHMEM_WAIT_REPORT seconds.
  void look(WaitReason reason);
  /// Whom to listen to: for_pe of the reason; or all other PEs as well, where that one may wait for another.
  enum class Listen : std::uint8_t { to_it, to_all };
  /// The same, and ends the job if who is waited for is silent for too long (watch_peers).  Takes locks of
  /// the network: not in handlers of signals.
  void look_and_listen(WaitReason reason, Listen listen = Listen::to_it);
  /// The wait is over: the next look is the first one of another.
  void end() {
    if (joined_) [[unlikely]]
      leave();
  }

 private:
  using Clock = std::chrono::steady_clock;
  void join();
  void leave();
  void report(WaitReason reason, bool asked, double seconds) const;
  void listen(WaitReason reason, Listen whom);

  Clock::time_point since_{};
  Clock::time_point listen_at_{};
  std::uint32_t seen_ = 0;
  bool joined_ = false;
  bool told_ = false;
};

/// A wait of a thread that cannot look, inside another library or in a handler of a signal: whoever hears a
/// question answers for it.  `call`, `what` and `rest` are literals: "<call> waits <what>", or, with `rest`,
/// "<call> waits <what><number><rest>".  With `listens`, others do that for it too
/// (listen_for_outside_waits).  Of more than kMost at a time nobody is told.  Async-signal-safe.
class OutsideWait {
 public:
  static constexpr std::size_t kMost = 64;
  OutsideWait(const char* call, const char* what, bool listens = false)
      : OutsideWait(call, what, 0, nullptr, listens) {}
  OutsideWait(const char* call, const char* what, std::uint64_t number, const char* rest, bool listens);
  ~OutsideWait();
  OutsideWait(const OutsideWait&) = delete;
  OutsideWait& operator=(const OutsideWait&) = delete;

 private:
  void* place_ = nullptr;
};

/// Listens to all PEs, now and then, for outside waits that have lasted, as look_and_listen() does: by a
/// thread that may take locks of the network.  Cheap where nobody waits.
void listen_for_outside_waits();

/// Makes this process one that answers the launcher, on a thread of its own, and kAskSignal, unless the
/// program handles that signal itself.  `limit`: seconds after which a wait reports without being asked; 0:
/// never.  `oshruns_job`: the job's id where oshrun is its launcher, else empty: there nobody asks.  The
/// first call counts.
void answer_wait_questions(int pe, int npes, double limit, const std::string& oshruns_job);

/// How threads that wait learn that whom they wait for cannot be reached any more.
struct PeerWatch {
  Silence (*silence_of)(int pe);  // how long the PE, or with Silence::kAnyPe any, has not answered
  std::string (*host_of)(int pe);
  double limit;  // seconds of silence after which the job ends with a line
};

/// From now on whoever waits for more than a tenth of a second listens; null: nobody any more.  `watch` stays
/// where it is for the life of the process.
void watch_peers(const PeerWatch* watch);

/// Ends the job with a line if `silence` is too long for who waits for that reason.  For waits inside the
/// network.
void judge_silence(const Silence& silence, WaitReason reason);
/// Seconds without a sign of life after which a PE is asked for one; 0: nobody listens.
double period_of_questions();

/// Tells the launcher, if it listens, that this PE ends without shmem_finalize.
void announce_implied_end();

}  // namespace shm
