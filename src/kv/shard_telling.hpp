// SPDX-License-Identifier: BSD-3-Clause
// Changes that say what was there before them.
#pragma once

#include "kv/shard.hpp"

namespace shm::kv {

// With the lock of the key's home.  What was there is given before anything changes: where its room is too
// small, nothing does.
template <class Memory>
Code Shard<Memory>::change_and_tell(const KvRequest& request, ValueRoom& result) const {
  const std::optional<Position> position = find(request.key);
  if (!position) {
    if (request.op == KvOp::take) return SHMEMX_KV_NOT_FOUND;
    if (layout_.report_collisions && collides(request.key)) return SHMEMX_KV_COLLISION;
    const Code status = add(request, request.value, request.n);
    return status == SHMEMX_KV_OK ? SHMEMX_KV_INSERTED : status;
  }
  if (gives_value(request.op)) {
    Bytes bytes{};
    bytes_of(head(position->group), position->group, position->slot, bytes);  // nobody else changes it
    const Code given = copy_value(bytes, result.value, room_of(request), result.n);
    if (given != SHMEMX_KV_OK || request.op == KvOp::get_or_insert) return given;
  }
  if (request.op != KvOp::take) return replace(request, *position);
  erase(request.key, *position);
  return SHMEMX_KV_OK;
}

}  // namespace shm::kv
