// SPDX-License-Identifier: BSD-3-Clause
#include "nvm/coherence/operations.hpp"

#include <cstring>

#include "base/stats.hpp"
#include "pages/copy.hpp"

namespace shm::nvm {

bool is_pinned_against(const Frame& frame, const Operation& operation, const Nodes& nodes) {
  if (nodes.node_of(operation.pe) == nodes.here) return false;
  return frame.pinned_to_write.load(std::memory_order_acquire) != 0 ||
         (access_of(operation) == Access::write && frame.pinned_to_read.load(std::memory_order_acquire) != 0);
}

std::size_t execute(const Operation& operation, const std::byte* data, const Pool& pool, FrameNumber frame,
                    const Nodes& nodes, std::byte* message) {
  count(Stat::page_operations);
  Frame& meta = pool.frame(frame);
  // Contended: a thread of this node has had the page since the last operation, or that was another node's.
  const NodeId by = nodes.node_of(operation.pe);
  const bool used_here = meta.touched.exchange(kOperated, std::memory_order_relaxed) == kTouched;
  const bool contended = meta.operated_by.exchange(by, std::memory_order_relaxed) != by || used_here;
  Answer answer{operation.token, operation.page, 0, contended};
  std::byte* at = pool.bytes(frame) + operation.offset;
  std::byte* brought = message + sizeof answer;
  if (operation.kind == Operation::Kind::put) {
    copy_in(at, data, operation.n);
  } else if (operation.kind == Operation::Kind::get) {
    answer.n = operation.n;
    copy_out(brought, at, operation.n);
  } else {
    std::uint64_t old = 0;
    atomic_apply(operation.op, operation.type, at, &operation.value, &operation.compare, &old);
    if (operation.brings) answer.n = static_cast<std::uint32_t>(atomic_size(operation.type));
    std::memcpy(brought, &old, answer.n);
  }
  std::memcpy(message, &answer, sizeof answer);
  const std::size_t n = sizeof answer + answer.n;
  std::memset(message + n, 0, padded_to_words(n) - n);
  return padded_to_words(n);
}

}  // namespace shm::nvm
