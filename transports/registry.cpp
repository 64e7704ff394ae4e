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

Result<std::unique_ptr<Network>> make_network(const NetworkOptions& options) {
  Result<std::unique_ptr<Network>> network =
      open_fabric({.provider = options.provider,
                   .loopback_only = options.one_host,
                   .context_endpoints = static_cast<unsigned>(options.context_endpoints)});
  if (!network.ok()) return network;
  AmoMode mode = AmoMode::native;
  if (options.amo != "native")
    mode = options.amo == "offload" || network.value()->prefers_offload() ? AmoMode::offload
                                                                          : AmoMode::by_session;
  if (options.faults != 0) {
    FaultOptions faults;
    faults.seed = options.faults;
    network = make_faulty(std::move(network.value()), faults);
  }
  return make_nic(std::move(network.value()),
                  {.mode = mode, .mshrs = {options.mshrs, options.subentries}, .batch = options.crowded});
}

Result<std::unique_ptr<Matcher>> make_matcher(const MatcherOptions& options) { return open_tagged(options); }

}  // namespace shm
