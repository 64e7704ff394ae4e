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

// Where it is not known who must act, so many are asked at a time; in a large job only those that this
// process has to do with, as a question makes a connection.
constexpr int kAskedAtATime = 8;
constexpr int kSmallJob = 128;

}  // namespace

Silence Engine::silence_of(int pe, double period) {
  LockGuard guard(lock_);
  const auto now = Clock::now();
  if (pe != Silence::kAnyPe) return {pe, listen(pe, period, now)};
  for (int i = 0, asked = 0; i < npes() && asked < kAskedAtATime; ++i) {
    next_asked_ = (next_asked_ + 1) % npes();
    const Peer& peer = peers_[static_cast<std::size_t>(next_asked_)];
    const bool known = npes() <= kSmallJob || life_of(next_asked_) != 0;
    if (peer.neighbour || peer.address == FI_ADDR_UNSPEC || !known || signs_[next_asked_].awaited) continue;
    listen(next_asked_, period, now);
    ++asked;
  }
  Silence longest;
  for (auto& [other, sign] : signs_) {
    if (!sign.awaited) continue;
    if (const double seconds = listen(other, period, now); seconds > longest.seconds)
      longest = {other, seconds};
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

// Asks `pe`, or goes on waiting for a sign.  Returns for how long that has been.
double Engine::listen(int pe, double period, Clock::time_point now) {
  Peer& peer = peers_[static_cast<std::size_t>(pe)];
  if (peer.address == FI_ADDR_UNSPEC || period == 0) return 0;
  SignOfLife& sign = signs_[pe];
  if (const std::uint64_t life = life_of(pe); life != sign.seen) {
    sign = {.looked = now, .seen = life};
    return 0;
  }
  if (!sign.awaited) {
    if (now - sign.looked < std::chrono::duration<double>(period)) return 0;
    sign.looked = now;
    sign.awaited = true;
  }
  sign.silent += std::min<std::chrono::duration<double>>(now - sign.looked, kLongestLook);
  sign.looked = now;
  if (!sign.asked) sign.asked = peer.deferred == 0 && try_send(own_.get(), pe, kAsk, nullptr, 0);
  if (peer.reached && !peer.probing && sign.asked) probe(pe);
  return sign.silent.count();
}

}  // namespace shm::ofi
