// SPDX-License-Identifier: BSD-3-Clause
// The mappers that exist; transports/registry chooses one.
#pragma once

#include <memory>
#include <string>

#include "base/human.hpp"
#include "transports/mapper.hpp"

namespace shm {

/// An anonymous file, passed from the leader to the members over an abstract Unix socket.
std::unique_ptr<Mapper> make_memfd_mapper();

/// A POSIX shared memory object, named for the time of set-up only.
std::unique_ptr<Mapper> make_posix_mapper();

/// The error of a member whose leader has not done `what` in so many seconds.
inline Status late_leader(const std::string& what, double timeout) {
  return Status::error("the first PE of this node did not " + what +
                       " within SHMEM_INIT_TIMEOUT=" + plain_number(timeout) + " seconds");
}

}  // namespace shm
