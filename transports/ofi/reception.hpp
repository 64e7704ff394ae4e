// SPDX-License-Identifier: BSD-3-Clause
// Whether a message that has come the ordinary way is of a PE of the job, and whose turn it is: messages of
// one PE are delivered as they were sent, those of its ring in the inbox among them.
//
// Thread safety: one thread at a time; the engine's poller_.
#pragma once

#include <cstring>
#include <optional>
#include <vector>

#include "base/fatal.hpp"
#include "ofi/inbox.hpp"

namespace shm::ofi {

class Reception {
 public:
  Reception(Inbox& inbox, std::uint64_t cookie) : inbox_(inbox), cookie_(cookie) {}

  /// Before anything else.
  void open(int me, int npes) {
    me_ = me;
    expected_.resize(static_cast<std::size_t>(npes));
  }

  /// Runs `handle(header, payload, n)` for the message, and before it for those that were written into the
  /// inbox earlier: these are there, since the stream brought them first.  Calls `missing(header, expected)`,
  /// which does not return, if another one should have come before.  No header: it shows no cookie.
  template <class Handle, class Missing>
  std::optional<MessageHeader> take(const std::byte* message, std::size_t n, const Handle& handle,
                                    const Missing& missing) {
    Envelope envelope;
    if (n < sizeof envelope) [[unlikely]]
      return std::nullopt;
    std::memcpy(&envelope, message, sizeof envelope);
    if (envelope.cookie != cookie_) [[unlikely]]
      return std::nullopt;
    const MessageHeader& header = envelope.header;
    const auto npes = static_cast<int>(expected_.size());
    if (header.from_pe < 0 || header.from_pe >= npes || header.from_pe == me_) [[unlikely]]
      fatal("internal error: a message says that it comes from PE %d", header.from_pe);
    std::uint16_t& expected = expected_[static_cast<std::size_t>(header.from_pe)];
    inbox_.deliver(header.from_pe, expected, handle);
    if (header.sequence != expected) [[unlikely]]
      missing(header, expected);
    ++expected;
    handle(header, message + sizeof envelope, n - sizeof envelope);
    return header;
  }

  /// The same for what is due in the inbox.  Returns whether there was any.
  template <class Handle>
  bool take_written(const Handle& handle) {
    return inbox_.deliver_all(
        [this](int pe) -> std::uint16_t& { return expected_[static_cast<std::size_t>(pe)]; }, handle);
  }

 private:
  Inbox& inbox_;
  const std::uint64_t cookie_;
  int me_ = -1;
  std::vector<std::uint16_t> expected_;  // sequence of the next message, by PE
};

}  // namespace shm::ofi
