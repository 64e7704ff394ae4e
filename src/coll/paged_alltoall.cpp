// SPDX-License-Identifier: BSD-3-Clause
// alltoall and alltoalls on memory with rules of its own.
#include <algorithm>

#include "coll/paged.hpp"
#include "coll/rendezvous.hpp"
#include "coll/staging.hpp"
#include "coll/strided.hpp"

namespace shm {
namespace {

// Elements of all blocks are numbered on: element j of block b is number b * count + j.  What has gaps is
// copied by its address, as the program itself would: gaps of dest are not written, those of source not read.
void stage_elements_in(std::byte* to, const StridedBlocks& own, std::size_t first, std::size_t count) {
  const std::byte* from = own.base + first * own.step;
  if (own.contiguous()) return stage_in(to, from, count * own.element);
  copy_strided(to, own.element, from, own.step, own.element, count);
}

void stage_elements_out(const StridedBlocks& own, std::size_t first, const std::byte* from,
                        std::size_t count) {
  std::byte* to = own.base + first * own.step;
  if (own.contiguous()) return stage_out(to, from, count * own.element);
  copy_strided(to, own.step, from, own.element, own.element, count);
}

/// Blocks that cannot all be staged at once.  In turn each member has for each distance a part of the block
/// for the member so far on, so that its blocks are needed one after the other.
class Rotation {
 public:
  Rotation(Group& g, Call call, const StridedBlocks& dest, const StridedBlocks& source)
      : g_(g), call_(call), dest_(dest), source_(source), half_(staging_of(g).size() / 2) {
    out_ = staging_of(g).data();
    in_ = out_ + half_;
  }

  void run() {
    const std::size_t most = half_ / source_.element;
    for (int distance = 0; distance < g_.size(); ++distance) {
      const int to = (g_.me() + distance) % g_.size();
      const int from = (g_.me() + g_.size() - distance) % g_.size();
      for (std::size_t at = 0; at < source_.count; at += most)
        turn(to, from, at, std::min(most, source_.count - at));
    }
  }

 private:
  static constexpr int kTurnsToSettle = kCells / 4;  // of two phases each: take_phases() needs no barrier

  // Phase 1: what I have for `to` is staged.  Phase 2: I have what `from` has for me.
  void turn(int to, int from, std::size_t at, std::size_t count) {
    const std::size_t n = count * source_.element;
    stage_elements_in(out_, source_, static_cast<std::size_t>(to) * source_.count + at, count);
    const std::uint64_t phase = take_phases(g_, 2);
    const Parcel parcel{g_.slot, phase, 0};
    publish(g_, phase);
    Expected expected;
    expected.expect(parcel, g_.team.world_pe(from), in_, is_here(from) ? 0 : n);
    Outgoing outgoing(parcel, g_.team.world_pe(to), out_, is_here(to) ? 0 : n);
    outgoing.send();
    const std::byte* arrived = in_;
    if (is_here(from)) {
      await(g_, place_of(from), phase);
      arrived = at_member(g_, call_, "source", out_, n, from);
    }
    expected.wait();
    stage_elements_out(dest_, static_cast<std::size_t>(from) * dest_.count + at, arrived, count);
    publish(g_, phase + 1);
    if (is_here(to)) await(g_, place_of(to), phase + 1);
    outgoing.finish();
    if (++turns_ % kTurnsToSettle != 0) return;
    await_all(g_, phase);
    settle(g_, phase);
  }

  bool is_here(int member) const { return g_.node_of[static_cast<std::size_t>(member)] == g_.node; }
  // Among this node's members.
  int place_of(int member) const {
    const auto position = [&](int m) {
      return static_cast<int>(g_.position_of[static_cast<std::size_t>(m)]);
    };
    return position(member) - position(g_.locals().front());
  }

  Group& g_;
  const Call call_;
  const StridedBlocks& dest_;
  const StridedBlocks& source_;
  const std::size_t half_;
  std::byte *out_, *in_;
  int turns_ = 0;
};

}  // namespace

void paged_alltoall(Group& g, Call call, const StridedBlocks& dest, const StridedBlocks& source) {
  check_paged(call, "dest", dest.base, dest.extent(g.size()));
  check_paged(call, "source", source.base, source.extent(g.size()));
  const std::size_t half = staging_of(g).size() / 2,
                    elements = static_cast<std::size_t>(g.size()) * source.count;
  if (dest.contiguous()) will_stage_out(dest.base, elements * dest.element, half);
  if (elements > half / source.element) return Rotation(g, call, dest, source).run();
  std::byte* const out = staging_of(g).data();
  std::byte* const in = out + half;
  const auto packed = [&](std::byte* base) {
    return StridedBlocks{base, source.element, source.count, source.element};
  };
  stage_elements_in(out, source, 0, elements);
  alltoall(g, call, packed(in), packed(out));
  stage_elements_out(dest, 0, in, elements);
}

}  // namespace shm
