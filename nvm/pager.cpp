// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/pager.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "base/backoff.hpp"
#include "base/fatal.hpp"
#include "base/service_thread.hpp"

namespace shm::nvm {
namespace {

constexpr long kNap = PageCache::kNap;
constexpr long kForEver = LONG_MAX;
// A device that takes longer is told of, and looked at so often.
constexpr std::chrono::microseconds kSlowDevice = std::chrono::seconds(1);
// Who waits for room at the network takes the end of any transfer from it, and makes no round.  The agent,
// which was woken for that end, may find nothing.
constexpr long kUnseen = 20'000;  // microseconds
constexpr int kBusyRounds = 20;
constexpr int kRoundsForOthers = 8;                     // of a thread that has something else to do
constexpr int kHintsAtOnce = 64, kMessagesAtOnce = 64;  // they may come faster than they are taken

}  // namespace

Pager::Pager(Host& host, const Pool& pool, const Nodes& nodes, std::unique_ptr<Device> device,
             const Settings& settings)
    : host_(host),
      pool_(pool),
      queue_(pool.requests_of(nodes.node_rank_of(settings.me)).queue),
      buffers_(pool.shape().page_bytes),
      channel_(host, pool, nodes, settings.me),
      cache_(host, pool, nodes, channel_, settings.me, settings.segment, settings.ahead,
             settings.replacement),
      home_(pool, channel_, cache_, buffers_, std::move(device), settings.blank, settings.me,
            {nodes.here, settings.cooperative}, [this] { queue_.ring(); }) {}

Pager::~Pager() {
  stop();
  queue_.remove_doorbell();  // until now messages may have come
}

void Pager::start() {
  if (events_.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); events_.fd >= 0) {
    queue_.set_doorbell(events_.fd);
    // As of now: the pager may be asleep, and somebody have rung, before the ear's first instruction.
    ear_ = start_needed_thread("atoll-pager-ear",
                               [this, heard = queue_.rings()] { hear_other_processes(heard); });
  }
  thread_ = start_needed_thread("atoll-pager", [this] { run(); });
}

void Pager::stop() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  queue_.ring();
  thread_.join();
  while (!turns_.begin()) sched_yield();  // for good
  while (readers_.load(std::memory_order_acquire) != 0) sched_yield();
  if (ear_.joinable()) {
    queue_.wake_sleeper();
    ear_.join();
  }
  // A thread that still waits here gets on, and finds no heap any more.
  const auto end = [](PageRequest& request) {
    request.frame = kNoFrame;
    complete(request);
  };
  for (PageRequest* request : taken_requests()) end(*request);
  for (PageRequest* request : ranges_) end(*request);
  cache_.for_waiting(end);
}

void Pager::receive(const std::byte* message, std::size_t n) {
  channel_.receive(message, n);
  call();
}

void Pager::hand(const std::byte* operation, std::size_t n) {
  channel_.hand(operation, n);
  call();
}

// ---- rounds

void Pager::call() {
  if (shares_rounds() && host_.will_answer_calls()) return turns_.call();
  queue_.ring();
}

bool Pager::answer_calls() {
  const bool called = turns_.called();
  if (!shares_rounds()) {
    if (called) queue_.ring();  // as it was shared a moment ago
    return false;
  }
  if (!called && !channel_.any_arrived()) return false;
  // A page that this thread has just seen arrive may have done so behind the last look of who has the turn.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  if (!called && turns_.taken()) turns_.call();
  return make_rounds(nullptr);
}

bool Pager::make_round(WaitingThread& caller) {
  return shares_rounds() && may_find_something() && make_rounds(&caller);
}

// A guess: who waits tries again.
bool Pager::may_find_something() const {
  return queue_.requested() || turns_.called() || channel_.any_arrived() ||
         transfers_.load(std::memory_order_relaxed);
}

void Pager::hand_back() { queue_.ring(); }

