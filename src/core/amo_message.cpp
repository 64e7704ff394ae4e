// SPDX-License-Identifier: BSD-3-Clause
#include "core/amo_message.hpp"

#include <cstring>

#include "base/peer_stores.hpp"
#include "core/wait.hpp"

namespace shm {
namespace {

// Where the answer goes: on the stack of the waiting call; the request carries its address there and back.
struct Waiting {
  Completion done;
  std::uint64_t result = 0;
};

struct Request {
  RemoteAddress at;
  AtomicOp op;
  AtomicType type;
  std::uint64_t value;
  std::uint64_t compare;
  Waiting* waiting;
};

struct Reply {
  std::uint64_t result;
  Waiting* waiting;
};

std::byte* here(RemoteAddress at) {
  const SymmetricSegment& segment = at.segment == SegmentId::heap ? rt.heap : rt.statics;
  return reinterpret_cast<std::byte*>(segment.origin + at.offset);
}

void execute(void*, int from_pe, const std::byte* message, std::size_t) {
  Request request;
  std::memcpy(&request, message, sizeof request);
  Reply reply{0, request.waiting};
  {
    const PeerStores in_the_name_of_a_peer;
    atomic_apply(request.op, request.type, here(request.at), &request.value, &request.compare, &reply.result);
  }
  rt.progress->send(from_pe, static_cast<std::uint16_t>(MessageId::amo_reply), &reply, sizeof reply);
}

void finish(void*, int, const std::byte* message, std::size_t) {
  Reply reply;
  std::memcpy(&reply, message, sizeof reply);
  reply.waiting->result = reply.result;
  reply.waiting->done.set_done();
}

}  // namespace

void set_amo_handlers() {
  Progress::set_handler(static_cast<std::uint16_t>(MessageId::amo_request), execute, nullptr);
  Progress::set_handler(static_cast<std::uint16_t>(MessageId::amo_reply), finish, nullptr);
}

void amo_by_message(Call call, int pe, RemoteAddress at, AtomicOp op, AtomicType type, const void* value,
                    const void* compare, void* fetch) {
  Waiting waiting;
  Request request{at, op, type, 0, 0, &waiting};
  const std::size_t size = atomic_size(type);
  if (value != nullptr) std::memcpy(&request.value, value, size);
  if (compare != nullptr) std::memcpy(&request.compare, compare, size);
  rt.progress->send(pe, static_cast<std::uint16_t>(MessageId::amo_request), &request, sizeof request);
  wait_for([&] { return waiting.done.done(); },
           [&](WaitRecord& record) { describe_wait(record, call.name, pe, "for PE %d to answer", pe); });
  if (fetch != nullptr) std::memcpy(fetch, &waiting.result, size);
}

}  // namespace shm
