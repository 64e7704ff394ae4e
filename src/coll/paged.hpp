// SPDX-License-Identifier: BSD-3-Clause
// Collective operations on memory with rules of its own (core/region), which peers cannot map: what each
// member has is staged (staging.hpp) part by part, and the algorithms of memory do the rest.
//
// A member reads only its own source and writes only its own dest, so no page goes to another PE.  Parts are
// as long as fits the staging memory.
//
// The same contracts as in collectives.hpp.  Symmetric arguments are on the same heap everywhere, so all
// members come here or none.  Either end may be in any memory.
#pragma once

#include "coll/collectives.hpp"
#include "core/region.hpp"

namespace shm {

/// Whether one of the two lies in such memory.
inline bool is_paged(const void* dest, const void* source) { return in_region(dest) || in_region(source); }

void paged_broadcast(Group& g, Call call, void* dest, const void* source, std::size_t n, int root,
                     bool root_too);
void paged_fcollect(Group& g, Call call, void* dest, const void* source, std::size_t n);
void paged_collect(Group& g, Call call, void* dest, const void* source, std::size_t n);
void paged_alltoall(Group& g, Call call, const StridedBlocks& dest, const StridedBlocks& source);
void paged_reduce(Group& g, Call call, const Reduction& op, void* dest, const void* source,
                  std::size_t count);
void paged_scan(Group& g, Call call, const Reduction& op, void* dest, const void* source, std::size_t count,
                bool inclusive);

/// Ends the job, naming call and argument, if [address, address + n) begins in such memory and does not end
/// there.
void check_paged(Call call, const char* argument, const void* address, std::size_t n);

}  // namespace shm
