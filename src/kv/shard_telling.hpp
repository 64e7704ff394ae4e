// SPDX-License-Identifier: BSD-3-Clause
// Changes that say what was there before them.
#pragma once

#include <memory>

#include "base/fatal.hpp"
#include "kv/functions.hpp"
#include "kv/shard.hpp"
#include "kv/wire.hpp"

namespace shm::kv {
namespace detail {

// Room for a value.
class Scratch {
 public:
  explicit Scratch(std::uint64_t n) {
    if (padded(n) > sizeof few_) many_ = std::make_unique_for_overwrite<std::byte[]>(padded(n));
  }
  std::byte* get() { return many_ != nullptr ? many_.get() : few_; }

 private:
  alignas(16) std::byte few_[512];
  std::unique_ptr<std::byte[]> many_;
};

}  // namespace detail

// With the lock of the key's home.  What was there is given before anything changes: where its room is too
// small, nothing does.
template <class Memory>
Code Shard<Memory>::change_and_tell(const KvRequest& request, ValueRoom& result) const {
  const std::optional<Position> position = find(request.key);
  if (request.op == KvOp::apply) return apply(request, position, result);
  if (request.op == KvOp::remove_if) return remove_if(request, position);
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

// The program's function looks at copies, as readers may take none of its locks, and the value may be freed.
template <class Memory>
Code Shard<Memory>::apply(const KvRequest& request, const std::optional<Position>& position,
                          ValueRoom& result) const {
  Bytes bytes{};
  if (position) bytes_of(head(position->group), position->group, position->slot, bytes);
  const std::uint64_t room = room_of(request);
  if (position && room != 0) {
    const Code given = copy_value(bytes, result.value, room, result.n);
    if (given != SHMEMX_KV_OK) return given;
  }
  detail::Scratch old(bytes.value_bytes), made(layout_.value_bytes);
  if (position) memory_.read(bytes.value_at, old.get(), bytes.value_bytes);
  std::size_t n = layout_.value_bytes;
  const int verdict = registered(function_of(request.offset))(
      request.key.bytes, request.key.n, position ? old.get() : nullptr, bytes.value_bytes, request.value,
      request.n, made.get(), &n);
  if (verdict < SHMEMX_KV_KEEP || verdict > SHMEMX_KV_ERASE || n > layout_.value_bytes)
    fatal(
        "shmemx_kv_apply: the function returned %d with a value of %zu bytes; allowed are SHMEMX_KV_KEEP, "
        "SHMEMX_KV_STORE with at most %zu bytes, and SHMEMX_KV_ERASE",
        verdict, n, static_cast<std::size_t>(layout_.value_bytes));
  const Code there = position ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND;
  if (verdict == SHMEMX_KV_KEEP) return there;
  if (verdict == SHMEMX_KV_ERASE) {
    if (position) erase(request.key, *position);
    return there;
  }
  KvRequest store{.op = KvOp::put, .key = request.key, .value = made.get(), .n = n};
  if (position) return replace(store, *position);
  if (layout_.report_collisions && collides(request.key)) return SHMEMX_KV_COLLISION;
  const Code status = add(store, store.value, n);
  return status == SHMEMX_KV_OK ? SHMEMX_KV_INSERTED : status;
}

template <class Memory>
Code Shard<Memory>::remove_if(const KvRequest& request, const std::optional<Position>& position) const {
  if (!position) return SHMEMX_KV_NOT_FOUND;
  Bytes bytes{};
  bytes_of(head(position->group), position->group, position->slot, bytes);
  detail::Scratch value(bytes.value_bytes);
  memory_.read(bytes.value_at, value.get(), bytes.value_bytes);
  const auto& predicate = *static_cast<const Predicate*>(request.expected);
  if (predicate.holds(request.key.bytes, request.key.n, value.get(), bytes.value_bytes, predicate.context) ==
      0)
    return SHMEMX_KV_MISMATCH;
  erase(request.key, *position);
  return SHMEMX_KV_OK;
}

// So many steps at most, each a look for a home in one segment, as it may run in a handler; there may be no
// element then, but another cursor.
template <class Memory>
Code Shard<Memory>::scan(const KvRequest& request, ValueRoom& result) const {
  constexpr int kMostSteps = 1024;
  auto* const to = static_cast<std::byte*>(result.value);
  const std::uint64_t room = request.n;
  const std::uint64_t value_room = std::min(layout_.value_bytes, room);
  detail::Scratch key(layout_.key_bytes), value(value_room);
  std::uint64_t cursor = request.offset, used = sizeof cursor;
  for (int steps = 0; steps < kMostSteps && !is_at_end(cursor); ++steps) {
    Element element{key.get(), layout_.key_bytes, 0, value.get(), value_room, 0};
    std::uint64_t behind = cursor;
    const Code status = next_here(behind, element);
    if (status == SHMEMX_KV_NOT_FOUND) {
      cursor = behind;
      continue;
    }
    const std::uint64_t bytes = scan_bytes(element.key_bytes, element.value_bytes);
    if (status == SHMEMX_KV_TOO_LARGE || bytes > room - used) {
      if (used > sizeof cursor) break;
      result.n = used + bytes;
      return SHMEMX_KV_TOO_LARGE;
    }
    cursor = behind;
    const ScanHead head{cursor, element.key_bytes, element.value_bytes};
    std::memcpy(to + used, &head, sizeof head);
    std::memcpy(to + used + sizeof head, key.get(), element.key_bytes);
    std::memcpy(to + used + sizeof head + padded(element.key_bytes), value.get(), element.value_bytes);
    used += bytes;
  }
  if (used == sizeof cursor && is_at_end(cursor)) return SHMEMX_KV_NOT_FOUND;
  std::memcpy(to, &cursor, sizeof cursor);
  result.n = used;
  return SHMEMX_KV_OK;
}

}  // namespace shm::kv
