// SPDX-License-Identifier: BSD-3-Clause
// The key/value store: elements of any PE, and tables as files (shmem/kv.h).
#include <algorithm>
#include <iterator>

#include "api/kv_arguments.hpp"
#include "base/fatal.hpp"
#include "kv/tables.hpp"

namespace shm::kv {
namespace {

shmemx_kv_report_t report_of(const Table& table) {
  shmemx_kv_report_t report{};
  report.most_segments = table.layout().most_segments;
  table.with_mine([&](const auto& shard) {
    report.elements = shard.elements();
    report.slots = shard.slots();
    report.segments = shard.segments();
    report.full = shard.times_full();
    const ShardSurvey survey = shard.survey();
    report.found_in[0] = survey.at_home;
    report.found_in[1] = survey.away;
    report.absent_in[0] = survey.without_away;
    report.absent_in[1] = survey.with_away;
    std::copy(std::begin(survey.groups), std::end(survey.groups), report.groups);
  });
  static_assert(std::size(report.groups) == kSlots + 1);
  report.looks = table.events().looks.total();
  report.waits = table.events().waits.total();
  report.put_off = table.server().put_off();
  report.parked = table.server().parked();
  return report;
}

}  // namespace
}  // namespace shm::kv

extern "C" {

int pshmemx_kv_scan(shmemx_kv_t kv, int pe, uint64_t* cursor, size_t most, void* keys, size_t key_room,
                    size_t* key_bytes, void* values, size_t value_room, size_t* value_bytes, size_t* count) {
  const shm::Call call{"shmemx_kv_scan"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  shm::check_result(call, "cursor", cursor);
  shm::check_result(call, "count", count);
  shm::kv::check_value(call, "keys", keys, key_room * most);
  const int pes = table.members().size();
  if (pe < 0 || pe >= pes) shm::fatal("%s: pe is %d; allowed are 0 to %d", call.name, pe, pes - 1);
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

void pshmemx_kv_report(shmemx_kv_t kv, shmemx_kv_report_t* report, size_t report_bytes) {
  const shm::Call call{"shmemx_kv_report"};
  const shm::kv::Table& table = shm::kv::table_of(call, kv);
  shm::check_result(call, "report", report);
  const shmemx_kv_report_t found = shm::kv::report_of(table);
  std::memset(report, 0, report_bytes);
  std::memcpy(report, &found, std::min(report_bytes, sizeof found));
}

void pshmemx_kv_watch(shmemx_kv_t kv, uint32_t one_of) {
  shm::kv::table_of({"shmemx_kv_watch"}, kv).watch(one_of);
}

size_t pshmemx_kv_hot_keys(shmemx_kv_t kv, size_t most, void* keys, size_t key_room, size_t* key_bytes,
                           uint64_t* counts) {
  const shm::Call call{"shmemx_kv_hot_keys"};
  shm::kv::Table& table = shm::kv::table_of(call, kv);
  shm::kv::check_value(call, "keys", keys, key_room * most);
  const auto found = table.hot_keys(most);
  for (std::size_t i = 0; i < found.size(); ++i) {
    const std::size_t n = std::min(key_room, found[i].key.size());
    if (n != 0) std::memcpy(static_cast<std::byte*>(keys) + i * key_room, found[i].key.data(), n);
    if (key_bytes != nullptr) key_bytes[i] = found[i].key.size();
    if (counts != nullptr) counts[i] = found[i].count;
  }
  return found.size();
}

SHMEMX_KV_FUNCS_SCAN(ATOLL_ALIAS_)

}  // extern "C"
