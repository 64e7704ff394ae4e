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
struct Access {
  Event event;
  bool whole;
};
constexpr Access kAccesses[] = {
    {Event::local_write, true}, {Event::local_read, false}, {Event::local_write, false}};
std::uint8_t bit(Event event, bool whole) {
  return static_cast<std::uint8_t>(1 << (whole ? 2 : static_cast<int>(event)));
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
  bool whole = false;
};
constexpr Letter kLetters[] = {{'r', Event::local_read},        {'w', Event::local_write},
                               {'e', Event::local_evict},       {'g', Event::ask_get},
                               {'p', Event::ask_put},           {'c', Event::ask_clean},
                               {'d', Event::local_drop},        {'R', Event::local_read, true},
                               {'W', Event::local_write, true}, {'f', Event::local_write, false, true}};

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
      "none",         "skip_invalidation", "keep_writing",     "keep_copy",
      "forget_dirty", "leave_at_once",     "lose_write_back",  "do_not_wait",
      "repeat",       "repeat_unchecked",  "drop_what_is_new", "drop_dirty"};
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
    const bool first = i == 0 || s_.messages[i].to != s_.messages[i - 1].to ||
                       s_.messages[i].from != s_.messages[i - 1].from;
    if (!first && options_.ordered) continue;
    out.push_back({.type = Move::Type::deliver, .place = i});
    const bool may_fail = static_cast<Event>(s_.messages[i].kind) == Event::load && s_.messages[i].ahead;
    if (may_fail) out.push_back({.type = Move::Type::fail, .place = i});
  }
  for (std::uint8_t page = 0; page < options_.pages; ++page) {
    for (std::uint8_t node = 0; node < options_.nodes; ++node) {
      const PackedPage& at = s_.at[page][node];
      for (const auto& [event, whole] : kAccesses) {
        const bool holds = step(static_cast<State>(at.state), event).actions & nvm::action::defer;
        if ((at.holding & bit(event, whole)) && !holds)
          out.push_back({Move::Type::retry, 0, page, node, event, false, whole});
      }
    }
  }
  for (std::uint8_t page = 0; page < options_.pages; ++page) {
    for (std::uint8_t node = 0; node < options_.nodes; ++node) {
      if (s_.budget[node] == 0) continue;
      const PackedPage& at = s_.at[page][node];
      for (const Letter& letter : kLetters) {
        if (options_.kinds.find(letter.letter) == std::string::npos) continue;
        if (letter.event == Event::local_drop && (node == home_of(page) || !drops(at))) continue;
        if (letter.event <= Event::local_evict) {
          const nvm::Actions actions = step(static_cast<State>(at.state), letter.event).actions;
          const bool asks = actions != 0 && !(actions & (nvm::action::defer | nvm::action::proceed));
          if ((letter.event == Event::local_evict || letter.ahead) && !asks) continue;
          if (!letter.ahead && (at.holding & bit(letter.event, letter.whole))) continue;
        }
        out.push_back({Move::Type::local, 0, page, node, letter.event, letter.ahead, letter.whole});
      }
    }
  }
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
    std::move(s_.messages + move.place + 1, s_.messages + s_.message_count, s_.messages + move.place);
    s_.messages[--s_.message_count] = {};
    deliver(hint, move.type == Move::Type::fail);
    check(static_cast<int>(hint.page));
  } else {
    local(move);
    check(move.page);
  }
  return violation_;
}

void Model::local(const Move& move) {
  const int page = move.page, node = move.node;
  PackedPage& at = s_.at[page][node];
  if (move.type == Move::Type::retry) {
    at.holding &= static_cast<std::uint8_t>(~bit(move.event, move.whole));
  } else {
    --s_.budget[node];
  }
  if (move.event <= Event::local_drop) {
    if (move.event == Event::local_drop && at.state == static_cast<std::uint8_t>(State::modified))
      at.state = static_cast<std::uint8_t>(State::exclusive);  // a fault
    access(page, node, move.event, move.ahead, move.whole);
    if (move.event == Event::local_evict && faulty(Fault::leave_at_once)) {
      at.state = static_cast<std::uint8_t>(State::invalid);
      at.newest = 0;
    }
  } else {
    ++at.operating;
    send({.kind = move.event, .from = node, .to = home_of(page), .requester = node}, page, false);
  }
}

void Model::access(int page, int node, Event event, bool ahead, bool whole) {
  PackedPage& at = s_.at[page][node];
  nvm::Page known = {static_cast<State>(at.state), last_obeyed(at)};
  use(known.state, event);
  const nvm::Outcome outcome = on_local(known, event, node, home_of(page), 0, ahead, whole);
  at.state = static_cast<std::uint8_t>(known.state);
  if (outcome.actions == 0) fail(std::string(name(event)) + " cannot happen in this state");
  for (std::size_t i = 0; i < outcome.count; ++i) send(outcome.messages[i], page, false);
  if (!nvm::has_copy(known.state)) at.newest = 0;
  if (event == Event::local_evict || event == Event::local_drop || ahead) return;
  if (!(outcome.actions & nvm::action::proceed)) {
    at.holding |= bit(event, whole);
  } else if (event == Event::local_read) {
    read(page, node);
  } else {
    write(page, node, whole);
  }
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
  use(before.state, message.kind);
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
  if (is_grant(message.kind)) {                     // before `done` is sent
    for (const auto& [event, whole] : kAccesses) {  // a fill before all others
      if (!(at.holding & bit(event, whole)) || step(known.state, event).actions != nvm::action::proceed)
        continue;
      at.holding &= static_cast<std::uint8_t>(~bit(event, whole));
      access(page, node, event, false, whole);
    }
  }
  for (std::size_t i = 0; i < outcome.count; ++i) {
    if (faulty(Fault::forget_dirty) && outcome.messages[i].kind == Event::done)
      outcome.messages[i].dirty = false;
    send(outcome.messages[i], page, at.newest);
  }
  if (!nvm::has_copy(static_cast<State>(at.state))) at.newest = 0;
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
    if (!s_.at[page][node].newest) fail("node " + std::to_string(node) + " has old data");
  }
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
  return "page " + std::to_string(move.page) + ": node " + std::to_string(move.node) + " " +
         name(move.event) +
         (move.type == Move::Type::retry ? ", again"
          : move.ahead                   ? ", ahead"
          : move.whole                   ? ", all of it"
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
