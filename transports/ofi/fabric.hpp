// SPDX-License-Identifier: BSD-3-Clause
// The libfabric network, seen from outside this folder: its factories.  No <rdma/...> header is needed to use
// it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>

#include "base/status.hpp"
#include "net.hpp"
#include "transports/matcher.hpp"

namespace shm {

struct FabricOptions {
  /// Name of a libfabric provider ("tcp;ofi_rxm").  Empty: the best row of quirks.def that opens here.
  std::string provider;

  /// All PEs are processes of this host: use 127.0.0.1 and no other interface, unless one is named.
  bool loopback_only = false;

  /// As in SHMEM_INTERFACE: what to listen on (ofi/interface.hpp).  Empty: the most useful address.
  std::string interface{};

  /// Puts and gets longer than this are split.  0: only at the provider's own limit.  For tests.
  std::size_t max_transfer = 0;

  /// Most endpoints that are opened for parallel channels, beside the one that peers know; 0: none, all share
  /// that one.  Fewer are opened where descriptors are short or the provider refuses.
  unsigned context_endpoints = 0;

  /// Most senders that have a ring in the inbox at a time (ofi/inbox.hpp); 0: as many as there are.  For
  /// tests.
  unsigned inbox_rings = 0;

  /// Other than 0: seed of storms in which the provider has no room, and the number of an operation that ends with
  /// an error (ofi/faulty_provider.hpp).  For tests.
  std::uint64_t faults = 0;
  std::uint64_t failing_operation = 0;

  /// Other than 0: for tagged messages only, with a list of so many receives if the provider has that.
  std::size_t tagged_receives = 0;

  /// False: nothing is sent, so memory for that is not made ready.
  bool sends = true;
};

/// Loads libfabric, opens one endpoint and everything it needs.  Takes 0.3 s the first time in a process (the
/// library's own start-up, see README.md), 15 ms afterwards, and touches nothing of the caller: it may run on
/// a thread of its own while the job boots.  The error says what was missing.
Result<std::unique_ptr<Network>> open_fabric(const FabricOptions& options);

/// An endpoint of its own with a list of tagged receives.  The same costs; 40 ms for long lists.
Result<std::unique_ptr<Matcher>> open_tagged(const MatcherOptions& options);

}  // namespace shm
