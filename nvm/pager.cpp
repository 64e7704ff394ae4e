// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/pager.hpp"

#include <poll.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>

#include "base/fatal.hpp"
#include "base/service_thread.hpp"
#include "core/progress.hpp"

namespace shm::nvm {
namespace {

constexpr long kNap = 50;  // microseconds, while something waits for what rings no bell
constexpr int kBusyRounds = 20;
constexpr int kHintsAtOnce = 64;  // threads may give them faster than they are taken

}  // namespace

Pager::Pager(Host& host, const Pool& pool, const Nodes& nodes, std::unique_ptr<Device> device,
             const Settings& settings)
    : pool_(pool),
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

namespace {
thread_local bool in_round = false;
}

void Pager::start() {
  helped_ = home_.device_never_waits();
  if (events_.fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); events_.fd >= 0) {
    queue_.set_doorbell(events_.fd);
    // As of now: the pager may be asleep, and somebody have rung, before the ear's first instruction.
    ear_ = start_service_thread("atoll-pager-ear",
                                [this, heard = queue_.rings()] { hear_other_processes(heard); });
  }
  thread_ = start_service_thread("atoll-pager", [this] { run(); });
}

void Pager::stop() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  queue_.ring();
  thread_.join();
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

void Pager::call() {
  if (!helped_ || !Progress::polling()) return queue_.ring();
  called_.store(true);
}

bool Pager::answer_calls() {
  bool any = false;
  while (!in_round && called_.load()) {
    const SignalsBlocked blocked;
    if (!turn_.try_lock()) return any;
    called_.store(false);
    in_round = true;
    any |= work();
    note_rest();
    in_round = false;
    turn_.unlock();
    std::atomic_thread_fence(std::memory_order_seq_cst);
    if (left_.load()) queue_.ring();
  }
  return any;
}

bool Pager::make_round() {
  if (in_round) return false;
  const SignalsBlocked blocked;
  if (!turn_.try_lock()) return false;
  in_round = true;
  const bool any = work();
  note_rest();
  in_round = false;
  turn_.unlock();
  // What came meanwhile found the turn taken.
  std::atomic_thread_fence(std::memory_order_seq_cst);
  return answer_calls() || any;
}

void Pager::note_rest() {
  left_.store(home_.transfers() || channel_.moves() || cache_.waits() || !ranges_.empty() || !channel_.empty());
}

void Pager::hand_back(bool done) {
  if (!done || left_.load() || called_.load()) queue_.ring();
}


void Pager::run() {
  int rounds = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    bool worked, again;
    {
      const LockGuard turn(turn_);
      in_round = true;
      called_.store(false);
      worked = work();
      again = !worked && channel_.drive();
      in_round = false;
    }
    if (worked) {
      rounds = 0;
    } else if (again || ++rounds < kBusyRounds) {
      sched_yield();
    } else {
      sleep();
    }
  }
}

bool Pager::work() {
  bool worked = take_queue();
  worked |= take_messages();
  worked |= finish_sends();
  worked |= home_.work();
  worked |= cache_.work();
  worked |= work_on_ranges();
  channel_.flush();
  home_.submit();
  return worked;
}

void Pager::sleep() {
  const std::uint32_t mark = queue_.listen();
  forget_events();  // before all looks: what comes behind it rings anew
  bool soon_again, nothing;
  {
    const LockGuard turn(turn_);
    soon_again = soon();
    nothing = queue_.empty() && channel_.empty() && !called_.load();
  }
  if (nothing && !stop_.load(std::memory_order_acquire)) await_event(mark, soon_again ? kNap : -1);
  queue_.hear();
}

// Of these nobody rings: a transfer that the system could not take; a page that is sent, which gets on only
// if somebody drives the network; threads that copy from a page that is to leave, and requests for a frame,
// which are made again by the clock; ranges whose pages are one of these.
bool Pager::soon() {
  descriptors_.clear();
  return !home_.listen(descriptors_) || channel_.moves() || cache_.waits() ||
         ranges_.size() > home_.slow_calls();
}

void Pager::forget_events() const {
  eventfd_t count;
  if (events_.fd >= 0) eventfd_read(events_.fd, &count);
}

// A transfer has ended, or somebody has rung, since forget_events().
void Pager::await_event(std::uint32_t mark, long microseconds) {
  if (events_.fd < 0) return queue_.sleep(mark, microseconds);
  std::vector<pollfd> events{{events_.fd, POLLIN, 0}};
  for (const int descriptor : descriptors_) events.push_back({descriptor, POLLIN, 0});
  const timespec limit{microseconds / 1'000'000, microseconds % 1'000'000 * 1000};
  ppoll(events.data(), events.size(), microseconds < 0 ? nullptr : &limit, nullptr);
}

// Other processes cannot write to the descriptor.
void Pager::hear_other_processes(std::uint32_t heard) {
  while (!stop_.load(std::memory_order_acquire)) {
    queue_.sleep(heard, -1);
    heard = queue_.rings();
    eventfd_write(events_.fd, 1);
  }
}

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
  for (Delivery delivery; channel_.next(delivery); any = true) {
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
