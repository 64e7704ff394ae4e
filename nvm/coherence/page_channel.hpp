// SPDX-License-Identifier: BSD-3-Clause
// What goes from pager to pager: messages of the protocol about pages, with the pages where they carry them.
//
//   send() to another node: the message alone       -> the packet for its pager -> Wire::send, by flush()
//                           with a page asked for    -> Wire::put into its frame, then the message, at once
//                           with a page for the home -> the message; the home begins fetch(), and takes the
//                                                       message as received when next_fetched() returns it
//          to this pager                           -> a queue that next() empties
//   receive()                                        -> the queue
//   hand()     an operation of another PE            -> the queue
//   answer()   to such an operation                  -> the message for that PE -> Wire::answer, by flush()
//
// What a pager says to another in one round of its work leaves in one packet, as who takes it is woken for
// each. Nothing stays in a packet while the pager does what takes long: sleeps, or has a page copied.
//
// Operations of a PE that were handed over count until the home knows that they are executed.
#pragma once

#include <algorithm>
#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "nvm/coherence/arrivals.hpp"
#include "nvm/coherence/messages.hpp"
#include "nvm/coherence/nodes.hpp"
#include "nvm/pages.hpp"
#include "pages/page_buffers.hpp"

namespace shm::nvm {

/// An operation of a thread on another node; the bytes of a put follow the head.
struct Foreign {
  std::vector<std::byte> message;
  Operation& head() { return *reinterpret_cast<Operation*>(message.data()); }
  const std::byte* data() const { return message.data() + sizeof(Operation); }
};

/// A message to a pager.
struct Delivery {
  PageNumber page = 0;
  Message message;
  std::unique_ptr<Foreign> operation;  // of ask_get, ask_put, get, put
  PageBuffer buffer{nullptr, {}};      // data that have no frame on this node
  FrameNumber frame = kNoFrame;        // data that have
  bool frees = false;                  // `frame` is nobody's once they are stored or sent
  bool away = false;                   // the data are in a frame of the sender, still to be fetched
  bool given_up = false;               // the sender has given the page up: that frame is free then
  std::uint64_t away_at = 0;           // where in the sender's pool
};

/// What messages and pages leave and come by.  REQUIRES of who implements it: no call waits for another PE;
/// what finds no room leaves later, in its order, as somebody drives the network (ChannelUse::service).
class Wire {
 public:
  /// Has the pager of PE `pe`, on another node, receive the packet, which is copied.
  virtual void send(int pe, const std::byte* packet, std::size_t n) = 0;
  /// Copies n bytes to `offset` of the pool of the node of PE `pe`; they stay unchanged until `done`.
  virtual void put(int pe, std::uint64_t offset, const std::byte* bytes, std::size_t n, Completion& done) = 0;
  /// Whether a message that is sent now is delivered after what all puts before have copied.
  virtual bool messages_follow_puts() const = 0;
  /// Copies n bytes from there to `bytes`.
  virtual void get(int pe, std::uint64_t offset, std::byte* bytes, std::size_t n, Completion& done) = 0;
  /// Drives what put() and get() have begun.
  virtual void drive() = 0;
  /// Whether all that was sent has left.
  virtual bool idle() const { return true; }
  /// Sends answers to the PE, which may be on this node.
  virtual void answer(int pe, const std::byte* message, std::size_t n) = 0;
  /// Whether the calling thread is taking messages off the network, and calls Pager::answer_calls() then.
  virtual bool will_answer_calls() const { return false; }

 protected:
  ~Wire() = default;
};

/// Thread safety: receive(), hand() and any_handed() by any thread; the rest by one at a time, who makes a
/// round of the pager.
class PageChannel {
 public:
  PageChannel(Wire& wire, const Pool& pool, const Nodes& nodes, int me)
      : wire_(wire), pool_(pool), nodes_(nodes), me_(me) {}

