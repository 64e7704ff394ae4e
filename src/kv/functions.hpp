// SPDX-License-Identifier: BSD-3-Clause
// The program's functions that are carried out where a key is (shmemx_kv_apply).
#pragma once

#include <cstdint>

#include "core/address.hpp"
#include "shmem/kv.h"

namespace shm::kv {

/// Collective: its number, which is the same on all PEs.
std::uint32_t register_function(Call call, shmemx_kv_function_t function);
/// The function of that number; null: there is none.  Any thread.
shmemx_kv_function_t registered(std::uint32_t number);
/// All of them.  No PE asks for one any more.
void forget_functions();

}  // namespace shm::kv
