// SPDX-License-Identifier: BSD-3-Clause
#include "kv/one_sided.hpp"

#include <algorithm>
#include <array>
#include <memory>

#include "base/stats.hpp"
#include "core/runtime.hpp"
#include "core/wait.hpp"

namespace shm::kv {

bool OneSidedGets::are_wanted() {
  if (rt.network == nullptr || rt.env.kv_get == "message") return false;
  return rt.env.kv_get == "onesided" || rt.network->reads_alone();
}

bool OneSidedGets::fits(const KvRequest& request) const {
  if (request.waits) return false;
  if (request.op == KvOp::contains) return true;
  return request.op == KvOp::get && std::min(request.n, shards_.layout().value_bytes) <= kLongestInPackets;
}

void OneSidedGets::read(int pe, std::uint64_t at, void* to, std::size_t n, Completion* completion) {
  Channel* channel = rt.world_context.channel;
  const std::uint64_t there = places_[static_cast<std::size_t>(pe)] + at;
  channel->ops->get(channel, members_.world_pe(pe), to, {SegmentId::heap, there}, n, completion);
}

// Not past what this PE has asked for before: a get sees the changes that its program has begun.
bool OneSidedGets::may_begin(const Wanted& wanted) const {
  if (client_.is_idle_to(wanted.pe)) return true;
  count(Stat::kv_asked_behind);
  return false;
}

void OneSidedGets::finish(const FarGet& get, Wanted& wanted) {
  if (get.looks_again() != 0) count(Stat::kv_read_again, get.looks_again());
  switch (get.end()) {
    case FarGet::End::answer:
      count(Stat::kv_read);
      wanted.is_answered = true;
      wanted.status =
          wanted.only_whether && get.status() == SHMEMX_KV_TOO_LARGE ? SHMEMX_KV_OK : get.status();
      wanted.n = get.n();
      break;
    case FarGet::End::changed: count(Stat::kv_asked_changed); break;
    case FarGet::End::elsewhere: count(Stat::kv_asked_elsewhere); break;
  }
}

void OneSidedGets::get(Call call, Wanted& wanted) {
  if (!may_begin(wanted)) return;
  FarGet get(shards_, *this);
  const int there = members_.world_pe(wanted.pe);
  get.begin(wanted.pe, wanted.key, wanted.value, wanted.room);
  do {
    wait_for([&] { return get.ready(); },
             [&](WaitRecord& record) {
               describe_wait(record, call.name, there, "for what it reads of PE %d", there);
             });
  } while (!get.step());
  finish(get, wanted);
}

void OneSidedGets::get_all(Call call, std::span<Wanted> all) {
  struct Lane {
    std::unique_ptr<FarGet> get;
    Wanted* wanted = nullptr;  // null: none is under way
  };
  std::array<Lane, kAtOnce> lanes;
  std::size_t next = 0, under_way = 0;
  const auto begin_one = [&](Lane& lane) {
    for (lane.wanted = nullptr; next != all.size() && lane.wanted == nullptr; ++next)
      if (may_begin(all[next])) lane.wanted = &all[next];
    if (lane.wanted == nullptr) return;
    if (lane.get == nullptr) lane.get = std::make_unique<FarGet>(shards_, *this);
    lane.get->begin(lane.wanted->pe, lane.wanted->key, lane.wanted->value, lane.wanted->room);
    ++under_way;
  };
  for (Lane& lane : lanes) begin_one(lane);
  const auto is_ready = [](const Lane& lane) { return lane.wanted != nullptr && lane.get->ready(); };
  while (under_way != 0) {
    wait_for([&] { return std::ranges::any_of(lanes, is_ready); },
             [&](WaitRecord& record) {
               const auto first =
                   std::ranges::find_if(lanes, [](const Lane& l) { return l.wanted != nullptr; });
               const int there = members_.world_pe(first->wanted->pe);
               describe_wait(record, call.name, there, "for what it reads of PE %d", there);
             });
    for (Lane& lane : lanes) {
      if (!is_ready(lane) || !lane.get->step()) continue;
      finish(*lane.get, *lane.wanted);
      --under_way;
      begin_one(lane);
    }
  }
}

}  // namespace shm::kv
