// SPDX-License-Identifier: BSD-3-Clause
// The one file that knows every transport.
#pragma once

#include <memory>
#include <string>

#include "transports/mapper.hpp"
#include "transports/matcher.hpp"
#include "transports/net.hpp"

namespace shm {

/// `name` as in SHMEM_MAPPER: auto, memfd or posix.
std::unique_ptr<Mapper> make_mapper(const std::string& name);

struct NetworkOptions {
  std::string provider;                 // as in SHMEM_PROVIDER; empty: the best one there is
  std::string interface{};              // as in SHMEM_INTERFACE; empty: by one_host
  bool one_host = false;                // all PEs are on this host: loopback will do
  std::uint64_t context_endpoints = 0;  // most endpoints for parallel channels
  std::uint64_t faults = 0;             // other than 0: seed of a faulty network around a faulty provider, for tests
  std::uint64_t failing_operation = 0;  // other than 0: number of an operation that ends with an error, for tests
  std::string amo{};                    // as in SHMEM_AMO
  std::string pack{};                   // as in SHMEM_PACK
  unsigned mshrs = 64;                  // size of the software NIC's MSHR file
  unsigned subentries = 64;
  bool crowded = false;  // PEs of this host outnumber its cores
};

/// Loads libfabric and opens a network behind a software NIC.
Result<std::unique_ptr<Network>> make_network(const NetworkOptions& options);

/// The same without a software NIC, and with one endpoint: for what needs no atomics (provider, interface,
/// one_host and faults of the options count).
Result<std::unique_ptr<Network>> make_plain_network(const NetworkOptions& options);

/// An endpoint for matching, beside the network.  The error says what the provider lacks.
Result<std::unique_ptr<Matcher>> make_matcher(const MatcherOptions& options);

}  // namespace shm
