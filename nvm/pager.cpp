// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/pager.hpp"

#include <sched.h>

#include <algorithm>

#include "base/service_thread.hpp"

namespace shm::nvm {
namespace {

constexpr long kShortNap = 50;  // microseconds, while the device works or a page waits for what rings no bell
constexpr int kBusyRounds = 20;

}  // namespace

Pager::Pager(Host& host, const Pool& pool, const Nodes& nodes, std::unique_ptr<Device> device,
             const Place& place)
    : pool_(pool),
      inbox_(pool.part(nodes.place_of(place.me)).inbox),
      post_(host, pool, nodes, place.me),
      residents_(host, pool, nodes, post_, place.me, place.segment, place.ahead, place.policy),
      originals_(pool, post_, residents_, std::move(device), place.me, {nodes.here, place.cooperative}) {}

void Pager::start() {
  thread_ = start_service_thread("atoll-pager", [this] { run(); });
}

void Pager::stop() {
  if (!thread_.joinable()) return;
  stop_.store(true, std::memory_order_release);
  inbox_.ring();
  thread_.join();
  // A thread that still waits here gets on, and finds no heap any more.
  const auto end = [](Request& request) {
    request.frame = kNoFrame;
    complete(request);
  };
  for (Request* request : taken_requests()) end(*request);
  for (Request* request : ranges_) end(*request);
  residents_.for_waiting(end);
}

void Pager::receive(const std::byte* message, std::size_t n) {
  if (post_.receive(message, n)) inbox_.ring();
}

void Pager::hand(const std::byte* operation, std::size_t n) {
  post_.hand(operation, n);
  inbox_.ring();
}

void Pager::run() {
  int rounds = 0;
  while (!stop_.load(std::memory_order_acquire)) {
    if (work()) {
      rounds = 0;
    } else if (post_.drive() || ++rounds < kBusyRounds) {
      sched_yield();
    } else {
      idle();
    }
  }
}

bool Pager::work() {
  bool worked = take_notes();
  worked |= take_messages();
  worked |= finish_sends();
  worked |= originals_.finish_transfers();
  worked |= residents_.work();
  worked |= work_on_ranges();
  return worked;
}

void Pager::idle() {
  const std::uint32_t mark = inbox_.listen();
  const bool soon = originals_.transfers() != 0 || residents_.waits() || !ranges_.empty();
  if (inbox_.empty() && post_.empty() && !stop_.load(std::memory_order_acquire))
    inbox_.sleep(mark, soon ? kShortNap : -1);
  inbox_.hear();
}

bool Pager::take_notes() {
  bool any = false;
  for (Inbox::Note note; inbox_.take_note(note); any = true) residents_.heed(note);
  for (Request* request : taken_requests()) {
    if (request->kind <= Request::Kind::own) {  // of one page
      residents_.want(*request);
    } else {
      ranges_.push_back(request);
    }
    any = true;
  }
  return any;
}

// In the order of coming.
std::vector<Request*> Pager::taken_requests() {
  std::vector<Request*> requests;
  for (RequestId id = inbox_.take_requests(); id != 0;) {
    Request& request = pool_.part(place_of(id)).slots[slot_of(id)];
    id = request.next;
    requests.push_back(&request);
  }
  std::ranges::reverse(requests);
  return requests;
}

bool Pager::take_messages() {
  bool any = false;
  for (Delivery delivery; post_.next(delivery); any = true) {
    if (part_for(delivery.message.kind) == Part::cache) {
      residents_.take(std::move(delivery));
    } else {
      originals_.take(std::move(delivery));
    }
  }
  return any;
}

bool Pager::finish_sends() {
  bool any = false;
  for (Delivery sent; post_.next_sent(sent); any = true) {
    if (sent.frees) residents_.free(sent.frame);
  }
  return any;
}

bool Pager::work_on_ranges() {
  return std::erase_if(ranges_, [this](Request* request) {
           if (!work_on(*request)) return false;
           complete(*request);
           return true;
         }) != 0;
}

bool Pager::work_on(Request& request) {
  switch (request.kind) {
    case Request::Kind::room: return originals_.make_room(request.page, request.last, request.failed);
    case Request::Kind::drop: return originals_.drop(request.page, request.last);
    case Request::Kind::attach: return originals_.attach(request.page, request.last, request.object);
    case Request::Kind::persist: return originals_.persist(request.page, request.epoch);
    case Request::Kind::settle: return originals_.settle(request.page, request.epoch);
    default:  // rest
      residents_.rest();
      return residents_.idle() && originals_.idle() && post_.idle();
  }
}

}  // namespace shm::nvm
