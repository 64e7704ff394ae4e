// SPDX-License-Identifier: BSD-3-Clause
// Names of environment variables that are none of ours: those of other implementations, and misspelt ones.
// Thread safety: as getenv(), for nobody may change the environment meanwhile.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace shm {

/// A variable that is set to nothing counts as unset.
const char* value_unless_empty(const char* name);

/// Whether the specification keeps SMA_<name> alive as the old name of SHMEM_<name>.
bool has_old_name(std::string_view name);

/// The variable of another implementation that is set for SHMEM_<name>, or "".
std::string foreign_variable(std::string_view name);

/// One sentence for each variable that is set and has another meaning here than its user may think: another
/// implementation's (env_foreign.def), or a SHMEM_ or SMA_ variable that differs by so little from one that
/// counts that it is probably misspelt. Others are left alone: they may be another library's.
std::vector<std::string> remarks_on_variables();

}  // namespace shm
