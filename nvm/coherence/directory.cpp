// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/coherence/directory.hpp"

#include <algorithm>

namespace shm::nvm {
namespace {

/// One call of serve().
class Service {
 public:
  Service(Directory& directory, const Home& home, std::vector<Message>& out)
      : d_(directory), home_(home), out_(out) {}

  bool answered(const Message& answer);
  bool begin(const Message& next);
  void start_waiting();

 private:
  void start(const Message& request);
  bool forward_read(const Message& request);
  bool takes_part_in_read(NodeId node) const;
  bool read_answered(const Message& answer);
  void send(Event kind, NodeId to, bool data = false);
  void await(Event kind, NodeId from, bool data = false) {
    send(kind, from, data);
    d_.awaited.push_back(from);
  }
  NodeId executor();
  NodeId owner_or_forwarder();
  void gather_all_but_actor();
  void gather_newest();
  bool gathered(const Message& answer);
  void act();
  void finish(bool data);
  void refuse();
  bool conclude(const Message& answer);
  bool retry(const Message& answer);
  void take_off(NodeId node);
  void forget_dropped(NodeId node);
  void on_dropped(NodeId node);
  void enter(NodeId node) {
    if (!d_.holders.contains(node)) d_.holders.push(node);
  }

  Directory& d_;
  const Home& home_;
  std::vector<Message>& out_;
};

// About the request that has been started last.
void Service::send(Event kind, NodeId to, bool data) {
  out_.push_back({.kind = kind,
                  .data = data,
                  .ahead = d_.request.ahead,
                  .whole = d_.request.whole,
                  .from = home_.node,
                  .to = to,
                  .requester = d_.request.requester,
                  .version = d_.version,
                  .tag = d_.request.tag});
}

// Reads at the same time.

bool Service::takes_part_in_read(NodeId node) const {
  return std::ranges::any_of(d_.reads, [node](const ForwardedRead& read) {
    return read.forwarder == node || read.request.requester == node;
  });
}

// Returns false if there is no node that could answer it now.
bool Service::forward_read(const Message& request) {
  const NodeId requester = request.requester;
  const bool has_it = d_.holders.contains(requester) && !request.absent;
  if (!home_.cooperative || has_it || takes_part_in_read(requester)) return false;
  const NodeId forwarder =
      d_.holders.access_if([&](NodeId node) { return node != requester && !takes_part_in_read(node); });
  if (forwarder == kNobody) return false;
  if (request.absent) forget_dropped(requester);
  d_.phase = Phase::reading;
  d_.request = request;
  d_.reads.push_back({request, forwarder, ++d_.version});
  send(Event::forward_read, forwarder);
  return true;
}

// It has been done, or its forwarder has no copy any more: then it is begun again, ahead of all that waits.
bool Service::read_answered(const Message& answer) {
  const auto read = std::ranges::find(d_.reads, answer.version, &ForwardedRead::version);
  if (read == d_.reads.end()) return false;
  const auto [request, forwarder, version] = *read;
  const bool absent = answer.kind == Event::absent;
  if (answer.from != (absent ? forwarder : request.requester) || answer.data) return false;
  if (absent) {
    forget_dropped(forwarder);
    d_.waiting.push_front(request);
  } else {
    if (answer.kind != Event::done || (answer.dirty && forwarder != d_.owner)) return false;
    if (forwarder == d_.owner && !answer.dirty) d_.owner = kNobody;
    enter(request.requester);
  }
  d_.reads.erase(read);
  if (d_.reads.empty()) d_.phase = Phase::idle;
  return true;
}

// Requests one after the other.

// The node that executes a small operation.
NodeId Service::executor() {
  if (!home_.cooperative || d_.holders.empty() || d_.holders.contains(home_.node)) return home_.node;
  return owner_or_forwarder();
}

// Who acts while all others lose their copies: who has a dirty one cannot have dropped it.
NodeId Service::owner_or_forwarder() { return d_.owner != kNobody ? d_.owner : d_.holders.access(); }

void Service::start(const Message& request) {
  ++d_.version;
  d_.request = request;
  if (request.absent) forget_dropped(request.requester);
  d_.phase = Phase::gather;
  d_.actor = request.requester;
  const bool forwarded = home_.cooperative && !d_.holders.empty() && !d_.holders.contains(d_.actor);
  switch (request.kind) {
    case Event::ask_read:
      if (!home_.cooperative && d_.holders.contains(home_.node)) d_.actor = home_.node;
      if (!home_.cooperative) gather_newest();
      break;
    case Event::ask_write:
      if (forwarded && !request.whole) d_.actor = owner_or_forwarder();
      gather_all_but_actor();
      break;
    case Event::ask_get:
      d_.actor = executor();
      if (!home_.cooperative) gather_newest();
      break;
    case Event::ask_put:
      d_.actor = executor();
      gather_all_but_actor();
      break;
    case Event::ask_evict: await(Event::leave, d_.actor); break;
    default:  // ask_clean
      d_.actor = kNobody;
      gather_newest();
  }
  if (d_.awaited.empty()) act();
}

// A put and a write end all other copies.  Nobody needs the data of a dirty one if the actor has the page
// too, or will write all of it.
void Service::gather_all_but_actor() {
  for (const NodeId node : d_.holders.nodes()) {
    if (node == d_.actor) continue;
    await(home_.cooperative || node != d_.owner ? Event::invalidate : Event::recall_write, node);
  }
}

// The device becomes as new as any copy, and nobody may write without asking.
void Service::gather_newest() {
  if (d_.owner != kNobody && d_.owner != d_.actor) await(Event::recall_read, d_.owner);
}

void Service::take_off(NodeId node) {
  d_.holders.remove(node);
  if (d_.owner == node) d_.owner = kNobody;
}

// The node has no copy.  If the home took it to have one, its `dropped` is still to come.
void Service::forget_dropped(NodeId node) {
  if (!d_.holders.contains(node)) return;
  take_off(node);
  d_.to_drop.push_back(node);
}

void Service::on_dropped(NodeId node) {
  const auto known = std::find(d_.to_drop.begin(), d_.to_drop.end(), node);
  if (known != d_.to_drop.end()) {
    d_.to_drop.erase(known);
    return;
  }
  take_off(node);
}

// The actor has no copy any more: another one is asked, or the device.
bool Service::retry(const Message& answer) {
  if (d_.phase != Phase::finish || answer.from != d_.actor || answer.version != d_.version) return false;
  d_.awaited.clear();
  forget_dropped(d_.actor);
  start(Message(d_.request));
  return true;
}

bool Service::answered(const Message& answer) {
  if (d_.phase == Phase::reading) return read_answered(answer);
  if (answer.kind == Event::absent) return retry(answer);
  const auto found = std::find(d_.awaited.begin(), d_.awaited.end(), answer.from);
  const bool by_device = answer.kind >= Event::loaded && answer.kind <= Event::stored;
  if (found == d_.awaited.end() || answer.version != d_.version) return false;
  if (by_device != (answer.from == kDevice)) return false;
  d_.awaited.erase(found);
  switch (d_.phase) {
    case Phase::gather: return gathered(answer);
    case Phase::loading:
      if (answer.kind == Event::loaded) {
        finish(true);
      } else if (answer.kind == Event::failed && d_.request.ahead) {
        refuse();
      } else {
        return false;
      }
      return true;
    case Phase::finish: return answer.kind == Event::done && conclude(answer);
    default: return false;
  }
}

bool Service::gathered(const Message& answer) {
  if (answer.kind == Event::done) {
    const Event kind = d_.request.kind;
    const bool kept = kind == Event::ask_read || kind == Event::ask_get || kind == Event::ask_clean;
    if (answer.data && answer.from != d_.owner) return false;
    if (answer.absent) {
      forget_dropped(answer.from);
    } else {
      if (answer.from == d_.owner) d_.owner = kNobody;
      if (!kept) d_.holders.remove(answer.from);
    }
    if (answer.data) await(Event::store, kDevice, true);
  } else if (answer.kind != Event::stored) {
    return false;
  }
  if (d_.awaited.empty()) act();
  return true;
}

// All that had to be taken away is here.
void Service::act() {
  if (d_.request.kind == Event::ask_clean) send(Event::result, d_.request.requester);
  if (d_.request.kind == Event::ask_clean || d_.request.kind == Event::ask_evict) {
    d_.phase = Phase::idle;
  } else if (d_.holders.contains(d_.actor) || d_.request.whole) {
    finish(false);
  } else {
    d_.phase = Phase::loading;
    await(Event::load, kDevice);
  }
}

// The last message; `data`: the page comes from the device, and the actor is who gets it.
void Service::finish(bool data) {
  d_.phase = Phase::finish;
  const NodeId requester = d_.request.requester;
  const bool forward = d_.actor != requester;  // a read: not cooperative
  const auto& nodes = d_.holders.nodes();
  const bool alone = std::all_of(nodes.begin(), nodes.end(), [&](NodeId node) { return node == requester; });
  Event kind = Event::put;
  NodeId answers = d_.actor;
  switch (d_.request.kind) {
    case Event::ask_read:
      kind = forward ? Event::forward_read : alone ? Event::grant_exclusive : Event::grant_shared;
      answers = requester;
      break;
    case Event::ask_write:
      kind = forward ? Event::forward_write : Event::grant_modified;
      answers = requester;
      break;
    case Event::ask_get: kind = Event::get; break;
    default: break;
  }
  send(kind, d_.actor, data);
  d_.awaited.push_back(answers);
}

void Service::refuse() {
  d_.phase = Phase::finish;
  d_.actor = kNobody;
  await(Event::refuse, d_.request.requester);
}

bool Service::conclude(const Message& answer) {
  const NodeId requester = d_.request.requester;
  const bool forward = d_.actor != requester;
  if (answer.data || (answer.dirty && d_.actor != d_.owner)) return false;
  d_.phase = Phase::idle;
  if (d_.actor == kNobody) return true;
  switch (d_.request.kind) {
    case Event::ask_read:
      if (forward && d_.actor == d_.owner && !answer.dirty) d_.owner = kNobody;
      enter(requester);
      if (d_.holders.nodes().size() == 1) d_.owner = requester;
      break;
    case Event::ask_write:
      if (forward) d_.holders.remove(d_.actor);
      enter(requester);
      d_.owner = requester;
      break;
    case Event::ask_put:
      enter(d_.actor);
      d_.owner = d_.actor;
      break;
    default:  // ask_get
      enter(d_.actor);
  }
  return true;
}

// In the order of coming, see goes_first().
void Service::start_waiting() {
  while (!d_.waiting.empty()) {
    const Message next = d_.waiting.front();
    if (!begin(next)) return;
    d_.waiting.pop_front();
  }
}

// Returns false if it has to wait.
bool Service::begin(const Message& next) {
  const bool reads = d_.phase == Phase::reading;
  if (d_.busy() && !reads) return false;
  if (next.kind == Event::dropped) {
    if (takes_part_in_read(next.from)) return false;
    on_dropped(next.from);
    return true;
  }
  if (next.kind == Event::ask_read && forward_read(next)) return true;
  if (reads) return false;
  start(next);
  return true;
}

// Requests are served in the order of coming, but for the home's own writes and what says that a copy is
// gone. The writes bring the page to where operations that wait take no messages; behind them somebody else
// is served first, always.
bool goes_first(const Message& message, const Home& home) {
  return message.kind == Event::dropped ||
         (message.kind == Event::ask_write && message.requester == home.node);
}

}  // namespace

void ForwarderStack::remove(NodeId node) { std::erase(nodes_, node); }

bool ForwarderStack::contains(NodeId node) const {
  return std::find(nodes_.begin(), nodes_.end(), node) != nodes_.end();
}

bool serve(Directory& directory, const Message& message, const Home& home, std::vector<Message>& out) {
  Service service(directory, home, out);
  if (is_request(message.kind) || message.kind == Event::dropped) {
    const bool first = goes_first(message, home);
    const bool begun = (first || directory.waiting.empty()) && service.begin(message);
    if (!begun && first) directory.waiting.push_front(message);
    if (!begun && !first) directory.waiting.push_back(message);
  } else if (!service.answered(message)) {
    return false;
  }
  service.start_waiting();
  return true;
}

}  // namespace shm::nvm
