// SPDX-License-Identifier: BSD-3-Clause
// The node's part of a pager: the pages that it keeps for its node, its own PE's and some of other nodes'. It
// drives moesif.hpp, which has the rules.
//
//   want()  a thread of the node needs a page: a hit; or a frame, a request to the home, a grant
//   take()  the home, or who has the page, says what is to be done with it
//   heed()  somebody needs a frame, or will need a page
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

#include "nvm/policy.hpp"
#include "nvm/pool.hpp"
#include "nvm/post.hpp"
#include "nvm/streams.hpp"

namespace shm::nvm {

/// What a pager needs of the runtime.
class Host : public Wire {
 public:
  /// Maps the pool's bytes at `offset` over [at, at + n) of this process; `writable` or to be read only.
  virtual void map(std::byte* at, std::size_t offset, std::size_t n, bool writable) = 0;
  /// Nothing is mapped there any more: an access is a fault.
  virtual void unmap(std::byte* at, std::size_t n) = 0;
  /// Sends an answer to the PE, which may be on this node.
  virtual void answer(int pe, const std::byte* message, std::size_t n) = 0;
  /// What the pager takes for the time.
  virtual std::chrono::steady_clock::time_point now() const { return std::chrono::steady_clock::now(); }

 protected:
  ~Host() = default;
};

/// Thread safety: one thread, the pager's.
class Residents {
 public:
  /// Kept by PE `me`, whose segment begins at `segment` in this process.
  /// `ahead`: the most pages that are brought before they are needed.
  Residents(Host& host, const Pool& pool, const Nodes& nodes, Post& post, int me, std::byte* segment,
            std::size_t ahead, PolicyKind policy)
      : host_(host),
        pool_(pool),
        policy_(pool, policy),
        nodes_(nodes),
        post_(post),
        me_(me),
        segment_(segment),
        spare_frames_(std::min(4 * ahead, pool.shape().frames / 16)),
        streams_(ahead) {}

  /// A request for one page.
  void want(Request& request);
  void heed(const Inbox::Note& note);
  void take(Delivery delivery);
  /// Tries again what waits.  Returns whether anything got on.
  bool work();

  /// For a page that nobody has: the load gets a frame, when there is one, and goes on to the home.
  void give_frame(Delivery load);
  /// A frame whose contents have been stored.
  void free(FrameNumber frame);
  /// Begins to take a page away from other nodes.
  void call_back(PageNumber page);
  /// Forgets a page that no other node has.  Returns false if somebody copies.
  bool drop(PageNumber page);

  /// Whether something waits that time alone will bring on.
  bool waits() const { return !starving_.empty() || !stopped_.empty(); }
  /// From now on no page leaves early, and none is brought ahead: notes are not heeded.
  void rest() { resting_ = true; }
  /// Nothing has been asked for, nor is to be done.
  bool idle() const { return asking_ == 0 && !waits(); }
  /// Calls visit(request) for all who wait.
  template <class Visit>
  void for_waiting(Visit visit) {
    for (const auto& [number, page] : pages_) {
      for (Request* request : page->wishes) visit(*request);
    }
  }

 private:
  using Clock = std::chrono::steady_clock;
  enum class Mapped : std::uint8_t { no, to_read, to_write };
  // A page that is here, or on its way.
  struct Resident {
    Page known;
    FrameNumber frame = kNoFrame;
    Mapped mapped = Mapped::no;
    bool stopping = false;  // the word is closed, and a message waits for the last pin
    bool starving = false;
    bool loading = false;   // the home reads it into the frame, for an operation that it will have executed
    bool expected = false;  // the frame is reserved for a page that has been asked for
    NodeId operated_by = kNobody;  // the last operation executed here
    Clock::time_point mapped_at;
    std::optional<Delivery> load;  // waits for the frame
    std::deque<Delivery> messages;
    std::deque<Request*> wishes;
  };
  struct Starving {
    PageNumber page;
    Clock::time_point ask_again;
  };

  Resident& resident(PageNumber number);
  void wish(Request& request);
  void advance(PageNumber number, Resident& page);
  void give_back(Resident& page);
  void serve_wishes(PageNumber number, Resident& page);
  static bool needs_frame(const Resident& page);
  bool serve_wish(PageNumber number, Resident& page, Request& request);
  void ask(PageNumber number, Resident& page, Event event);
  bool obey(PageNumber number, Resident& page, Delivery& delivery);
  bool is_held_from(const Resident& page, const Delivery& delivery) const;
  void send_all(PageNumber number, Resident& page, const Outcome& outcome);
  void send(PageNumber number, Resident& page, const Message& message, bool leaves);
  bool stop(PageNumber number, Resident& page, Actions actions);
  bool stop_at_once(PageNumber number, Resident& page);
  void publish(PageNumber number, Resident& page) const;
  void learn(PageNumber number, Resident& page) const;
  void expect(Resident& page, bool expected);
  void grant(PageNumber number, Resident& page, Request& request);
  void map(PageNumber number, Resident& page, Access access);
  void apply(Resident& page, Foreign& operation);
  bool reserve(PageNumber number, Resident& page);
  bool take_frame(Resident& page);
  bool too_many_expected() const;
  bool feed_starving();
  void ask_for_room();
  bool ask_to_leave();
  void keep_spare_frames();
  bool evict(PageNumber number);
  void look_ahead(PageNumber page);
  bool bring(PageNumber number);
  void forget_if_unused(PageNumber number);
  void ring_others() const;
  std::byte* address(PageNumber number) const { return segment_ + pool_.offset_of(number); }
  NodeId home_of(PageNumber number) const { return nodes_.node_of(pool_.pe_of(number)); }

  Host& host_;
  const Pool pool_;
  Policy policy_;
  const Nodes& nodes_;
  Post& post_;
  const int me_;
  std::byte* const segment_;
  const std::size_t spare_frames_;  // of the node, that pages leave for in time
  Streams streams_;
  std::unordered_map<PageNumber, std::unique_ptr<Resident>> pages_;
  std::vector<std::unique_ptr<Request>> own_requests_;
  std::deque<Starving> starving_;
  std::vector<PageNumber> stopped_;  // have messages that wait
  bool taken_ = false;               // a frame, since as many as wanted were free
  bool resting_ = false;
  std::size_t asking_ = 0;  // pages that have asked their home for something
};

}  // namespace shm::nvm
