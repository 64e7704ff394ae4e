// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/coherence/message_check.hpp"

#include <algorithm>
#include <cstring>

#include "base/huge_pages.hpp"

namespace shm::nvm {
namespace {

constexpr const char* kCut = "that is cut off";
constexpr const char* kNoPage = "about a page that it has not";
constexpr const char* kNoOperation = "with an unknown operation";
constexpr const char* kNoFrameThere = "with a place that is no frame";

// A bool in memory that holds anything else must not be read as one.
template <std::size_t count>
bool are_flags(const std::byte* message, const std::size_t (&offsets)[count]) {
  return std::ranges::all_of(offsets, [&](std::size_t at) { return message[at] <= std::byte{1}; });
}
constexpr std::size_t kOperationFlags[] = {offsetof(Operation, stays_behind), offsetof(Operation, brings)};
constexpr std::size_t kMessageFlags[] = {
    offsetof(PageMessage, message) + offsetof(Message, data),
    offsetof(PageMessage, message) + offsetof(Message, dirty),
    offsetof(PageMessage, message) + offsetof(Message, ahead),
    offsetof(PageMessage, message) + offsetof(Message, whole),
    offsetof(PageMessage, message) + offsetof(Message, absent),
};

bool is_page(PageNumber page, const pages::PoolShape& shape) {
  return page / shape.segment_pages < static_cast<std::uint64_t>(shape.job_size);
}
int home_of_page(PageNumber page, const pages::PoolShape& shape) {
  return static_cast<int>(page / shape.segment_pages);
}

const char* wrong_with_any_operation(const std::byte* message, std::size_t n, const MessageLimits& limits) {
  if (n < sizeof(Operation)) return kCut;
  if (!are_flags(message, kOperationFlags)) return kNoOperation;
  Operation operation;
  std::memcpy(&operation, message, sizeof operation);
  if (!is_page(operation.page, limits.shape)) return kNoPage;
  if (operation.pe < 0 || operation.pe >= limits.shape.job_size)
    return "in the name of a PE that is not there";
  const std::size_t page_bytes = limits.shape.page_bytes;
  if (operation.n > kLargestOperation || operation.n > page_bytes ||
      operation.offset > page_bytes - operation.n)
    return "that does not lie within a page";
  switch (operation.kind) {
    case Operation::Kind::put: return n != sizeof operation + operation.n ? kCut : nullptr;
    case Operation::Kind::get: break;
    case Operation::Kind::amo:
      if (static_cast<int>(operation.op) >= kAtomicOps || static_cast<int>(operation.type) >= kAtomicTypes ||
          !is_defined(operation.op, operation.type))
        return kNoOperation;
      if (operation.n != atomic_size(operation.type) || operation.offset % operation.n != 0)
        return "with an atomic that is not aligned";
      break;
    default: return kNoOperation;
  }
  return n != sizeof operation ? kCut : nullptr;
}

// Of this node's pool exactly; pools of other nodes may have more frames, or fewer.
bool is_frame_at(std::uint64_t offset, NodeId node, const MessageLimits& limits) {
  const pages::PoolShape& shape = limits.shape;
  if (node != limits.nodes.here) return offset != 0 && offset % std::min(shape.page_bytes, kHugePage) == 0;
  const std::uint64_t first = shape.frames_at();
  return offset >= first && (offset - first) % shape.page_bytes == 0 &&
         (offset - first) / shape.page_bytes < shape.frames;
}

// Whether pagers send messages of that kind to each other.
bool travels(Event kind) {
  switch (kind) {
    case Event::ask_read:
    case Event::ask_write:
    case Event::ask_evict:
    case Event::done:
    case Event::dropped:
    case Event::absent:
    case Event::last_copy:
    case Event::fetched: return true;
    default: return kind > Event::local_drop && kind <= Event::put;
  }
}

bool is_grant_of_page(Event kind) { return kind >= Event::grant_shared && kind <= Event::grant_modified; }

// Whether `from` is the PE that sends such a message, and this one takes it.
bool is_between(int from, const PageMessage& head, const MessageLimits& limits) {
  const Nodes& nodes = limits.nodes;
  const int home = home_of_page(head.page, limits.shape);
  const NodeId node = nodes.node_of(from);
  if (head.message.from != node || head.message.to != nodes.here) return false;
  if (part_for(head.message.kind) == Part::home)
    return home == limits.me && from == nodes.caching_pe(home, node);
  if (nodes.caching_pe(home, nodes.here) != limits.me) return false;
  return from == home || (is_grant_of_page(head.message.kind) && from == nodes.caching_pe(home, node));
}

const char* wrong_with_places(const PageMessage& head, const MessageLimits& limits) {
  const Message& message = head.message;
  switch (message.kind) {
    case Event::ask_read:
    case Event::ask_write:
      if (message.requester != message.from) return "in the name of another node";
      [[fallthrough]];
    case Event::forward_read:
    case Event::forward_write:
      if (!is_frame_at(message.tag, message.requester, limits)) return kNoFrameThere;
      break;
    case Event::fetched:
      if (!is_frame_at(message.tag, limits.nodes.here, limits)) return kNoFrameThere;
      break;
    case Event::done:
      if (message.data && !is_frame_at(head.frame, message.from, limits)) return kNoFrameThere;
      break;
    default: break;
  }
  if (message.data && message.kind != Event::done && !is_grant_of_page(message.kind))
    return "with a page that it does not carry";
  return nullptr;
}

const char* wrong_with_page_message(const std::byte* bytes, std::size_t left, int from,
                                    const MessageLimits& limits) {
  if (left < sizeof(PageMessage)) return kCut;
  if (!are_flags(bytes, kMessageFlags)) return "with an unknown flag";
  PageMessage head;
  std::memcpy(&head, bytes, sizeof head);
  const Message& message = head.message;
  if (static_cast<std::size_t>(message.kind) >= kEvents || !travels(message.kind))
    return "of an unknown kind";
  if (head.given_up > 1) return "with an unknown flag";
  if (!is_page(head.page, limits.shape)) return kNoPage;
  if (head.n > left - sizeof head) return kCut;
  const bool names_nobody = message.kind == Event::last_copy || message.kind == Event::fetched;
  const auto nodes = static_cast<NodeId>(limits.nodes.members.size());
  if (!names_nobody && (message.requester < 0 || message.requester >= nodes))
    return "in the name of a node that is not there";
  if (!is_between(from, head, limits)) return "that is not for this PE, or not its own";
  if (const char* wrong = wrong_with_places(head, limits)) return wrong;
  const bool executes = message.kind == Event::get || message.kind == Event::put;
  if (!executes && (message.kind != Event::absent || head.n == 0))
    return head.n != 0 ? kNoOperation : nullptr;
  const std::byte* operation = bytes + sizeof head;
  if (const char* wrong = wrong_with_any_operation(operation, head.n, limits)) return wrong;
  Operation asked;
  std::memcpy(&asked, operation, sizeof asked);
  if (asked.page != head.page) return kNoPage;
  if (limits.nodes.node_of(asked.pe) != message.requester) return "in the name of another node";
  const bool reads = access_of(asked) == Access::read;
  return executes && reads != (message.kind == Event::get) ? kNoOperation : nullptr;
}

}  // namespace

const char* wrong_with_operation(const std::byte* message, std::size_t n, int from,
                                 const MessageLimits& limits) {
  if (const char* wrong = wrong_with_any_operation(message, n, limits)) return wrong;
  Operation operation;
  std::memcpy(&operation, message, sizeof operation);
  if (operation.pe != from) return "in the name of another PE";
  return home_of_page(operation.page, limits.shape) == limits.me ? nullptr : kNoPage;
}

const char* wrong_with_operations(const std::byte* message, std::size_t n, int from,
                                  const MessageLimits& limits) {
  if (n == 0) return kCut;
  for (std::size_t at = 0; at < n;) {
    if (n - at < sizeof(Operation)) return kCut;
    std::uint32_t bytes;
    std::memcpy(&bytes, message + at + offsetof(Operation, n), sizeof bytes);
    const bool has_data = message[at + offsetof(Operation, kind)] == std::byte{0};
    const std::size_t size = sizeof(Operation) + (has_data ? bytes : 0), record = padded_to_words(size);
    if (record > n - at) return kCut;
    if (const char* wrong = wrong_with_operation(message + at, size, from, limits)) return wrong;
    at += record;
  }
  return nullptr;
}

const char* wrong_with_page_messages(const std::byte* packet, std::size_t n, int from,
                                     const MessageLimits& limits) {
  if (limits.nodes.node_of(from) == limits.nodes.here) return "that its node needs no network for";
  for (std::size_t at = 0; at < n;) {
    if (const char* wrong = wrong_with_page_message(packet + at, n - at, from, limits)) return wrong;
    std::uint32_t more;
    std::memcpy(&more, packet + at + offsetof(PageMessage, n), sizeof more);
    at += sizeof(PageMessage) + more;
  }
  return nullptr;
}

const char* wrong_with_answers(const std::byte* message, std::size_t n) {
  if (n == 0) return kCut;
  for (std::size_t at = 0; at < n;) {
    if (n - at < sizeof(Answer)) return kCut;
    Answer answer;
    std::memcpy(&answer, message + at, sizeof answer);
    const std::size_t record = padded_to_words(sizeof answer + answer.n);
    if (record > n - at) return kCut;
    at += record;
  }
  return nullptr;
}

const char* wrong_with_answer_to(PageNumber page, std::uint32_t n, const Answer& answer, int from,
                                 const MessageLimits& limits) {
  if (answer.page != page || answer.n != n) return "to another operation than was sent";
  const int home = home_of_page(page, limits.shape);
  const bool may_execute = from == home || from == limits.nodes.caching_pe(home, limits.nodes.node_of(from));
  return may_execute ? nullptr : "to an operation on a page that it does not cache";
}

}  // namespace shm::nvm
