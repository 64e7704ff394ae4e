// SPDX-License-Identifier: BSD-3-Clause
// The network between the job's PEs and its memory servers, at both ends.
#pragma once

#include <cstddef>
#include <memory>
#include <vector>

#include "base/env.hpp"
#include "boot/boot.hpp"
#include "remote/lender.hpp"
#include "remote/servers.hpp"
#include "transports/net.hpp"

namespace shm {

/// Once in the life of a process, in this order: open(), an exchange of address(), connect().
class MemoryLink {
 public:
  /// `lent`: what a server lends; null for a PE.
  static Result<MemoryLink> open(const Env& env, const Job& job, const remote::LentMemory* lent);
  MemoryLink() = default;  // none

  const std::vector<std::byte>& address() const { return address_; }
  /// Collective: fetches the addresses of the other kind of processes.  The network is the caller's.
  Result<std::unique_ptr<Network>> connect(Boot& boot, MessageSink sink);

 private:
  std::unique_ptr<Network> network_;
  std::vector<std::byte> address_;
};

/// Bytes that a server lends where nothing is set: its share of a quarter of the host's memory.
std::size_t bytes_per_server(const Env& env, int servers);

}  // namespace shm
