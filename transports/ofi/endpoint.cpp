// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/endpoint.hpp"

#include <rdma/fi_errno.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <utility>

#include "base/fatal.hpp"
#include "base/limits.hpp"
#include "ofi/interface.hpp"
#include "ofi/ring.hpp"

namespace shm::ofi {
namespace {

constexpr std::size_t kQueueSize = 4096;

constexpr std::size_t kMostReceives = 65536;  // that rxm takes without being told by its environment

void ask_for_tags(fi_info& hints, std::size_t receives) {
  hints.caps = FI_MSG | FI_TAGGED;
  hints.tx_attr->inject_size = sizeof(std::uint64_t) + kMostMatched;  // with the cookie
  hints.rx_attr->size = std::min(receives, kMostReceives);
}

// What we ask of the provider of `quirk`.  Owned by the caller.
fi_info* make_hints(const Library& library, const Quirk& quirk, const FabricOptions& options) {
  fi_info* hints = library.dupinfo(nullptr);
  if (hints == nullptr) return nullptr;
  hints->fabric_attr->prov_name = strndup(quirk.name.data(), quirk.name.size());
  hints->caps = FI_MSG | FI_RMA;
  // Where atomics are not the target CPU's, the core sends messages instead.
  if (quirk.atomics == Atomics::cpu) hints->caps |= FI_ATOMIC;
  hints->mode = FI_CONTEXT | FI_CONTEXT2;
  hints->ep_attr->type = FI_EP_RDM;
  hints->domain_attr->mr_mode = FI_MR_VIRT_ADDR | FI_MR_ALLOCATED | FI_MR_PROV_KEY | FI_MR_ENDPOINT;
  if (quirk.local_mr) hints->domain_attr->mr_mode |= FI_MR_LOCAL;
  hints->domain_attr->threading = FI_THREAD_DOMAIN;
  hints->domain_attr->data_progress =
      FI_PROGRESS_MANUAL;  // the core's agent is better: it knows when to keep out
  hints->domain_attr->resource_mgmt = FI_RM_ENABLED;
  hints->tx_attr->msg_order = FI_ORDER_SAS;
  hints->rx_attr->msg_order = FI_ORDER_SAS;
  if (quirk.inbox) hints->tx_attr->inject_size = RingCursor::kLargestEntry;
  if (options.tagged_receives != 0) ask_for_tags(*hints, options.tagged_receives);
  return hints;
}

Status failed(const Library& library, const char* call, long code) {
  return Status::error(std::string("libfabric: ") + call + ": " + library.error(code) +
                       limit_behind(static_cast<int>(code < 0 ? -code : code)));
}

}  // namespace

Status Endpoint::find_provider(const FabricOptions& options) {
  std::vector<Quirk> candidates;
  if (!options.provider.empty()) {
    candidates.push_back(find_quirk(options.provider));
  } else {
    std::ranges::copy_if(quirks(), std::back_inserter(candidates),
                         [](const Quirk& row) { return row.rank > 0; });
    std::ranges::sort(candidates, {}, &Quirk::rank);
  }
  const char* node = options.loopback_only && options.interface.empty() ? "127.0.0.1" : nullptr;
  std::string reasons;
  for (const Quirk& row : candidates) {
    fi_info* hints = make_hints(*library_, row, options);
    if (hints == nullptr) return Status::error("libfabric: out of memory");
    fi_info* list = nullptr;
    const int code = library_->getinfo(FI_VERSION(1, 17), node, nullptr, node ? FI_SOURCE : 0, hints, &list);
    library_->freeinfo(hints);
    if (code == 0) {
      const fi_info* best = best_address(list, options.interface);
      if (best == nullptr) {
        const std::string there_are = addresses_in(list);
        library_->freeinfo(list);
        return Status::error("SHMEM_INTERFACE is '" + options.interface + "', which libfabric (" +
                             std::string(row.name) + ") does not have here; allowed are " + there_are);
      }
      info_ = library_->dupinfo(best);
      library_->freeinfo(list);
      if (info_ == nullptr) return Status::error("libfabric: out of memory");
      if (!options.loopback_only && is_for_this_host_alone(*info_)) {
        return Status::error("the job spans hosts, and libfabric (" + provider() +
                             ") finds no address that other hosts can reach: is a network interface up?");
      }
      // What came may be more than what was asked for ("tcp" gives tcp;ofi_rxm) or less (no atomics).
      quirk_ = find_quirk(info_->fabric_attr->prov_name);
      if ((info_->caps & FI_ATOMIC) == 0) quirk_.atomics = Atomics::none;
      return {};
    }
    reasons += (reasons.empty() ? "" : ", ") + std::string(row.name) + ": " + library_->error(code);
  }
  return Status::error("no libfabric provider (" + reasons +
                       "); shmem_info --providers lists what SHMEM_PROVIDER may be here");
}

Status Endpoint::open_objects() {
  const Library& lib = *library_;
  const ConnectionTokens::Opening opening(tokens_);
  fid_fabric* fabric = nullptr;
  if (int code = lib.fabric(info_->fabric_attr, &fabric, nullptr)) return failed(lib, "fi_fabric", code);
  fabric_.reset(fabric);
  fid_domain* domain = nullptr;
  if (int code = fi_domain(fabric, info_, &domain, nullptr)) return failed(lib, "fi_domain", code);
  domain_.reset(domain);

  fi_av_attr av_attributes{};
  av_attributes.type = FI_AV_UNSPEC;
  fid_av* av = nullptr;
  if (int code = fi_av_open(domain, &av_attributes, &av, nullptr)) return failed(lib, "fi_av_open", code);
  av_.reset(av);

  fi_cq_attr cq_attributes{};
  cq_attributes.size = 2 * kQueueSize;
  cq_attributes.format = FI_CQ_FORMAT_TAGGED;
  cq_attributes.wait_obj = quirk_.wait == Wait::fd ? FI_WAIT_FD : FI_WAIT_NONE;
  fid_cq* cq = nullptr;
  if (int code = fi_cq_open(domain, &cq_attributes, &cq, nullptr)) return failed(lib, "fi_cq_open", code);
  cq_.reset(cq);

  fid_ep* ep = nullptr;
  if (int code = fi_endpoint(domain, info_, &ep, nullptr)) return failed(lib, "fi_endpoint", code);
  ep_.reset(ep);
  if (int code = fi_ep_bind(ep, &av->fid, 0)) return failed(lib, "fi_ep_bind(av)", code);
  if (int code = fi_ep_bind(ep, &cq->fid, FI_TRANSMIT | FI_RECV)) return failed(lib, "fi_ep_bind(cq)", code);
  if (int code = fi_enable(ep)) return failed(lib, "fi_enable", code);

  if (quirk_.wait == Wait::fd && fi_control(&cq->fid, FI_GETWAIT, &wait_fd_) != 0) wait_fd_ = -1;
  return {};
}

// Sends a message to itself.  rxm clears 17 MB of send buffers when it takes the first one, which takes 10
// ms; without this, the first contact of two PEs would wait for both to do so, one after the other.
Status Endpoint::warm_up() {
  Result<std::vector<std::byte>> own = address();
  if (!own.ok()) return own.status();
  fi_addr_t self = FI_ADDR_UNSPEC;
  if (Status status = insert(own.value(), &self); !status.ok())
    return Status::error("libfabric: the endpoint's own address " + status.text());
  fi_context2 sending{}, receiving{};
  if (const auto code = fi_recv(ep_.get(), nullptr, 0, nullptr, FI_ADDR_UNSPEC, &receiving)) {
    return failed(*library_, "fi_recv", code);
  }
  bool sent = false;
  // Time that this thread was not given does not count.
  using Clock = std::chrono::steady_clock;
  constexpr auto kLongestStep = std::chrono::milliseconds(50);
  Clock::duration left = std::chrono::seconds(10);
  Clock::time_point last = Clock::now();
  for (int completions = 0; completions < 2;) {
    if (!sent) {
      const auto code = fi_send(ep_.get(), nullptr, 0, nullptr, self, &sending);
      if (code != 0 && code != -FI_EAGAIN) return failed(*library_, "fi_send", code);
      sent = code == 0;
    }
    fi_cq_tagged_entry entry;
    const auto code = fi_cq_read(cq_.get(), &entry, 1);
    if (code == 1) ++completions;
    if (code < 0 && code != -FI_EAGAIN) return failed(*library_, "fi_cq_read", code);
    const Clock::time_point now = Clock::now();
    left -= std::min<Clock::duration>(now - std::exchange(last, now), kLongestStep);
    if (left < Clock::duration::zero()) {
      return Status::error("libfabric " + provider() +
                           ": the endpoint cannot reach itself: is the interface up?");
    }
  }
  return {};
}

namespace {

bool listens_on_tcp(const std::string& provider) {
  return provider.find("tcp") != std::string::npos || provider.find("sockets") != std::string::npos ||
         provider.starts_with("net");
}

}  // namespace

void Endpoint::warn_of_strangers() const {
  if (token() != ConnectionToken{}) return;
  if (library_->guard == Guard::none)
    warn(
        "this libfabric takes connections in a way that Atoll does not know, so other users of this host can "
        "connect (docs/security.md)");
  else
    warn("who reaches the port of this process can pose as a PE: connections %s (docs/security.md)",
         library_->guard == Guard::users || !tokens_.heard_of_listen()
             ? "are made in a way that Atoll does not know"
             : "cannot be held back until they say what they know (TCP_DEFER_ACCEPT)");
}

Result<std::unique_ptr<Endpoint>> Endpoint::open(const FabricOptions& options) {
  Result<const Library*> library = load_library();
  if (!library.ok()) return library.status();
  std::unique_ptr<Endpoint> endpoint(new Endpoint);
  endpoint->library_ = library.value();
  endpoint->faults_ = {options.faults, options.failing_operation};
  if (Status status = endpoint->find_provider(options); !status.ok()) return status;
  if (Status status = endpoint->open_objects(); !status.ok()) {
    return Status::error("libfabric provider " + endpoint->provider() + " cannot be used (" + status.text() +
                         "); shmem_info --providers lists what SHMEM_PROVIDER may be here");
  }
  if (listens_on_tcp(endpoint->provider())) endpoint->warn_of_strangers();
  if (endpoint->quirk_.warm && options.sends) {
    if (Status status = endpoint->warm_up(); !status.ok()) return status;
  }
  endpoint->add_faults();
  return endpoint;
}

Result<std::unique_ptr<Endpoint>> Endpoint::open_another() const {
  std::unique_ptr<Endpoint> endpoint(new Endpoint);
  endpoint->library_ = library_;
  endpoint->quirk_ = quirk_;
  endpoint->faults_ = {faults_.seed, 0};  // the operation that fails is one of the first endpoint's
  endpoint->info_ = library_->dupinfo(info_);
  if (endpoint->info_ == nullptr) return Status::error("libfabric: out of memory");
  if (Status status = endpoint->open_objects(); !status.ok()) return status;
  endpoint->add_faults();
  return endpoint;
}

void Endpoint::add_faults() {
  if (faults_.any()) faulty_ = std::make_unique<FaultyProvider>(*ep_, *cq_, faults_);
}

Endpoint::~Endpoint() {
  ep_.reset();
  cq_.reset();
  av_.reset();
  domain_.reset();
  fabric_.reset();
  if (info_ != nullptr) library_->freeinfo(info_);
}

Result<std::vector<std::byte>> Endpoint::address() const {
  Result<std::vector<std::byte>> bytes = name();
  if (!bytes.ok()) return bytes;
  const ConnectionToken own = token();
  const auto* first = reinterpret_cast<const std::byte*>(&own);
  bytes.value().insert(bytes.value().begin(), first, first + sizeof own);
  return bytes;
}

Status Endpoint::insert(std::span<const std::byte> address, fi_addr_t* peer) {
  ConnectionToken asked{};
  if (address.size() <= sizeof asked) return Status::error("is too short");
  std::memcpy(&asked, address.data(), sizeof asked);
  const std::span<const std::byte> name = address.subspan(sizeof asked);
  const bool can_show = library_->guard == Guard::tokens && tokens_.heard_of_listen();
  const bool is_place = tokens_.add_peer(name, asked);
  if (asked != ConnectionToken{} && (!can_show || !is_place))
    return Status::error(
        "asks for a token, which this libfabric cannot be made to show: use the same build of it on all "
        "hosts");
  if (fi_av_insert(av_.get(), name.data(), 1, peer, 0, nullptr) != 1) return Status::error("was refused");
  return {};
}

Result<std::vector<std::byte>> Endpoint::name() const {
  std::vector<std::byte> name(256);
  std::size_t length = name.size();
  if (int code = fi_getname(&ep_->fid, name.data(), &length)) return failed(*library_, "fi_getname", code);
  name.resize(length);
  return name;
}

bool Endpoint::may_sleep() const {
  if (wait_fd_ < 0) return false;
  fid* queue = &cq_->fid;
  return fi_trywait(fabric_.get(), &queue, 1) == 0;
}

}  // namespace shm::ofi
