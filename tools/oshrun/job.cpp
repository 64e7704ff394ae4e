// SPDX-License-Identifier: BSD-3-Clause
#include "job.hpp"

#include <fcntl.h>
#include <limits.h>
#include <sys/epoll.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <cstring>

#include "base/limits.hpp"
#include "binding_plan.hpp"
#include "debug_windows.hpp"
#include "environment.hpp"
#include "memory_servers.hpp"
#include "time_limit.hpp"
#include "topology.hpp"

namespace oshrun {
namespace {

// What a ready descriptor is: kind in the upper half of the token, rank in the lower.
enum Token : std::uint64_t {
  kSignals,
  kPmix,
  kPeOut,
  kPeErr,
  kSinkOut,
  kSinkErr,
  kTerminal,
  kPeInput,
  kAnswers
};

constexpr std::uint64_t token_of(Token kind, int rank = 0) {
  return std::uint64_t{kind} << 32 | static_cast<std::uint32_t>(rank);
}

constexpr std::array<Stream, 2> kStreams{Stream::kOut, Stream::kErr};

/// Between a connection that breaks and the end of the process that had it, with a wide margin.
constexpr std::chrono::milliseconds kDeathAfterItsConnections{1000};

/// From SIGTERM to SIGKILL for memory servers without PEs, which have nothing to save.
constexpr std::chrono::milliseconds kServersLeaveAtOnce{500};

/// More than a pipe holds, so that a process's last words are read at once, but not the flood of a living
/// process.
constexpr int kReadsAtEnd = 32;

/// How often to look whether debuggers have come.
constexpr std::chrono::milliseconds kLookForDebuggers{50};

/// Descriptors that the launcher needs for itself; for the pipes, and the connection to libpmix, of a
/// process.
constexpr std::size_t kFiles = 24, kFilesOfProcess = 4;

std::string reason(int error) { return strerror(error); }

}  // namespace

Job::Job(const Options& options, std::vector<Program> programs)
    : options_(options),
      programs_(std::move(programs)),
      roster_(options.roster()),
      host_(host_name()),
      session_(new_session()),
      children_(programs_, state_),
      output_(roster_, options.tag),
      policy_(roster_),
      epoll_(epoll_create1(EPOLL_CLOEXEC)) {}

int Job::run() {
  if (options_.timeout) timeout_at_ = Clock::now() + *options_.timeout;
  start();
  while (running_ > 0) wait_for_events();
  drain();
  while (!output_.empty()) wait_for_events();
  clean_up();
  return exit_code_.value_or(0);
}

// ---------------------------------------------------------------------------------------------------- start

bool Job::start() {
  watch(state_.signal_fd(), token_of(kSignals), EPOLLIN);
  for (const std::string& name : missing_settings(options_)) output_.say(missing_setting(name));
  prepare_environment(options_, session_.job_id);
  for (const std::string& line : suppress_others_errors(this_installation().data, options_.apps))
    output_.say(line);
  inquiry_.listen(session_.job_id, roster_.pes, options_.answer_within);
  if (inquiry_.fd() >= 0) watch(inquiry_.fd(), token_of(kAnswers), EPOLLIN);
  if (options_.debug) {
    let_debuggers_take_their_time();
    for (int pe = 0; pe < roster_.pes; ++pe) children_.at(pe).debugged = options_.debug->waits(pe);
  }
  if (!start_children()) return false;
  bind_children();
  return start_server() && release_children();
}

bool Job::start_children() {
  int error = janitor_.start(session_);  // first, as what is made from here on is its to take away
  if (const int why = create_session_dir(session_); why != 0) {
    fail(1, "oshrun: cannot make the directory " + session_.dir + ": " + reason(why) +
                "; let TMPDIR name a directory that you may write to");
    return false;
  }
  const std::size_t files = kFiles + kFilesOfProcess * static_cast<std::size_t>(children_.size());
  if (const std::size_t allowed = shm::allow_open_files(files); allowed < files) {
    fail(1, "oshrun: needs " + std::to_string(files) + " open files to start " + roster_.count() +
                ", and may have " + std::to_string(allowed) + "; use fewer, or raise the limit (ulimit -n)");
    return false;
  }
  if (error == 0) error = children_.fork_all(input_is_terminal());
  for (int rank = 0; rank < children_.size(); ++rank) {
    if (children_.at(rank).pid <= 0) continue;
    ++running_;
    janitor_.watch(children_.at(rank).pid);
    watch(children_.at(rank).out.get(), token_of(kPeOut, rank), EPOLLIN);
    watch(children_.at(rank).err.get(), token_of(kPeErr, rank), EPOLLIN);
  }
  input_ = Input(children_.take_stdin());
  if (error == 0) return true;
  fail(1, "oshrun: cannot start " + roster_.count() + ": " + reason(error) +
              (error == EAGAIN ? shm::limit_of_threads() : shm::limit_behind(error)) +
              "; use fewer, or raise the limit");
  return false;
}

void Job::bind_children() {
  const bool by_cores = needs_topology(options_.bind, roster_.pes);
  const BindingPlan plan =
      plan_binding(options_.bind, roster_, by_cores ? allowed_cores() : std::vector<Core>());
  // One word for all cases; unasked only where a wish could not be met.
  const bool wished = options_.bind == Bind::kCore || options_.bind == Bind::kNuma;
  if (wished || options_.report_bindings) {
    if (!plan.why_no_pe.empty()) output_.say("oshrun: no PE is bound: " + plan.why_no_pe);
    if (!plan.why_no_server.empty() && roster_.servers > 0)
      output_.say("oshrun: no memory server is bound: " + plan.why_no_server);
  }
  for (std::size_t i = 0; i < plan.cpus_of.size(); ++i) {
    const int rank = static_cast<int>(i);
    const int error = children_.bind(rank, plan.cpus_of[i]);
    const std::string text = "oshrun: " + roster_.name(rank);
    if (error != 0) output_.say(text + " could not be bound: " + reason(error));
    if (error == 0 && options_.report_bindings)
      output_.say(text + " is bound to processors " + cpu_list(plan.cpus_of[i]));
  }
}

bool Job::start_server() {
  PmixConfig config{session_.pmix_namespace, host_, session_.dir, {}, {}};
  for (std::size_t i = 0; i < programs_.size(); ++i)
    config.app_of.insert(config.app_of.end(), static_cast<std::size_t>(programs_[i].app.processes),
                         static_cast<int>(i));
  for (std::size_t i = 0; i < config.app_of.size(); ++i) config.tokens.push_back(random_number());
  const std::string error = server_.start(config);
  if (!error.empty()) {
    fail(1, "oshrun: " + error +
                (shm::threads_are_used_up() ? shm::limit_of_threads()
                                            : "; is the loopback network interface (lo) up?"));
    return false;
  }
  watch(server_.event_fd(), token_of(kPmix), EPOLLIN);
  return true;
}

bool Job::release_children() {
  for (int rank = 0; rank < children_.size(); ++rank) {
    if (children_.at(rank).debugged) {
      for_debuggers_.push_back(rank);
    } else if (!release(rank)) {
      return false;
    }
  }
  if (!for_debuggers_.empty()) bring_debuggers();
  return true;
}

bool Job::release(int rank) {
  const int error = children_.release(rank, server_.settings_of(rank));
  // EPIPE: it has been killed already, and SIGCHLD will tell.
  if (error == 0 || error == EPIPE) return true;
  fail(1, "oshrun: cannot start " + roster_.name(rank) + ": " + reason(error));
  return false;
}

void Job::bring_debuggers() {
  std::string error;
  const std::string path = find_debugger(*options_.debug, error);
  if (!error.empty()) return fail(exec_exit_code(ENOENT), error);
  for (const std::string& line : open_debuggers(*options_.debug, path, children_, state_, for_debuggers_))
    output_.say(line);
  look_for_debuggers_at_ = Clock::now();
}

/// A PE whose debugger has come may go on, which the debugger decides.
void Job::look_for_debuggers() {
  std::erase_if(for_debuggers_, [this](int rank) {
    if (children_.at(rank).reaped || exit_code_) return true;
    if (!has_debugger(children_.at(rank).pid)) return false;
    release(rank);
    return true;
  });
  look_for_debuggers_at_.reset();
  if (!for_debuggers_.empty()) look_for_debuggers_at_ = Clock::now() + kLookForDebuggers;
}

// ----------------------------------------------------------------------------------------------------- loop

void Job::wait_for_events() {
  update_interest();
  std::array<epoll_event, 64> events;
  const int count = epoll_wait(epoll_.get(), events.data(), static_cast<int>(events.size()), wait_limit());
  check_deadlines();
  for (int i = 0; i < count; ++i) dispatch(events[static_cast<std::size_t>(i)].data.u64);
}

/// Milliseconds until the next deadline, -1 if there is none.
int Job::wait_limit() const {
  std::optional<Clock::time_point> next;
  for (const auto& at : {timeout_at_, kill_at_, give_up_output_at_, output_.deadline(), input_.deadline(),
                         inquiry_.deadline(), look_at_, trust_suspicion_at_, look_for_debuggers_at_})
    if (at && (!next || *at < *next)) next = at;
  if (!next) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(*next - Clock::now()).count();
  return static_cast<int>(std::clamp<long>(left, 0, INT_MAX));
}

void Job::check_deadlines() {
  const Clock::time_point now = Clock::now();
  output_.on_time(now);
  if (input_.deadline() && *input_.deadline() <= now) input_.retry();
  check_waits(now);
  if (look_for_debuggers_at_ && *look_for_debuggers_at_ <= now) look_for_debuggers();
  if (trust_suspicion_at_ && *trust_suspicion_at_ <= now) {
    on_children();  // a death that has not been looked at yet comes first
    policy_.trust_suspicion();
    judge();
  }
  if (kill_at_ && *kill_at_ <= now) kill_now();
  if (timeout_at_ && *timeout_at_ <= now) {
    timeout_at_.reset();
    give_up_output_at_ = now + 2 * options_.kill_after;
    if (running_ > 0 && policy_.pes_alive() > 0)
      fail_after_asking(kExitTimeIsUp, time_is_up(*options_.timeout), Asking::kBeforeTimeout);
  }
  if (give_up_output_at_ && *give_up_output_at_ <= now && running_ == 0) {
    for (Stream stream : kStreams) output_.sink(stream).drop();
  }
}

void Job::dispatch(std::uint64_t token) {
  const int rank = static_cast<int>(token & 0xffffffffu);
  switch (static_cast<Token>(token >> 32)) {
    case kSignals: return on_signals();
    case kPmix: return on_children();
    case kPeOut: return read_output(rank, Stream::kOut, false);
    case kPeErr: return read_output(rank, Stream::kErr, false);
    case kSinkOut: return output_.sink(Stream::kOut).flush();
    case kSinkErr: return output_.sink(Stream::kErr).flush();
    case kTerminal: return input_.on_readable();
    case kPeInput: return input_.on_writable();
    case kAnswers: return on_answers();
  }
}

void Job::on_signals() {
  signalfd_siginfo info;
  while (read(state_.signal_fd(), &info, sizeof info) == sizeof info)
    on_signal(static_cast<int>(info.ssi_signo));
}

void Job::on_signal(int signal) {
  switch (signal) {
    case SIGCHLD: return on_children();
    case SIGUSR1:
    case SIGUSR2: return signal_pes(signal);
    case SIGCONT: return children_.signal_all(signal);
    case SIGTSTP: return stop_and_continue();
    case shm::kAskSignal: static_cast<void>(exit_code_ || ask(Asking::kOnRequest)); return;
    default: break;
  }
  ++interrupts_;
  give_up_output_at_ = Clock::now();
  if (interrupts_ == 1) *give_up_output_at_ += 2 * options_.kill_after;
  if (interrupts_ == 1 && !exit_code_) {
    fail_after_asking(128 + signal, "oshrun: caught " + describe_signal(signal) + "; the job ends",
                      Asking::kBeforeEnd);
  } else {
    kill_now();
  }
}

/// Signals with a meaning of the program's own, which would kill a memory server.
void Job::signal_pes(int signal) {
  for (int pe = 0; pe < roster_.pes; ++pe) children_.signal(pe, signal);
}

void Job::stop_and_continue() {
  children_.signal_all(SIGSTOP);
  raise(SIGSTOP);
  // Here somebody has sent SIGCONT, which is passed on like any other signal (on_signal).
}

/// Everything there is to know about the lives of processes. PMIx events of one are queued before it can
/// exit, so reaping first and asking the queue second never misses a reason.
void Job::on_children() {
  const std::vector<Exit> exits = children_.reap();
  take_pmix_events();
  for (const Exit& exit : exits) {
    --running_;
    janitor_.forget(children_.at(exit.rank).pid);
    if (exit.rank == 0) input_.close();
    policy_.exited(exit.rank, exit.wait_status);
    if (roster_.is_pe(exit.rank)) watch_the_rest();
  }
  if (policy_.suspects() && !trust_suspicion_at_ && !exit_code_)
    trust_suspicion_at_ = Clock::now() + kDeathAfterItsConnections;
  judge();
  // What a PE has suspected before it went may be that a server has died, which must come to light first.
  if (policy_.pes_alive() == 0 && policy_.servers_alive() > 0 && !policy_.suspects())
    end_servers_without_pes();
}

void Job::judge() {
  if (std::optional<Verdict> verdict = policy_.judge()) {
    if (!exit_code_) report(*verdict);
    end(verdict->exit_code);
  }
}

void Job::take_pmix_events() {
  if (server_.event_fd() < 0) return;
  for (const PmixEvent& event : server_.take_events()) {
    switch (event.kind) {
      case PmixEvent::Kind::kConnected: policy_.connected(event.rank); break;
      case PmixEvent::Kind::kFinalized: policy_.finalized(event.rank); break;
      case PmixEvent::Kind::kAborted: policy_.aborted(event.rank, event.status, event.message); break;
    }
  }
}

void Job::read_output(int rank, Stream stream, bool everything) {
  UniqueFd& fd = stream == Stream::kOut ? children_.at(rank).out : children_.at(rank).err;
  std::array<char, 65536> buffer;
  for (int i = 0; fd && i < (everything ? kReadsAtEnd : 1); ++i) {
    const ssize_t size = read(fd.get(), buffer.data(), buffer.size());
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno == EAGAIN) return;
    if (size <= 0) return close_output(rank, stream);
    output_.feed(rank, stream, {buffer.data(), static_cast<std::size_t>(size)});
  }
}

