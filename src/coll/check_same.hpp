// SPDX-License-Identifier: BSD-3-Clause
// Whether all PEs are in the same collective call, with the same arguments.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "core/address.hpp"

namespace shm {

struct Argument {
  const char* name;
  std::uint64_t value;
  bool is_number = true;  // else a value that says nothing to people: an address, a hash
};

/// Collective over the world; a barrier.  Ends the job with a line on the argument where a PE passes another
/// value than its neighbour, or is in another call or another barrier; so if it returns everywhere, all are
/// alike; others may have returned from it when a PE finds a difference, which no barrier that follows lets
/// go on. At most Said::kValues of them.
void check_same(Call call, std::initializer_list<Argument> arguments);

}  // namespace shm
