// SPDX-License-Identifier: BSD-3-Clause
// How a transfer is put to the provider.
#pragma once

#include <rdma/fi_rma.h>

#include "ofi/engine.hpp"

namespace shm::ofi {

/// What the provider is told of a transfer from or into `local`, until it has taken it.  Under the engine's
/// lock; `op` is the transfer's record, and gets what must be registered for it.
class Request {
 public:
  Request(Engine& engine, const Transfer& transfer, void* local, Op* op)
      : here_{local, transfer.n}, kind_(transfer.kind), ep_(engine.endpoint().ep()) {
    const Peer& peer = engine.peer(transfer.pe);
    const RemoteSegment& segment = peer.segments[static_cast<std::size_t>(transfer.at.segment)];
    there_ = {segment.base + transfer.at.offset, transfer.n, segment.key};
    descriptor_ = engine.memory().descriptor(local, transfer.n, &op->temporary);
    message_.msg_iov = &here_;
    message_.desc = &descriptor_;
    message_.iov_count = 1;
    message_.addr = peer.address;
    message_.rma_iov = &there_;
    message_.rma_iov_count = 1;
    message_.context = op;
  }
  Request(const Request&) = delete;
  Request& operator=(const Request&) = delete;

  /// A put completes when its data are in the target's memory.  Returns the provider's code.
  long post() const {
    if (kind_ == OpKind::put) return fi_writemsg(ep_, &message_, FI_COMPLETION | FI_DELIVERY_COMPLETE);
    return fi_readmsg(ep_, &message_, FI_COMPLETION);
  }

 private:
  iovec here_;
  fi_rma_iov there_{};
  void* descriptor_ = nullptr;
  fi_msg_rma message_{};
  const OpKind kind_;
  fid_ep* const ep_;
};

}  // namespace shm::ofi
