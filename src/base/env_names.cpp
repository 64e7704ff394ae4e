// SPDX-License-Identifier: BSD-3-Clause
#include "base/env_names.hpp"

#include <algorithm>
#include <cstdlib>
#include <iterator>

#include "base/edit_distance.hpp"

extern char** environ;

namespace shm {
namespace {

constexpr std::string_view kNames[] = {
#define ENV(NAME, KIND, member, def, help) #NAME,
#include "base/env.def"
#undef ENV
};

struct Foreign {
  std::string_view name, whose, ours, help;
};

constexpr Foreign kForeign[] = {
#define FOREIGN(name, whose, ours, help) {#name, whose, ours, help},
#include "base/env_foreign.def"
#undef FOREIGN
};

constexpr std::string_view kOldNames[] = {"VERSION", "INFO", "DEBUG", "SYMMETRIC_SIZE"};

constexpr std::string_view kPrefix = "SHMEM_", kOldPrefix = "SMA_";

bool is_ours(std::string_view name) {
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

/// The row of a variable as the environment has it, or null. SMA_ stands for SHMEM_.
const Foreign* foreign(std::string_view variable) {
  const std::string name = variable.starts_with(kOldPrefix)
                               ? std::string(kPrefix).append(variable.substr(kOldPrefix.size()))
                               : std::string(variable);
  for (const Foreign& row : kForeign)
    if (row.name == name) return &row;
  return nullptr;
}

// The variable of ours that `name`, which does not count, is probably meant to be; or nothing.
std::string_view meant_by(std::string_view name) {
  constexpr std::size_t kTypingErrors = 2;
  std::string_view nearest;
  std::size_t least = kTypingErrors + 1;
  const auto consider = [&](std::string_view known, std::string_view ours) {
    const std::size_t distance = edit_distance(name, known);
    if (distance >= least || distance >= known.size() / 2 + 1) return;
    least = distance;
    nearest = ours;
  };
  for (const std::string_view ours : kNames) consider(ours, ours);
  for (const Foreign& row : kForeign)
    if (!row.ours.empty() && row.name.starts_with(kPrefix))
      consider(row.name.substr(kPrefix.size()), row.ours);
  return nearest;
}

std::string remark_on_foreign(std::string_view variable, const Foreign& row) {
  const std::string of = std::string(variable) + " is a variable of " + std::string(row.whose);
  if (row.ours.empty()) return of + " and has no effect here: " + std::string(row.help);
  const std::string ours = std::string(kPrefix).append(row.ours);
  if (value_unless_empty(ours.c_str()) != nullptr)
    return of + " and has no effect here, as " + ours + " is set, too";
  return of + "; it is taken for " + ours;
}

/// Empty: nothing to say.
std::string remark_on(std::string_view variable) {
  if (const Foreign* row = foreign(variable); row != nullptr) return remark_on_foreign(variable, *row);
  const bool old = variable.starts_with(kOldPrefix);
  if (!old && !variable.starts_with(kPrefix)) return {};
  const std::string_view name = variable.substr((old ? kOldPrefix : kPrefix).size());
  if (old ? has_old_name(name) : is_ours(name)) return {};
  const std::string_view meant = meant_by(name);
  if (meant.empty()) return {};
  return std::string(variable) + " is not known here; is SHMEM_" + std::string(meant) + " meant?";
}

}  // namespace

bool has_old_name(std::string_view name) {
  return std::find(std::begin(kOldNames), std::end(kOldNames), name) != std::end(kOldNames);
}

const char* value_unless_empty(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : nullptr;
}

std::string foreign_variable(std::string_view name) {
  for (const Foreign& row : kForeign) {
    if (row.ours != name) continue;
    if (std::string now(row.name); value_unless_empty(now.c_str()) != nullptr) return now;
    if (!row.name.starts_with(kPrefix)) continue;
    std::string old = std::string(kOldPrefix).append(row.name.substr(kPrefix.size()));
    if (value_unless_empty(old.c_str()) != nullptr) return old;
  }
  return {};
}

std::vector<std::string> remarks_on_variables() {
  std::vector<std::string> remarks;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (equals == text.npos || equals + 1 == text.size()) continue;
    std::string remark = remark_on(text.substr(0, equals));
    if (!remark.empty()) remarks.push_back(std::move(remark));
  }
  return remarks;
}

}  // namespace shm
