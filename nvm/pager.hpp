// SPDX-License-Identifier: BSD-3-Clause
// What is behind a PE's pages: home of those of its own segment (home_agent.hpp), and caching agent, for
// its node, of these and of some of other nodes' (page_cache.hpp).
//
//   queue: requests, hints of threads ----> PageCache <---- messages ----> other pagers
//                |                                   ^            (page_channel)  |
//                |                                   +--- messages ---> HomeAgent-+
//                +- commands for ranges of pages -----------------------^
//
//   device: a transfer has ended        ---> eventfd: what the pager's thread sleeps on
//   threads and messages: ring()        --->    ^
//   of other processes: ring() --> ear_ --------+
//
// Its work is rounds, which its thread makes, and others in its place.  A round waits for its own device at
// most, with the engine `sync`, and for a thread that maps a page (pages/mappings), never for another pager
// or for a latch.  What else the system may take long for a third thread does (storage/slow_calls).
#pragma once

#include <unistd.h>

#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "base/wait_report.hpp"
#include "nvm/coherence/home_agent.hpp"
#include "nvm/coherence/page_cache.hpp"
#include "nvm/coherence/page_channel.hpp"
#include "nvm/turns.hpp"
#include "pages/wait_for_tickets.hpp"

namespace shm::nvm {

/// What a pager does with a range of pages (PageRequest::command).
enum class RangeCommand : std::uint8_t {
  room,       // for them on the device; may fail
  drop,       // they lose their contents, and the device they lie on
  attach,     // they lie on `object`, a Store, from now on: the pager owns it
  persist,    // the object that begins at `page` becomes durable as epoch `number`
  settle,     // its epoch before `number` may be forgotten
  overwrite,  // what they hold is not needed any more
};

/// Makes `request` one for the pages [first, last).
inline void fill_in(PageRequest& request, RangeCommand command, PageNumber first, PageNumber last,
                    Store* object = nullptr, std::uint64_t number = 0) {
  request.kind = PageRequest::Kind::range;
  request.command = static_cast<std::uint8_t>(command);
  request.page = first;
  request.last = last;
  request.object = object;
  request.number = number;
  request.failed = false;
}

/// Thread safety: start(), share_rounds() and stop() by one thread; the rest by any.
class Pager final : public PagerRounds {
 public:
  struct Settings {
    int me;              // the PE
    std::byte* segment;  // where its segment begins in this process
    bool blank;          // nothing has been written to the device
    bool cooperative;
    std::size_t ahead;  // read-ahead window in pages; 0: none, and no page leaves before its frame is needed
    ReplacementKind replacement;
  };
  /// `nodes` stays where it is.
  Pager(Host& host, const Pool& pool, const Nodes& nodes, std::unique_ptr<Device> device,
        const Settings& settings);
  ~Pager();

  void start();
  /// Ends the thread.  What is not on the device stays in the pool.
  void stop();

  // Rounds may also be made by a thread that waits for a page, which then need not wait for the pager's
  // thread to wake, and by one that drives the network, to which messages come.  What is the pager's belongs
  // to whoever has the turn (turns.hpp); the pager's thread alone hands transfers to the device, and sleeps.
  // A thread that waits carries out a read itself: a thread less that has to wake.

  /// From now on, if the device never blocks.  REQUIRES: who drives the network calls answer_calls() then.
  void share_rounds() { shares_rounds_.store(home_.never_blocks()); }
  bool shares_rounds() const { return shares_rounds_.load(std::memory_order_relaxed); }
  bool make_round(WaitingThread& caller) override;
  void hand_back() override;
  /// Makes a round if a message has come, or a page is on its way to another node.
  bool answer_calls();

  /// A message of another node's pager.
  void receive(const std::byte* message, std::size_t n);
  /// An operation of a thread of any PE, this one too, to be answered when it is applied.
  void hand(const std::byte* operation, std::size_t n);
  /// Whether one of that PE that was handed over may not be executed yet.
  bool any_handed(int pe) { return channel_.any_handed(pe); }

  /// "io_uring, O_DIRECT".
  std::string describe() const { return home_.describe(); }

 private:
  void run();
  // drive: nothing, but drove the network, and is to do so again.
  enum class Did : std::uint8_t { nothing, something, drive };
  Did make_own_round();
  bool make_rounds(WaitingThread* caller);
  bool work();
  void call();
  bool may_find_something() const;
  void note_rest();
  long longest_sleep() const;
  bool is_to_drive() const;
  void sleep();
  long may_sleep();
  void watch_device();
  void forget_events() const;
  void await_event(std::uint32_t mark, long microseconds);
  void hear_other_processes(std::uint32_t heard);
  bool take_queue();
  bool take_messages();
  bool finish_sends();
  std::vector<PageRequest*> taken_requests();
  bool work_on_ranges();
  void lay_out_frames();
  bool work_on(PageRequest& request);
  bool carry_out(PageRequest& request);

  Host& host_;
  const Pool pool_;
  RequestQueue& queue_;
  // An eventfd; -1: there is none, and the pager looks again and again.  Closed when nobody rings any more:
  // the threads of slow calls, which are home_'s, do so to the end.
  struct Events {
    int fd = -1;
    ~Events() {
      if (fd >= 0) close(fd);
    }
  } events_;
  PageBuffers buffers_;
  PageChannel channel_;
  PageCache cache_;
  HomeAgent home_;
  std::vector<PageRequest*> ranges_;  // that are not done: of kind range, and rest
  Turns turns_;
  // As the last round left it, for those who have no turn.
  std::atomic<bool> transfers_{false};  // the device works
  std::atomic<long> sleeps_{0};         // for how long the pager's thread does, unless somebody rings
  std::atomic<bool> shares_rounds_{false};
  std::atomic<int> readers_{0};  // threads that carry out reads; only who has the turn becomes one
  std::atomic<bool> stop_{false};
  // The pager's thread's.
  HomeAgent::Clock::time_point watch_device_at_;
  std::optional<OutsideWait> slow_device_;
  std::thread thread_;
  std::thread ear_;
};

}  // namespace shm::nvm
