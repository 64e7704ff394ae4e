// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/memory.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "base/huge_pages.hpp"
#include "base/limits.hpp"
#include "base/random.hpp"

namespace shm::ofi {
namespace {

struct WireHeader {
  std::uint16_t version;
  std::uint16_t endpoint_length;
  std::uint32_t reserved;
  std::uint64_t cookie;
  RemoteSegments segments;
  RemoteSegment inbox;
};
static_assert(sizeof(WireHeader) == 16 + 24 * (kSegments + 1));
constexpr std::uint16_t kVersion = 4;

}  // namespace

Result<std::vector<std::byte>> encode_address(const PeerAddress& address) {
  if (sizeof(WireHeader) + address.endpoint.size() > kMaxAddress) {
    return Status::error("libfabric: the provider's endpoint address of " +
                         std::to_string(address.endpoint.size()) +
                         " bytes is longer than Atoll can exchange");
  }
  const WireHeader header{
      kVersion,     static_cast<std::uint16_t>(address.endpoint.size()), 0, address.cookie, address.segments,
      address.inbox};
  std::vector<std::byte> bytes(sizeof header + address.endpoint.size());
  std::memcpy(bytes.data(), &header, sizeof header);
  std::memcpy(bytes.data() + sizeof header, address.endpoint.data(), address.endpoint.size());
  return bytes;
}

Result<PeerAddress> decode_address(std::span<const std::byte> bytes) {
  WireHeader header{};
  if (bytes.size() < sizeof header) return Status::error("libfabric: the peer's address is too short");
  std::memcpy(&header, bytes.data(), sizeof header);
  if (header.version != kVersion) return Status::error("libfabric: the peer runs another version of Atoll");
  if (bytes.size() < sizeof header + header.endpoint_length)
    return Status::error("libfabric: the peer's address is cut");
  return PeerAddress{bytes.subspan(sizeof header, header.endpoint_length), header.segments, header.inbox,
                     header.cookie};
}

// Who knows a key may read and write the memory, so it is one that nobody can guess (docs/security.md).  The
// provider takes the low bytes of what we ask for, or chooses itself.
std::uint64_t Memory::new_key() const {
  const std::size_t bytes = std::clamp<std::size_t>(endpoint_.info().domain_attr->mr_key_size, 1, 8);
  return random_number() >> (64 - 8 * bytes);
}

Result<fid_mr*> Memory::enroll(const void* base, std::size_t size, std::uint64_t access) {
  fid_mr* mr = nullptr;
  int code = -FI_ENOKEY;  // there is such a key already
  for (int attempt = 0; attempt < 100 && code == -FI_ENOKEY; ++attempt)
    code = fi_mr_reg(endpoint_.domain(), base, size, access, 0, new_key(), 0, &mr, nullptr);
  if (code == 0 && (endpoint_.info().domain_attr->mr_mode & FI_MR_ENDPOINT) != 0) {
    code = fi_mr_bind(mr, &endpoint_.ep()->fid, 0);
    if (code == 0) code = fi_mr_enable(mr);
  }
  if (code == 0) return mr;
  if (mr != nullptr) fi_close(&mr->fid);
  return Status::error("libfabric: cannot register " + std::to_string(size) +
                       " bytes: " + endpoint_.library().error(code) +
                       (pins() ? limit_of_locked_memory() : limit_behind(static_cast<int>(-code))));
}

Status Memory::add_segment(SegmentId id, void* base, std::size_t size) {
  if (size == 0) return {};
  if (pins()) allow_locked_memory();
  // Pages of 4 KiB that have been pinned could not be made huge later, as the pool's are when they are used.
  if (id == SegmentId::pool && pins()) lay_out_on_huge_pages(static_cast<std::byte*>(base), size);
  Result<RemoteSegment> remote = expose(base, size);
  if (!remote.ok()) return remote.status();
  const auto index = static_cast<std::size_t>(id);
  base_[index] = static_cast<std::byte*>(base);
  remote_[index] = remote.value();
  return {};
}

Result<RemoteSegment> Memory::expose(void* base, std::size_t size) {
  Result<fid_mr*> mr = enroll(base, size, FI_REMOTE_READ | FI_REMOTE_WRITE | FI_READ | FI_WRITE);
  if (!mr.ok()) return mr.status();
  ranges_.push_back({static_cast<std::byte*>(base), size, Handle<fid_mr>(mr.value())});
  return RemoteSegment{endpoint_.uses_virtual_addresses() ? reinterpret_cast<std::uint64_t>(base) : 0,
                       fi_mr_key(mr.value()), size};
}

Status Memory::share(const Memory& first) {
  base_ = first.base_;
  for (std::size_t i = 0; i < kSegments; ++i) {
    if (first.remote_[i].size == 0) continue;
    if (Status status = add_pool(base_[i], first.remote_[i].size); !status.ok()) return status;
  }
  return {};
}

Status Memory::add_pool(void* base, std::size_t size) {
  if (!local_mr_) return {};
  Result<fid_mr*> mr = enroll(base, size, FI_SEND | FI_RECV | FI_READ | FI_WRITE);
  if (!mr.ok()) return mr.status();
  ranges_.push_back({static_cast<std::byte*>(base), size, Handle<fid_mr>(mr.value())});
  return {};
}

void* Memory::find_descriptor(const void* buffer, std::size_t n, fid_mr** temporary) {
  const auto* bytes = static_cast<const std::byte*>(buffer);
  for (const Range& range : ranges_) {
    if (bytes >= range.base && bytes + n <= range.base + range.size) return fi_mr_desc(range.mr.get());
  }
  Result<fid_mr*> mr = enroll(buffer, n, FI_READ | FI_WRITE);
  if (!mr.ok()) fatal("%s", mr.status().text().c_str());
  *temporary = mr.value();
  return fi_mr_desc(mr.value());
}

}  // namespace shm::ofi
