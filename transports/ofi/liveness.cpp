// SPDX-License-Identifier: BSD-3-Clause
// Signs of life.  A link that goes down and a host that freezes break no connection: what is sent there is
// taken by the system and never arrives.  So a peer that somebody waits for, and that has shown no sign of
// life for a while, is asked for two: a message that its engine answers, and a read of one byte (watch.cpp),
// as the answer may have to wait behind all that the peer is sending, which a read's data does not.
//
// Questions and answers are numbered like all messages and never go to an inbox, so whoever gets one knows
// whether an earlier message of that peer is missing: a connection that broke is made anew by rxm, without a
// word, and what it had under way is lost (Engine::deliver_ordinary).
#include <algorithm>

#include "ofi/engine.hpp"

namespace shm::ofi {
namespace {

using Clock = std::chrono::steady_clock;

// A process that stood still itself, as a debugger or the job's SIGSTOP makes it, has not listened.
constexpr std::chrono::duration<double> kLongestLook{1.0};

// Where it is not known who must act, so many are asked at a look, or all in so many looks; in a large job
// only those that this process has to do with, as a question makes a connection.
constexpr int kAskedAtATime = 8, kLooksToAskAll = 4;
constexpr int kSmallJob = 128;

}  // namespace

Silence Engine::silence_of(int pe, double period) {
  LockGuard guard(lock_);
  const auto now = Clock::now();
  if (pe != Silence::kAnyPe) return {pe, listen(pe, period, now, true)};
  int may_ask = std::max(kAskedAtATime, npes() / kLooksToAskAll);
  const int asked_last = asked_last_;  // the others first
  Silence longest;
  for (int i = 1; i <= npes(); ++i) {
    const int other = (asked_last + i) % npes();
    const Peer& peer = peers_[static_cast<std::size_t>(other)];
    const bool known = npes() <= kSmallJob || life_of(other) != 0;
    if (peer.neighbour || peer.address == FI_ADDR_UNSPEC || !known) continue;
    const bool was_awaited = signs_[other].awaited;
    const double seconds = listen(other, period, now, may_ask > 0);
    if (seconds > longest.seconds) longest = {other, seconds};
    if (was_awaited || !signs_[other].awaited) continue;
    asked_last_ = other;
    --may_ask;
  }
  return longest;
}

void Engine::join_node(std::span<const int> pes) {
  LockGuard guard(lock_);
  for (const int pe : pes) peers_[static_cast<std::size_t>(pe)].neighbour = true;
  joined_ = true;
}

// Grows whenever the peer has done something.
std::uint64_t Engine::life_of(int pe) const {
  return peers_[static_cast<std::size_t>(pe)].life + (inbox_.is_open() ? inbox_.seen_from(pe) : 0);
}

// Looks for a sign of life of `pe`, and asks it for one if it has shown none for `period` and this look
// `may_ask`. Returns how long none has come, if it has been asked: as far as this process has listened, and
// of the time before the question no more than the period.
double Engine::listen(int pe, double period, Clock::time_point now, bool may_ask) {
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  if (peer.address == FI_ADDR_UNSPEC || period == 0) return 0;
  SignOfLife& sign = signs_[pe];
  if (const std::uint64_t life = life_of(pe); life != sign.seen || sign.looked == Clock::time_point{}) {
    sign = {.looked = now, .seen = life};
    return 0;
  }
  sign.silent += std::min<std::chrono::duration<double>>(now - sign.looked, kLongestLook);
  sign.looked = now;
  if (!sign.awaited) {
    const std::chrono::duration<double> due(period);
    if (sign.silent < due || !may_ask) return 0;
    sign.silent = due;
    sign.awaited = true;
  }
  if (!sign.asked) sign.asked = try_send(own_.get(), pe, kAsk, nullptr, 0);
  if (peer.reached && !peer.probing && sign.asked) probe(pe);
  return sign.silent.count();
}

}  // namespace shm::ofi
