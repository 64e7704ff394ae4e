// SPDX-License-Identifier: BSD-3-Clause
// What goes from pager to pager: messages of the protocol about pages, with the pages where they carry them.
//
//   send() to another node: the message alone       -> Wire::send
//                           with a page asked for    -> Wire::put into its frame, then the message
//                           with a page for the home -> in pieces, each with the message before it
//          to this pager                           -> a queue that next() empties
//   receive()              the pieces to a buffer of the home; when all are there, and all else, to the queue
#pragma once

#include <atomic>
#include <deque>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/mutex.hpp"
#include "nvm/coherence/messages.hpp"
#include "nvm/coherence/nodes.hpp"
#include "nvm/pages.hpp"
#include "pages/buffer.hpp"

namespace shm::nvm {

/// Memory for a page that has no frame.
PageBuffer make_page_buffer(std::size_t n);

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
  PageBuffer buffer;                   // data that have no frame on this node
  FrameNumber frame = kNoFrame;        // data that have
  bool frees = false;                  // `frame` is nobody's once they are stored or sent
};

/// What messages and pages leave by.
class Wire {
 public:
  /// Has the pager of PE `pe`, on another node, receive the message, which is copied.
  virtual void send(int pe, const std::byte* message, std::size_t n) = 0;
  /// Copies n bytes to `offset` of the pool of the node of PE `pe`; they stay unchanged until `done`.
  virtual void put(int pe, std::uint64_t offset, const std::byte* bytes, std::size_t n, Completion& done) = 0;
  /// Drives what put() has begun.
  virtual void drive() = 0;

 protected:
  ~Wire() = default;
};

/// Thread safety: receive() and hand() by any thread; the rest by the pager.
class PageChannel {
 public:
  PageChannel(Wire& wire, const Pool& pool, const Nodes& nodes, int me)
      : wire_(wire), pool_(pool), nodes_(nodes), me_(me) {}

  /// To the home of the page, or to its caching agent on node message.to.  Data are in the delivery's buffer
  /// or frame, which stay unchanged until next_sent() has returned it, or, with a message to the home, until
  /// this returns.
  void send(Delivery delivery);
  /// Takes a page that has arrived at another node, and tells its pager.  Returns false if there is none.
  bool next_sent(Delivery& sent);
  /// Whether pages are on their way out; then drives them.
  bool drive();
  /// To this pager, whoever it is for.
  void keep(Delivery delivery) { local_.push_back(std::move(delivery)); }

  /// A message of another node's pager.  Returns whether there is something for next().
  bool receive(const std::byte* message, std::size_t n);
  /// From a thread on another node to the home of the page.
  void hand(const std::byte* operation, std::size_t n);

  /// Takes the next message.  Returns false if there is none.
  bool next(Delivery& delivery);
  bool empty();
  /// Nothing is on its way out, nor waits here.
  bool idle() { return sending_.empty() && empty(); }

 private:
  struct Arriving {
    PageBuffer buffer;
    std::size_t n = 0;
  };
  struct Sending {
    int pe;
    Delivery delivery;
    Completion done;
  };
  void put_page(int pe, Delivery delivery);
  void send_home(int pe, PageMessage head, const std::byte* page);
  void send_operation(int pe, const PageMessage& head, const Foreign& operation);
  bool take_piece(const PageMessage& head, const std::byte* piece, Delivery& delivery);

  Wire& wire_;
  const Pool pool_;
  const Nodes& nodes_;
  const int me_;
  std::deque<Delivery> local_;
  std::list<Sending> sending_;
  Mutex mutex_;  // of what follows
  std::deque<Delivery> arrived_ GUARDED_BY(mutex_);
  std::unordered_map<PageNumber, Arriving> arriving_ GUARDED_BY(mutex_);  // sent home
};

}  // namespace shm::nvm
