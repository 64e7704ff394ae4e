// SPDX-License-Identifier: BSD-3-Clause
// The rows of quirks.def as data.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "net.hpp"

namespace shm::ofi {

/// Which order the wire keeps between operations to one PE.
enum class Order : std::uint8_t { none, puts };

/// Whether what one thread stores is seen by all threads in that order, as on x86.  A provider that stores
/// puts in the order of the stream keeps their order only then: no barrier is between its stores.
#if defined(__x86_64__)
inline constexpr bool kStoresStayInOrder = true;
#else
inline constexpr bool kStoresStayInOrder = false;
#endif

/// Whether puts and atomics to one PE are seen there behind earlier puts.
constexpr bool puts_stay_in_order(Order order, bool stores_stay_in_order = kStoresStayInOrder) {
  return order == Order::puts && stores_stay_in_order;
}

/// How a thread can sleep until the provider has work.
enum class Wait : std::uint8_t { none, fd };

/// Who executes the provider's atomics.
enum class Atomics : std::uint8_t { none, own, cpu };

/// How elements of tables on other nodes are got.
enum class Gets : std::uint8_t { message, onesided };

/// One provider.  The columns are explained in quirks.def.
struct Quirk {
  std::string_view name;  // as in fi_info
  int rank;               // 0: only when named
  Order order;
  Wait wait;
  Atomics atomics;
  Packed pack;
  Gets gets;
  bool local_mr;          // offer FI_MR_LOCAL
  bool warm;              // send a message to ourselves at open
  bool inbox;             // short messages are written into the receiver's memory
  bool peeks;             // finds tagged messages that nothing has matched
  std::uint32_t credits;  // operations in flight per PE
  bool tested;
  std::string_view why;
};

/// All rows, in the order of the file.
std::span<const Quirk> quirks();

/// The row of a provider.  One that has none gets the row that assumes least, under its own name, which must
/// then outlive the result.
Quirk find_quirk(std::string_view provider);

}  // namespace shm::ofi
