// SPDX-License-Identifier: BSD-3-Clause
// Numbers that nobody else can guess.
#pragma once

#include <cstdint>

namespace shm {

/// 64 random bits of the kernel's generator: for keys, cookies (docs/security.md) and identities.  Never 0.
/// Ends the job if the kernel has none.  Any thread.
std::uint64_t random_number();

}  // namespace shm
