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

constexpr std::uint64_t kEnded = 1;

// They are numbered in the order of coming; the last may be the home's version.
std::uint64_t version_of_read(const PackedDirectory& home, int which) {
  return kNow - static_cast<std::uint64_t>(home.read_count - 1 - which);
}

bool has_version(Event kind) { return !is_request(kind) && kind != Event::dropped && kind != Event::result; }

}  // namespace

PackedMessage Model::pack(const nvm::Message& message, int page, bool newest) const {
  PackedMessage hint = {};
  hint.to = pack_node(message.to) & 7u;
  hint.from = pack_node(message.from) & 7u;
  hint.kind = static_cast<unsigned>(message.kind) & 63u;
  hint.requester = pack_node(message.requester) & 7u;
  hint.page = static_cast<unsigned>(page) & 3u;
  hint.data = message.data;
  hint.dirty = message.dirty;
  hint.ahead = message.ahead;
  hint.whole = message.whole;
  hint.absent = message.absent;
  hint.newest = newest;
  hint.old = has_version(message.kind) && message.version <= kEnded;
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
          .version = version_of(hint)};
}

// That of its request.
std::uint64_t Model::version_of(const PackedMessage& hint) const {
  if (!has_version(static_cast<Event>(hint.kind))) return 0;
  if (hint.old) return kEnded;
  const PackedDirectory& home = s_.home[hint.page];
  for (int i = 0; i < home.read_count; ++i) {
    if (home.reads[i].requester == hint.requester) return version_of_read(home, i);
  }
  return kNow;
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
  directory_.reads.clear();
  for (int i = 0; i < p.read_count; ++i)
    directory_.reads.push_back({unpack(p.reads[i]), unpack_node(p.forwarders[i]), version_of_read(p, i)});
  directory_.waiting.clear();
  for (int i = 0; i < p.waiting_count; ++i) directory_.waiting.push_back(unpack(p.waiting[i]));
}

// The request of `requester`, or of all, has ended: what has its version is old.
void Model::end_request(int page, int requester, int forwarder) {
  const auto ends = [&](int node) {
    return requester == nvm::kNobody || node == requester || node == forwarder;
  };
  for (int node = 0; node < options_.nodes; ++node) {
    if (ends(node)) s_.at[page][node].old = 1;
  }
  for (int i = 0; i < s_.message_count; ++i) {
    PackedMessage& hint = s_.messages[i];
    const bool its = requester == nvm::kNobody || hint.requester == pack_node(requester);
    if (static_cast<int>(hint.page) == page && its && has_version(static_cast<Event>(hint.kind)))
      hint.old = 1;
  }
}

void Model::end_requests(int page) {
  const PackedDirectory& before = s_.home[page];
  const bool same = directory_.phase != nvm::Phase::idle && directory_.phase != nvm::Phase::reading &&
                    directory_.version == kNow;
  if (before.read_count == 0 && !same) return end_request(page, nvm::kNobody, nvm::kNobody);
  for (int i = 0; i < before.read_count; ++i) {
    const auto goes_on = [&](const nvm::ForwardedRead& read) {
      return read.version == version_of_read(before, i);
    };
    if (std::ranges::none_of(directory_.reads, goes_on))
      end_request(page, unpack_node(before.reads[i].requester), unpack_node(before.forwarders[i]));
  }
}

void Model::pack_directory(int page) {
  end_requests(page);
  PackedDirectory p = {};
  for (const NodeId node : directory_.holders.nodes()) p.holders[p.holder_count++] = pack_node(node);
  for (const NodeId node : directory_.to_drop) ++p.to_drop[node];
  p.owner = pack_node(directory_.owner);
  p.device_newest = s_.home[page].device_newest;
  p.actor = pack_node(nvm::kNobody);
  p.phase = static_cast<std::uint8_t>(directory_.phase);
  require(directory_.reads.size() <= kMostReads);
  for (const nvm::ForwardedRead& read : directory_.reads) {
    p.forwarders[p.read_count] = pack_node(read.forwarder);
    p.reads[p.read_count++] = pack(read.request, page, false);
  }
  if (directory_.busy() && directory_.reads.empty()) {
    p.request = pack(directory_.request, page, false);
    p.actor = pack_node(directory_.actor);
  }
  require(directory_.waiting.size() <= kMostWaiting && directory_.awaited.size() <= kMostNodes);
  for (const NodeId node : directory_.awaited) p.awaited[p.awaited_count++] = pack_node(node);
  std::sort(p.awaited, p.awaited + p.awaited_count);
  for (const nvm::Message& request : directory_.waiting.all())
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
