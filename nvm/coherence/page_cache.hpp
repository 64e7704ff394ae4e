// SPDX-License-Identifier: BSD-3-Clause
// The page cache of a pager: the pages that it caches for its node, its own PE's and some of other nodes'. It
// drives moesif.hpp, which has the rules.
//
//   request_page()  a thread of the node needs a page: a hit; or a frame, a request to the home, a grant
//   take()          a message of the home, or of a node that has the page: what is to be done with it
//   on_hint()       somebody needs a frame, or will need a page
//
// Pages of a sequence are brought before they are needed; and pages leave, which writes them if they are
// dirty, before their frames are needed.
//
// What cannot be done at once waits in the page and is tried again by work(): messages for threads that copy,
// accesses for the page, pages for a frame.  Nothing here waits.
#pragma once

#include <algorithm>
#include <chrono>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "nvm/coherence/page_channel.hpp"
#include "nvm/pages.hpp"
#include "pages/mappings.hpp"
#include "pages/pool.hpp"
#include "pages/read_ahead.hpp"
#include "pages/replacement.hpp"

namespace shm::nvm {

/// What a pager needs of the runtime.
class Host : public Wire, public AddressSpace {
 public:
  /// Makes room for some mappings.  Returns false if it cannot.
  virtual bool give_up_spares() = 0;
  /// Makes what is given up so, unless it is there, or there is no room for it.
  virtual void make_spares() = 0;

 protected:
  ~Host() = default;
};

/// Thread safety: one thread at a time, who makes a round of the pager.
class PageCache {
 public:
  /// Of the pager of PE `me`, whose segment begins at `segment` in this process.
  /// `ahead`: read-ahead window in pages; 0: none.
  PageCache(Host& host, const Pool& pool, const Nodes& nodes, PageChannel& channel, int me,
            std::byte* segment, std::size_t ahead, ReplacementKind replacement)
      : host_(host),
        pool_(pool),
        replacement_(pool, replacement),
        nodes_(nodes),
        channel_(channel),
        me_(me),
        mappings_(host, pool, segment),
        spare_frames_(std::min(4 * ahead, pool.shape().frames / 16)),
        read_ahead_(ahead) {}

  /// A request for one page.
  void request_page(PageRequest& request);
  void on_hint(const RequestQueue::Hint& hint);
  void take(Delivery delivery);
  /// Tries again what waits.  Returns whether anything got on.
  bool work();

  /// For a page that nobody has: the load gets a frame, when there is one, and goes on to the home.
  void give_frame(Delivery load);
  /// A frame that holds nothing that is needed any more.
  void free(FrameNumber frame);
  /// Begins to take a page away from other nodes.
  void call_back(PageNumber page);
  /// The page is about to be used: if it is here, it leaves after all others.  Returns false if it is
  /// leaving.
  bool keep_for_use(PageNumber page);
  /// Forgets a page that no other node has.  Returns false if somebody copies, or it is on its way.
  bool drop(PageNumber page);

  /// A group of frames that is to be laid out by who calls (Pool::claim_group), if any.
  std::optional<std::uint32_t> claim_group();

