// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/quirks.hpp"

namespace shm::ofi {
namespace {

constexpr bool yes = true;
constexpr bool no = false;

constexpr Quirk kQuirks[] = {
#define PROVIDER(name, rank, order, wait, atomics, local_mr, warm, inbox, credits, tested, why) \
  {name, rank, Order::order, Wait::wait, Atomics::atomics, local_mr, warm, inbox, credits, tested, why},
#include "ofi/quirks.def"
#undef PROVIDER
};

}  // namespace

std::span<const Quirk> quirks() { return kQuirks; }

Quirk find_quirk(std::string_view provider) {
  for (const Quirk& row : kQuirks) {
    if (row.name == provider) return row;
  }
  return {provider, 0,     Order::none, Wait::none, Atomics::none,     true,
          false,    false, 64,          no,         "unknown to Atoll"};
}

}  // namespace shm::ofi
