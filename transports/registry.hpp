// SPDX-License-Identifier: BSD-3-Clause
// The one file that knows every transport.
#pragma once

#include <memory>
#include <string>

#include "transports/mapper.hpp"
#include "transports/net.hpp"

namespace shm {

/// `name` as in SHMEM_MAPPER: auto, memfd or posix.
std::unique_ptr<Mapper> make_mapper(const std::string& name);

/// Loads libfabric and opens a network whose channels can batch.  `provider` as in SHMEM_PROVIDER, empty for
/// the best one there is; `one_host`: all PEs are on this host, so that loopback will do.
/// `context_endpoints`: most endpoints for parallel channels.  `faults` other than 0: a seed for the faulty
/// network around it, for tests.
Result<std::unique_ptr<Network>> make_network(const std::string& provider, bool one_host,
                                              std::uint64_t context_endpoints, std::uint64_t faults);

}  // namespace shm
