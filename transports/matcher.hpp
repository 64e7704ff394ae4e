// SPDX-License-Identifier: BSD-3-Clause
// Matching by the network: receives wait in one ordered list, and a message goes to the first one that its
// tag fits. For who wants the network, a NIC perhaps, to find by tag what a message is about.
//
// What no receive fits is reported, too: it is not held back until one comes.  What no PE of the job has sent
// is dropped.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"

namespace shm {

/// A receive, use-once.  The caller's: it stays as it is from post() until poll() has reported it.
struct TaggedReceive {
  std::uint64_t tag = 0;
  std::uint64_t ignore = 0;  // bits of the tag that may be others
  std::byte* room = nullptr;
  std::size_t room_bytes = 0;
  bool withdrawn = false;  // of the network, as what follows: it was cancelled
  std::uint64_t cookie = 0;
  alignas(16) std::byte provider[64];  // meanwhile
};

/// What poll() reports.  The bytes are there during the call or, in a TaggedReceive, as long as the caller
/// leaves them.
struct Arrival {
  enum Kind : std::uint8_t { matched, unmatched, cancelled };
  Kind kind;
  TaggedReceive* receive;  // null: unmatched
  const std::byte* bytes;
  std::size_t n;
};
using ArrivalSink = std::function<void(const Arrival&)>;

/// One list, and the endpoint that it belongs to, from which messages go to any list.  Thread safety:
/// connect(), post(), cancel() and send() from any thread, from within a sink too; poll() from any.  Errors
/// end the job.
class Matcher {
 public:
  virtual ~Matcher() = default;
  virtual std::string describe() const = 0;

  /// What peers need to send here, at most kMaxMatcherAddress bytes.
  virtual Result<std::vector<std::byte>> address() = 0;
  using AddressLookup = std::function<std::span<const std::byte>(int pe)>;
  /// Lists, one of each PE, to which send() goes from now on.  Returns the number of PE 0's; the others
  /// follow.
  virtual Result<int> connect(int npes, const AddressLookup& lookup) = 0;

  /// Appends to the list.  False: it is full; what the receive would have matched will be `unmatched`.
  virtual bool post(TaggedReceive& receive) = 0;
  /// Receives that the list takes; each has its place from post() until poll() reports it, when the place is
  /// anybody's.
  virtual std::size_t most_receives() const = 0;
  /// Whether post() may succeed now.
  virtual bool has_room() = 0;
  /// Takes it out of the list; it is reported as cancelled, or as matched if that was first.
  virtual void cancel(TaggedReceive& receive) = 0;

  /// Sends a copy of n bytes, at most kMostMatched; a later poll() goes on with it where there is no room.
  virtual void send(int list, std::uint64_t tag, const void* bytes, std::size_t n) = 0;

  /// Makes progress, and reports what has come.  Returns whether anything happened; false at once while
  /// another thread polls.
  virtual bool poll(const ArrivalSink& sink) = 0;

  /// As in Network; what comes in the instant before a thread blocks may not wake it: it must look again
  /// soon.
  virtual int wait_fd() const = 0;
  virtual bool may_block() = 0;
};

inline constexpr std::size_t kMaxMatcherAddress = 120;
inline constexpr std::size_t kMostMatched = 8192;  // bytes of a message

struct MatcherOptions {
  std::string provider;           // as in SHMEM_PROVIDER
  std::string interface;          // as in SHMEM_INTERFACE
  bool one_host = false;          // all PEs are on this host
  std::size_t receives = 256;     // that shall have room in the list
  bool reports_unmatched = true;  // false: a message waits for a receive that is posted later
  bool sends = true;              // false: send() is not called, and takes no memory
};

}  // namespace shm
