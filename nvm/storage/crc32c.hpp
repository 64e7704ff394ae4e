// SPDX-License-Identifier: BSD-3-Clause
// Checksums of what lies in files, by the processor's instructions where it has them (SSE4.2, ARMv8 CRC).
//
// Thread safety: all.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shm::nvm {

/// CRC-32C (Castagnoli) of n bytes; `crc` is that of the bytes before them, 0 if there are none.
std::uint32_t crc32c(std::uint32_t crc, const void* data, std::size_t n);

/// The checksum of a block: the CRC-32C, beginning with `seed`, of the four CRC-32Cs of its quarters.  Four
/// at a time keep the instruction busy, which has a latency of three.  All that changes one quarter only and
/// that a CRC-32C finds is found: so every burst of up to 32 bits within a quarter.
/// REQUIRES: n is a multiple of 32.
std::uint32_t block_checksum(std::uint32_t seed, const std::byte* data, std::size_t n);

/// The same without the processor's help; for tests, and for processors that have none to give.
std::uint32_t portable_crc32c(std::uint32_t crc, const void* data, std::size_t n);

}  // namespace shm::nvm
