// SPDX-License-Identifier: BSD-3-Clause
// The program's global and static variables, from the symbols of its file.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "base/call_checks.hpp"

namespace checks {

struct Variable {
  std::uintptr_t base;
  std::size_t size;
  std::string name;

  std::uintptr_t end() const { return base + size; }
};

/// Variables in `range`, ascending and apart: of those that overlap one is left, which has the others in it.
/// What has a name and no size, as in assembly, ends where the next one begins.
std::vector<Variable> apart(std::vector<Variable> all, const shm::CheckedRange& range);

/// Those of this process's executable; empty: its file has no symbols (strip), or cannot be read.
std::vector<Variable> variables_of_program(const shm::CheckedRange& range);

}  // namespace checks
