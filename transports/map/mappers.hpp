// SPDX-License-Identifier: BSD-3-Clause
// The mappers that exist; transports/registry chooses one.
#pragma once

#include <memory>

#include "transports/mapper.hpp"

namespace shm {

/// An anonymous file, passed from the leader to the members over an abstract Unix socket.
std::unique_ptr<Mapper> make_memfd_mapper();

/// A POSIX shared memory object, named for the time of set-up only.
std::unique_ptr<Mapper> make_posix_mapper();

}  // namespace shm