void Job::close_output(int rank, Stream stream) {
  UniqueFd& fd = stream == Stream::kOut ? children_.at(rank).out : children_.at(rank).err;
  if (!fd) return;
  unwatch(fd.get());
  fd.reset();
  output_.finish(rank, stream);
}

/// Makes epoll wait for what can be used: room in an output that has bytes to write, PEs' pipes while their
/// output is not full, the terminal while PE 0 has room.
void Job::update_interest() {
  for (Stream stream : kStreams) {
    Sink& sink = output_.sink(stream);
    SinkInterest& interest = interest_[stream == Stream::kOut ? 0 : 1];
    if (sink.broken()) {
      // The processes shall see a closed pipe, as if they wrote there themselves.
      for (int rank = 0; rank < children_.size(); ++rank) close_output(rank, stream);
    }
    if (interest.watched == sink.empty()) {
      interest.watched = !sink.empty();
      if (interest.watched)
        watch(sink.fd(), token_of(stream == Stream::kOut ? kSinkOut : kSinkErr), EPOLLOUT);
      if (!interest.watched) unwatch(sink.fd());
    }
    if (interest.paused == sink.full()) continue;
    interest.paused = sink.full();
    for (int rank = 0; rank < children_.size(); ++rank) {
      const UniqueFd& fd = stream == Stream::kOut ? children_.at(rank).out : children_.at(rank).err;
      if (fd && interest.paused) unwatch(fd.get());
      if (fd && !interest.paused)
        watch(fd.get(), token_of(stream == Stream::kOut ? kPeOut : kPeErr, rank), EPOLLIN);
    }
  }
  if (reading_input_ != input_.wants_read()) {
    reading_input_ = !reading_input_;
    if (reading_input_) watch(STDIN_FILENO, token_of(kTerminal), EPOLLIN);
    if (!reading_input_) unwatch(STDIN_FILENO);
  }
  if (writing_input_ != input_.wants_write()) {
    writing_input_ = !writing_input_;
    // A closed descriptor has left epoll by itself.
    if (writing_input_) watch(input_.pe_fd(), token_of(kPeInput), EPOLLOUT);
    if (!writing_input_ && input_.pe_fd() >= 0) unwatch(input_.pe_fd());
  }
}

