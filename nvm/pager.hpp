// SPDX-License-Identifier: BSD-3-Clause
// The home of a PE's pages: one thread that alone changes what its node has of them.
//
//   a page:  absent --wish--> wants a frame --> loading --> resident --evict--> (dirty: writing) --> absent
//
// Wishes are what threads, node peers and other nodes ask for: a pin, a mapping, an operation.  They wait in
// the page's list, in the order of coming, while the page is on its way in or out.  Nothing here waits but
// for the device, and that only when there is nothing else to do.
#pragma once

#include <atomic>
#include <chrono>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

#include "nvm/device.hpp"
#include "nvm/messages.hpp"
#include "nvm/policy.hpp"
#include "nvm/pool.hpp"

namespace shm::nvm {

/// What a pager needs of the runtime.
class Host {
 public:
  /// Maps the pool's bytes at `offset` over [at, at + n) of this process; `writable` or to be read only.
  virtual void map(std::byte* at, std::size_t offset, std::size_t n, bool writable) = 0;
  /// Nothing is mapped there any more: an access is a fault.
  virtual void unmap(std::byte* at, std::size_t n) = 0;
  /// Sends an answer to the PE.
  virtual void answer(int pe, const std::byte* message, std::size_t n) = 0;
  /// The place of the PE on this node, or -1.
  virtual int place_of(int pe) const = 0;

 protected:
  ~Host() = default;
};

/// Thread safety: start() and stop() by one thread; hand() by any; the rest is the pager's thread.
class Pager {
 public:
  /// For the pages of PE `me`, at `place` of its node, whose segment begins at `segment` in this process.
  Pager(Host& host, const Pool& pool, std::unique_ptr<Device> device, int me, int place, std::byte* segment);
  ~Pager() { stop(); }

  void start();
  /// Ends the thread.  What is not on the device stays in the pool.
  void stop();

  /// An operation from PE `pe`, to be answered when it is applied.
  void hand(int pe, const std::byte* message, std::size_t n);

  /// "io_uring, O_DIRECT".
  std::string describe() const { return device_->describe(); }

 private:
  using Clock = std::chrono::steady_clock;
  // settled: in its frame, or, without one, absent.
  enum class Step : std::uint8_t { settled, wants_frame, loading, writing };
  enum class Mapped : std::uint8_t { no, to_read, to_write };
  // An operation from another node; its bytes follow the head.
  struct Foreign {
    int pe;
    std::vector<std::byte> message;
    Operation& head() { return *reinterpret_cast<Operation*>(message.data()); }
  };
  // One of the two.
  struct Wish {
    Request* request = nullptr;
    std::unique_ptr<Foreign> foreign;
    Access access() const;
  };
  // A page that is here, or on its way.
  struct Page {
    Step step = Step::settled;
    Mapped mapped = Mapped::no;
    FrameNumber frame = kNoFrame;
    Transfer transfer;
    std::deque<Wish> wishes;
  };
  struct Starving {
    PageNumber page;
    Clock::time_point ask_again;
  };
  using Pages = std::unordered_map<PageNumber, std::unique_ptr<Page>>;

  void run();
  bool work();
  void idle();
  bool take_notes();
  std::vector<Request*> taken_requests();
  bool take_foreign();
  bool finish_transfers();
  void receive(Request& request);
  void want(PageNumber number, Wish wish);
  void serve(PageNumber number, Page& page);
  void grant(PageNumber number, Page& page, Wish& wish);
  void map(PageNumber number, Page& page, Access access);
  void apply(PageNumber number, Foreign& foreign);
  void load(PageNumber number, Page& page);
  void feed_starving();
  bool ask_for_room();
  bool evict(PageNumber number);
  bool shut(PageNumber number, Page& page);
  void forget(PageNumber number, Page& page);
  bool work_on_ranges();
  bool make_room(Request& request);
  bool drop(const Request& request);
  void transfer(Page& page, PageNumber number, Transfer::Kind kind);
  std::uint64_t bytes_of(const Request& request) const {
    return (request.last - request.page) * pool_.shape().page_bytes;
  }
  std::byte* address(PageNumber number) const { return segment_ + pool_.offset_of(number); }

  Host& host_;
  const Pool pool_;
  Policy policy_;
  std::unique_ptr<Device> device_;
  const int me_, place_;
  std::byte* const segment_;
  Inbox& inbox_;
  Pages pages_;
  std::unordered_map<const Transfer*, PageNumber> moving_;
  std::deque<Starving> starving_;
  std::vector<Request*> ranges_;  // of pages that may be on their way: room, drop
  std::mutex mutex_;              // of `arrived_`
  std::deque<std::unique_ptr<Foreign>> arrived_;
  std::atomic<bool> stop_{false};
  std::thread thread_;
};

}  // namespace shm::nvm
