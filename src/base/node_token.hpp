// SPDX-License-Identifier: BSD-3-Clause
// The key under which the PEs of a job find the token of their node with PMIx.
#pragma once

namespace shm {

/// A PMIX_UINT64, random, of the process that leads the node.  oshrun has one for each process, which is at
/// hand when that begins; under other launchers leaders put theirs.
inline constexpr char kNodeTokenKey[] = "atoll.token";

}  // namespace shm
