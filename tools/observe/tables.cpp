// SPDX-License-Identifier: BSD-3-Clause
#include <array>
#include <atomic>

#include "calls.hpp"

namespace observe {
namespace {

constexpr std::size_t kMostTeamTables = 256;
std::array<std::atomic<shmemx_kv_t>, kMostTeamTables> team_tables{};
std::atomic<std::size_t> noted{0};

bool is_of_team(shmemx_kv_t table) {
  const std::size_t many = noted.load(std::memory_order_relaxed);
  if (many > kMostTeamTables) return true;
  for (std::size_t i = 0; i < many; ++i) {
    if (team_tables[i].load(std::memory_order_acquire) == table) return true;
  }
  return false;
}

}  // namespace

// One that is destroyed stays noted: a later table of the world at its place is only not known.
void note_team_table(shmemx_kv_t table) {
  const std::size_t at = noted.fetch_add(1, std::memory_order_acq_rel);
  if (at < kMostTeamTables) team_tables[at].store(table, std::memory_order_release);
}

int pe_of_key(shmemx_kv_t table, const void* key, std::size_t key_bytes) {
  if (table == nullptr || key == nullptr || key_bytes == 0 || is_of_team(table)) return -1;
  return pshmemx_kv_pe(table, key, key_bytes);
}

}  // namespace observe