// Further ones for what comes meanwhile, but not for ever, nor if the pager's thread has transfers to submit.
// Who waits, and is not served, carries out one read itself, and leaves to the pager's thread what comes
// meanwhile.
bool Pager::make_rounds(WaitingThread* caller) {
  if (turns_.taken()) return false;
  const SignalsBlocked blocked;
  bool worked = false, called = false, submits = false, naps = false;
  for (int round = 0; round < kRoundsForOthers && turns_.begin(); ++round) {
    worked |= work();
    const auto read = caller != nullptr && !caller->served() ? home_.take_read() : std::nullopt;
    if (read) readers_.fetch_add(1, std::memory_order_relaxed);
    note_rest();
    submits = home_.to_be_submitted();
    naps = longest_sleep() < sleeps_.load(std::memory_order_relaxed);
    called = turns_.end();
    if (read) {
      if (called || submits || naps) queue_.ring();
      caller->stop_driving();
      read->carry_out();
      readers_.fetch_sub(1, std::memory_order_release);
      caller = nullptr;
      called = true;  // the page is there for the next round to find, whoever makes it
      submits = naps = false;
      if (!shares_rounds()) break;
    } else if (!called || submits) {
      break;
    }
  }
  if (called || submits || naps) queue_.ring();
  return worked;
}

bool Pager::work() {
  bool worked = take_queue();
  worked |= take_messages();
  worked |= finish_sends();
  worked |= home_.work();
  worked |= cache_.work();
  worked |= work_on_ranges();
  lay_out_frames();
  channel_.flush();
  return worked;
}

// Ahead of their use: it takes longer than many pages do.
void Pager::lay_out_frames() {
  if (home_.lays_out()) return;
  if (const std::optional<std::uint32_t> group = cache_.claim_group()) home_.lay_out(*group);
}

// By who has the turn.
void Pager::note_rest() {
  transfers_.store(home_.transfers(), std::memory_order_relaxed);
  if (!queue_.empty() || !channel_.empty()) turns_.call();
  if (!shares_rounds() || home_.never_blocks()) return;
  shares_rounds_.store(false);  // from here on its thread alone works, and drives what is being sent
  queue_.ring();
}

// For how many microseconds its thread may sleep, as far as a round knows.  Of these nobody rings: a page
// that is sent and gets on only if somebody drives the network; what PageCache::longest_sleep() has; ranges
// whose pages are one of these; who needs a buffer in which a page has been sent, as it may be anybody who
// hears of its end.
long Pager::longest_sleep() const {
  const bool awaits_buffer = shares_rounds() && home_.awaits_buffer();
  return is_to_drive() || awaits_buffer || ranges_.size() > home_.slow_calls() ? kNap
                                                                               : cache_.longest_sleep();
}

// Whether its thread has to see to pages in flight.  Where rounds are shared, who drives the network makes
// one when a page has arrived.
bool Pager::is_to_drive() const { return shares_rounds() ? channel_.any_untold() : channel_.moves(); }

// ---- the pager's thread

void Pager::run() {
  Backoff backoff;
  int rounds = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    const Did did = make_own_round();
    if (did == Did::something) {
      rounds = 0;
      backoff.restart();
    } else if (did == Did::drive || ++rounds < kBusyRounds) {
      backoff.pause();
    } else {
      sleep();
      backoff.restart();
    }
  }
}

Pager::Did Pager::make_own_round() {
  if (!turns_.begin()) return Did::nothing;
  const bool worked = work();
  home_.submit();
  const bool drives = !worked && is_to_drive();
  note_rest();
  if (turns_.end() || worked) return Did::something;
  if (!drives) return Did::nothing;
  host_.drive();  // without the turn: what arrives makes a round
  return Did::drive;
}

void Pager::sleep() {
  const std::uint32_t mark = queue_.listen();
  forget_events();  // before all looks: what comes behind it rings anew
  if (const long longest = may_sleep(); longest != 0 && !stop_.load(std::memory_order_acquire))
    await_event(mark, longest);
  sleeps_.store(0, std::memory_order_relaxed);
  queue_.hear();
}

// By who has the turn.  Who asks what this PE waits for hears of a transfer or a slow call that takes long.
void Pager::watch_device() {
  const auto now = HomeAgent::Clock::now();
  if (!slow_device_ && now < watch_device_at_) return;
  watch_device_at_ = now + kSlowDevice;
  const auto oldest = home_.oldest_work();
  if (!oldest || now - *oldest < kSlowDevice) return slow_device_.reset();
  if (!slow_device_) slow_device_.emplace("the NVM heap", "for its device");
}

