// SPDX-License-Identifier: BSD-3-Clause
// Registered memory: this process's segments, what is known of the peers' segments, and local buffers for
// providers that want those registered too.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net.hpp"
#include "ofi/endpoint.hpp"

namespace shm::ofi {

/// How a peer's segment is named on the wire.  `base` is added to the offset: the peer's virtual address
/// where the provider wants that, else 0.
struct RemoteSegment {
  std::uint64_t base = 0;
  std::uint64_t key = 0;
  std::uint64_t size = 0;  // 0: the peer has none
};
using RemoteSegments = std::array<RemoteSegment, kSegments>;

/// What a process tells its peers, and nobody else: Endpoint::address(), segments, where it takes short
/// messages (inbox.hpp), and the cookie that each other message must carry.
struct PeerAddress {
  std::span<const std::byte> endpoint;
  RemoteSegments segments;
  RemoteSegment inbox{};
  std::uint64_t cookie = 0;
};

/// The bytes of Network::address(): version, length of the last part, cookie, segments, endpoint.  All PEs of
/// a job run the same library on the same kind of machine; the version catches a mixture.
Result<std::vector<std::byte>> encode_address(const PeerAddress& address);

/// The reverse; `endpoint` points into `bytes`.
Result<PeerAddress> decode_address(std::span<const std::byte> bytes);

/// Registrations of this process.  Owns them.  Close before the endpoint.
/// Thread safety: set-up from one thread; descriptor() with the engine's lock held.
class Memory {
 public:
  explicit Memory(Endpoint& endpoint) : endpoint_(endpoint) {}

  /// As in Network.  One registration per segment, for all operations of all peers.
  Status add_segment(SegmentId id, void* base, std::size_t size);

  /// Makes this the memory of a further endpoint of the process: the same segments, as local memory only.
  Status share(const Memory& first);

  /// Registers memory that peers write into; returns what they must know of it.
  Result<RemoteSegment> expose(void* base, std::size_t size);

  /// Whether registered memory keeps its pages: see Network::pins_segments().
  bool pins() const { return (endpoint_.info().domain_attr->mr_mode & FI_MR_ALLOCATED) != 0; }

  /// What peers must know of the segments.
  const RemoteSegments& segments() const { return remote_; }

  /// This process's own bytes at `at`, for operations to itself.
  std::byte* local(RemoteAddress at) const { return base_[static_cast<std::size_t>(at.segment)] + at.offset; }

  /// Registers a pool of our own buffers, if the provider wants local memory registered.
  Status add_pool(void* base, std::size_t size);

  /// Descriptor to pass with a local buffer: null unless the provider wants one.  A buffer in no segment and
  /// no pool is registered for this one operation; `*temporary` then holds what to close after it.
  void* descriptor(const void* buffer, std::size_t n, fid_mr** temporary) {
    return local_mr_ ? find_descriptor(buffer, n, temporary) : nullptr;
  }

 private:
  // Local memory with a descriptor.  Few: found by a linear search.
  struct Range {
    const std::byte* base;
    std::size_t size;
    Handle<fid_mr> mr;
  };
  std::uint64_t new_key() const;
  Result<fid_mr*> enroll(const void* base, std::size_t size, std::uint64_t access);
  void* find_descriptor(const void* buffer, std::size_t n, fid_mr** temporary);

  Endpoint& endpoint_;
  const bool local_mr_ = endpoint_.needs_local_mr();
  std::vector<Range> ranges_;
  RemoteSegments remote_{};
  std::array<std::byte*, kSegments> base_{};
};

}  // namespace shm::ofi
