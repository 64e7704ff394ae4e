// SPDX-License-Identifier: BSD-3-Clause
// The system that is explored: nodes, pages whose homes are the first of them, channels, devices, and in each
// node threads that use pages, and frames.  All that concerns the protocol is decided by nvm/coherence/moesif
// and nvm/coherence/directory, as in the product; here are what surrounds them (who waits, what travels; what
// page_cache does, in driver.cpp) and what must always hold.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "nvm/coherence/directory.hpp"
#include "state.hpp"
#include "uses.hpp"

namespace shm::model {

/// What a node, a home or the network does wrong on purpose.
enum class Fault : std::uint8_t {
  none,
  skip_invalidation,  // a node confirms an invalidation and keeps its copy
  keep_writing,       // a forwarder stays modified or exclusive
  keep_copy,          // a forwarder keeps the copy that it has sent to a writer
  forget_dirty,       // a requester does not tell that its forwarder keeps a dirty copy
  leave_at_once,      // a node that asks to evict does not wait for the answer: it crosses what others want
  lose_write_back,    // what a node sends home is not stored
  do_not_wait,        // the home does not wait for `done`
  repeat,             // the network delivers a forwarder's grant once more, later
  repeat_unchecked,   // ... and nodes do not look at versions
  drop_what_is_new,   // the home takes a late `dropped` to be about a copy that the node has got since
  drop_dirty,         // a node drops a copy that is newer than the device's
  ignore_latches,     // a page is taken away from threads that copy
  ignore_pins,        // ... from who has pinned it
  serve_late,         // who waits for a page gets it after `done` is sent, when it may have left again
};
inline constexpr int kFaults = 15;
const char* name(Fault fault);

struct Options {
  int nodes = 3;
  int pages = 2;
  int events = 2;             // of each node
  std::string kinds = "rwe";  // of them: read, write, evict, drop, get, put, clean, Read ahead, Write ahead,
                              // fill; latch to read or to Write (l, L), pIn to read or to write (i, I)
  int frames = 0;             // of each node; 0: as many as pages
  bool cooperative = true;
  bool ordered = true;    // messages from one node to another arrive in order
  bool agreement = true;  // check that the home knows who has the page; without it a fault goes on to do harm
  bool ends = false;      // check that moves that are no local events come to an end
  Fault fault = Fault::none;
};

struct Move {
  enum class Type : std::uint8_t {
    local,
    retry,
    deliver,
    fail,     // the device cannot load
    unlatch,  // `event` says which latch or pin
    unpin,
    filled,
    take_frame,  // for the page
    make_room,   // the page leaves for one that awaits a frame
  };
  Type type;
  std::uint8_t place;       // of the message that is delivered, or fails
  std::uint8_t page, node;  // of the event
  nvm::Event event;         // local_*, or a request that a node may send at any time
  bool ahead;               // local_read, local_write: asks for the page, but no access waits for it
  Use use = Use::once;
};

/// One state of the system, and its moves.  Sentences say what is violated; empty: nothing.
class Model {
 public:
  explicit Model(const Options& options);

  const SystemState& state() const { return s_; }
  void set(const SystemState& state) { s_ = state; }

  /// What can happen next, always in the same order.
  void moves(std::vector<Move>& out) const;
  /// Makes a move; what must hold after each.
  std::string make(const Move& move);
  /// Nothing goes on without a new local event: everything must have been answered.
  std::string check_end() const;
  /// A move before it is made, and the state, in words.
  std::string describe(const Move& move) const;
  std::string summary() const;
  /// Whether a row of the protocol's table has been used by any move made so far.
  bool used(nvm::State state, nvm::Event event) const {
    return used_[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)];
  }

 private:
  void mark_used(nvm::State state, nvm::Event event) {
    used_[static_cast<std::size_t>(state)][static_cast<std::size_t>(event)] = true;
  }
  nvm::NodeId home_of(int page) const { return page % options_.nodes; }
  bool drops(const PackedPage& at) const;
  bool faulty(Fault fault) const { return options_.fault == fault; }

  bool is_first(int which) const;
  void local(const Move& move);
  void access(int page, int node, nvm::Event event, bool ahead, Use use);
  void use_page(int page, int node, const Access& access);
  void deliver(const PackedMessage& hint, bool fails);
  void to_node(const PackedMessage& hint);
  void to_home(const PackedMessage& hint);
  void to_device(const PackedMessage& hint, bool fails);
  void pretend_done(const nvm::Home& home);
  void spoil(const PackedMessage& hint, nvm::Page before, nvm::Page& page);
  void serve_holding(int page, int node);
  void begin_fill(int page, int node);
  void read(int page, int node);
  void write(int page, int node, bool whole = false);
  void check(int page);
  void check_idle(int page);
  int drops_under_way(int page, int node) const;
  void fail(const std::string& what) {
    if (violation_.empty()) violation_ = what;
  }

  // driver.cpp: latches, pins and frames
  bool waits_for_threads(const PackedMessage& hint) const;
  bool close_for(const PackedMessage& hint);
  nvm::Actions stops_for(const PackedMessage& hint) const;
  bool can_leave(int page, int node) const;
  void add_driver_moves(int page, int node, std::vector<Move>& out) const;
  void drive(const Move& move);
  void let_go(const Move& move);
  bool frames_count() const { return options_.frames > 0; }
  int frames_with(int node, std::uint8_t flag) const;
  bool expects_too_many(int node) const;
  bool load_awaits_frame(int page, int node) const;
  bool lacks_frame(int page, int node) const;
  const Access* asking_access(int page, int node) const;
  bool reserve(int page, int node);
  bool take_frame(int page, int node);
  void give_back(int page, int node);
  void check_uses(int page, int node);

  // pack.cpp
  void send(const nvm::Message& message, int page, bool newest);
  nvm::Message unpack(const PackedMessage& hint) const;
  PackedMessage pack(const nvm::Message& message, int page, bool newest) const;
  std::uint64_t version_of(const PackedMessage& hint) const;
  void end_request(int page, int requester, int forwarder);
  void end_requests(int page);
  void unpack_directory(int page);
  void pack_directory(int page);

  const Options options_;
  const bool has_threads_ = options_.frames > 0 || options_.kinds.find_first_of("lLiI") != std::string::npos;
  SystemState s_ = {};
  std::string violation_;
  bool used_[nvm::kStates][nvm::kNodeEvents] = {};
  nvm::Directory directory_;  // scratch, to keep its memory
  std::vector<nvm::Message> out_;
};

}  // namespace shm::model
