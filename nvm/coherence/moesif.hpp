// SPDX-License-Identifier: BSD-3-Clause
// The protocol between nodes, MOESI-F, as seen by a node that caches a page: a table (state, event) ->
// (state, actions) and the messages that follow from it.  Pure: no I/O, no threads, no time.  What the home
// of the page does is in directory.hpp; tests/model drives both through every interleaving.
//
//   invalid --local_read, granted--> exclusive if alone, else shared
//   invalid --local_write, granted--> modified
//
//                  local_write, put
//   exclusive ------------------------> modified <---------+
//      |                                |      |           |
//      | forward_read,      recall_read |      | forward_  | local_write granted, put
//      | recall_read                    |      v read      |
//      +---------> shared <-------------+    owned --------+
//                  |   ^                       |           |
//                  |   +----- recall_read -----+           |
//                  +---------------------------------------+
//
//   any of them --forward_write, invalidate, recall_write, leave--> invalid
//   shared, exclusive --local_drop--> invalid
//
//   A node that waits for the home is in one of three more states; what it has of the page meanwhile goes on
//   answering other nodes, and may be taken away:
//
//      asking         has nothing           <- invalid + local_read, local_write; the others + invalidation
//      asking_clean   has a clean copy      <- shared + local_write; shared, exclusive + local_evict
//      asking_dirty   has a dirty copy      <- owned + local_write; owned, modified + local_evict
//
//   A grant ends the wait for a read or write: asking_dirty + grant_shared is owned, + grant_exclusive
//   modified. `leave` ends the wait for an eviction, `refuse` that for a page that cannot be read.  So a node
//   has one request for a page under way at most. Small operations (ask_get, ask_put) and ask_clean are no
//   such requests: any number of them, in any state.
//
// A node other than the home's need not ask to give up a clean copy: it drops it, and tells the home
// (`dropped`), which may want something of the copy before it hears of that.  Then the node answers that it
// has none: `absent` to what needs a copy, else a `done` that says so (Message::absent); so does its next
// request.
//
// The driver (the pager of a node), for each event on a page:
//   1. step(page.state, event) without actions: the protocol is broken, end the job.
//   2. stop_writes, stop_access: do so; if threads have it latched, come back when they have not.  Only local
//      accesses can happen to the page meanwhile; they are deferred.
//   3. take_data: the data of the message go into the frame.  execute: execute the operation there.
//   4. on_local() or on_message() changes the page and gives the messages to be sent.  Those with data carry
//      the frame as it is now; a result carries what the operation has read.
//      A grant without data to a node that has none (Message::whole) is one for a write of the whole page:
//      that goes into the frame before any other access to the page.
//   5. After a grant: the accesses that waited for it get their latches *before* `done` is sent, as the home
//      takes the page away only after that.  Else two writers could take it from each other forever.
//   6. give_up: the frame is free.  A frame that is still being sent is neither freed nor filled.
// Deferred accesses are tried again whenever the state has changed.  Messages may overtake each other, also
// between the same two nodes: nothing here depends on their order.
//
// Every state has a frame, but invalid and `asking` to leave.  It is reserved *before* local_read or
// local_write of an invalid page is given to on_local(): the home's page is busy from the request to `done`,
// and must not wait for a frame. One that is needed for a get or put with data (these come to the home's node
// only, and only if nobody has the page) may be waited for: no frame of a page that somebody has waits for
// that.  So the driver frees the frame of a page that was asked to leave as soon as it loses its copy:
// `leave` may come behind such a load.  Without cooperation a get of a page that somebody has would be a load,
// too, which that one's `leave` may be behind: no such get is sent (Heap::goes_there).
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace shm::nvm {

using NodeId = std::int32_t;
inline constexpr NodeId kNobody = -1;
inline constexpr NodeId kDevice = -2;  // where the home's load and store go to, loaded and stored come from

enum class State : std::uint8_t {
  invalid,
  shared,     // clean, others may have it
  owned,      // dirty, others may have it
  exclusive,  // clean, alone: may be written without asking
  modified,   // dirty, alone
  asking,
  asking_clean,
  asking_dirty,
};
inline constexpr std::size_t kStates = 8;

/// What happens to a page at a node (the first three groups), and all other messages.
enum class Event : std::uint8_t {
  // Accesses and evictions of this node.
  local_read,
  local_write,
  local_evict,
  local_drop,  // not on the home's node
  // Answers to a read or write, from the home or (with data) from the forwarder.
  grant_shared,
  grant_exclusive,
  grant_modified,
  // From the home.
  forward_read,   // send the page to the requester, keep it as owned or shared
  forward_write,  // send the page to the requester, forget it
  invalidate,     // forget it
  recall_read,    // send it home if dirty, keep it as shared
  recall_write,   // send it home if dirty, forget it
  leave,          // answer to ask_evict: send it home if dirty, forget it
  refuse,         // answer to a request ahead of need: the device cannot read the page
  get,            // execute the requester's operation, which only reads
  put,            // execute the requester's operation, which writes: nobody else has the page any more
  // To the home: requests, and the answer to all of the above but the two forwards.
  ask_read,
  ask_write,
  ask_evict,
  ask_get,    // small operations: executed where the page is
  ask_put,    //
  ask_clean,  // the device gets the newest data, whoever has the page keeps it: persistence
  done,
  dropped,  // from a node that had a clean copy
  absent,   // from a node that was to send its copy, or to execute an operation, which comes back, and has
            // none
  // To the requester of a small operation from where it was executed; of ask_clean from the home.
  result,
  // Between the home and its device.
  load,
  store,
  loaded,
  failed,  // to load what was asked for ahead of need
  stored,
  // From the home, for the driver alone: they change no state.
  last_copy,  // to the last node that has the page: a hint, which may come late
  fetched,    // to a node that has given the page up: its frame, at `tag`, is free
};
inline constexpr std::size_t kNodeEvents = static_cast<std::size_t>(Event::put) + 1;
inline constexpr std::size_t kEvents = static_cast<std::size_t>(Event::fetched) + 1;

bool is_request(Event kind);

/// Who takes a message of this kind at the node it is sent to.
enum class Part : std::uint8_t {
  cache,      // on_message(), but for last_copy and fetched
  home,       // serve(), in directory.hpp
  device,     // of the home
  requester,  // the thread whose small operation or ask_clean has ended
};
/// REQUIRES: not one of local_*.
Part part_for(Event kind);

/// What is to be done, in the order of the bits; 0 only for what cannot happen.
using Actions = std::uint16_t;
namespace action {
inline constexpr Actions proceed = 1 << 0;      // the local access is a hit
inline constexpr Actions defer = 1 << 1;        // the local access or eviction waits
inline constexpr Actions stop_writes = 1 << 2;  // no write permission, not latched by writers
inline constexpr Actions stop_access = 1 << 3;  // not mapped, not latched
inline constexpr Actions take_data = 1 << 4;    // the message's data are the page now
inline constexpr Actions execute = 1 << 5;      // the operation, on the frame; its result to the requester
inline constexpr Actions ask = 1 << 6;          // request to the home
inline constexpr Actions send_data = 1 << 7;    // grant with the page to the requester
inline constexpr Actions reply = 1 << 8;        // `done` to the home
inline constexpr Actions write_back = 1 << 9;   // `done` carries the page
inline constexpr Actions tell = 1 << 10;        // `dropped` to the home
inline constexpr Actions decline = 1 << 11;     // `absent` to the home
inline constexpr Actions give_up = 1 << 12;     // the frame is free
}  // namespace action

struct Step {
  State next = State::invalid;
  Actions actions = 0;
};

/// The table.
Step step(State state, Event event);

/// Whether a node in this state has a valid copy, and whether that is newer than the device's original.
bool has_copy(State state);
bool is_dirty(State state);

/// A message about one page; the driver adds which.  The payload of ask_put and ask_get (what to do) belongs
/// to (requester, tag): the home keeps it while the request waits and sends it along with put and get.
struct Message {
  Event kind = Event::done;
  bool data = false;    // carries the page
  bool dirty = false;   // grant_shared, and the `done` for it: the forwarder keeps the page as owned
  bool ahead = false;   // a request for a page, and what follows from it: nobody has needed the page yet
  bool whole = false;   // likewise: all of the page will be written before it is read, so no data are needed
  bool absent = false;  // a request, and `done` for invalidate, recall_read, recall_write: the sender has no
                        // copy, but may have dropped one
  NodeId from = kNobody;
  NodeId to = kNobody;
  NodeId requester = kNobody;  // who asked first
  std::uint64_t version = 0;   // the home counts the requests it serves; 0 in a request
  std::uint64_t tag = 0;       // of a request: comes back in its grant or result
};

/// What a node knows of a page.  The version may be forgotten with the page; a late grant is then found out
/// by the home only, at its `done`.
struct Page {
  State state = State::invalid;
  std::uint64_t version = 0;  // of the last message obeyed
};

/// actions == 0: this cannot happen, the page is unchanged.
struct Outcome {
  Actions actions = 0;
  std::size_t count = 0;
  std::array<Message, 2> messages = {};  // to be sent in this order
};

/// An access, eviction or drop of node `self`.  `ahead`: nobody needs the page yet; `whole`: a write of all
/// of it, which begins with the grant, before anything else is done with the page.  REQUIRES: event is one of
/// local_*.
Outcome on_local(Page& page, Event event, NodeId self, NodeId home, std::uint64_t tag = 0, bool ahead = false,
                 bool whole = false);

/// A message to a node.  One that is not newer than the last one obeyed is late and cannot happen either, nor
/// can one of a kind that is not for nodes, or with data where none are needed, or without.
Outcome on_message(Page& page, const Message& message, NodeId home);

const char* name(State state);
const char* name(Event event);

}  // namespace shm::nvm
