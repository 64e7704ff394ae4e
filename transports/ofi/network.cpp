// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/network.hpp"

#include "base/fatal.hpp"
#include "ofi/fabric.hpp"

namespace shm {
namespace ofi {
namespace {

OfiChannel* own(Channel* channel) { return static_cast<OfiChannel*>(channel); }
const OfiChannel* own(const Channel* channel) { return static_cast<const OfiChannel*>(channel); }

void send(Channel* channel, int pe, std::uint16_t id, const void* message, std::size_t n) {
  own(channel)->lanes->first().send(own(channel), pe, id, message, n);
}

// Nothing is held back.
void flush(Channel* channel) { own(channel)->lanes->attend(*own(channel)); }

bool idle(const Channel* channel) { return own(channel)->outstanding.idle(); }
bool is_drained(Channel* channel, Drain& wait) {
  if (own(channel)->defers) return idle(channel);  // what is posted later counts anew
  return own(channel)->outstanding.drained(wait.operations);
}

bool idle_to(const Channel* channel, int pe) {
  return own(channel)->to[static_cast<std::size_t>(pe)].load(std::memory_order_acquire) == 0;
}

// One TCP stream carries puts and atomics in order, and a put is stored as it is read from the stream; but an
// atomic is a message that rxm executes a little later, so a later put may be seen first.
bool fence(Channel* channel) {
  if (idle(channel)) return true;
  if (own(channel)->defers) return false;
  return own(channel)->lanes->first().fence_is_free() &&
         own(channel)->atomics.load(std::memory_order_acquire) == 0;
}

// They take the first lane.
bool messages_follow_puts(const Channel* channel) {
  return own(channel)->lane == 0 && own(channel)->lanes->first().fence_is_free();
}

constexpr NetOps kOps = {
    put, get, amo, send, flush, idle, idle_to, fence, nullptr, messages_follow_puts, nullptr, is_drained};

}  // namespace

Status FabricNetwork::add_segment(SegmentId id, void* base, std::size_t size) {
  return first().memory().add_segment(id, base, size);
}

Result<std::vector<std::byte>> FabricNetwork::address() {
  Result<std::vector<std::byte>> endpoint = first().endpoint().address();
  if (!endpoint.ok()) return endpoint.status();
  Result<RemoteSegment> inbox = first().open_inbox(inbox_rings_);
  if (!inbox.ok()) return inbox.status();
  return encode_address({endpoint.value(), first().memory().segments(), inbox.value(), first().cookie()});
}

Status FabricNetwork::connect(int me, int npes, AddressLookup lookup, MessageSink sink) {
  return lanes_.connect(me, npes, lookup, sink);
}

Channel* FabricNetwork::open_channel(ChannelUse use) { return lanes_.open_channel(use, &kOps); }

void FabricNetwork::close_channel(Channel* channel) {
  if (!idle(channel)) fatal("internal error: a network channel was closed with operations outstanding");
  lanes_.close_channel(own(channel));
}

bool FabricNetwork::supports(AtomicOp op, AtomicType type, bool fetching) const {
  const auto& table = fetching ? support_.fetching : support_.plain;
  return table[static_cast<std::size_t>(op)][static_cast<std::size_t>(type)];
}

Packed FabricNetwork::prefers_packed() const { return first().endpoint().quirk().pack; }

bool FabricNetwork::reads_alone() const { return first().endpoint().quirk().gets == Gets::onesided; }

}  // namespace ofi

Result<std::unique_ptr<Network>> open_fabric(const FabricOptions& options) {
  Result<std::unique_ptr<ofi::Endpoint>> endpoint = ofi::Endpoint::open(options);
  if (!endpoint.ok()) return endpoint.status();
  return std::unique_ptr<Network>(std::make_unique<ofi::FabricNetwork>(std::move(endpoint.value()), options));
}

}  // namespace shm
