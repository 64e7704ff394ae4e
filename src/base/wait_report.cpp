// SPDX-License-Identifier: BSD-3-Clause
#include "base/wait_report.hpp"

#include <sys/time.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <system_error>

#include "base/fatal.hpp"
#include "base/limits.hpp"
#include "base/service_thread.hpp"

namespace shm {
namespace {

std::atomic<std::uint32_t> asked{0};   // questions so far
std::atomic<std::int32_t> waiting{0};  // threads that answer them

// For the signal handler, which may use only what is ready: set before it is installed.
char job_id[80];
pid_t owner = -1;
int self = WaitRecord::kNobody;
char line_head[64];  // "atoll: PE 3 of 5: "

double report_after = 0;  // seconds

std::atomic<const PeerWatch*> peer_watch{nullptr};
constexpr std::chrono::milliseconds kQuietTime{100};     // before a thread that waits listens
constexpr std::chrono::milliseconds kBetweenLooks{250};  // then
constexpr double kLauncherTakes = 10;                    // seconds, to end a job one of whose PEs has ended

constexpr std::chrono::seconds kTooLongForAConnection{2};

// Returns false if no launcher listens.  Safe in a signal handler.
bool tell_launcher_from(int fd, const WaitRecord& record) {
  sockaddr_un address;
  const socklen_t length = wait_report_address(job_id, address);
  const timeval patience{0, 200'000};  // the kernel keeps few datagrams, the launcher reads them fast
  setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  return sendto(fd, &record, sizeof record, MSG_NOSIGNAL, reinterpret_cast<const sockaddr*>(&address),
                length) == sizeof record;
}

bool tell_launcher(const WaitRecord& record) {
  if (job_id[0] == '\0') return false;
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return false;
  const bool sent = tell_launcher_from(fd, record);
  close(fd);
  return sent;
}

// Prints the parts as one line.  Safe in a signal handler.
void say(std::initializer_list<const char*> parts) {
  char line[sizeof line_head + sizeof WaitRecord::call + sizeof WaitRecord::what + 16];
  std::size_t length = 0;
  for (const char* part : parts) {
    for (; *part != '\0' && length < sizeof line - 1; ++part) line[length++] = *part;
  }
  line[length++] = '\n';
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, line, length);
}

// Where the waits of OutsideWaits are written down; `call` last, which says whether there is one.
struct OutsidePlace {
  std::atomic<bool> taken;
  std::atomic<const char*> call;
  std::atomic<const char*> what;
  std::atomic<std::uint64_t> number;
  std::atomic<const char*> rest;  // null: no number either
  std::atomic<bool> listens;
  std::atomic<pid_t> thread;
  std::atomic<std::chrono::steady_clock::time_point> since;
};
constinit OutsidePlace outside[OutsideWait::kMost];
std::atomic<int> outside_waits{0};
std::atomic<std::int64_t> outside_listen_at{0};  // of the steady clock

struct SeenWait {
  const char* call;
  const char* what;
  std::uint64_t number;
  const char* rest;
  bool listens;
  pid_t thread;
  std::chrono::steady_clock::time_point since;
  // Safe in a signal handler.
  void describe(WaitRecord& record) const {
    std::strncpy(record.call, call, sizeof record.call - 1);
    std::strncpy(record.what, what, sizeof record.what - 1);
    if (rest == nullptr) return;
    char* const end = record.what + sizeof record.what - 1;
    char* at = std::to_chars(record.what + std::strlen(record.what), end, number).ptr;
    std::strncpy(at, rest, static_cast<std::size_t>(end - at));
  }
};

// Calls visit(wait) for each.  One that ends or begins meanwhile may be left out.
template <class Visit>
void for_each_outside_wait(Visit visit) {
  if (outside_waits.load(std::memory_order_acquire) == 0) return;
  for (const OutsidePlace& place : outside) {
    const char* call = place.call.load(std::memory_order_acquire);
    if (call == nullptr) continue;
    const SeenWait seen{call, place.what, place.number, place.rest, place.listens, place.thread, place.since};
    if (place.call == call && place.since.load() == seen.since && place.thread == seen.thread) visit(seen);
  }
}

// Threads that wait answer themselves, within the time of their longest sleep.  Safe in a signal handler.
void answer() {
  int others = 0;
  for_each_outside_wait([&others](const SeenWait&) { ++others; });
  WaitRecord record;
  record.news = WaitRecord::News::present;
  record.pe = self;
  // Before they hear of the question.
  record.waiting = waiting.load(std::memory_order_relaxed) + others;
  asked.fetch_add(1, std::memory_order_relaxed);
  if (!tell_launcher(record) && record.waiting == 0) say({line_head, "no thread waits in a call"});
  for_each_outside_wait([](const SeenWait& wait) {
    WaitRecord told;
    told.pe = self;
    told.thread = wait.thread;
    told.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - wait.since).count();
    wait.describe(told);
    if (!tell_launcher(told)) say({line_head, told.call, " waits ", told.what});
  });
}

void on_question(int) {
  const int error = errno;
  if (getpid() == owner) answer();
  errno = error;
}

// Returns when the socket fails, which it does not.  Who may not signal this process may not ask it either.
void hear_questions(int fd) {
  char question;
  bool ours = false;
  while (receive_from_user(fd, &question, sizeof question, 0, ours) >= 0 || errno == EINTR) {
    if (ours) answer();
  }
}

// A thread hears the launcher's questions for as long as the process lives.  Without it nothing is lost but
// answers.
void listen_to_launcher() {
  const int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const sockaddr any{AF_UNIX, {}};  // a free abstract address
  WaitRecord record;
  record.news = WaitRecord::News::listens;
  record.pe = self;
  const bool bound = ask_for_senders(fd) && bind(fd, &any, sizeof any.sa_family) == 0;
  const bool told = bound && tell_launcher_from(fd, record);
  if (!told && (!bound || errno != EAGAIN)) {
    close(fd);
    return;
  }
  try {
    // A launcher that starts many PEs may be slow to read.
    start_service_thread("atoll-asked", [fd, record, told] {
      for (bool done = told; !done;) done = tell_launcher_from(fd, record) || errno != EAGAIN;
      hear_questions(fd);
    }).detach();
  } catch (const std::system_error&) {  // no threads are left
    close(fd);
  }
}

// Who has no descriptor left cannot take a connection, and may wait for whom it cannot hear.
void look_at_open_files() {
  static std::atomic<bool> said{false};
  if (!said.load(std::memory_order_relaxed) && open_files_are_used_up() && !said.exchange(true))
    warn("all open files of this process are in use, so that no PE can connect to it any more%s",
         limit_behind(EMFILE).c_str());
}

}  // namespace

