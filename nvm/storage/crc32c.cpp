// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/storage/crc32c.hpp"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#define CRC_TARGET "sse4.2"
#elif defined(__aarch64__)
#include <arm_acle.h>
#include <sys/auxv.h>
#define CRC_TARGET "+crc"
#endif

namespace shm::nvm {
namespace {

constexpr std::size_t kLanes = 4;
constexpr std::uint32_t kPolynomial = 0x82f63b78;  // Castagnoli's, the lowest bit first

using CrcLanes = std::array<std::uint32_t, kLanes>;
using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

// tables[k][b]: what byte b does to the CRC when k bytes follow it in the word.
constexpr Tables make_tables() {
  Tables tables{};
  for (std::uint32_t b = 0; b < 256; ++b) {
    std::uint32_t crc = b;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    tables[0][b] = crc;
  }
  for (std::size_t k = 1; k < 8; ++k) {
    for (std::size_t b = 0; b < 256; ++b)
      tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 0xff];
  }
  return tables;
}
constexpr Tables kTables = make_tables();

std::uint64_t word_at(const std::byte* at) {
  std::uint64_t word;
  std::memcpy(&word, at, sizeof word);
  return word;
}

// What follows works on CRCs that are inverted, as they are between the first byte and the last one.

std::uint32_t portable(std::uint32_t crc, const std::byte* at, std::size_t n) {
  for (; n >= 8; at += 8, n -= 8) {
    const std::uint64_t word = word_at(at) ^ crc;
    crc = 0;
    for (std::size_t k = 0; k < 8; ++k) crc ^= kTables[7 - k][(word >> (8 * k)) & 0xff];
  }
  for (; n > 0; ++at, --n) crc = (crc >> 8) ^ kTables[0][(crc ^ static_cast<std::uint32_t>(*at)) & 0xff];
  return crc;
}

CrcLanes portable_lanes(const std::byte* at, std::size_t quarter) {
  CrcLanes lanes{};
  for (std::size_t lane = 0; lane < kLanes; ++lane)
    lanes[lane] = ~portable(~std::uint32_t{0}, at + lane * quarter, quarter);
  return lanes;
}

struct Ways {
  std::uint32_t (*crc)(std::uint32_t crc, const std::byte* at, std::size_t n) = portable;
  CrcLanes (*lanes)(const std::byte* at, std::size_t quarter) = portable_lanes;
};

#if defined(CRC_TARGET)

#if defined(__x86_64__)
bool has_instruction() { return __builtin_cpu_supports("sse4.2") != 0; }
[[gnu::target(CRC_TARGET)]] inline std::uint32_t step(std::uint32_t crc, std::uint64_t word) {
  return static_cast<std::uint32_t>(_mm_crc32_u64(crc, word));
}
[[gnu::target(CRC_TARGET)]] inline std::uint32_t step(std::uint32_t crc, std::byte byte) {
  return _mm_crc32_u8(crc, static_cast<unsigned char>(byte));
}
#else
bool has_instruction() { return (getauxval(AT_HWCAP) & (1UL << 7)) != 0; }  // HWCAP_CRC32
[[gnu::target(CRC_TARGET)]] inline std::uint32_t step(std::uint32_t crc, std::uint64_t word) {
  return __crc32cd(crc, word);
}
[[gnu::target(CRC_TARGET)]] inline std::uint32_t step(std::uint32_t crc, std::byte byte) {
  return __crc32cb(crc, static_cast<std::uint8_t>(byte));
}
#endif

[[gnu::target(CRC_TARGET)]] std::uint32_t by_instruction(std::uint32_t crc, const std::byte* at,
                                                         std::size_t n) {
  for (; n >= 8; at += 8, n -= 8) crc = step(crc, word_at(at));
  for (; n > 0; ++at, --n) crc = step(crc, *at);
  return crc;
}

[[gnu::target(CRC_TARGET)]] CrcLanes lanes_by_instruction(const std::byte* at, std::size_t quarter) {
  std::uint32_t a = ~std::uint32_t{0}, b = a, c = a, d = a;
  for (std::size_t i = 0; i < quarter; i += 8) {
    a = step(a, word_at(at + i));
    b = step(b, word_at(at + quarter + i));
    c = step(c, word_at(at + 2 * quarter + i));
    d = step(d, word_at(at + 3 * quarter + i));
  }
  return {~a, ~b, ~c, ~d};
}

Ways choose() { return has_instruction() ? Ways{by_instruction, lanes_by_instruction} : Ways{}; }

#else

Ways choose() { return {}; }

#endif

const Ways& ways() {
  static const Ways chosen = choose();
  return chosen;
}

}  // namespace

std::uint32_t crc32c(std::uint32_t crc, const void* data, std::size_t n) {
  return ~ways().crc(~crc, static_cast<const std::byte*>(data), n);
}

std::uint32_t portable_crc32c(std::uint32_t crc, const void* data, std::size_t n) {
  return ~portable(~crc, static_cast<const std::byte*>(data), n);
}

std::uint32_t block_checksum(std::uint32_t seed, const std::byte* data, std::size_t n) {
  const CrcLanes lanes = ways().lanes(data, n / kLanes);
  return crc32c(seed, lanes.data(), sizeof lanes);
}

}  // namespace shm::nvm
