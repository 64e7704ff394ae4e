// SPDX-License-Identifier: BSD-3-Clause
// Between what a state keeps and what the product works with.
#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "model.hpp"

namespace shm::model {
namespace {

using nvm::Event;
using nvm::NodeId;

// A channel that is too long for SystemState is no finding: the settings are too large.
void require(bool room) {
  if (room) return;
  std::fprintf(stderr, "model: SystemState is too small for these settings\n");
  std::exit(2);
}

bool has_version(Event kind) { return !is_request(kind) && kind != Event::dropped && kind != Event::result; }

}  // namespace

PackedMessage Model::pack(const nvm::Message& message, int page, bool newest) const {
  PackedMessage hint = {};
  hint.to = pack_node(message.to) & 7u;
  hint.from = pack_node(message.from) & 7u;
  hint.kind = static_cast<unsigned>(message.kind) & 63u;
  hint.requester = pack_node(message.requester) & 7u;
  hint.page = static_cast<unsigned>(page) & 1u;
  hint.data = message.data;
  hint.dirty = message.dirty;
  hint.ahead = message.ahead;
  hint.whole = message.whole;
  hint.absent = message.absent;
  hint.newest = newest;
  hint.old = has_version(message.kind) && message.version < kNow;
  return hint;
}

nvm::Message Model::unpack(const PackedMessage& hint) const {
  const auto kind = static_cast<Event>(hint.kind);
  return {.kind = kind,
          .data = hint.data != 0,
          .dirty = hint.dirty != 0,
          .ahead = hint.ahead != 0,
          .whole = hint.whole != 0,
          .absent = hint.absent != 0,
          .from = unpack_node(hint.from),
          .to = unpack_node(hint.to),
          .requester = unpack_node(hint.requester),
          .version = has_version(kind) ? kNow - hint.old : 0};
}

void Model::unpack_directory(int page) {
  const PackedDirectory& p = s_.home[page];
  directory_.holders = {};
  for (int i = 0; i < p.holder_count; ++i) directory_.holders.push(unpack_node(p.holders[i]));
  directory_.to_drop.clear();
  for (int node = 0; node < options_.nodes; ++node)
    directory_.to_drop.insert(directory_.to_drop.end(), p.to_drop[node], node);
  directory_.owner = unpack_node(p.owner);
  directory_.version = kNow;
  directory_.phase = static_cast<nvm::Phase>(p.phase);
  directory_.request = unpack(p.request);
  directory_.actor = unpack_node(p.actor);
  directory_.awaited.clear();
  for (int i = 0; i < p.awaited_count; ++i) directory_.awaited.push_back(unpack_node(p.awaited[i]));
  directory_.waiting.clear();
  for (int i = 0; i < p.waiting_count; ++i) directory_.waiting.push_back(unpack(p.waiting[i]));
}

// A request served since makes all other versions of the page old.
void Model::pack_directory(int page) {
  if (directory_.version != kNow) {
    for (PackedPage& at : s_.at[page]) at.old = &at - s_.at[page] < options_.nodes;
    for (int i = 0; i < s_.message_count; ++i) {
      const auto kind = static_cast<Event>(s_.messages[i].kind);
      if (static_cast<int>(s_.messages[i].page) == page) s_.messages[i].old = has_version(kind);
    }
  }
  PackedDirectory p = {};
  for (const NodeId node : directory_.holders.nodes()) p.holders[p.holder_count++] = pack_node(node);
  for (const NodeId node : directory_.to_drop) ++p.to_drop[node];
  p.owner = pack_node(directory_.owner);
  p.device_newest = s_.home[page].device_newest;
  p.actor = pack_node(nvm::kNobody);
  if (directory_.busy()) {
    p.phase = static_cast<std::uint8_t>(directory_.phase);
    p.request = pack(directory_.request, page, false);
    p.actor = pack_node(directory_.actor);
  }
  require(directory_.waiting.size() <= kMostWaiting && directory_.awaited.size() <= kMostNodes);
  for (const NodeId node : directory_.awaited) p.awaited[p.awaited_count++] = pack_node(node);
  std::sort(p.awaited, p.awaited + p.awaited_count);
  for (const nvm::Message& request : directory_.waiting)
    p.waiting[p.waiting_count++] = pack(request, page, false);
  s_.home[page] = p;
}

void Model::send(const nvm::Message& message, int page, bool newest) {
  require(s_.message_count < kMostMessages);
  const PackedMessage hint = pack(message, page, message.data && newest);
  const auto before = [&](const PackedMessage& a, const PackedMessage& b) {
    if (a.to != b.to) return a.to < b.to;
    if (a.from != b.from) return a.from < b.from;
    if (options_.ordered) return false;
    return a.kind != b.kind ? a.kind < b.kind : a.page < b.page;
  };
  PackedMessage* const end = s_.messages + s_.message_count++;
  PackedMessage* const place = std::upper_bound(s_.messages, end, hint, before);
  std::move_backward(place, end, end + 1);
  *place = hint;
}

}  // namespace shm::model
