// SPDX-License-Identifier: BSD-3-Clause
#include "transports/registry.hpp"

#include "transports/loop/faulty.hpp"
#include "transports/map/mappers.hpp"
#include "transports/nic/nic.hpp"
#include "transports/ofi/fabric.hpp"

namespace shm {

std::unique_ptr<Mapper> make_mapper(const std::string& name) {
  return name == "posix" ? make_posix_mapper() : make_memfd_mapper();
}

Result<std::unique_ptr<Network>> make_network(const NetworkOptions& options) {
  for (const auto& [name, value] :
       {std::pair("SHMEM_NIC_MSHRS", options.mshrs), {"SHMEM_NIC_SUBENTRIES", options.subentries}}) {
    if (value == 0 || value > nic::kMostMshrs) {
      return Status::error(std::string(name) + " is " + std::to_string(value) + "; allowed is 1 to " +
                           std::to_string(nic::kMostMshrs));
    }
  }
  Result<std::unique_ptr<Network>> network =
      open_fabric({.provider = options.provider,
                   .loopback_only = options.one_host,
                   .context_endpoints = static_cast<unsigned>(options.context_endpoints)});
  if (!network.ok()) return network;
  const bool offload =
      options.amo == "offload" || (options.amo != "native" && network.value()->prefers_offload());
  if (options.faults != 0) {
    FaultOptions faults;
    faults.seed = options.faults;
    network = make_faulty(std::move(network.value()), faults);
  }
  return make_nic(std::move(network.value()),
                  {.mode = offload ? AmoMode::offload : AmoMode::native,
                   .mshrs = {static_cast<unsigned>(options.mshrs), static_cast<unsigned>(options.subentries)},
                   .share = options.crowded});
}

}  // namespace shm