  /// Whether threads of this node wait for the page.
  bool is_awaited(PageNumber page) const {
    const auto found = pages_.find(page);
    return found != pages_.end() && !found->second->pending.empty();
  }
  /// For how many microseconds the pager may sleep, whoever rings; LONG_MAX: without limit.  kNap, while
  /// something waits for what rings no bell.  A message that waits until a program unpins its page is none:
  /// unpin() rings; nor is a request for a frame while enough pages leave: who frees a frame rings.
  long longest_sleep() const;
  static constexpr long kNap = 50;
  /// From now on no page leaves early, and none is brought ahead: hints are not heeded.
  void rest() { resting_ = true; }
  /// Nothing has been asked for, nor is to be done.
  bool idle() const { return asking_ == 0 && frame_waiters_.empty() && stopped_.empty(); }
  /// Calls visit(request) for all who wait.
  template <class Visit>
  void for_waiting(Visit visit) {
    for (const auto& [number, page] : pages_) {
      for (PageRequest* request : page->pending) visit(*request);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  // A page that is here, or on its way.
  struct CachedPage {
    Page known;
    FrameNumber frame = kNoFrame;
    bool stopping = false;  // the word is closed, and a message waits for the last latch
    bool awaits_frame = false;
    bool loading = false;   // the home reads it into the frame, for an operation that it will have executed
    bool expected = false;  // the frame is reserved for a page that has been asked for
    bool fetched = false;   // by the home, since its last message: the newest contents
    bool filling = false;   // a thread writes all of it; nothing else is done with the page meanwhile
    std::optional<Delivery> load;  // waits for the frame
    std::deque<Delivery> messages;
    std::deque<PageRequest*> pending;
  };
  struct FrameWaiter {
    PageNumber page;
    Clock::time_point ask_again;
  };

  CachedPage& page_of(PageNumber number);
  void add_pending(PageRequest& request);
  void on_last_copy(PageNumber number);
  void advance(PageNumber number, CachedPage& page);
  void give_back(CachedPage& page);
  void serve_pending(PageNumber number, CachedPage& page);
  static bool needs_frame(const CachedPage& page);
  bool serve_access(PageNumber number, CachedPage& page, PageRequest& request);
  enum class Need : std::uint8_t { now, ahead, whole };
  void ask(PageNumber number, CachedPage& page, Event event, Need need = Need::now);
  void have_filled(PageNumber number, CachedPage& page);
  void on_filled(PageNumber number);
  bool handle(PageNumber number, CachedPage& page, Delivery& delivery);
  bool is_pinned_against(const CachedPage& page, const Delivery& delivery) const;
  static Actions stops_of(const CachedPage& page, const Delivery& delivery);
  bool is_pinned(const CachedPage& page, Actions stops) const;
  bool waits_for_unpin(PageNumber number) const;
  void send_all(PageNumber number, CachedPage& page, const Outcome& outcome,
                std::unique_ptr<Foreign> operation, bool is_asked_to_leave);
  void send(PageNumber number, CachedPage& page, const Message& message, bool leaves);
  void leave_frame(CachedPage& page, bool sent);
  bool stop(PageNumber number, CachedPage& page, Actions actions);
  bool stop_at_once(PageNumber number, CachedPage& page);
  void publish(PageNumber number, CachedPage& page) const;
  void learn(PageNumber number, CachedPage& page) const;
  void expect(CachedPage& page, bool expected);
  void grant(PageNumber number, CachedPage& page, PageRequest& request);
  bool is_mapped_beyond(const CachedPage& page, MapState most) const;
  bool is_mapped_lately(const CachedPage& page) const;
  void map(PageNumber number, const CachedPage& page, Access access);
  void unmap(PageNumber number, const CachedPage& page, MapState most);
  template <class Change>
  void change_mapping(PageNumber number, const char* how, Change change);
  bool unmap_others(PageNumber number);
  void apply(const CachedPage& page, Foreign& operation);
  bool reserve(PageNumber number, CachedPage& page);
  bool take_frame(CachedPage& page);
  bool too_many_expected() const;
  bool serve_frame_waiters();
  bool enough_leave() const;
  void count_leaving(FrameNumber frame, bool leaving);
  void ask_for_room();
  bool ask_to_leave();
  void keep_spare_frames();
  bool evict(PageNumber number);
  bool can_drop(PageNumber number, const CachedPage& page) const;
  void tell_dropped(PageNumber number, CachedPage& page);
  void look_ahead(PageNumber page);
  void bring(PageNumber page, ReadAhead::Range range);
  bool bring(PageNumber number);
  void forget_if_unused(PageNumber number);
  void ring_frame_waiters() const;
  NodeId home_of(PageNumber number) const { return nodes_.node_of(pool_.pe_of(number)); }

  Host& host_;
  const Pool pool_;
  Replacement replacement_;
  const Nodes& nodes_;
  PageChannel& channel_;
  const int me_;
  Mappings mappings_;
  const std::size_t spare_frames_;  // of the node: as many are to be free
  ReadAhead read_ahead_;
  std::unordered_map<PageNumber, std::unique_ptr<CachedPage>> pages_;
  std::vector<std::unique_ptr<PageRequest>> own_requests_;
  std::deque<FrameWaiter> frame_waiters_;
  std::vector<PageNumber> stopped_;    // have messages that wait
  bool taken_ = false;                 // a frame, since as many as wanted were free
  FrameNumber last_taken_ = kNoFrame;  // since claim_group()
  bool dropped_ = false;               // a page, whose frame is free, since work() has looked
  bool resting_ = false;
  std::size_t asking_ = 0;  // pages that have asked their home for something
};

}  // namespace shm::nvm
