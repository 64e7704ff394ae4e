// SPDX-License-Identifier: BSD-3-Clause
// The home agent of a pager: the directory of its PE's pages, and the device that they lie on.
//
//   request, done -> take() -> serve() (directory.hpp) -> messages to nodes
//                                                      -> load, store -> device -> loaded, stored -> serve()
//   done, with a page on another node -> await_buffer() -> PageChannel::fetch() -> serve()
//
// A page that goes from the device to another node, or from there to the device, takes a buffer.  Where all
// are in use it waits; a page that comes home waits in its sender's frame.  Who has a buffer waits for
// nothing but the device or the network, so there will be another one.
#pragma once

#include <chrono>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "nvm/coherence/directory.hpp"
#include "nvm/coherence/page_cache.hpp"
#include "nvm/coherence/page_channel.hpp"
#include "nvm/pages.hpp"
#include "nvm/storage/slow_calls.hpp"
#include "nvm/storage/store.hpp"
#include "pages/device.hpp"

namespace shm::nvm {

/// Thread safety: one thread at a time, who makes a round of the pager.
class HomeAgent {
 public:
  /// Of PE `me`.  `blank`: nothing has been written to the device.  `ring` wakes the pager; any thread may
  /// call it.
  HomeAgent(const Pool& pool, PageChannel& channel, PageCache& page_cache, PageBuffers& buffers,
            std::unique_ptr<Device> device, bool blank, int me, const Home& home, std::function<void()> ring)
      : pool_(pool),
        channel_(channel),
        cache_(page_cache),
        buffers_(buffers),
        device_(std::move(device)),
        blank_(pool.shape().segment_pages, blank),
        me_(me),
        home_(home),
        never_blocks_(device_->never_blocks()),
        slow_calls_(std::move(ring)) {}

  /// A message to the home, or to its device.
  void take(Delivery delivery);
  /// Takes what the device has done and what other nodes' pages have come, and goes on with what waits for a
  /// buffer.  Returns whether there was anything.
  bool work();

  // What threads of this PE ask for.  False: pages are on their way, or the system is at work; the caller
  // asks again, with the same `caller`, until it is done.

  /// Room for the pages [first, last).  Says in `failed` whether there is none, and has said why.
  bool make_room(const void* caller, PageNumber first, PageNumber last, bool& failed);
  /// They lose their contents on all nodes, and are no named object's any more.
  bool drop(const void* caller, PageNumber first, PageNumber last);

  /// What the pages hold is not needed any more, and all will be written: those that nobody has are not read
  /// from the device, and those that are here stay for it, since what leaves has to be read.
  bool overwrite(PageNumber first, PageNumber last);

  /// Has the system lay a group of frames out, while pages come and go.  REQUIRES: it lays none out.
  void lay_out(std::uint32_t group);
  bool lays_out() const { return lays_out_; }

  // Named objects, which lie in files of their own.

  /// The pages have the contents of the object.
  bool attach(const void* caller, PageNumber first, PageNumber last, Store* object);
  /// Writes back what is newer anywhere than in the object's file, and prepares the epoch.
  /// REQUIRES: nobody writes to the object; one call at a time.
  bool persist(const void* caller, PageNumber first, std::uint64_t epoch);
  bool settle(const void* caller, PageNumber first, std::uint64_t epoch);

  /// Transfers that have been started leave for the devices: at the end of each round of the pager's thread.
  void submit();
  /// Whether there are some.
  bool to_be_submitted();
  /// A read that a thread carries out instead, while others make rounds.  Behind it comes another round.
  struct TakenRead {
    Device* device;
    Transfer* transfer;  // the device's
    void carry_out() const { device->carry_out(*transfer); }
  };
  /// The last read that was started for a page that threads of this node wait for, if it is still to be
  /// submitted.
  std::optional<TakenRead> take_read();
  /// Whether threads other than the pager's may call it, but for submit() and listen(), one at a time.
  bool never_blocks() const { return never_blocks_; }
  bool transfers() const { return !moves_.empty(); }
  /// When what the system has worked on for longest began, a transfer or a slow call, if any is under way.
  using Clock = std::chrono::steady_clock;
  std::optional<Clock::time_point> oldest_work() const;
  bool awaits_buffer() const { return !await_buffer_.empty(); }
  /// As of devices: before the pager sleeps.
  bool listen(int eventfd);
  /// Callers for whom the system is at work: the pager is woken when that has ended.
  std::size_t slow_calls() const { return held_.size(); }
  /// Nothing is served.
  bool idle() const { return busy_ == 0 && moves_.empty() && held_.empty(); }
  std::string describe() const { return device_->describe(); }

