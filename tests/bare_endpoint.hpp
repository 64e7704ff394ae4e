// SPDX-License-Identifier: BSD-3-Clause
// An endpoint of libfabric over loopback or a network (tcp;ofi_rxm), for programs that use libfabric without
// Atoll: yardsticks, and strangers to a job.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>
#include <rdma/fi_errno.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

namespace bare {

/// Ends the process with a line if a call of libfabric has failed.
inline void check(long code, const char* call) {
  if (code >= 0) return;
  std::fprintf(stderr, "%s: %s\n", call, fi_strerror(static_cast<int>(-code)));
  _exit(1);
}

/// Everything is open until close(), or the end of the process.
struct Endpoint {
  /// `caps`: as in fi_info.  `automatic`: libfabric makes progress by itself, and threads may share the
  /// endpoint.  `address`: the host's own that it uses.
  void open(std::uint64_t caps, bool automatic, const char* address = "127.0.0.1") {
    fi_info* hints = fi_allocinfo();
    hints->fabric_attr->prov_name = strdup("tcp;ofi_rxm");
    hints->caps = caps;
    hints->mode = FI_CONTEXT;
    hints->ep_attr->type = FI_EP_RDM;
    hints->domain_attr->threading = automatic ? FI_THREAD_SAFE : FI_THREAD_DOMAIN;
    hints->domain_attr->data_progress = automatic ? FI_PROGRESS_AUTO : FI_PROGRESS_MANUAL;
    check(fi_getinfo(FI_VERSION(1, 17), address, nullptr, FI_SOURCE, hints, &info), "fi_getinfo");
    check(fi_fabric(info->fabric_attr, &fabric, nullptr), "fi_fabric");
    check(fi_domain(fabric, info, &domain, nullptr), "fi_domain");
    fi_av_attr av_attributes{};
    check(fi_av_open(domain, &av_attributes, &av, nullptr), "fi_av_open");
    fi_cq_attr cq_attributes{};
    cq_attributes.format = FI_CQ_FORMAT_TAGGED;
    cq_attributes.wait_obj = FI_WAIT_FD;
    cq_attributes.size = 8192;
    check(fi_cq_open(domain, &cq_attributes, &cq, nullptr), "fi_cq_open");
    check(fi_endpoint(domain, info, &ep, nullptr), "fi_endpoint");
    check(fi_ep_bind(ep, &av->fid, 0), "bind");
    check(fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV), "bind");
    check(fi_enable(ep), "fi_enable");
  }

  void close() {
    for (fid* object : {&ep->fid, &cq->fid, &av->fid, &domain->fid, &fabric->fid}) fi_close(object);
    fi_freeinfo(info);
  }

  fi_info* info = nullptr;
  fid_fabric* fabric = nullptr;
  fid_domain* domain = nullptr;
  fid_av* av = nullptr;
  fid_cq* cq = nullptr;
  fid_ep* ep = nullptr;
};

}  // namespace bare
