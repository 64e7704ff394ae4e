// SPDX-License-Identifier: BSD-3-Clause
#include "setup/memory_link.hpp"

#include <algorithm>
#include <span>
#include <string>
#include <utility>

#include "base/fatal.hpp"
#include "base/host_memory.hpp"
#include "base/huge_pages.hpp"
#include "setup/announcement.hpp"
#include "transports/registry.hpp"

namespace shm {
namespace {

constexpr int kPartOfHost = 4;

// For the network, which keeps none: by rank; empty for those that this process has nothing to do with.
std::vector<std::vector<std::byte>>& addresses = *new std::vector<std::vector<std::byte>>;

}  // namespace

Result<MemoryLink> MemoryLink::open(const Env& env, const Job& job, const remote::LentMemory* lent) {
  Result<std::unique_ptr<Network>> network = make_plain_network({.provider = env.provider,
                                                                 .interface = env.interface,
                                                                 .one_host = job.one_host,
                                                                 .faults = env.faults.value_or(0)});
  if (!network.ok()) return network.status();
  MemoryLink link;
  link.network_ = std::move(network.value());
  if (lent != nullptr) {
    const Status status = link.network_->add_segment(SegmentId::lent, lent->base(), lent->bytes());
    if (!status.ok()) return status;
  }
  Result<std::vector<std::byte>> address = link.network_->address();
  if (!address.ok()) return address.status();
  link.address_ = std::move(address.value());
  return link;
}

Result<std::unique_ptr<Network>> MemoryLink::connect(Boot& boot, MessageSink sink) {
  const Job& job = boot.job();
  addresses.resize(static_cast<std::size_t>(job.processes()));
  const int first = job.is_server() ? 0 : job.size, last = job.is_server() ? job.size : job.processes();
  for (int rank = first; rank < last; ++rank) {
    Result<std::vector<std::byte>> bytes = boot.fetch(rank);
    if (!bytes.ok()) return bytes.status();
    Announcement announcement;
    if (!Announcement::unpack(bytes.value(), announcement) || announcement.link.empty()) {
      return Status::error(process_name(rank) +
                           " has no address on the network of memory servers; is SHMEM_MEMORY_SERVERS the "
                           "same, and the version, in all processes?");
    }
    addresses[static_cast<std::size_t>(rank)] = std::move(announcement.link);
  }
  const Status status = network_->connect(
      job.rank, job.processes(),
      [](int rank) { return std::span<const std::byte>(addresses[static_cast<std::size_t>(rank)]); },
      std::move(sink));
  if (!status.ok()) return status;
  return std::move(network_);
}

std::size_t bytes_per_server(const Env& env, int servers) {
  const std::size_t share = host_memory() / kPartOfHost / static_cast<std::size_t>(std::max(servers, 1));
  const std::size_t bytes = env.memory_per_server.value_or(share);
  return std::max(bytes / kHugePage, std::size_t{1}) * kHugePage;
}

}  // namespace shm
