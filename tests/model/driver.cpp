// SPDX-License-Identifier: BSD-3-Clause
// What drives the protocol at a node, as nvm/coherence/page_cache does: pages are stopped before they are
// taken away, and frames are few.
#include "model.hpp"

namespace shm::model {
namespace {

using nvm::Event;
using nvm::State;

State state_of(const PackedPage& at) { return static_cast<State>(at.state); }

}  // namespace

// ---- latches and pins

// Which accesses must have ended before the node can take the message.
nvm::Actions Model::stops_for(const PackedMessage& hint) const {
  const PackedPage& at = s_.at[hint.page][unpack_node(hint.to)];
  const nvm::Actions actions = step(state_of(at), static_cast<Event>(hint.kind)).actions;
  return actions & (nvm::action::stop_writes | nvm::action::stop_access);
}

bool Model::waits_for_threads(const PackedMessage& hint) const {
  const auto kind = static_cast<Event>(hint.kind);
  if (kind == Event::load)
    return load_awaits_frame(static_cast<int>(hint.page), home_of(static_cast<int>(hint.page)));
  if (nvm::part_for(kind) != nvm::Part::cache) return false;
  const PackedPage& at = s_.at[hint.page][unpack_node(hint.to)];
  const nvm::Actions stops = stops_for(hint);
  const bool operates = (kind == Event::get || kind == Event::put) && nvm::has_copy(state_of(at));
  if (at.driver & kFilling) return true;
  if (!faulty(Fault::ignore_pins)) {
    const bool others = operates && hint.requester != hint.to;
    if ((stops || others) && (at.pinned & kToWrite)) return true;
    if ((stops & nvm::action::stop_access || (others && kind == Event::put)) && (at.pinned & kToRead))
      return true;
  }
  return stops && at.latched && (at.driver & kClosed);
}

// Whether the message has to wait for threads: nobody else gets a latch.
bool Model::close_for(const PackedMessage& hint) {
  if (nvm::part_for(static_cast<Event>(hint.kind)) != nvm::Part::cache) return false;
  PackedPage& at = s_.at[hint.page][unpack_node(hint.to)];
  if (!stops_for(hint) || !at.latched || faulty(Fault::ignore_latches)) return false;
  at.driver |= kClosed;
  return true;
}

bool Model::can_leave(int page, int node) const {
  const PackedPage& at = s_.at[page][node];
  return !at.latched && !at.pinned && !(at.driver & (kClosed | kFilling));
}

void Model::check_uses(int page, int node) {
  const PackedPage& at = s_.at[page][node];
  const std::uint8_t used = at.latched | at.pinned;
  if (used && !(nvm::has_copy(state_of(at)) && at.newest)) fail("a page that is in use is old, or gone");
  if ((used & kToWrite) && state_of(at) != State::modified) fail("a page that is written to is not modified");
}

void Model::let_go(const Move& move) {
  PackedPage& at = s_.at[move.page][move.node];
  std::uint8_t& users = move.type == Move::Type::unlatch ? at.latched : at.pinned;
  if (move.event == Event::local_write) write(move.page, move.node);  // until now
  users &= static_cast<std::uint8_t>(~right_for(move.event));
}

// ---- frames

int Model::frames_with(int node, std::uint8_t flag) const {
  int count = 0;
  for (int page = 0; page < options_.pages; ++page) count += (s_.at[page][node].driver & flag) != 0;
  return count;
}

// Half of the frames that are not pinned, at most, are kept for pages to come.
bool Model::expects_too_many(int node) const {
  int pinned = 0;
  for (int page = 0; page < options_.pages; ++page) pinned += s_.at[page][node].pinned != 0;
  return frames_with(node, kExpected) >= (options_.frames - pinned) / 2;
}

// The home's node is to execute an operation on a page that nobody has.
bool Model::load_awaits_frame(int page, int node) const {
  const PackedDirectory& home = s_.home[page];
  return frames_count() && node == home_of(page) &&
         static_cast<nvm::Phase>(home.phase) == nvm::Phase::loading && home.actor == pack_node(node) &&
         !(s_.at[page][node].driver & kHasFrame);
}

// Whether the page cannot be asked for, or loaded, as all frames are in use.
bool Model::lacks_frame(int page, int node) const {
  return frames_count() && !(s_.at[page][node].driver & kHasFrame) &&
         frames_with(node, kHasFrame) >= options_.frames;
}

const Access* Model::asking_access(int page, int node) const {
  const PackedPage& at = s_.at[page][node];
  for (const Access& access : kAccesses) {
    const bool waits = at.holding & (1 << (&access - kAccesses));
    if (waits && (step(state_of(at), access.event).actions & nvm::action::ask)) return &access;
  }
  return nullptr;
}

// Before the home is asked; behind those that came before.
bool Model::reserve(int page, int node) {
  if (!frames_count()) return true;
  PackedPage& at = s_.at[page][node];
  if ((at.driver & kHasFrame) && (at.driver & kExpected)) return true;
  if (frames_with(node, kAwaitsFrame) == 0 && take_frame(page, node)) return true;
  at.driver |= kAwaitsFrame;
  return false;
}

bool Model::take_frame(int page, int node) {
  if (expects_too_many(node) || lacks_frame(page, node)) return false;
  s_.at[page][node].driver |= kHasFrame | kExpected;
  return true;
}

// What was reserved for accesses that were served otherwise.
void Model::give_back(int page, int node) {
  PackedPage& at = s_.at[page][node];
  if (at.holding || (at.driver & kAwaitsFrame) || state_of(at) >= State::asking) return;
  at.driver &= static_cast<std::uint8_t>(~kExpected);
  if (state_of(at) == State::invalid && !(at.driver & kLoading))
    at.driver &= static_cast<std::uint8_t>(~kHasFrame);
}

// ---- moves

void Model::add_driver_moves(int page, int node, std::vector<Move>& out) const {
  const auto at_page = static_cast<std::uint8_t>(page), at_node = static_cast<std::uint8_t>(node);
  const auto add = [&](Move::Type type, Event event) {
    out.push_back({type, 0, at_page, at_node, event, false});
  };
  const PackedPage& at = s_.at[page][node];
  for (const Event event : {Event::local_read, Event::local_write}) {
    if (at.latched & right_for(event)) add(Move::Type::unlatch, event);
    if (at.pinned & right_for(event)) add(Move::Type::unpin, event);
  }
  if (at.driver & kFilling) add(Move::Type::filled, Event::local_write);
  if (!frames_count()) return;
  const bool loads = load_awaits_frame(page, node), awaits = at.driver & kAwaitsFrame;
  const bool wants = loads || (awaits && (asking_access(page, node) == nullptr || !expects_too_many(node)));
  const bool no_need = awaits && !loads && asking_access(page, node) == nullptr;
  if (!wants) return;
  if (no_need || !lacks_frame(page, node)) return add(Move::Type::take_frame, Event::local_read);
  for (int other = 0; other < options_.pages; ++other) {
    const PackedPage& victim = s_.at[other][node];
    const bool leaves = nvm::has_copy(state_of(victim)) && state_of(victim) < State::asking;
    if (!leaves || !can_leave(other, node)) continue;
    out.push_back(
        {Move::Type::make_room, 0, static_cast<std::uint8_t>(other), at_node, Event::local_evict, false});
  }
}

void Model::drive(const Move& move) {
  const int page = move.page, node = move.node;
  PackedPage& at = s_.at[page][node];
  switch (move.type) {
    case Move::Type::filled:
      at.driver &= static_cast<std::uint8_t>(~kFilling);
      return write(page, node, true);
    case Move::Type::take_frame: {
      const Access* const access = asking_access(page, node);
      const bool loads = load_awaits_frame(page, node);
      at.driver &= static_cast<std::uint8_t>(~kAwaitsFrame);
      if (loads) at.driver |= kHasFrame | kLoading;
      if (loads || access == nullptr) return;
      take_frame(page, node);
      at.holding &= static_cast<std::uint8_t>(~(1 << (access - kAccesses)));
      return this->access(page, node, access->event, false, access->use);
    }
    case Move::Type::make_room: {
      const bool drops = node != home_of(page) && !at.holding && !(at.driver & kAwaitsFrame) &&
                         step(state_of(at), Event::local_drop).actions != 0;
      access(page, node, drops ? Event::local_drop : Event::local_evict, false, Use::once);
      if (drops) at.driver &= static_cast<std::uint8_t>(~(kHasFrame | kExpected));
      return;
    }
    default: return let_go(move);
  }
}

}  // namespace shm::model
