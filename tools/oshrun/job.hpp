// SPDX-License-Identifier: BSD-3-Clause
// A job of PEs, and of memory servers if there are any, from the first fork to the last clean-up.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "children.hpp"
#include "fd.hpp"
#include "input.hpp"
#include "memory_cgroup.hpp"
#include "options.hpp"
#include "output.hpp"
#include "pmix_server.hpp"
#include "policy.hpp"
#include "session.hpp"
#include "wait_inquiry.hpp"

namespace oshrun {

/// One job from the first fork to the last clean-up: a single-threaded loop over signals, PMIx events and
/// descriptors. README.md says who waits for whom. Make one for each process.
class Job {
 public:
  /// `programs` in the order of ranks: the PEs', then the memory servers'.
  Job(const Options& options, std::vector<Program> programs);

  /// Runs the job and cleans up after it. Returns the exit code of the launcher, which then must end by
  /// _exit.
  int run();

 private:
  using Clock = std::chrono::steady_clock;

  // Start: false means that the job is already ending.
  bool start();
  bool start_children();
  void bind_children();
  bool start_server();
  bool release_children();
  bool release(int rank);
  void bring_debuggers();
  void look_for_debuggers();

  // The loop.
  void wait_for_events();
  int wait_limit() const;
  void check_deadlines();
  void dispatch(std::uint64_t token);
  void on_signals();
  void on_signal(int signal);
  void signal_pes(int signal);
  void stop_and_continue();
  void on_children();
  void judge();
  void take_pmix_events();
  void read_output(int rank, Stream stream, bool everything);
  void close_output(int rank, Stream stream);
  void update_interest();

  // Who waits for whom (job_waits.cpp).
  enum class Asking {
    kOnRequest,
    kBeforeTimeout,
    kBeforeEnd,
    kWhetherStuck
  };  // what happens with the answers
  bool ask(Asking purpose);
  void fail_after_asking(int exit_code, const std::string& line, Asking purpose);
  void on_answers();
  void conclude_inquiry();
  void watch_the_rest();
  void check_waits(Clock::time_point now);

  // The end.
  void report(const Verdict& verdict);
  void fail(int exit_code, const std::string& line);
  void end(int exit_code);
  void end_servers_without_pes();
  void terminate(std::chrono::milliseconds kill_after);
  void kill_now();
  void drain();
  void clean_up();

  void watch(int fd, std::uint64_t token, std::uint32_t events);
  void unwatch(int fd);

  const Options& options_;
  const std::vector<Program> programs_;
  const Roster roster_;
  std::string host_;
  ProcessState state_;
  Session session_;
  Janitor janitor_;
  Children children_;
  Output output_;
  Input input_{UniqueFd()};
  PmixServer server_;
  Policy policy_;
  OomWatch oom_;
  UniqueFd epoll_;

  bool reading_input_ = false;
  bool writing_input_ = false;
  struct SinkInterest {
    bool watched = false;  // waits in epoll for room
    bool paused = false;   // the PEs' pipes for it are not read
  };
  SinkInterest interest_[2];

  int running_ = 0;  // processes that were forked and not yet reaped
  std::optional<int> exit_code_;
  std::optional<Clock::time_point> timeout_at_;
  std::optional<Clock::time_point> kill_at_;
  std::optional<Clock::time_point> trust_suspicion_at_;  // when no death can explain it any more
  std::optional<Clock::time_point> give_up_output_at_;
  int interrupts_ = 0;

  std::vector<int> for_debuggers_;  // PEs that wait for theirs
  std::optional<Clock::time_point> look_for_debuggers_at_;

  WaitInquiry inquiry_;
  Asking asking_ = Asking::kOnRequest;
  std::optional<Clock::time_point> look_at_;  // when to look whether the PEs that remain are stuck
  std::chrono::milliseconds look_period_{0};  // 0: no PE has gone yet
};

}  // namespace oshrun
