// SPDX-License-Identifier: BSD-3-Clause
// Environment variables, parsed and validated once.  To add one, add its row to env.def.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/status.hpp"

namespace shm {

/// How much of its arguments a call looks at.
enum class Checks {
  least,  ///< what costs no more than a comparison
  usual,
  full,  ///< each address and length, against the object that it belongs to (tools/checks)
};

/// The values of all variables.  Members carry the names of env.def.
struct Env {
  // Kinds of variables.  A variable that is set to nothing counts as unset.
  // Switch: whether the variable is set, to whatever it is.
  // Flag: "0", "off", "no" and "false" are false, anything else is true.
  // Size: see parse_size(); unset: empty.  Count: a whole number up to 1e9, or "auto": empty.
  // Level: "0", "off", "no" or "false"; "1", "on", "yes" or "true"; or "full": the three Checks.
  // Entries of a table: a whole number from 1 to kMostEntries.
  // Choice: one of the words of the row, the first is the default.  Text: anything.
  // Seconds: a number above 0, at most 30 days.  Patience: the same from 2 seconds on, or 0: without end.
  static constexpr unsigned kMostEntries = 1024;
  using Switch = bool;
  using Flag = bool;
  using Level = Checks;
  using Size = std::optional<std::size_t>;
  using Count = std::optional<std::uint64_t>;
  using Entries = std::uint64_t;
  using Choice = std::string;
  using Text = std::string;
  using Seconds = double;
  using Patience = double;

#define ENV(NAME, KIND, member, def, help) KIND member{};
#include "base/env.def"
#undef ENV

  /// Reads the environment.  The error names the variable, its value and what is allowed.
  static Result<Env> read();

  /// One line per variable: name, value in force, default, help.
  std::string describe() const;
};

/// A size as the specification writes it (SHMEM_SYMMETRIC_SIZE): a non-negative integer or decimal, then at
/// most one suffix of kKmMgGtT (powers of 1024); what follows the suffix is ignored; fractions are rounded
/// up. Empty result: the text does not start with a number, or the value does not fit.
std::optional<std::size_t> parse_size(std::string_view text);

/// The variable that SHMEM_<name> has its value from: this one, its older name, or another implementation's.
/// For lines that tell a user which one to change.  As getenv().
std::string variable_in_use(std::string_view name);

/// Whether a Flag that is set to `text` is on.
bool is_on(std::string_view text);

}  // namespace shm
