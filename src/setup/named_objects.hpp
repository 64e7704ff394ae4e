// SPDX-License-Identifier: BSD-3-Clause
// Named symmetric objects on NVM, which survive the job (shmemx_nvm_open and its kin).
#pragma once

#include <cstddef>

#include "core/address.hpp"

namespace shm {

/// All are collective over the world with the same arguments.

/// The object's address, or null everywhere; then a line on stderr has said why.
void* open_named(Call call, const char* name, std::size_t size);
/// Makes the object durable as it is when all PEs have called this.
void persist_named(Call call, void* object);

}  // namespace shm
