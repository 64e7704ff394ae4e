// SPDX-License-Identifier: BSD-3-Clause
// A provider that misbehaves as far as libfabric's contract lets it, around any other: for tests of the
// engine. (transports/faulty is the same one seam higher, for tests of all that stands on a Network.)
//
// What it does: storms of FI_EAGAIN, in which up to 199 calls in turn, in up to 50 ms, find no room; and,
// if asked, one operation that ends with an error.
#pragma once

#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstdint>
#include <memory>

namespace shm::ofi {

struct ProviderFaults {
  std::uint64_t seed = 0;               // of the storms; 0: none
  std::uint64_t failing_operation = 0;  // the completion with this number, from 1 on, is an error; 0: none
  bool any() const { return seed != 0 || failing_operation != 0; }
};

/// Stands before the function tables of an endpoint and its queue.  Outlives both.  Thread safety: that of
/// the endpoint.
class FaultyProvider {
 public:
  FaultyProvider(fid_ep& ep, fid_cq& cq, ProviderFaults faults);
  ~FaultyProvider();
  struct State;

 private:
  std::unique_ptr<State> state_;
};

}  // namespace shm::ofi
