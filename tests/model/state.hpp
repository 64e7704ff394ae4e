// SPDX-License-Identifier: BSD-3-Clause
// A state of the whole system under test, small, as millions are visited: nodes, homes, devices, and messages
// on their way.  Data are one bit: whether they contain the last completed write to their page.  A version is
// one bit too, as it is only compared: whether its request has ended. Of those that have not, a node takes
// part in one only.
//
// Equal states are equal bytes: what is on its way is sorted by channel, and what is unused is zero.
#pragma once

#include <cstdint>
#include <type_traits>

#include "nvm/coherence/moesif.hpp"

namespace shm::model {

inline constexpr int kMostNodes = 4, kMostPages = 3, kMostMessages = 24, kMostWaiting = 10;
inline constexpr int kMostReads = kMostNodes / 2;  // at the same time

/// Nodes are counted from 2, so that kDevice is 0 and kNobody 1.
inline std::uint8_t pack_node(nvm::NodeId node) { return static_cast<std::uint8_t>(node + 2); }
inline nvm::NodeId unpack_node(unsigned packed) { return static_cast<nvm::NodeId>(packed) - 2; }

inline constexpr std::uint64_t kNow = 10;  // the home's version in every state, above that of reads under way

/// A message.
struct PackedMessage {
  std::uint32_t to : 3, from : 3, kind : 6, requester : 3, page : 2, data : 1, dirty : 1, ahead : 1,
      whole : 1, absent : 1;
  std::uint32_t newest : 1;  // its data contain the last completed write
  std::uint32_t old : 1;     // its request has ended
  std::uint32_t spare : 8;

  bool operator==(const PackedMessage&) const = default;
};

/// A page at a node.
struct PackedPage {
  std::uint8_t state;
  std::uint8_t newest;           // its copy
  std::uint8_t old;              // the request of the last message obeyed has ended
  std::uint8_t holding;          // local accesses that wait: 1 << its place in kAccesses (uses.hpp)
  std::uint8_t operating;        // small operations without a result
  std::uint8_t latched, pinned;  // by threads of the node: 1 to read, 2 to write
  std::uint8_t driver;           // of DriverFlag (uses.hpp)
};

/// What the home has of a page; nodes as in a PackedMessage.
struct PackedDirectory {
  PackedMessage request;
  PackedMessage waiting[kMostWaiting];
  PackedMessage reads[kMostReads];
  std::uint8_t forwarders[kMostReads];  // of these
  std::uint8_t holders[kMostNodes];
  std::uint8_t awaited[kMostNodes];
  std::uint8_t to_drop[kMostNodes];  // of each node, how often
  std::uint8_t waiting_count, holder_count, awaited_count;
  std::uint8_t owner, phase, actor;
  std::uint8_t device_newest;
  std::uint8_t read_count;
  std::uint8_t spare[2];
};

struct SystemState {
  PackedPage at[kMostPages][kMostNodes];
  PackedDirectory home[kMostPages];
  PackedMessage messages[kMostMessages];
  std::uint8_t budget[kMostNodes];  // local events that are still to come
  std::uint8_t message_count;
  std::uint8_t repeated;  // a message has been delivered twice
  std::uint8_t spare[2];
};
static_assert(std::has_unique_object_representations_v<SystemState>);

}  // namespace shm::model