void describe_wait(WaitRecord& record, const char* call, int for_pe, const char* format, ...) {
  std::snprintf(record.call, sizeof record.call, "%s", call);
  record.for_pe = for_pe;
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(record.what, sizeof record.what, format, arguments);
  va_end(arguments);
}

void WaitWatch::join() {
  joined_ = true;
  waiting.fetch_add(1, std::memory_order_relaxed);
  seen_ = asked.load(std::memory_order_relaxed);
  since_ = Clock::now();
  listen_at_ = since_ + kQuietTime;
}

void WaitWatch::leave() {
  joined_ = told_ = false;
  waiting.fetch_sub(1, std::memory_order_relaxed);
}

void WaitWatch::look(WaitReason reason) {
  if (!joined_) return join();
  const std::uint32_t questions = asked.load(std::memory_order_relaxed);
  const bool watched = report_after > 0 && !told_;
  if (questions == seen_ && !watched) [[likely]]
    return;
  const double seconds = std::chrono::duration<double>(Clock::now() - since_).count();
  if (questions != seen_) {
    seen_ = questions;
    report(reason, true, seconds);
  } else if (seconds >= report_after) {
    told_ = true;
    report(reason, false, seconds);
  }
}

void WaitWatch::look_and_listen(WaitReason reason, Listen whom) {
  look(reason);
  if (peer_watch.load(std::memory_order_relaxed) != nullptr && Clock::now() >= listen_at_)
    listen(reason, whom);
}

void WaitWatch::listen(WaitReason reason, Listen whom) {
  listen_at_ = Clock::now() + kBetweenLooks;
  const PeerWatch* watch = peer_watch.load(std::memory_order_acquire);
  if (watch == nullptr) return;
  if (Clock::now() - since_ > kTooLongForAConnection) look_at_open_files();
  WaitRecord record;
  reason(record);
  judge_silence(watch->silence_of(record.for_pe), reason);
  if (whom == Listen::to_all && record.for_pe != Silence::kAnyPe)
    judge_silence(watch->silence_of(Silence::kAnyPe), reason);
}