// For how many microseconds; 0: not at all.  Whose device is at work looks at the clock, too.
long Pager::may_sleep() {
  if (!turns_.begin()) return kNap;  // nobody else asks the device to tell
  watch_device();
  long longest = home_.listen(events_.fd) ? longest_sleep() : kNap;
  if (channel_.moves()) longest = std::min(longest, kUnseen);
  if (home_.transfers() || home_.slow_calls() != 0) longest = std::min<long>(longest, kSlowDevice.count());
  if (!queue_.empty() || !channel_.empty() || channel_.any_moved()) longest = 0;
  sleeps_.store(longest, std::memory_order_relaxed);
  return turns_.end() ? 0 : longest;
}

void Pager::forget_events() const {
  eventfd_t count;
  if (events_.fd >= 0) eventfd_read(events_.fd, &count);
}

// A transfer has ended, or somebody has rung, since forget_events().
void Pager::await_event(std::uint32_t mark, long microseconds) {
  if (events_.fd < 0) return queue_.sleep(mark, microseconds == kForEver ? -1 : microseconds);
  pollfd event{events_.fd, POLLIN, 0};
  const timespec limit{microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  ppoll(&event, 1, microseconds == kForEver ? nullptr : &limit, nullptr);
}

// Other processes cannot write to the descriptor.
void Pager::hear_other_processes(std::uint32_t heard) {
  while (!stop_.load(std::memory_order_acquire)) {
    queue_.sleep(heard, -1);
    heard = queue_.rings();
    eventfd_write(events_.fd, 1);
  }
}

// ---- what a round consists of

bool Pager::take_queue() {
  bool any = false;
  RequestQueue::Hint hint;
  for (int taken = 0; taken < kHintsAtOnce && queue_.take_hint(hint); ++taken, any = true)
    cache_.on_hint(hint);
  for (PageRequest* request : taken_requests()) {
    if (request->kind <= PageRequest::Kind::own) {  // of one page
      cache_.request_page(*request);
    } else {
      ranges_.push_back(request);
    }
    any = true;
  }
  return any;
}

// In the order of coming.
std::vector<PageRequest*> Pager::taken_requests() {
  std::vector<PageRequest*> requests;
  for (RequestId id = queue_.take_requests(); id != 0;) {
    PageRequest& request = pool_.requests_of(node_rank_of(id)).slots[slot_of(id)];
    id = request.next;
    requests.push_back(&request);
  }
  std::ranges::reverse(requests);
  return requests;
}

bool Pager::take_messages() {
  bool any = false;
  Delivery delivery;
  for (int taken = 0; taken < kMessagesAtOnce && channel_.next(delivery); ++taken, any = true) {
    if (part_for(delivery.message.kind) == Part::cache) {
      cache_.take(std::move(delivery));
    } else {
      home_.take(std::move(delivery));
    }
  }
  return any;
}

bool Pager::finish_sends() {
  bool any = false;
  for (Delivery sent; channel_.next_sent(sent); any = true) {
    if (sent.frees) cache_.free(sent.frame);
  }
  return any;
}

bool Pager::work_on_ranges() {
  return std::erase_if(ranges_, [this](PageRequest* request) {
           if (!work_on(*request)) return false;
           complete(*request);
           return true;
         }) != 0;
}

bool Pager::work_on(PageRequest& request) {
  if (request.kind == PageRequest::Kind::range) return carry_out(request);
  cache_.rest();
  return cache_.idle() && home_.idle() && channel_.idle();
}

bool Pager::carry_out(PageRequest& request) {
  switch (static_cast<RangeCommand>(request.command)) {
    case RangeCommand::room: return home_.make_room(&request, request.page, request.last, request.failed);
    case RangeCommand::drop: return home_.drop(&request, request.page, request.last);
    case RangeCommand::attach:
      return home_.attach(&request, request.page, request.last, static_cast<Store*>(request.object));
    case RangeCommand::persist: return home_.persist(&request, request.page, request.number);
    case RangeCommand::settle: return home_.settle(&request, request.page, request.number);
    case RangeCommand::overwrite: return home_.overwrite(request.page, request.last);
  }
  fatal("the NVM heap: a request with command %d, which is none", request.command);
}

}  // namespace shm::nvm
