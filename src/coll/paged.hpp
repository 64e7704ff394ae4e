// SPDX-License-Identifier: BSD-3-Clause
// Collective operations on memory with rules of its own (core/region), which peers cannot map: every member
// gets what it needs from the others, between two barriers.
//
// The same contracts as in collectives.hpp.  Symmetric arguments are on the same heap everywhere, so all
// members come here or none.
#pragma once

#include "coll/collectives.hpp"
#include "core/region.hpp"

namespace shm {

/// Whether one of the two lies in such memory.
inline bool is_paged(const void* dest, const void* source) { return in_region(dest) || in_region(source); }

void paged_broadcast(Group& g, Call call, void* dest, const void* source, std::size_t n, int root);
void paged_collect(Group& g, Call call, void* dest, const void* source, std::size_t n);
void paged_alltoall(Group& g, Call call, const StridedBlocks& dest, const StridedBlocks& source);
void paged_reduce(Group& g, Call call, const Reduction& op, void* dest, const void* source,
                  std::size_t count);
void paged_scan(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count,
                bool inclusive);

}  // namespace shm