  /// To the home of the page, or to its caching agent on node message.to.  Data are in the delivery's buffer
  /// or frame, which stay unchanged until next_sent() has returned it.  With a message to the home they are
  /// in a frame, unchanged until the home has fetched them (the home's own frame: stored them); if the frame
  /// is nobody's afterwards, fetched() must be called when `fetched` comes.
  void send(Delivery delivery);
  /// The home of the page has fetched it from the frame.  False: that was not to be fetched.
  [[nodiscard]] bool fetched(PageNumber page, FrameNumber frame);
  /// Whose a message to this home is: its own, if its device's.
  int sender_of(const Message& message) const {
    return message.from == kDevice ? me_ : nodes_.caching_pe(me_, message.from);
  }
  /// Sends the messages that wait for others.  Call it at the end of each round.
  void flush();
  /// Takes a page that has arrived at another node, and tells its pager, if the wire did not keep the order
  /// of both. Returns false if there is none.
  bool next_sent(Delivery& sent);
  /// Gets the data of a message for the home into its buffer.
  void fetch(Delivery delivery);
  /// Takes a message whose data are there, and tells who has given the page up.  Returns false if there is
  /// none.
  bool next_fetched(Delivery& fetched);
  bool moves() const { return !moving_.empty(); }
  /// Whether next_sent() or next_fetched() would return one.
  bool any_moved() const;
  /// Whether they may.  By any thread: what it has seen arrive is found, also if the round that sends it goes
  /// on.
  bool any_arrived() const { return arrivals_.any(); }
  /// Whether a page is on its way to another node that can only be told of it when it has arrived.
  bool any_untold() const;
  /// Whether a page is on its way out of the frame.
  bool sends_from(FrameNumber frame) const;
  /// To this pager, whoever it is for.
  void deliver_here(Delivery delivery) { local_.push_back(std::move(delivery)); }

  /// A packet of another node's pager.
  void receive(const std::byte* packet, std::size_t n);
  /// From a thread of any PE to the home of the page; those of a PE in their order.
  void hand(const std::byte* operation, std::size_t n);
  /// By the home: an operation of the PE that was handed over is executed, wherever.
  void executed(int pe);
  /// Whether one of that PE may not be executed yet.  The PE's own thread may ask, or who takes what it
  /// sends.
  bool any_handed(int pe);
  /// The answer to an operation of the PE, padded to words.
  void answer(int pe, const std::byte* answer, std::size_t n);

  /// Takes the next message.  Returns false if there is none.
  bool next(Delivery& delivery);
  bool empty();
  /// Nothing is on its way, nor waits here.
  bool idle() {
    return moving_.empty() && to_be_fetched_.empty() && !any_packet(packets_) && !any_packet(answers_) &&
           empty() && wire_.idle();
  }

 private:
  // A page on its way to or from the node of a PE.
  struct Move {
    int pe;
    bool fetched;
    bool told = false;  // the message is under way behind the page
    Delivery delivery;
    Completion* done;  // one of arrivals_, or `own` if that has no room
    Completion own;
  };
  struct Packet {
    int pe;
    std::vector<std::byte> bytes;
  };
  void put_page(int pe, Delivery delivery);
  void tell(const Move& move);
  void add(int pe, PageMessage head, const Foreign* operation = nullptr);
  static Packet& packet_for(std::vector<Packet>& packets, int pe);
  static bool any_packet(const std::vector<Packet>& packets) {
    return std::ranges::any_of(packets, [](const Packet& packet) { return !packet.bytes.empty(); });
  }
  void leave(Packet& packet);
  void leave_answers(Packet& packet);
  Move& begin_move(int pe, bool fetched, Delivery delivery);
  void end_move(std::list<Move>::iterator move);
  std::list<Move>::iterator next_moved(bool fetched);

  Wire& wire_;
  const Pool pool_;
  const Nodes& nodes_;
  const int me_;
  std::vector<Packet> packets_;  // of each pager that has been written to; empty: nothing waits for flush()
  std::vector<Packet> answers_;  // likewise, for PEs
  std::deque<Delivery> local_;
  std::list<Move> moving_;
  Arrivals arrivals_;  // of these
  // Frames that homes have still to fetch, and that are free then: of which page each is.
  std::unordered_map<FrameNumber, PageNumber> to_be_fetched_;
  Mutex mutex_;  // of what follows
  std::deque<Delivery> arrived_ GUARDED_BY(mutex_);
  // Operations of each PE that are handed and not executed; only of PEs that have any.
  std::unordered_map<int, std::size_t> handed_ GUARDED_BY(mutex_);
  std::atomic<std::size_t> any_handed_{0};  // PEs in it
};

}  // namespace shm::nvm
