// SPDX-License-Identifier: BSD-3-Clause
// Which of a host's addresses an endpoint listens on.
#pragma once

#include <rdma/fabric.h>

#include <string>

namespace shm::ofi {

/// The entry of the first provider in the list that has the most useful address to peers on other hosts. With
/// `interface`, only addresses that it names: the name of a network interface ("eth0"), an address
/// ("10.0.0.2"), or what a provider calls one of its devices ("mlx5_0").  Null: there is none.
const fi_info* best_address(const fi_info* list, const std::string& interface);

/// What `interface` may be for these entries, for an error message.
std::string addresses_in(const fi_info* list);

/// Whether peers on other hosts cannot reach the address, whatever they do.
bool is_for_this_host_alone(const fi_info& info);

}  // namespace shm::ofi
