// SPDX-License-Identifier: BSD-3-Clause
#include "coll/paged.hpp"

#include <algorithm>
#include <memory>
#include <vector>

#include "coll/barrier.hpp"
#include "core/remote.hpp"

namespace shm {
namespace {

constexpr std::size_t kPart = std::size_t{64} << 10;  // bytes of a vector at a time

// n bytes at `from` of a member.
void fetch(const Group& g, Call call, void* to, const void* from, std::size_t n, int member) {
  if (member == g.me()) {
    std::memmove(to, from, n);
  } else {
    remote_get(call, rt.world_context, to, from, n, g.team.world_pe(member), Blocking::yes);
  }
}

// What each member gives, in any memory: as many to a vector as a barrier carries inline.
std::vector<std::uint64_t> exchange(Group& g, std::uint64_t mine) {
  constexpr std::size_t kWords = Cell::kPayload / sizeof(std::uint64_t);
  std::vector<std::uint64_t> all(static_cast<std::size_t>(g.size()));
  const auto me = static_cast<std::size_t>(g.me());
  for (std::size_t first = 0; first < all.size(); first += kWords) {
    const std::size_t n = std::min(kWords, all.size() - first);
    std::uint64_t part[kWords] = {};
    if (me >= first && me < first + n) part[me - first] = mine;
    reduce_inline(g, kReduction<ReduceOp::sum, std::uint64_t>, all.data() + first, part, n);
  }
  return all;
}

// Calls combine(vector, at, elements) for part after part; `dest`, which may be the source of others, is
// written when all have read that part.
template <class Combine>
void by_parts(Group& g, const Reduction& op, void* dest, std::size_t count, Combine combine) {
  const std::size_t most = kPart / op.element;
  const auto result = std::make_unique<std::byte[]>(kPart);
  sync_group(g);
  for (std::size_t at = 0; at < count; at += most) {
    const std::size_t elements = std::min(most, count - at);
    combine(result.get(), at * op.element, elements);
    sync_group(g);
    std::memcpy(static_cast<std::byte*>(dest) + at * op.element, result.get(), elements * op.element);
  }
}

}  // namespace

void paged_broadcast(Group& g, Call call, void* dest, const void* source, std::size_t n, int root) {
  sync_group(g);
  if (g.me() != root) fetch(g, call, dest, source, n, root);
  sync_group(g);
}

void paged_collect(Group& g, Call call, void* dest, const void* source, std::size_t n) {
  const std::vector<std::uint64_t> sizes = exchange(g, n);
  std::vector<std::byte*> to;
  auto* at = static_cast<std::byte*>(dest);
  for (const std::uint64_t size : sizes) {
    to.push_back(at);
    at += size;
  }
  for (int k = 0; k < g.size(); ++k) {
    const auto i = static_cast<std::size_t>((g.me() + k) % g.size());  // not all at the same peer
    if (sizes[i] > 0) fetch(g, call, to[i], source, sizes[i], static_cast<int>(i));
  }
  sync_group(g);
}

void paged_alltoall(Group& g, Call call, const StridedBlocks& dest, const StridedBlocks& source) {
  sync_group(g);
  const std::size_t extent = source.extent(1);
  const auto block = std::make_unique<std::byte[]>(extent);
  for (int k = 0; k < g.size(); ++k) {
    const int member = (g.me() + k) % g.size();
    fetch(g, call, block.get(), source.block(g.me()), extent, member);
    std::byte* to = dest.block(member);
    for (std::size_t i = 0; i < dest.count; ++i)
      std::memcpy(to + i * dest.step, block.get() + i * source.step, dest.element);
  }
  sync_group(g);
}

void paged_reduce(Group& g, Call call, const Reduction& op, void* dest, const void* source,
                  std::size_t count) {
  const auto* from = static_cast<const std::byte*>(source);
  const auto other = std::make_unique<std::byte[]>(kPart);
  by_parts(g, op, dest, count, [&](std::byte* result, std::size_t offset, std::size_t elements) {
    const std::size_t n = elements * op.element;
    fetch(g, call, result, from + offset, n, 0);
    for (int member = 1; member < g.size(); ++member) {
      fetch(g, call, other.get(), from + offset, n, member);
      op.into(result, other.get(), elements);
    }
  });
}

void paged_scan(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count,
                bool inclusive) {
  const auto* from = static_cast<const std::byte*>(source);
  const auto other = std::make_unique<std::byte[]>(kPart);
  by_parts(g, op, dest, count, [&](std::byte* result, std::size_t offset, std::size_t elements) {
    const std::size_t n = elements * op.element;
    op.clear(result, elements);
    for (int member = 0; member < g.me() + (inclusive ? 1 : 0); ++member) {
      fetch(g, call, other.get(), from + offset, n, member);
      op.into(result, other.get(), elements);
    }
  });
}

}  // namespace shm
