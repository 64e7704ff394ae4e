// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/quirks.hpp"

namespace shm::ofi {
namespace {

constexpr bool yes = true;
constexpr bool no = false;

constexpr Quirk kQuirks[] = {
#define PROVIDER(name, rank, order, wait, atomics, pack, gets, local_mr, warm, inbox, peeks, credits, \
                 tested, why)                                                                         \
  {name,     rank, Order::order, Wait::wait, Atomics::atomics, Packed::pack, Gets::gets,              \
   local_mr, warm, inbox,        peeks,      credits,          tested,       why},
#include "ofi/quirks.def"
#undef PROVIDER
};

}  // namespace

std::span<const Quirk> quirks() { return kQuirks; }

Quirk find_quirk(std::string_view provider) {
  for (const Quirk& row : kQuirks) {
    if (row.name == provider) return row;
  }
  return {.name = provider,
          .rank = 0,
          .order = Order::none,
          .wait = Wait::none,
          .atomics = Atomics::none,
          .pack = Packed::atomics,
          .gets = Gets::message,
          .local_mr = true,
          .warm = false,
          .inbox = false,
          .peeks = false,
          .credits = 64,
          .tested = no,
          .why = "unknown to Atoll"};
}

}  // namespace shm::ofi
