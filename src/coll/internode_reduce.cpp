// SPDX-License-Identifier: BSD-3-Clause
// Reductions between nodes.
#include <algorithm>

#include "coll/choose.hpp"
#include "coll/internode.hpp"
#include "coll/rendezvous.hpp"
#include "coll/scratch.hpp"

namespace shm {
namespace {

// Steps of the parts of the algorithm, so that no two parcels of a phase between the same PEs have the same
// name.
constexpr int kFoldStep = 0, kUnfoldStep = 1, kHalveStep = 64, kDoubleStep = 128, kStepsOfSegment = 256;

// Longer vectors are reduced in segments of so many bytes, whose incoming halves fit the scratch memory.
constexpr std::size_t kSegment = kScratchBytes;

int node_count(const Group& g) { return static_cast<int>(g.nodes.size()); }

// Combines what is expected, piece by piece as it comes: `n` bytes to `incoming`.
void combine_arriving(const Reduction& op, Expected& expected, std::byte* data, const std::byte* incoming,
                      std::size_t n) {
  const std::size_t piece = piece_of(n);
  for (std::size_t done = 0; done < n;) {
    const std::size_t part = std::min(done + piece, n);
    expected.wait(part);
    op.into(data + done, incoming + done, (part - done) / op.element);
    done = part;
  }
}

/// Reduction between 2^k leaders.  The nodes beyond the largest power of two hand their vectors to a partner
/// first and get the result back last.
class LeaderReduction {
 public:
  LeaderReduction(Group& g, std::uint64_t phase, const Reduction& op, void* data, std::size_t count,
                  int stripe)
      : g_(g), phase_(phase), op_(op), data_(static_cast<std::byte*>(data)), count_(count), stripe_(stripe) {
    while (core_ * 2 <= node_count(g)) core_ *= 2;
    extra_ = node_count(g) - core_;
    halves_ = choose(Collective::internode_reduce, count * op.element, core_, false) == Algorithm::halving;
  }

  void run(int segment) {
    first_step_ = segment * kStepsOfSegment;
    const std::size_t bytes = count_ * op_.element;
    if (g_.node >= core_) {
      Expected expected;
      expected.expect(parcel(kUnfoldStep), pe(g_.node - core_), data_, bytes);
      send_parcel(parcel(kFoldStep), pe(g_.node - core_), data_, bytes);
      expected.wait();
      return;
    }
    const bool folds = g_.node < extra_;
    Scratch scratch(halves_ && !folds ? (count_ + 1) / 2 * op_.element : bytes);
    incoming_ = scratch.data();
    if (folds) {
      Expected expected;
      expected.expect(parcel(kFoldStep), pe(g_.node + core_), incoming_, bytes);
      combine_arriving(op_, expected, data_, incoming_, bytes);
    }
    if (halves_) {
      halve_and_double();
    } else {
      exchange_whole();
    }
    if (folds) send_parcel(parcel(kUnfoldStep), pe(g_.node + core_), data_, bytes);
  }

 private:
  struct Range {
    std::size_t begin, end;  // elements
  };

  Parcel parcel(int step) const { return {g_.slot, phase_, first_step_ + step}; }
  int pe(int node) const { return stripe_pe(g_, node, stripe_); }
  std::byte* at(std::size_t element) const { return data_ + element * op_.element; }
  std::size_t bytes(Range range) const { return (range.end - range.begin) * op_.element; }

  // Sends `out` of data and combines what comes with `in`.
  void exchange_and_combine(int step, int partner, Range out, Range in) {
    Expected expected;
    expected.expect(parcel(step), pe(partner), incoming_, bytes(in));
    Outgoing outgoing(parcel(step), pe(partner), at(out.begin), bytes(out));
    outgoing.send();
    const bool disjoint = out.end <= in.begin || in.end <= out.begin;
    if (!disjoint) outgoing.finish();
    combine_arriving(op_, expected, at(in.begin), incoming_, bytes(in));
    if (disjoint) outgoing.finish();
  }

  // Sends `out` of data and gets `in`, which is another part of it.
  void exchange(int step, int partner, Range out, Range in) {
    Expected expected;
    expected.expect(parcel(step), pe(partner), at(in.begin), bytes(in));
    send_parcel(parcel(step), pe(partner), at(out.begin), bytes(out));
    expected.wait();
  }

  // Recursive doubling: log2(nodes) exchanges of the whole vector; least latency.
  void exchange_whole() {
    for (int bit = 1, step = 0; bit < core_; bit *= 2, ++step) {
      exchange_and_combine(step + kHalveStep, g_.node ^ bit, {0, count_}, {0, count_});
    }
  }

  // Recursive halving, after which each leader has one part of the result, then doubling: twice the
  // exchanges, but each byte travels only twice.
  void halve_and_double() {
    std::vector<Range> mine{{0, count_}};
    int step = 0;
    for (int bit = core_ / 2; bit > 0; bit /= 2, ++step) {
      const Range all = mine.back();
      const std::size_t middle = all.begin + (all.end - all.begin) / 2;
      const bool upper = (g_.node & bit) != 0;
      const Range keep = upper ? Range{middle, all.end} : Range{all.begin, middle};
      const Range give = upper ? Range{all.begin, middle} : Range{middle, all.end};
      exchange_and_combine(kHalveStep + step, g_.node ^ bit, give, keep);
      mine.push_back(keep);
    }
    for (int bit = 1; bit < core_; bit *= 2, --step) {
      const Range have = mine.back();
      mine.pop_back();
      const Range whole = mine.back();
      const Range missing =
          have.begin == whole.begin ? Range{have.end, whole.end} : Range{whole.begin, have.begin};
      exchange(kDoubleStep + step, g_.node ^ bit, have, missing);
    }
  }

  Group& g_;
  const std::uint64_t phase_;
  const Reduction& op_;
  std::byte* data_;
  const std::size_t count_;
  const int stripe_;
  int core_ = 1, extra_ = 0, first_step_ = 0;
  bool halves_;
  std::byte* incoming_ = nullptr;
};

}  // namespace

void internode_reduce(Group& g, std::uint64_t phase, const Reduction& op, void* data, std::size_t count,
                      int stripe) {
  const std::size_t most = kSegment / op.element;
  int segment = 0;
  for (std::size_t begin = 0; begin < count; begin += most, ++segment) {
    auto* at = static_cast<std::byte*>(data) + begin * op.element;
    LeaderReduction(g, phase, op, at, std::min(most, count - begin), stripe).run(segment);
  }
}

}  // namespace shm
