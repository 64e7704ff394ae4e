// SPDX-License-Identifier: BSD-3-Clause
// Lost connections.  When a peer dies, rxm drops the atomics in flight without any event (measured with 1.17:
// quiet would wait for ever).  So each PE that owes us something, and has completed nothing for a while, is
// sent a read of one byte: with a connection, be the peer stopped or busy, the provider takes it; without, it
// answers that it has no room, again and again, while it tries in vain to connect.
//
// A connection that breaks while both live is made anew by the next operation, and what it had under way is
// lost as well.  Then the reads are answered, for seconds, and puts and gets that were posted before them are
// not. The result of an atomic may come later than that of a read behind it, but not than an answer
// (liveness.cpp).
#include <algorithm>
#include <utility>

#include "base/fatal.hpp"
#include "ofi/request.hpp"

namespace shm::ofi {
namespace {

constexpr std::chrono::milliseconds kQuietTime{500};

// Refusals in a row, kQuietTime apart: a connection that is just being made is there by then.
constexpr int kRefusals = 4;

}  // namespace

void Engine::watch() {
  const auto now = std::chrono::steady_clock::now();
  if (now - watched_ < kQuietTime || busy()) return;
  watched_ = now;
  for (int pe = 0; pe < npes(); ++pe) {
    Peer& peer = peers_[static_cast<std::size_t>(pe)];
    if (peer.outstanding == 0 || std::exchange(peer.completed_then, peer.completed) != peer.completed)
      continue;
    if (!peer.reached || peer.probing) continue;
    const unsigned transfers = peer.outstanding - peer.messages - peer.atomics;
    const unsigned lost = (peer.overtaken == kMostOvertaken ? transfers : 0) +
                          (peer.answers == kMostAnswers ? peer.atomics : 0);
    if (lost != 0)
      lost_peer("%u operations on %s were lost: libfabric %s: the connection to it broke", lost,
                process_name(pe).c_str(), endpoint_->provider().c_str());
    if (probe(pe) || ++peer.refused < kRefusals) continue;
    lost_peer("%u operations on %s were lost: libfabric %s has no connection to it any more: %s",
              peer.outstanding, process_name(pe).c_str(), endpoint_->provider().c_str(), kLost);
  }
}

// Returns false if the provider has no room for it, or no connection.
bool Engine::probe(int pe) {
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  const auto segment =
      std::ranges::find_if(peer.segments, [](const RemoteSegment& s) { return s.size != 0; });
  if (segment == peer.segments.end() || ops_.exhausted()) return true;  // cannot be asked
  Op* op = take_op(own_.get(), pe, OpKind::get, nullptr);
  const RemoteAddress at{static_cast<SegmentId>(segment - peer.segments.begin()), 0};
  const Transfer transfer{own_.get(), pe, OpKind::get, at, op->inlined, 1, nullptr, nullptr};
  if (Request(*this, transfer, transfer.local, op).post() == 0) {
    peer.probing = true;
    peer.refused = 0;
    return true;
  }
  release(op);
  return false;
}

}  // namespace shm::ofi
