// SPDX-License-Identifier: BSD-3-Clause
#include "transports/registry.hpp"

#include <algorithm>

#include "faulty/faulty.hpp"
#include "transports/map/mappers.hpp"
#include "transports/nic/nic.hpp"
#include "transports/ofi/fabric.hpp"

namespace shm {

std::unique_ptr<Mapper> make_mapper(const std::string& name) {
  return name == "posix" ? make_posix_mapper() : make_memfd_mapper();
}

namespace {

std::unique_ptr<Network> add_faults(std::unique_ptr<Network> network, std::uint64_t seed) {
  if (seed == 0) return network;
  FaultOptions faults;
  faults.seed = seed;
  return make_faulty(std::move(network), faults);
}

// `amo` and `pack` are as in SHMEM_AMO and SHMEM_PACK; where both are auto, it is what suits the provider.
Packed what_is_packed(const std::string& amo, const std::string& pack, Packed suits) {
  if (amo == "native" || pack == "off") return Packed::nothing;
  if (pack == "all") return Packed::all;
  if (pack == "atomics") return Packed::atomics;
  return amo == "offload" ? std::max(suits, Packed::atomics) : suits;
}

}  // namespace

Result<std::unique_ptr<Network>> make_plain_network(const NetworkOptions& options) {
  Result<std::unique_ptr<Network>> network = open_fabric({.provider = options.provider,
                                                          .loopback_only = options.one_host,
                                                          .interface = options.interface,
                                                          .faults = options.faults});
  if (!network.ok()) return network;
  return add_faults(std::move(network.value()), options.faults);
}

Result<std::unique_ptr<Network>> make_network(const NetworkOptions& options) {
  if ((options.amo == "native" && (options.pack == "atomics" || options.pack == "all")) ||
      (options.amo == "offload" && options.pack == "off"))
    return Status::error(
        "SHMEM_AMO=" + options.amo + " and SHMEM_PACK=" + options.pack +
        " exclude each other: atomics that are offloaded travel in packets, native ones do not");
  Result<std::unique_ptr<Network>> network =
      open_fabric({.provider = options.provider,
                   .loopback_only = options.one_host,
                   .interface = options.interface,
                   .context_endpoints = static_cast<unsigned>(options.context_endpoints),
                   .faults = options.faults,
                   .failing_operation = options.failing_operation});
  if (!network.ok()) return network;
  const Packed packed = what_is_packed(options.amo, options.pack, network.value()->prefers_packed());
  return make_nic(add_faults(std::move(network.value()), options.faults),
                  {.packed = packed, .mshrs = {options.mshrs, options.subentries}, .batch = options.crowded});
}

Result<std::unique_ptr<Matcher>> make_matcher(const MatcherOptions& options) { return open_tagged(options); }

}  // namespace shm
