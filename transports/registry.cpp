// SPDX-License-Identifier: BSD-3-Clause
#include "transports/registry.hpp"

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

}  // namespace

Result<std::unique_ptr<Network>> make_plain_network(const NetworkOptions& options) {
  Result<std::unique_ptr<Network>> network = open_fabric(
      {.provider = options.provider, .loopback_only = options.one_host, .interface = options.interface});
  if (!network.ok()) return network;
  return add_faults(std::move(network.value()), options.faults);
}

Result<std::unique_ptr<Network>> make_network(const NetworkOptions& options) {
  Result<std::unique_ptr<Network>> network =
      open_fabric({.provider = options.provider,
                   .loopback_only = options.one_host,
                   .interface = options.interface,
                   .context_endpoints = static_cast<unsigned>(options.context_endpoints)});
  if (!network.ok()) return network;
  AmoMode mode = AmoMode::native;
  if (options.amo != "native")
    mode = options.amo == "offload" || network.value()->prefers_offload() ? AmoMode::offload
                                                                          : AmoMode::by_session;
  return make_nic(add_faults(std::move(network.value()), options.faults),
                  {.mode = mode, .mshrs = {options.mshrs, options.subentries}, .batch = options.crowded});
}

Result<std::unique_ptr<Matcher>> make_matcher(const MatcherOptions& options) { return open_tagged(options); }

}  // namespace shm
