// SPDX-License-Identifier: BSD-3-Clause
#include "coll/paged.hpp"

#include <algorithm>
#include <numeric>

#include "base/call_checks.hpp"
#include "coll/staging.hpp"

namespace shm {
namespace {

using Sizes = std::vector<std::size_t>;

// Calls work(offset, bytes) for part after part of a vector of n bytes.
template <class Work>
void by_parts(std::size_t n, std::size_t most, Work work) {
  for (std::size_t at = 0; at < n; at += most) work(at, std::min(most, n - at));
}

// A reduction in place of what the members have staged.  The size of every element divides kStagingBytes.
template <class Combine>
void combine_by_parts(Group& g, Call call, const Reduction& op, void* dest, const void* source,
                      std::size_t count, Combine combine) {
  const std::size_t n = count * op.element;
  check_paged(call, "dest", dest, n);
  check_paged(call, "source", source, n);
  const std::span<std::byte> staging = staging_of(g);
  if (dest != source) will_stage_out(dest, n, staging.size());
  by_parts(n, staging.size(), [&](std::size_t at, std::size_t part) {
    stage_in(staging.data(), static_cast<const std::byte*>(source) + at, part);
    combine(staging.data(), part / op.element);
    stage_out(static_cast<std::byte*>(dest) + at, staging.data(), part);
  });
}

// The concatenation is made part by part from its beginning, so that each page of dest is needed once.
void collect_by_parts(Group& g, Call call, std::byte* dest, const std::byte* source, const Sizes& sizes) {
  const auto me = sizes.begin() + g.me();
  const std::size_t total = std::accumulate(sizes.begin(), sizes.end(), std::size_t{0});
  const std::size_t mine = std::accumulate(sizes.begin(), me, std::size_t{0});
  check_paged(call, "dest", dest, total);
  if (*me > 0) check_paged(call, "source", source, *me);
  const std::size_t most = staging_of(g).size() / 2;
  // A source in its place in dest is a mistake that works elsewhere.
  if (source + *me <= dest || dest + total <= source) will_stage_out(dest, total, most);
  std::byte* const out = staging_of(g).data();
  std::byte* const in = out + most;
  Sizes in_part(sizes.size());
  by_parts(total, most, [&](std::size_t at, std::size_t part) {
    std::size_t begin = 0;  // of a member's block in the concatenation
    for (std::size_t i = 0; i < sizes.size(); begin += sizes[i++])
      in_part[i] = std::clamp(begin + sizes[i], at, at + part) - std::clamp(begin, at, at + part);
    if (const std::size_t n = in_part[static_cast<std::size_t>(g.me())]; n > 0)
      stage_in(out, source + (std::max(mine, at) - mine), n);
    collect_known(g, call, in, out, in_part);
    stage_out(dest + at, in, part);
  });
}

}  // namespace

void check_paged(Call call, const char* argument, const void* address, std::size_t n) {
  if (in_region(address)) resolve(call, argument, address, n, rt.me);
}

void paged_broadcast(Group& g, Call call, void* dest, const void* source, std::size_t n, int root,
                     bool root_too) {
  const bool is_root = g.me() == root;
  const bool receives = !is_root || (root_too && dest != source);
  if (is_root) check_paged(call, "source", source, n);
  const std::span<std::byte> staging = staging_of(g);
  if (receives) {
    check_paged(call, "dest", dest, n);
    will_stage_out(dest, n, staging.size());
  }
  by_parts(n, staging.size(), [&](std::size_t at, std::size_t part) {
    if (is_root) stage_in(staging.data(), static_cast<const std::byte*>(source) + at, part);
    broadcast(g, call, staging.data(), staging.data(), part, root, false);
    if (receives) stage_out(static_cast<std::byte*>(dest) + at, staging.data(), part);
  });
}

void paged_fcollect(Group& g, Call call, void* dest, const void* source, std::size_t n) {
  collect_by_parts(g, call, static_cast<std::byte*>(dest), static_cast<const std::byte*>(source),
                   Sizes(static_cast<std::size_t>(g.size()), n));
}

void paged_collect(Group& g, Call call, void* dest, const void* source, std::size_t n) {
  Sizes sizes(static_cast<std::size_t>(g.size()));
  paged_fcollect(g, call, sizes.data(), &n, sizeof n);
  if (const CallChecks* checks = call_checks.load(std::memory_order_relaxed)) [[unlikely]]
    checks->range(call.name, "dest", dest, std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  collect_by_parts(g, call, static_cast<std::byte*>(dest), static_cast<const std::byte*>(source), sizes);
}

void paged_reduce(Group& g, Call call, const Reduction& op, void* dest, const void* source,
                  std::size_t count) {
  combine_by_parts(g, call, op, dest, source, count, [&](std::byte* vector, std::size_t elements) {
    reduce(g, call, op, vector, vector, elements);
  });
}

void paged_scan(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count,
                bool inclusive) {
  combine_by_parts(g, call, op, dest, source, count, [&](std::byte* vector, std::size_t elements) {
    scan(g, call, op, vector, vector, elements, inclusive);
  });
}

}  // namespace shm