void listen_for_outside_waits() {
  using Clock = std::chrono::steady_clock;
  if (outside_waits.load(std::memory_order_relaxed) == 0) [[likely]]
    return;
  const PeerWatch* watch = peer_watch.load(std::memory_order_acquire);
  if (watch == nullptr) return;
  const auto now = Clock::now();
  std::int64_t at = outside_listen_at.load(std::memory_order_relaxed);
  const std::int64_t next = (now + kBetweenLooks).time_since_epoch().count();
  if (now.time_since_epoch().count() < at || !outside_listen_at.compare_exchange_strong(at, next)) return;
  for_each_outside_wait([&](const SeenWait& wait) {
    if (!wait.listens || now - wait.since < kQuietTime) return;
    const auto describe = [&wait](WaitRecord& record) { wait.describe(record); };
    judge_silence(watch->silence_of(Silence::kAnyPe), WaitReason(describe));
  });
}

double period_of_questions() {
  const PeerWatch* watch = peer_watch.load(std::memory_order_acquire);
  return watch == nullptr ? 0 : std::clamp(watch->limit / 4, 0.5, 10.0);
}

void judge_silence(const Silence& silence, WaitReason reason) {
  const PeerWatch* watch = peer_watch.load(std::memory_order_acquire);
  if (watch == nullptr || silence.seconds < (silence.ended ? kLauncherTakes : watch->limit)) return;
  WaitRecord record;
  reason(record);
  const std::string name = process_name(silence.pe), host = watch->host_of(silence.pe);
  if (silence.ended)
    lost_peer("%s on host %s has ended, nobody has ended the job for %.0f s, and %s waits %s", name.c_str(),
              host.c_str(), silence.seconds, record.call, record.what);
  lost_peer(
      "%s on host %s has not answered for %.0f s (SHMEM_PEER_TIMEOUT), and %s waits %s: it is stopped, its "
      "host "
      "has failed, or the network to it is down",
      name.c_str(), host.c_str(), silence.seconds, record.call, record.what);
}

void WaitWatch::report(WaitReason reason, bool asked_for, double seconds) const {
  WaitRecord record;
  record.pe = self;
  record.thread = gettid();
  record.seconds = seconds;
  reason(record);
  if (asked_for && tell_launcher(record)) return;
  warn("%s waits %s; since %.1f s, in thread %d", record.call, record.what, seconds, record.thread);
}

OutsideWait::OutsideWait(const char* call, const char* what, std::uint64_t number, const char* rest,
                         bool listens) {
  for (OutsidePlace& place : outside) {
    if (place.taken.load(std::memory_order_relaxed) || place.taken.exchange(true)) continue;
    place.what = what;
    place.number = number;
    place.rest = rest;
    place.listens = listens;
    place.thread = gettid();
    place.since = std::chrono::steady_clock::now();
    place.call.store(call, std::memory_order_release);
    outside_waits.fetch_add(1, std::memory_order_release);
    place_ = &place;
    return;
  }
}

OutsideWait::~OutsideWait() {
  if (place_ == nullptr) return;
  OutsidePlace& place = *static_cast<OutsidePlace*>(place_);
  outside_waits.fetch_sub(1, std::memory_order_relaxed);
  place.call.store(nullptr, std::memory_order_relaxed);
  place.taken.store(false, std::memory_order_release);
}

void answer_wait_questions(int pe, int npes, double limit, const std::string& oshruns_job) {
  if (owner >= 0) return;
  std::snprintf(job_id, sizeof job_id, "%s", oshruns_job.c_str());
  owner = getpid();
  self = pe;
  report_after = limit;
  std::snprintf(line_head, sizeof line_head, "atoll: PE %d of %d: ", pe, npes);
  if (job_id[0] != '\0') listen_to_launcher();
  struct sigaction now {};
  sigaction(kAskSignal, nullptr, &now);
  if ((now.sa_flags & SA_SIGINFO) != 0 || now.sa_handler != SIG_DFL) return;
  struct sigaction action {};
  action.sa_handler = on_question;
  action.sa_flags = SA_RESTART | SA_ONSTACK;
  sigfillset(&action.sa_mask);
  sigaction(kAskSignal, &action, nullptr);
}

void watch_peers(const PeerWatch* watch) { peer_watch.store(watch, std::memory_order_release); }

void announce_implied_end() {
  WaitRecord record;
  record.news = WaitRecord::News::leaves;
  record.pe = self;
  tell_launcher(record);
}

}  // namespace shm
