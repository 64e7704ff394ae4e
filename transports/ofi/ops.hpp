// SPDX-License-Identifier: BSD-3-Clause
// The functions of the NetOps table, and the table of supported atomics.
#pragma once

#include <cstddef>

#include "net.hpp"
#include "ofi/engine.hpp"

namespace shm::ofi {

// rma.cpp.  Contracts: NetOps.  Long transfers are split; each part takes a record and a credit.
void put(Channel*, int pe, RemoteAddress to, const void* source, std::size_t n, bool copy, Completion*);
void get(Channel*, int pe, void* dest, RemoteAddress from, std::size_t n, Completion*);

// atomic.cpp.  Contracts: NetOps.  swap, set, fetch and compare_swap move bits, whatever the type, as
// base/atomic_op.hpp does.
void amo(Channel*, int pe, RemoteAddress at, AtomicOp op, AtomicType type, const void* value,
         const void* compare, void* fetch, Completion*);

/// Which atomics the provider takes, in the two forms.  Asked once: a query walks the provider's tables.
struct AtomicSupport {
  bool plain[kAtomicOps][kAtomicTypes] = {};
  bool fetching[kAtomicOps][kAtomicTypes] = {};
};
AtomicSupport query_atomics(const Endpoint& endpoint);

}  // namespace shm::ofi
