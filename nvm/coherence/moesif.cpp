// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/coherence/moesif.hpp"

#include <iterator>

namespace shm::nvm {
namespace {

struct Transition {
  State state;
  Event event;
  State next;
  Actions actions;
};

using enum State;
using enum Event;
using namespace action;

// A pair that is not here cannot happen.
// clang-format off
constexpr Transition kRows[] = {
  {invalid,      local_read,      asking,       ask},
  {shared,       local_read,      shared,       proceed},
  {owned,        local_read,      owned,        proceed},
  {exclusive,    local_read,      exclusive,    proceed},
  {modified,     local_read,      modified,     proceed},
  {asking,       local_read,      asking,       defer},
  {asking_clean, local_read,      asking_clean, proceed},
  {asking_dirty, local_read,      asking_dirty, proceed},

  {invalid,      local_write,     asking,       ask},
  {shared,       local_write,     asking_clean, ask},
  {owned,        local_write,     asking_dirty, ask},
  {exclusive,    local_write,     modified,     proceed},
  {modified,     local_write,     modified,     proceed},
  {asking,       local_write,     asking,       defer},
  {asking_clean, local_write,     asking_clean, defer},
  {asking_dirty, local_write,     asking_dirty, defer},

  {shared,       local_evict,     asking_clean, ask},
  {owned,        local_evict,     asking_dirty, ask},
  {exclusive,    local_evict,     asking_clean, stop_writes | ask},
  {modified,     local_evict,     asking_dirty, stop_writes | ask},
  {asking,       local_evict,     asking,       defer},
  {asking_clean, local_evict,     asking_clean, defer},
  {asking_dirty, local_evict,     asking_dirty, defer},

  {shared,       local_drop,      invalid,      stop_access | tell | give_up},
  {exclusive,    local_drop,      invalid,      stop_access | tell | give_up},

  {asking,       grant_shared,    shared,       take_data | reply},
  {asking_clean, grant_shared,    shared,       reply},
  {asking_dirty, grant_shared,    owned,        reply},
  {asking,       grant_exclusive, exclusive,    take_data | reply},
  {asking_clean, grant_exclusive, exclusive,    reply},
  {asking_dirty, grant_exclusive, modified,     reply},
  {asking,       grant_modified,  modified,     take_data | reply},
  {asking_clean, grant_modified,  modified,     reply},
  {asking_dirty, grant_modified,  modified,     reply},

  {shared,       forward_read,    shared,       send_data},
  {owned,        forward_read,    owned,        send_data},
  {exclusive,    forward_read,    shared,       stop_writes | send_data},
  {modified,     forward_read,    owned,        stop_writes | send_data},
  {asking_clean, forward_read,    asking_clean, send_data},
  {asking_dirty, forward_read,    asking_dirty, send_data},
  {invalid,      forward_read,    invalid,      decline},
  {asking,       forward_read,    asking,       decline},

  {shared,       forward_write,   invalid,      stop_access | send_data | give_up},
  {owned,        forward_write,   invalid,      stop_access | send_data | give_up},
  {exclusive,    forward_write,   invalid,      stop_access | send_data | give_up},
  {modified,     forward_write,   invalid,      stop_access | send_data | give_up},
  {asking_clean, forward_write,   asking,       stop_access | send_data},
  {asking_dirty, forward_write,   asking,       stop_access | send_data},
  {invalid,      forward_write,   invalid,      decline},
  {asking,       forward_write,   asking,       decline},

  {shared,       invalidate,      invalid,      stop_access | reply | give_up},
  {owned,        invalidate,      invalid,      stop_access | reply | give_up},
  {exclusive,    invalidate,      invalid,      stop_access | reply | give_up},
  {modified,     invalidate,      invalid,      stop_access | reply | give_up},
  {asking_clean, invalidate,      asking,       stop_access | reply},
  {asking_dirty, invalidate,      asking,       stop_access | reply},
  {invalid,      invalidate,      invalid,      reply},
  {asking,       invalidate,      asking,       reply},

  {owned,        recall_read,     shared,       reply | write_back},
  {exclusive,    recall_read,     shared,       stop_writes | reply},
  {modified,     recall_read,     shared,       stop_writes | reply | write_back},
  {asking_clean, recall_read,     asking_clean, reply},
  {asking_dirty, recall_read,     asking_clean, reply | write_back},
  {invalid,      recall_read,     invalid,      reply},
  {asking,       recall_read,     asking,       reply},

  {owned,        recall_write,    invalid,      stop_access | reply | write_back | give_up},
  {exclusive,    recall_write,    invalid,      stop_access | reply | give_up},
  {modified,     recall_write,    invalid,      stop_access | reply | write_back | give_up},
  {asking_clean, recall_write,    asking,       stop_access | reply},
  {asking_dirty, recall_write,    asking,       stop_access | reply | write_back},
  {invalid,      recall_write,    invalid,      reply},
  {asking,       recall_write,    asking,       reply},

  {asking,       leave,           invalid,      reply | give_up},
  {asking_clean, leave,           invalid,      stop_access | reply | give_up},
  {asking_dirty, leave,           invalid,      stop_access | reply | write_back | give_up},

  {asking,       refuse,          invalid,      reply | give_up},

  {invalid,      get,             shared,       take_data | execute | reply},
  {shared,       get,             shared,       execute | reply},
  {owned,        get,             owned,        execute | reply},
  {exclusive,    get,             exclusive,    execute | reply},
  {modified,     get,             modified,     execute | reply},
  {asking,       get,             asking_clean, take_data | execute | reply},
  {asking_clean, get,             asking_clean, execute | reply},
  {asking_dirty, get,             asking_dirty, execute | reply},

  {invalid,      put,             modified,     take_data | execute | reply},
  {shared,       put,             modified,     execute | reply},
  {owned,        put,             modified,     execute | reply},
  {exclusive,    put,             modified,     execute | reply},
  {modified,     put,             modified,     execute | reply},
  {asking,       put,             asking_dirty, take_data | execute | reply},
  {asking_clean, put,             asking_dirty, execute | reply},
  {asking_dirty, put,             asking_dirty, execute | reply},
};
// clang-format on

using TransitionTable = std::array<std::array<Step, kNodeEvents>, kStates>;

constexpr TransitionTable make_table() {
  TransitionTable table = {};
  for (const Transition& row : kRows) {
    table[static_cast<std::size_t>(row.state)][static_cast<std::size_t>(row.event)] = {row.next, row.actions};
  }
  return table;
}
constexpr TransitionTable kTable = make_table();

Event request_for(Event event) {
  return event == local_read ? ask_read : event == local_write ? ask_write : ask_evict;
}

// Whether a message is for a copy that has been dropped.
bool is_stale(State state, const Message& message) {
  const bool wants_copy = message.kind == get || message.kind == put;
  return wants_copy && !message.data && !has_copy(state);
}

bool takes_away(Event kind) { return kind == invalidate || kind == recall_read || kind == recall_write; }

}  // namespace

bool is_request(Event kind) { return kind >= ask_read && kind <= ask_clean; }

Part part_for(Event kind) {
  if (kind <= put || kind >= last_copy) return Part::cache;
  if (kind == load || kind == store) return Part::device;
  return kind == result ? Part::requester : Part::home;
}

Step step(State state, Event event) {
  const auto column = static_cast<std::size_t>(event);
  return column < kNodeEvents ? kTable[static_cast<std::size_t>(state)][column] : Step{};
}

bool has_copy(State state) { return state != invalid && state != asking; }

bool is_dirty(State state) { return state == owned || state == modified || state == asking_dirty; }

Outcome on_local(Page& page, Event event, NodeId self, NodeId home, std::uint64_t tag, bool ahead,
                 bool whole) {
  const Step row = step(page.state, event);
  Outcome outcome{.actions = row.actions};
  if (row.actions == 0) return outcome;
  if (row.actions & (ask | tell)) {
    outcome.messages[outcome.count++] = {.kind = row.actions & tell ? dropped : request_for(event),
                                         .ahead = ahead,
                                         .whole = whole,
                                         .absent = self != home && !has_copy(page.state),
                                         .from = self,
                                         .to = home,
                                         .requester = self,
                                         .tag = tag};
  }
  page.state = row.next;
  return outcome;
}

Outcome on_message(Page& page, const Message& message, NodeId home) {
  const Step row = is_stale(page.state, message) ? Step{page.state, decline} : step(page.state, message.kind);
  Outcome outcome{.actions = row.actions};
  const bool wants_data =
      (row.actions & take_data) != 0 && !(message.kind == grant_modified && message.whole);
  if (row.actions == 0 || message.kind <= local_drop) return {};
  if (message.data != wants_data || message.version <= page.version) return {};
  Message out = message;  // version, requester and tag go on
  out.from = message.to;
  out.dirty = false;
  out.data = false;
  if (row.actions & execute) {
    out.kind = result;
    out.to = message.requester;
    outcome.messages[outcome.count++] = out;
  }
  if (row.actions & send_data) {
    out.kind = message.kind == forward_read ? grant_shared : grant_modified;
    out.to = message.requester;
    out.data = true;
    out.dirty = message.kind == forward_read && is_dirty(row.next);
    outcome.messages[outcome.count++] = out;
  }
  if (row.actions & decline) {
    out.kind = absent;
    out.to = home;
    outcome.messages[outcome.count++] = out;
  }
  if (row.actions & reply) {
    out.kind = done;
    out.to = home;
    out.absent = takes_away(message.kind) && !has_copy(page.state);
    out.data = row.actions & write_back;
    out.dirty = message.dirty;
    outcome.messages[outcome.count++] = out;
  }
  page = {row.next, message.version};
  return outcome;
}

const char* name(State state) {
  static constexpr const char* kNames[] = {"invalid",  "shared", "owned",        "exclusive",
                                           "modified", "asking", "asking_clean", "asking_dirty"};
  static_assert(std::size(kNames) == kStates);
  return kNames[static_cast<std::size_t>(state)];
}

const char* name(Event event) {
  static constexpr const char* kNames[] = {
      "local_read",     "local_write",  "local_evict",   "local_drop", "grant_shared", "grant_exclusive",
      "grant_modified", "forward_read", "forward_write", "invalidate", "recall_read",  "recall_write",
      "leave",          "refuse",       "get",           "put",        "ask_read",     "ask_write",
      "ask_evict",      "ask_get",      "ask_put",       "ask_clean",  "done",         "dropped",
      "absent",         "result",       "load",          "store",      "loaded",       "failed",
      "stored",         "last_copy",    "fetched"};
  static_assert(std::size(kNames) == kEvents);
  return kNames[static_cast<std::size_t>(event)];
}

}  // namespace shm::nvm
