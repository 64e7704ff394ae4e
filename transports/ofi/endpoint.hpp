// SPDX-License-Identifier: BSD-3-Clause
// The libfabric objects of an engine: fabric, domain, address vector, completion queue and one endpoint.
#pragma once

#include <rdma/fabric.h>
#include <rdma/fi_cm.h>
#include <rdma/fi_domain.h>
#include <rdma/fi_endpoint.h>

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/status.hpp"
#include "ofi/connection_tokens.hpp"
#include "ofi/fabric.hpp"
#include "ofi/faulty_provider.hpp"
#include "ofi/loader.hpp"
#include "ofi/quirks.hpp"

namespace shm::ofi {

/// Closes a libfabric object.  Members of Endpoint stand in the order in which they open, so they close in
/// the reverse one: rxm frees a queue that is still in use and then crashes on the second close.
template <class Fid>
struct Closer {
  void operator()(Fid* object) const { fi_close(&object->fid); }
};
template <class Fid>
using Handle = std::unique_ptr<Fid, Closer<Fid>>;

/// Everything that one open provider consists of.  A process has one that its peers know, and some for
/// contexts. Thread safety: none.  The domain is opened with FI_THREAD_DOMAIN, that is without locks of its
/// own: every call on any member, fi_trywait() included, is made with the engine's lock held.
class Endpoint {
 public:
  /// Finds the provider and opens everything.  The error names the providers that were tried.
  /// Ends with a message to itself where quirks.def says that the first one is slow (10 ms), and any are
  /// sent.
  static Result<std::unique_ptr<Endpoint>> open(const FabricOptions& options);
  ~Endpoint();

  /// Another one at the same provider and interface, with fabric and domain of its own: what one thread does
  /// with it takes no lock of the other.  Not warmed up.
  Result<std::unique_ptr<Endpoint>> open_another() const;

  /// Closes ep(): from here on nobody writes to buffers and segments, which may go.
  void stop() { ep_.reset(); }

  /// The row of the provider that was opened, corrected by what it reported, and what it reported.
  const Library& library() const { return *library_; }
  const Quirk& quirk() const { return quirk_; }
  const fi_info& info() const { return *info_; }
  std::string provider() const { return info_->fabric_attr->prov_name; }

  /// The objects, never null, owned by this.
  fid_ep* ep() const { return ep_.get(); }
  fid_cq* cq() const { return cq_.get(); }
  fid_av* av() const { return av_.get(); }
  fid_domain* domain() const { return domain_.get(); }

  /// What peers need to connect: the token that their connections must begin with, and the name.
  Result<std::vector<std::byte>> address() const;

  /// Makes a peer reachable by its address().  The text of an error follows "the address of PE 3".
  Status insert(std::span<const std::byte> address, fi_addr_t* peer);

  /// What the provider calls itself.
  Result<std::vector<std::byte>> name() const;

  /// None: who can connect is believed.
  ConnectionToken token() const { return tokens_.told(); }

  /// Descriptor that is readable when the queue has work; -1 if the provider has none.
  int wait_fd() const { return wait_fd_; }

  /// Whether a thread may sleep on wait_fd() now.  Makes progress: may store what a peer sent.
  bool may_sleep() const;

  /// Whether local buffers must be registered, and whether remote addresses are the target's virtual ones;
  /// else they are offsets from the registered base.
  bool needs_local_mr() const { return (info_->domain_attr->mr_mode & FI_MR_LOCAL) != 0; }
  bool uses_virtual_addresses() const { return (info_->domain_attr->mr_mode & FI_MR_VIRT_ADDR) != 0; }

 private:
  // In this order.
  Endpoint() = default;
  Status find_provider(const FabricOptions& options);
  Status open_objects();
  Status warm_up();
  void warn_of_strangers() const;
  void add_faults();

  const Library* library_ = nullptr;
  Quirk quirk_{};
  fi_info* info_ = nullptr;  // owned
  int wait_fd_ = -1;         // owned by cq_
  ProviderFaults faults_{};
  std::unique_ptr<FaultyProvider> faulty_;
  ConnectionTokens tokens_;
  Handle<fid_fabric> fabric_;
  Handle<fid_domain> domain_;
  Handle<fid_av> av_;
  Handle<fid_cq> cq_;
  Handle<fid_ep> ep_;
};

}  // namespace shm::ofi
