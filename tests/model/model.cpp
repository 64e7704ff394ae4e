// SPDX-License-Identifier: BSD-3-Clause
#include "model.hpp"

#include <algorithm>
#include <iterator>

namespace shm::model {
namespace {

using nvm::Event;
using nvm::NodeId;
using nvm::State;

// Of an access that waits.
std::uint8_t bit(Event event, Use use) {
  const auto* const found = std::ranges::find_if(
      kAccesses, [&](const Access& access) { return access.event == event && access.use == use; });
  return static_cast<std::uint8_t>(1 << (found - kAccesses));
}
// Above that of all messages whose requests have ended, or above all.
std::uint64_t last_obeyed(const PackedPage& at) { return at.old ? kNow / 2 : kNow; }

bool takes_message(const Move& move) {
  return move.type == Move::Type::deliver || move.type == Move::Type::fail;
}
bool is_grant(Event kind) { return kind >= Event::grant_shared && kind <= Event::grant_modified; }

struct Letter {
  char letter;
  Event event;
  bool ahead = false;
  Use use = Use::once;
};
constexpr Letter kLetters[] = {{'r', Event::local_read},
                               {'w', Event::local_write},
                               {'e', Event::local_evict},
                               {'g', Event::ask_get},
                               {'p', Event::ask_put},
                               {'c', Event::ask_clean},
                               {'d', Event::local_drop},
                               {'R', Event::local_read, true},
                               {'W', Event::local_write, true},
                               {'f', Event::local_write, false, Use::fill},
                               {'l', Event::local_read, false, Use::latch},
                               {'L', Event::local_write, false, Use::latch},
                               {'i', Event::local_read, false, Use::pin},
                               {'I', Event::local_write, false, Use::pin}};

std::string words(const nvm::Message& message) {
  const auto place = [](NodeId node) {
    return node == nvm::kDevice ? std::string("device") : "node " + std::to_string(node);
  };
  std::string text =
      std::string(name(message.kind)) + " from " + place(message.from) + " to " + place(message.to);
  if (message.requester != message.from && message.requester != message.to) {
    text += " for " + place(message.requester);
  }
  return text + (message.data ? ", data" : "") + (message.dirty ? ", dirty" : "");
}

}  // namespace

const char* name(Fault fault) {
  static constexpr const char* kNames[] = {
      "none",           "skip_invalidation", "keep_writing",     "keep_copy",
      "forget_dirty",   "leave_at_once",     "lose_write_back",  "do_not_wait",
      "repeat",         "repeat_unchecked",  "drop_what_is_new", "drop_dirty",
      "ignore_latches", "ignore_pins",       "serve_late"};
  static_assert(std::size(kNames) == kFaults);
  return kNames[static_cast<std::size_t>(fault)];
}

Model::Model(const Options& options) : options_(options) {
  for (int page = 0; page < options_.pages; ++page) {
    for (int node = 0; node < options_.nodes; ++node) s_.at[page][node].old = 1;
    s_.home[page].device_newest = 1;
    s_.home[page].owner = s_.home[page].actor = pack_node(nvm::kNobody);
  }
  for (int node = 0; node < options_.nodes; ++node)
    s_.budget[node] = static_cast<std::uint8_t>(options_.events);
}

// ---- what happens

void Model::moves(std::vector<Move>& out) const {
  out.clear();
  for (std::uint8_t i = 0; i < s_.message_count; ++i) {
    if (options_.ordered && !is_first(i)) continue;
    if (waits_for_threads(s_.messages[i])) continue;
    out.push_back({.type = Move::Type::deliver, .place = i});
    const bool may_fail = static_cast<Event>(s_.messages[i].kind) == Event::load && s_.messages[i].ahead;
    if (may_fail) out.push_back({.type = Move::Type::fail, .place = i});
  }
  for (std::uint8_t page = 0; page < options_.pages; ++page) {
    for (std::uint8_t node = 0; node < options_.nodes; ++node) {
      const PackedPage& at = s_.at[page][node];
      add_driver_moves(page, node, out);
      if (at.driver & (kClosed | kFilling | kAwaitsFrame)) continue;
      for (const auto& [event, use] : kAccesses) {
        const bool holds = step(static_cast<State>(at.state), event).actions & nvm::action::defer;
        if ((at.holding & bit(event, use)) && !holds)
          out.push_back({Move::Type::retry, 0, page, node, event, false, use});
      }
    }
  }
  for (std::uint8_t page = 0; page < options_.pages; ++page) {
    for (std::uint8_t node = 0; node < options_.nodes; ++node) {
      if (s_.budget[node] == 0) continue;
      const PackedPage& at = s_.at[page][node];
      for (const Letter& letter : kLetters) {
        if (options_.kinds.find(letter.letter) == std::string::npos) continue;
        if (letter.event == Event::local_drop && (node == home_of(page) || !drops(at) || at.holding))
          continue;
        const bool leaves = letter.event == Event::local_evict || letter.event == Event::local_drop;
        if (leaves && !can_leave(page, node)) continue;
        if (letter.use != Use::once && ((at.latched | at.pinned) & right_for(letter.event))) continue;
        if (letter.event <= Event::local_evict) {
          const nvm::Actions actions = step(static_cast<State>(at.state), letter.event).actions;
          const bool asks = actions != 0 && !(actions & (nvm::action::defer | nvm::action::proceed));
          if ((letter.event == Event::local_evict || letter.ahead) && !asks) continue;
          if (letter.ahead && (at.driver || frames_with(node, kAwaitsFrame) || lacks_frame(page, node)))
            continue;
          if (!letter.ahead && (at.holding & bit(letter.event, letter.use))) continue;
        }
        out.push_back({Move::Type::local, 0, page, node, letter.event, letter.ahead, letter.use});
      }
    }
  }
}

// Of its channel; where messages may wait for threads, of those about its page.
bool Model::is_first(int which) const {
  const PackedMessage& hint = s_.messages[which];
  for (int i = which - 1; i >= 0; --i) {
    const PackedMessage& before = s_.messages[i];
    if (before.to != hint.to || before.from != hint.from) return true;
    if (before.page == hint.page || !has_threads_) return false;
  }
  return true;
}

bool Model::drops(const PackedPage& at) const {
  const auto state = static_cast<State>(at.state);
  return step(state, Event::local_drop).actions != 0 ||
         (faulty(Fault::drop_dirty) && state == State::modified);
}

std::string Model::make(const Move& move) {
  violation_.clear();
  if (takes_message(move)) {
    const PackedMessage hint = s_.messages[move.place];
    if (close_for(hint)) return violation_;
    std::move(s_.messages + move.place + 1, s_.messages + s_.message_count, s_.messages + move.place);
    s_.messages[--s_.message_count] = {};
    deliver(hint, move.type == Move::Type::fail);
    for (int node = 0; node < options_.nodes; ++node) give_back(static_cast<int>(hint.page), node);
    check(static_cast<int>(hint.page));
  } else {
    move.type >= Move::Type::unlatch ? drive(move) : local(move);
    give_back(move.page, move.node);
    check(move.page);
  }
  return violation_;
}

void Model::local(const Move& move) {
  const int page = move.page, node = move.node;
  PackedPage& at = s_.at[page][node];
  if (move.type == Move::Type::retry) {
    at.holding &= static_cast<std::uint8_t>(~bit(move.event, move.use));
  } else {
    --s_.budget[node];
  }
  if (move.event <= Event::local_drop) {
    if (move.event == Event::local_drop && at.state == static_cast<std::uint8_t>(State::modified))
      at.state = static_cast<std::uint8_t>(State::exclusive);  // a fault
    access(page, node, move.event, move.ahead, move.use);
    if (move.event == Event::local_evict && faulty(Fault::leave_at_once)) {
      at.state = static_cast<std::uint8_t>(State::invalid);
      at.newest = 0;
    }
  } else {
    ++at.operating;
    send({.kind = move.event, .from = node, .to = home_of(page), .requester = node}, page, false);
  }
}

void Model::access(int page, int node, Event event, bool ahead, Use use) {
  PackedPage& at = s_.at[page][node];
  const bool leaves = event == Event::local_evict || event == Event::local_drop;
  const bool asks = step(static_cast<State>(at.state), event).actions & nvm::action::ask;
  if (!leaves && ((at.driver & (kClosed | kFilling)) || (asks && !reserve(page, node)))) {
    at.holding |= bit(event, use);
    return;
  }
  nvm::Page known = {static_cast<State>(at.state), last_obeyed(at)};
  mark_used(known.state, event);
  const nvm::Outcome outcome = on_local(known, event, node, home_of(page), 0, ahead, use == Use::fill);
  at.state = static_cast<std::uint8_t>(known.state);
  if (outcome.actions == 0) fail(std::string(name(event)) + " cannot happen in this state");
  for (std::size_t i = 0; i < outcome.count; ++i) send(outcome.messages[i], page, false);
  if (!nvm::has_copy(known.state)) at.newest = 0;
  if (leaves || ahead) return;
  if (!(outcome.actions & nvm::action::proceed)) {
    at.holding |= bit(event, use);
  } else {
    use_page(page, node, {event, use});
  }
}

// The state of the page permits it.
void Model::use_page(int page, int node, const Access& access) {
  PackedPage& at = s_.at[page][node];
  if (access.use == Use::latch) at.latched |= right_for(access.event);
  if (access.use == Use::pin) at.pinned |= right_for(access.event);
  access.event == Event::local_read ? read(page, node) : write(page, node, access.use == Use::fill);
}

void Model::read(int page, int node) {
  if (!s_.at[page][node].newest) fail("a read does not return the last completed write");
}

// Completes at once, as nobody else has the page: all that others have of it becomes old.
void Model::write(int page, int node, bool whole) {
  if (!whole && !s_.at[page][node].newest) fail("a write is lost: the next one does not start from it");
  for (PackedPage& at : s_.at[page]) at.newest = 0;
  for (int i = 0; i < s_.message_count; ++i) {
    if (static_cast<int>(s_.messages[i].page) == page) s_.messages[i].newest = 0;
  }
  s_.home[page].device_newest = 0;
  s_.at[page][node].newest = 1;
}

void Model::deliver(const PackedMessage& hint, bool fails) {
  switch (nvm::part_for(static_cast<Event>(hint.kind))) {
    case nvm::Part::cache: return to_node(hint);
    case nvm::Part::home: return to_home(hint);
    case nvm::Part::device: return to_device(hint, fails);
    case nvm::Part::requester: --s_.at[hint.page][unpack_node(hint.to)].operating;
  }
}

void Model::to_device(const PackedMessage& hint, bool fails) {
  PackedDirectory& home = s_.home[hint.page];
  nvm::Message answer = unpack(hint);
  std::swap(answer.from, answer.to);
  if (answer.kind == Event::store) {
    if (!faulty(Fault::lose_write_back)) home.device_newest = hint.newest;
    answer.kind = Event::stored;
    answer.data = false;
  } else {
    answer.kind = fails ? Event::failed : Event::loaded;
    answer.data = !fails;
  }
  send(answer, static_cast<int>(hint.page), home.device_newest);
}

void Model::to_home(const PackedMessage& hint) {
  const int page = static_cast<int>(hint.page);
  const nvm::Home home = {.node = home_of(page), .cooperative = options_.cooperative};
  const nvm::Message message = unpack(hint);
  if (faulty(Fault::do_not_wait) && message.kind == Event::done && !s_.home[page].awaited_count) return;
  unpack_directory(page);
  out_.clear();
  if (!serve(directory_, message, home, out_)) fail("the home did not expect " + words(message));
  if (faulty(Fault::do_not_wait)) pretend_done(home);
  if (faulty(Fault::drop_what_is_new)) directory_.to_drop.clear();
  pack_directory(page);
  for (nvm::Message& out : out_) {
    if (out.kind == Event::result && !s_.home[page].device_newest) fail("ask_clean leaves the device old");
    send(out, page, hint.newest);
  }
}

// A fault: the home does not wait for `done`.
void Model::pretend_done(const nvm::Home& home) {
  const bool finishes = directory_.phase == nvm::Phase::finish, reads = !directory_.reads.empty();
  if (!finishes && !reads) return;
  const nvm::Message done = {.from = reads ? directory_.reads[0].request.requester : directory_.awaited[0],
                             .to = home.node,
                             .version = reads ? directory_.reads[0].version : directory_.version};
  if (!serve(directory_, done, home, out_)) fail("the home did not expect a done");
}

// Faults of nodes and of the network.
void Model::spoil(const PackedMessage& hint, nvm::Page before, nvm::Page& page) {
  const auto kind = static_cast<Event>(hint.kind);
  if ((faulty(Fault::skip_invalidation) && kind == Event::invalidate) ||
      (faulty(Fault::keep_writing) && kind == Event::forward_read) ||
      (faulty(Fault::keep_copy) && kind == Event::forward_write)) {
    page.state = before.state;
  }
  const bool repeats = faulty(Fault::repeat) || faulty(Fault::repeat_unchecked);
  const bool forwarded = unpack_node(hint.from) != home_of(static_cast<int>(hint.page));
  if (repeats && is_grant(kind) && forwarded && !s_.repeated) {
    s_.repeated = 1;
    send(unpack(hint), static_cast<int>(hint.page), hint.newest);
  }
}

void Model::to_node(const PackedMessage& hint) {
  const int page = static_cast<int>(hint.page), node = unpack_node(hint.to);
  PackedPage& at = s_.at[page][node];
  const nvm::Message message = unpack(hint);
  const nvm::Page before = {static_cast<State>(at.state),
                            faulty(Fault::repeat_unchecked) ? 0 : last_obeyed(at)};
  nvm::Page known = before;
  nvm::Outcome outcome = on_message(known, message, home_of(page));
  mark_used(before.state, message.kind);
  spoil(hint, before, known);
  if (outcome.actions == 0) {
    if (faulty(Fault::repeat_unchecked)) return;
    const bool late = message.version <= before.version;
    return fail(std::string(late ? "late: " : "cannot happen: ") + words(message) + ", which is " +
                name(before.state));
  }
  at.state = static_cast<std::uint8_t>(known.state);
  at.old = hint.old;
  if (outcome.actions & nvm::action::take_data) at.newest = hint.newest;  // 0 without data
  if (outcome.actions & nvm::action::execute) {
    message.kind == Event::get ? read(page, node) : write(page, node);
  }
  at.driver &= static_cast<std::uint8_t>(~kClosed);
  if (is_grant(message.kind) || message.kind >= Event::refuse)
    at.driver &= static_cast<std::uint8_t>(~kLoading);
  if (outcome.actions & nvm::action::give_up)
    at.driver &= static_cast<std::uint8_t>(~(kHasFrame | kExpected));
  const bool lost = nvm::has_copy(before.state) && known.state == State::asking;
  if (lost && !(at.driver & kExpected))
    at.driver &= static_cast<std::uint8_t>(~kHasFrame);  // it was asked to leave
  if (is_grant(message.kind)) {
    at.driver &= static_cast<std::uint8_t>(~kExpected);
    const bool fills = message.whole && before.state == State::asking;
    if (fills) begin_fill(page, node);
    if (!fills && !faulty(Fault::serve_late)) serve_holding(page, node);  // before `done` is sent
  }
  for (std::size_t i = 0; i < outcome.count; ++i) {
    if (faulty(Fault::forget_dirty) && outcome.messages[i].kind == Event::done)
      outcome.messages[i].dirty = false;
    send(outcome.messages[i], page, at.newest);
  }
  if (!nvm::has_copy(static_cast<State>(at.state))) at.newest = 0;
}

void Model::serve_holding(int page, int node) {
  PackedPage& at = s_.at[page][node];
  for (const auto& [event, use] : kAccesses) {
    const nvm::Actions actions = step(static_cast<State>(at.state), event).actions;
    if (!(at.holding & bit(event, use)) || actions != nvm::action::proceed) continue;
    at.holding &= static_cast<std::uint8_t>(~bit(event, use));
    access(page, node, event, false, use);
  }
}

void Model::begin_fill(int page, int node) {
  PackedPage& at = s_.at[page][node];
  const std::uint8_t fill = bit(Event::local_write, Use::fill);
  if (!(at.holding & fill)) fail("a page came to be filled, and nobody wants to");
  at.holding &= static_cast<std::uint8_t>(~fill);
  at.driver |= kFilling;
}

// ---- what must hold

void Model::check(int page) {
  int copies = 0, dirty = 0, alone = 0;
  for (int node = 0; node < options_.nodes; ++node) {
    const auto state = static_cast<State>(s_.at[page][node].state);
    if (!nvm::has_copy(state)) continue;
    ++copies;
    dirty += nvm::is_dirty(state);
    alone += state == State::exclusive || state == State::modified;
    if (!s_.at[page][node].newest && !(s_.at[page][node].driver & kFilling))
      fail("node " + std::to_string(node) + " has old data");
  }
  for (int node = 0; node < options_.nodes; ++node) check_uses(page, node);
  if (alone != 0 && copies > 1) fail("a node may write, and another has a copy");
  if (dirty > 1) fail("two nodes have the page dirty");
  const bool idle = static_cast<nvm::Phase>(s_.home[page].phase) == nvm::Phase::idle;
  if (options_.agreement && idle) check_idle(page);
}

int Model::drops_under_way(int page, int node) const {
  return static_cast<int>(std::count_if(s_.messages, s_.messages + s_.message_count, [&](const auto& hint) {
    return static_cast<int>(hint.page) == page && static_cast<Event>(hint.kind) == Event::dropped &&
           hint.from == pack_node(node);
  }));
}

// The home agrees with the nodes whenever it serves nobody, but for copies that have been dropped.
void Model::check_idle(int page) {
  const PackedDirectory& home = s_.home[page];
  const auto* const end = home.holders + home.holder_count;
  for (int node = 0; node < options_.nodes; ++node) {
    const auto state = static_cast<State>(s_.at[page][node].state);
    const auto listed = static_cast<int>(std::count(home.holders, end, pack_node(node)));
    const int dropped = listed - (nvm::has_copy(state) ? 1 : 0);
    if (dropped < 0 || drops_under_way(page, node) != home.to_drop[node] + dropped) {
      fail("the home is wrong about whether node " + std::to_string(node) + " has the page");
    }
    if (dropped > 0 && home.owner == pack_node(node) && !home.device_newest)
      fail("a write is lost: who had it has dropped it");
    const bool owns = nvm::is_dirty(state) || state == State::exclusive;
    if (owns && home.owner != pack_node(node)) fail("the home does not know who owns the page");
    if (state == State::shared && home.owner == pack_node(node))
      fail("who owns the page, for its home, does not");
  }
  if (home.owner != pack_node(nvm::kNobody)) {
    if (std::count(home.holders, end, home.owner) != 1) fail("the owner has no copy");
  } else if (!home.device_newest) {
    fail("a write is lost: no node has it, nor the device");
  }
  if (home.waiting_count != 0) fail("a request waits, and none is served");
}

std::string Model::check_end() const {
  for (int page = 0; page < options_.pages; ++page) {
    if (static_cast<nvm::Phase>(s_.home[page].phase) != nvm::Phase::idle) return "deadlock: the home waits";
    for (int node = 0; node < options_.nodes; ++node) {
      const PackedPage& at = s_.at[page][node];
      if (static_cast<State>(at.state) >= State::asking) return "deadlock: a node waits for the home";
      if (at.driver & kAwaitsFrame) return "deadlock: an access waits for a frame";
      if (at.holding != 0) return "deadlock: an access waits";
      if (at.operating != 0) return "deadlock: a small operation has no result";
    }
  }
  return {};
}

// ---- in words

std::string Model::describe(const Move& move) const {
  if (takes_message(move)) {
    const PackedMessage& hint = s_.messages[move.place];
    return "page " + std::to_string(hint.page) + ": " + words(unpack(hint)) +
           (move.type == Move::Type::fail ? ", fails" : "");
  }
  const std::string where = "page " + std::to_string(move.page) + ": node " + std::to_string(move.node) + " ";
  static constexpr const char* kDriven[] = {"has copied", "unpins", "has filled it", "has a frame for it",
                                            "makes room"};
  if (move.type >= Move::Type::unlatch)
    return where + kDriven[static_cast<int>(move.type) - static_cast<int>(Move::Type::unlatch)];
  static constexpr const char* kUses[] = {"", ", copies", ", pins", ", all of it"};
  return where + name(move.event) + kUses[static_cast<int>(move.use)] +
         (move.type == Move::Type::retry ? ", again"
          : move.ahead                   ? ", ahead"
                                         : "");
}

std::string Model::summary() const {
  std::string text;
  for (int page = 0; page < options_.pages; ++page) {
    text += page == 0 ? "" : " | ";
    for (int node = 0; node < options_.nodes; ++node) {
      const PackedPage& at = s_.at[page][node];
      text += std::string(node == 0 ? "" : " ") + name(static_cast<State>(at.state));
      if (nvm::has_copy(static_cast<State>(at.state)) && !at.newest) text += "(old)";
    }
    text += s_.home[page].device_newest ? "" : ", device old";
  }
  return text;
}

}  // namespace shm::model