// ------------------------------------------------------------------------------------------------------ end

void Job::report(const Verdict& verdict) {
  // What it said comes before what we say about it.
  for (Stream stream : kStreams) read_output(verdict.rank, stream, true);
  const Children::Child& child = children_.at(verdict.rank);
  const App& app = child.program->app;
  if (const std::optional<ExecFailure> failure = children_.exec_failure(verdict.rank)) {
    const std::string what =
        failure->in_wdir ? "go to the directory '" + app.wdir : "execute '" + app.argv[0];
    return output_.say("oshrun: cannot " + what + "': " + reason(failure->error));
  }
  if (!verdict.line.empty()) return output_.say(verdict.line);
  if (verdict.what.empty()) return;
  output_.say("oshrun: " + roster_.name(verdict.rank) + " (pid " + std::to_string(child.pid) + ", host " +
              host_ + ") " + verdict.what + (verdict.signal == SIGKILL ? oom_.verdict() : "") +
              "; the job ends");
}

void Job::fail(int exit_code, const std::string& line) {
  if (!exit_code_) output_.say(line);
  end(exit_code);
}

/// The first reason decides the exit code; all processes get SIGTERM once, and SIGKILL after a short while.
void Job::end(int exit_code) {
  if (!exit_code_) exit_code_ = exit_code;
  trust_suspicion_at_.reset();
  terminate(options_.kill_after);
}

