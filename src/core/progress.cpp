// SPDX-License-Identifier: BSD-3-Clause
#include "core/progress.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <vector>

#include "base/fatal.hpp"
#include "base/mutex.hpp"
#include "base/service_thread.hpp"

namespace shm {
namespace {

using Clock = std::chrono::steady_clock;

struct Handler {
  MessageHandler run = nullptr;
  void* argument = nullptr;
};
std::array<Handler, kMaxHandlers> handlers;

// Readers hold the lock shared while a poller runs, so that one that was removed is not running any more.
// Never destroyed: threads of the program may wait, and so poll, while another one runs exit().
struct PollerEntry {
  Poller run;
  void* argument;
};
SharedMutex pollers_mutex;
std::vector<PollerEntry>& pollers GUARDED_BY(pollers_mutex) = *new std::vector<PollerEntry>;
std::atomic<bool> have_pollers{false};
void (*flusher)(void*) GUARDED_BY(pollers_mutex) = nullptr;
void* flusher_argument GUARDED_BY(pollers_mutex) = nullptr;
std::atomic<bool> have_flusher{false};

// How long the agent looks away while application threads wait inside the library or post.  It is also how
// long a peer's request may be left alone after the program has gone back to computing.
constexpr auto kGatePause = std::chrono::microseconds(200);

// A thread that posts polls at most this often (ns): completions reaped together are cheaper.
constexpr std::int64_t kPostPeriod = 100'000;

// Where the network cannot announce its work, the agent looks again after a nap that grows from this (us).
constexpr long kShortestNap = 50;
constexpr long kLongestNap = 1000;

thread_local bool in_poll = false;

}  // namespace

Progress::Progress(Network& network, Channel* channel, std::uint64_t spin_us)
    : network_(network),
      channel_(channel),
      spin_us_(spin_us),
      wake_event_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Progress::~Progress() {
  stop();
  close(wake_event_);
}

void Progress::start() {
  stop_.store(false);
  agent_ = start_needed_thread("atoll-agent", [this] { run(); });
}

void Progress::stop() {
  if (!agent_.joinable()) return;
  stop_.store(true);
  wake();
  agent_.join();
}

void Progress::set_handler(std::uint16_t id, MessageHandler handler, void* argument) {
  if (id >= kMaxHandlers) fatal("message handler %d cannot be set: there are %zu", id, kMaxHandlers);
  handlers[id] = {handler, argument};
}

void Progress::add_poller(Poller poller, void* argument) {
  const LockGuard guard(pollers_mutex);
  pollers.push_back({poller, argument});
  have_pollers.store(true, std::memory_order_release);
}

void Progress::remove_poller(Poller poller, void* argument) {
  const LockGuard guard(pollers_mutex);
  std::erase_if(pollers, [&](const PollerEntry& p) { return p.run == poller && p.argument == argument; });
  have_pollers.store(!pollers.empty(), std::memory_order_release);
}

void Progress::set_flusher(void (*flush)(void*), void* argument) {
  const LockGuard guard(pollers_mutex);
  flusher = flush;
  flusher_argument = argument;
  have_flusher.store(flush != nullptr, std::memory_order_release);
}

void Progress::flush_all() {
  network_.flush_all();
  if (!have_flusher.load(std::memory_order_acquire)) return;
  const SharedLockGuard guard(pollers_mutex);
  if (flusher != nullptr) flusher(flusher_argument);
}

void Progress::add_source(const WorkSource& source) {
  const LockGuard guard(sources_mutex_);
  sources_.push_back(source);
  have_sources_.store(true, std::memory_order_release);
  wake();
}

void Progress::remove_source(void* argument) {
  const LockGuard guard(sources_mutex_);
  std::erase_if(sources_, [&](const WorkSource& source) { return source.argument == argument; });
  have_sources_.store(!sources_.empty(), std::memory_order_release);
  wake();
}

bool Progress::may_block() {
  if (!network_.may_block()) return false;
  if (!have_sources_.load(std::memory_order_acquire)) return true;
  const LockGuard guard(sources_mutex_);
  return std::ranges::all_of(sources_,
                             [](const WorkSource& source) { return source.may_block(source.argument); });
}

// Returns how long to block at most.
long Progress::add_sources(std::vector<pollfd>& events, long microseconds) {
  if (!have_sources_.load(std::memory_order_acquire)) return microseconds;
  const LockGuard guard(sources_mutex_);
  for (const WorkSource& source : sources_) {
    if (source.fd >= 0) events.push_back({source.fd, POLLIN, 0});
    microseconds = microseconds < 0 ? source.longest_us : std::min(microseconds, source.longest_us);
  }
  return microseconds;
}

void Progress::deliver(int from_pe, std::uint16_t id, const std::byte* message, std::size_t n) {
  if (id >= kMaxHandlers || handlers[id].run == nullptr) {
    fatal("PE %d sent a message for handler %d, which this PE does not have", from_pe, id);
  }
  handlers[id].run(handlers[id].argument, from_pe, message, n);
}

bool Progress::polling() { return in_poll; }

bool Progress::poll() {
  const bool outer = std::exchange(in_poll, true);
  bool worked = network_.poll();
  in_poll = outer;
  rouse();
  if (!have_pollers.load(std::memory_order_acquire)) return worked;
  const SharedLockGuard guard(pollers_mutex);
  for (const PollerEntry& poller : pollers) worked |= poller.run(poller.argument);
  return worked;
}

void Progress::poll_now_and_then() {
  const std::int64_t now = Clock::now().time_since_epoch().count();
  if (now - last_poll_.load(std::memory_order_relaxed) > kPostPeriod) {
    last_poll_.store(now, std::memory_order_relaxed);
    touch();
    poll();
  } else {
    rouse();
  }
}

void Progress::rouse_agent() {
  // Pairs with the fence in block_agent(): either it sees what was posted, or this sees it asleep.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_relaxed)) return wake();
  // It is awake, and asks the network before it sleeps.  What another thread has posted since, for an agent
  // that has since gone to sleep, must not be forgotten.
  network_.will_be_polled();
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_relaxed)) wake();
}

