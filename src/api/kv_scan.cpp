// SPDX-License-Identifier: BSD-3-Clause
// The key/value store: elements of any PE, and tables as files (shmem/kv.h).
#include "api/kv_arguments.hpp"
#include "base/fatal.hpp"
#include "kv/tables.hpp"

extern "C" {

int pshmemx_kv_scan(shmemx_kv_t kv, int pe, uint64_t* cursor, size_t most, void* keys, size_t key_room,
                    size_t* key_bytes, void* values, size_t value_room, size_t* value_bytes, size_t* count) {
  const shm::Call call{"shmemx_kv_scan"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  shm::check_result(call, "cursor", cursor);
  shm::check_result(call, "count", count);
  shm::kv::check_value(call, "keys", keys, key_room * most);
  if (pe < 0 || pe >= static_cast<int>(shm::rt.npes))
    shm::fatal("%s: pe is %d; allowed are 0 to %u", call.name, pe, shm::rt.npes - 1);
  if (most == 0) shm::fatal("%s: most is 0; allowed are 1 and more", call.name);
  std::vector<std::byte> bytes;
  std::size_t taken = 0;
  bool fits = true;
  const int status = table.scan(
      call, pe, cursor, bytes,
      [&](const shm::kv::ScanHead& head, const std::byte* key, const std::byte* value) {
        if (taken == most) return false;
        fits = head.key_bytes <= key_room && (values == nullptr || head.value_bytes <= value_room);
        if (!fits && taken != 0) return false;
        if (key_bytes != nullptr) key_bytes[taken] = head.key_bytes;
        if (value_bytes != nullptr) value_bytes[taken] = head.value_bytes;
        if (!fits) return false;
        std::memcpy(static_cast<std::byte*>(keys) + taken * key_room, key, head.key_bytes);
        if (values != nullptr && head.value_bytes != 0)
          std::memcpy(static_cast<std::byte*>(values) + taken * value_room, value, head.value_bytes);
        ++taken;
        return true;
      });
  *count = taken;
  return status == SHMEMX_KV_OK && taken == 0 ? SHMEMX_KV_TOO_LARGE : status;
}

int pshmemx_kv_export(shmemx_kv_t kv, const char* path) {
  const shm::Call call{"shmemx_kv_export"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  if (path == nullptr) shm::fatal("%s: path is NULL; allowed is that of a file", call.name);
  return shm::kv::export_table(call, table, path);
}

int pshmemx_kv_import(shmemx_kv_t kv, const char* path) {
  const shm::Call call{"shmemx_kv_import"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  if (path == nullptr) shm::fatal("%s: path is NULL; allowed is that of a file", call.name);
  return shm::kv::import_table(call, table, path);
}

SHMEMX_KV_FUNCS_SCAN(ATOLL_ALIAS_)

}  // extern "C"