/// Memory servers stay for PEs that call shmem_init again, until there are none. Their end is no failure.
void Job::end_servers_without_pes() {
  policy_.let_servers_go();
  terminate(std::min(options_.kill_after, kServersLeaveAtOnce));
}

void Job::terminate(std::chrono::milliseconds kill_after) {
  if (kill_at_) return;
  kill_at_ = Clock::now() + kill_after;
  inquiry_.finish();
  look_at_.reset();
  // PMIx complains when PEs die in mid-message, which they are about to do.
  output_.silence_libraries();
  children_.signal_all(SIGTERM);
  children_.signal_all(SIGCONT);  // a stopped process takes no SIGTERM
}

void Job::kill_now() {
  kill_at_ = Clock::time_point::max();
  children_.signal_all(SIGKILL);
}

/// All processes have gone, and their groups with them: what they wrote is in the pipes.
void Job::drain() {
  for (int rank = 0; rank < children_.size(); ++rank) {
    for (Stream stream : kStreams) {
      read_output(rank, stream, true);
      close_output(rank, stream);
    }
  }
  output_.finish_all();
  timeout_at_.reset();
  kill_at_.reset();
  trust_suspicion_at_.reset();
  look_for_debuggers_at_.reset();
  inquiry_.finish();
  look_at_.reset();
}

void Job::clean_up() {
  remove_job_files(session_);
  janitor_.stop();
}

void Job::watch(int fd, std::uint64_t token, std::uint32_t events) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = token;
  // Fails for regular files: those never make anybody wait.
  epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event);
}

void Job::unwatch(int fd) { epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

}  // namespace oshrun