 private:
  struct DirectoryEntry {
    Directory directory;
    std::unordered_map<std::uint64_t, std::unique_ptr<Foreign>> operations;  // that wait, by tag
  };
  // A load or store that the device works on.
  struct DeviceMove {
    Device* device;
    Transfer transfer;
    Delivery delivery;
    Clock::time_point begun = Clock::now();
  };

  DirectoryEntry& entry_of(PageNumber page);
  void forget(PageNumber page);
  struct StoredObject {
    PageNumber first, last;
    std::unique_ptr<Store> store;
  };

  // Pages whose transfers wait until a slow call is done with the place where they lie.
  struct HeldRange {
    PageNumber first, last;
    Clock::time_point begun;
    std::vector<Delivery> waiting;
  };

  static bool was_sent(const DirectoryEntry& entry, const Delivery& absent);
  void serve(Delivery& delivery);
  void bring_if_better(PageNumber page);
  void note_executed(std::uint64_t tag);
  void tell_last_holder(PageNumber page, const Directory& directory);
  void route(DirectoryEntry& entry, const Message& message, Delivery& cause);
  void await_buffer(Delivery delivery);
  bool give_buffers();
  bool finish_fetches();
  bool finish_transfers();
  void start(Delivery delivery);
  void finish(const Transfer& done, const StoredObject* object);
  [[noreturn]] void end_job(const Transfer& failed, const StoredObject* object) const;
  StoredObject* object_at(PageNumber page);
  StoredObject& persistent(PageNumber page);
  void ask_to_clean(const StoredObject& object);
  std::vector<bool>::reference blank(PageNumber page) { return blank_[page % pool_.shape().segment_pages]; }
  void set_blank(PageNumber first, PageNumber last, bool value);
  std::vector<PageNumber> known_pages(PageNumber first, PageNumber last) const;
  bool drop_page(PageNumber page);
  bool drop_pages(PageNumber first, PageNumber last);
  bool change_epoch(const void* caller, const StoredObject& object, Status (Store::*change)(std::uint64_t),
                    std::uint64_t epoch);
  std::function<Status()> close_object(PageNumber first, PageNumber last);
  bool give_room_back(const void* caller, PageNumber first, PageNumber last);
  std::optional<Status> make_slowly(const void* caller, PageNumber first, PageNumber last,
                                    std::function<Status()> call);
  HeldRange* held_at(PageNumber page);

  const Pool pool_;
  PageChannel& channel_;
  PageCache& cache_;
  PageBuffers& buffers_;
  const std::unique_ptr<Device> device_;
  std::vector<bool> blank_;  // pages of the segment whose contents the device need not be asked for: zeros
  const int me_;
  const Home home_;
  std::unordered_map<PageNumber, DirectoryEntry> directory_;  // of pages that somebody has or wants
  std::unordered_map<const Transfer*, std::unique_ptr<DeviceMove>> moves_;
  DeviceMove* awaited_read_ = nullptr;  // what take_read() is about
  std::deque<Delivery> await_buffer_;   // loads for other nodes, and pages that these send home
  std::vector<Message> out_;
  std::uint64_t tags_ = 0;
  std::unordered_map<std::uint64_t, int> issuers_;  // PEs, of operations that are not executed, by tag
  std::uint64_t last_version_ = 0;                  // of pages that nobody has any more
  std::size_t busy_ = 0;
  std::vector<StoredObject> objects_;
  bool never_blocks_;                      // none of the devices does, nor one that is closed did
  bool cleaning_ = false;                  // for persist()
  std::size_t unclean_ = 0;                // pages that are still to be written back for it
  std::map<const void*, HeldRange> held_;  // by caller
  bool lays_out_ = false;
  SlowCalls slow_calls_;  // last: it uses the devices
};

}  // namespace shm::nvm
