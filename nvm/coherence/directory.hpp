// SPDX-License-Identifier: BSD-3-Clause
// The protocol between nodes, MOESI-F, as seen by the home of a page: who has it, whose turn it is, and what
// is to be sent.  Pure, like moesif.hpp, which has the nodes' part and the kinds of messages.
//
// The home serves one request for a page after the other, its own writes first, but for reads, see below:
//
//   idle --request--> gather --all there--> [loading] --loaded--> finish --done--> idle
//                     invalidate,           load: the page        grant, forward,
//                     recall, leave         must come from        get or put
//                     (and store)           the device
//
//   request    gather                                   then
//   ask_read   -                                        forward_read; nobody has it: load, grant
//   ask_write  invalidate all but forwarder, requester  has it: grant; else forward_write, or load, grant
//      whole   invalidate all but requester             grant, without data
//   ask_get    -                                        get, to the executor
//   ask_put    invalidate all but the executor          put, to the executor
//   ask_evict  leave                                    -
//   ask_clean  recall_read from the owner               result
//
// Reads that other nodes answer run at the same time, each by a forwarder of its own, so that N nodes have a
// page after log N rounds: the phase is `reading` from the first to the last of them. A node takes part in
// one request at a time, as forwarder or as requester. So its messages are never out of date, and who has
// just got the page is a forwarder once its `done` has come. Reads join in the order of coming: none
// overtakes another request.
//
// Who is told to invalidate, to leave, or recalled says done; if it comes with data, they are stored before
// anything else is done.  After a grant, forward or refusal the requester says done, after a get or put the
// executor.
//
// The executor of a small operation is the home's node if it has the page, else who has it alone or dirty,
// else the forwarder; if nobody has it, the home's node, which gets the page from the device with the
// operation.
//
// Not cooperative: data come from the home only, from its device or its node's copy, for comparison.  Who has
// the page alone is recalled (which stores it if dirty) instead of being a forwarder, and the executor is the
// home's node.
//
// A page that was asked for ahead of need and that the device cannot read (`failed`) is refused: the
// requester says done, and nobody has it.
//
// A node that has a clean copy may drop it, and what the home sends may cross its `dropped`.  So `holders`
// may name nodes that have dropped theirs.  One that says so before its `dropped` comes is taken off, and is
// in `to_drop` until then: what comes then is not about a copy that it has got since.  If it was the actor
// the request is served again, by another one.  A `dropped` that comes while the page is busy waits, ahead of
// requests.
//
// The driver (the pager that is home of the page) gives every request, `done`, `loaded`, `failed` and
// `stored` to serve() and sends what comes out, in order; what goes to its own node is delivered like the
// rest, after serve() has returned; what goes to kDevice it starts, and gives back as loaded, failed or
// stored, with the same version, when that has ended.  Messages with data that come out carry the data of the
// message given to this call: `store` those of a `done`, all others those of `loaded`.  Requests that wait
// are kept here; what belongs to their tags the driver keeps.  Any other error of the device ends the job:
// there is no state for it.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <vector>

#include "nvm/coherence/moesif.hpp"

namespace shm::nvm {

/// The nodes that have a page, as vGASNet keeps them: the top is the Forward copy.
class ForwarderStack {
 public:
  /// A node got a copy: it is the top.
  void push(NodeId node) { nodes_.push_back(node); }
  /// The node that answers the next request; it moves to the bottom.  REQUIRES: not empty.
  NodeId access() {
    return access_if([](NodeId) { return true; });
  }
  /// The same, of those for which free(node) holds; kNobody if it holds for none.
  template <class Free>
  NodeId access_if(Free free) {
    const auto found = std::find_if(nodes_.rbegin(), nodes_.rend(), free);
    if (found == nodes_.rend()) return kNobody;
    const NodeId node = *found;
    std::rotate(nodes_.begin(), found.base() - 1, found.base());
    return node;
  }
  /// A node has lost its copy; nothing if it had none.
  void remove(NodeId node);
  bool contains(NodeId node) const;
  bool empty() const { return nodes_.empty(); }
  /// From the bottom to the top.
  const std::vector<NodeId>& nodes() const { return nodes_; }

 private:
  std::vector<NodeId> nodes_;
};

enum class Phase : std::uint8_t { idle, gather, loading, finish, reading };

/// A read that a forwarder answers.
struct ForwardedRead {
  Message request;
  NodeId forwarder = kNobody;
  std::uint64_t version = 0;  // of this request
};

/// Requests that wait at the home, first come first served, but for what goes ahead of all.  It keeps its
/// memory, and takes none before something waits: most pages are asked for by one node at a time.
class WaitingRequests {
 public:
  bool empty() const { return requests_.empty(); }
  std::size_t size() const { return requests_.size() - first_; }
  const Message& front() const { return requests_[first_]; }
  void push_back(const Message& request) {
    // What is served is forgotten when that takes no more moves than there were requests.
    if (requests_.size() == requests_.capacity() && 2 * first_ >= requests_.size()) forget_served();
    requests_.push_back(request);
  }
  void push_front(const Message& request) {
    if (first_ == 0) {
      requests_.insert(requests_.begin(), request);
    } else {
      requests_[--first_] = request;
    }
  }
  /// REQUIRES: not empty.
  void pop_front() {
    if (++first_ == requests_.size()) forget_served();
  }
  void clear() {
    requests_.clear();
    first_ = 0;
  }
  std::span<const Message> all() const { return std::span(requests_).subspan(first_); }
  std::size_t capacity() const { return requests_.capacity(); }

 private:
  void forget_served() {
    requests_.erase(requests_.begin(), requests_.begin() + static_cast<std::ptrdiff_t>(first_));
    first_ = 0;
  }

  std::vector<Message> requests_;
  std::size_t first_ = 0;  // those before it are served; less than size(), or 0
};

/// What the home knows of a page.  Invariants while idle: `holders` are the nodes that have a copy, or have
/// dropped it and not said so; of each node as many `dropped` are on their way as it is in `to_drop`, and one
/// more if it is in `holders` and has no copy.  `owner` is among the holders if it is not kNobody; all others
/// are `shared`, and so are all if owner is kNobody, when the device has the newest data.
struct Directory {
  ForwarderStack holders;
  NodeId owner = kNobody;  // has it exclusive, modified or owned: the device may be stale
  std::vector<NodeId> to_drop;
  std::uint64_t version = 0;  // requests served, this one included

  Phase phase = Phase::idle;
  std::vector<ForwardedRead> reads;  // not empty while `reading`, and only then

  // The request that is being served, if none of these; the last one while idle.
  Message request;
  NodeId actor = kNobody;       // who sends the page or executes the operation; the requester: no forwarder;
                                // nobody: it is refused
  std::vector<NodeId> awaited;  // whose answer is to come; kDevice is one of them

  WaitingRequests waiting;

  bool busy() const { return phase != Phase::idle; }
  /// Nobody has the page, nor will say anything about it.
  bool blank() const { return !busy() && holders.empty() && to_drop.empty(); }
};

/// Where the home is, and how it serves.
struct Home {
  NodeId node = 0;  // its own
  bool cooperative = true;
};

/// Takes a message to the home and appends what is to be sent.  False: it was not expected, from this node,
/// in this phase or with this version; the protocol is broken and the job must end.
[[nodiscard]] bool serve(Directory& directory, const Message& message, const Home& home,
                         std::vector<Message>& out);

}  // namespace shm::nvm