void Progress::send(int pe, std::uint16_t id, const void* message, std::size_t n) {
  channel_->ops->send(channel_, pe, id, message, n);
  rouse();
}

void Progress::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_event_, &one, sizeof one);
}

// Blocks the agent on the wake-up event and, unless it is -1, on `fd` and the sources; negative time: without
// limit.
void Progress::wait_for_descriptor(int fd, long microseconds) {
  std::vector<pollfd> events = {{wake_event_, POLLIN, 0}};
  if (fd >= 0) {
    events.push_back({fd, POLLIN, 0});
    microseconds = add_sources(events, microseconds);
  }
  const timespec limit{microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  ppoll(events.data(), events.size(), microseconds < 0 ? nullptr : &limit, nullptr);
  if (events[0].revents != 0) {
    std::uint64_t count;
    [[maybe_unused]] const ssize_t got = read(wake_event_, &count, sizeof count);
  }
}

void Progress::insist() {
  insisting_.fetch_add(1, std::memory_order_seq_cst);
  wake();
}

// Whether application threads see to the network; if so, has looked away for a while.
bool Progress::gated() {
  if (insisting_.load(std::memory_order_seq_cst) > 0) return false;
  const std::uint64_t entered = entered_.load(std::memory_order_relaxed);
  const bool active = inside_.load(std::memory_order_acquire) > 0 || entered != seen_;
  seen_ = entered;
  if (!active) return false;
  if (deep_.load(std::memory_order_acquire) > 0) {
    stay_off();
  } else {
    std::this_thread::sleep_for(kGatePause);
  }
  return true;
}

// Blocks until the last to leave wakes us, who may sleep until long after what others post meanwhile must be
// seen to: then, or when what is held gets too old, looks once.
void Progress::stay_off() {
  asleep_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the one in rouse_agent()
  const long limit = network_.max_block_us();
  // What was posted just before is not announced any more.
  wait_for_descriptor(-1, network_.needs_poll() ? kGatePause.count() : limit);
  asleep_.store(false, std::memory_order_relaxed);
  if (deep_.load(std::memory_order_acquire) > 0) poll();
}

// Blocks until there is work, or for a nap where the network cannot say.
void Progress::block_agent() {
  asleep_.store(true, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_seq_cst);  // pairs with the one in rouse_agent()
  if (network_.wait_fd() < 0) {
    wait_for_descriptor(-1, nap_);
    nap_ = std::min(nap_ * 2, kLongestNap);
  } else if (may_block()) {
    wait_for_descriptor(network_.wait_fd(), network_.max_block_us());
  }
  asleep_.store(false, std::memory_order_relaxed);
}

void Progress::run() {
  const auto spin = std::chrono::microseconds(spin_us_);
  auto last_work = Clock::now();
  while (!stop_.load(std::memory_order_relaxed)) {
    if (gated()) {
      last_work = Clock::now();
    } else if (poll()) {
      last_work = Clock::now();
      nap_ = kShortestNap;
    } else if (Clock::now() - last_work > spin) {
      block_agent();
      if (network_.wait_fd() >= 0) last_work = Clock::now();
    }
  }
}

Progress::Gate::Gate(Progress& progress, HeldBack held) : progress_(progress) {
  progress_.inside_.fetch_add(1, std::memory_order_relaxed);
  progress_.touch();
  if (held == HeldBack::leaves) progress_.flush_all();  // what is waited for may be the answer
}

Progress::Gate::~Gate() {
  sleep_ends();
  const int others = progress_.inside_.fetch_sub(1, std::memory_order_release) - 1;
  if (!deep_) return;
  // After the decrement, so that the woken agent finds the gate open.
  progress_.deep_.fetch_sub(1, std::memory_order_release);
  if (others == 0 || progress_.deep_.load(std::memory_order_acquire) == 0) progress_.wake();
}

bool Progress::Gate::arm() {
  sleep_begins();
  if (progress_.may_block()) return true;
  // Looking may itself have stored what wakes no descriptor any more, and the caller may go without another
  // poll.
  progress_.poll();
  sleep_ends();
  return false;
}

bool Progress::Gate::block(long microseconds) {
  if (!deep_) progress_.deep_.fetch_add(1, std::memory_order_release);
  deep_ = true;
  std::vector<pollfd> events = {{progress_.network_.wait_fd(), POLLIN, 0}};
  microseconds = progress_.add_sources(events, microseconds);
  const timespec limit{microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  const bool worked = ppoll(events.data(), events.size(), &limit, nullptr) > 0;
  sleep_ends();
  return worked;
}

}  // namespace shm
