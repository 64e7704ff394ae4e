// SPDX-License-Identifier: BSD-3-Clause
#include "transports/registry.hpp"

#include "transports/batch/batch.hpp"
#include "transports/loop/faulty.hpp"
#include "transports/map/mappers.hpp"
#include "transports/ofi/fabric.hpp"

namespace shm {

std::unique_ptr<Mapper> make_mapper(const std::string& name) {
  return name == "posix" ? make_posix_mapper() : make_memfd_mapper();
}

Result<std::unique_ptr<Network>> make_network(const std::string& provider, bool one_host,
                                              std::uint64_t context_endpoints, std::uint64_t faults) {
  Result<std::unique_ptr<Network>> network =
      open_fabric({.provider = provider,
                   .loopback_only = one_host,
                   .context_endpoints = static_cast<unsigned>(context_endpoints)});
  if (!network.ok()) return network;
  if (faults != 0) {
    FaultOptions options;
    options.seed = faults;
    network = make_faulty(std::move(network.value()), options);
  }
  return make_batching(std::move(network.value()));
}

}  // namespace shm
