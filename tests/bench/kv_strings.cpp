// SPDX-License-Identifier: BSD-3-Clause
// shmemx_kv_strings.hpp: every member of shmemx::kv_string_table, on keys of all PEs.
#include <shmemx_kv_strings.hpp>

#include <string>

#include "check.h"

namespace {

constexpr int kEach = 60;
constexpr std::size_t kLongest = 12000;

std::string key(int pe, int i) {
  return std::to_string(i) + std::string(static_cast<std::size_t>(i) % 70, '-') + " of " + std::to_string(pe);
}
// Of all lengths, with zeros among the bytes.
std::string value(int i) {
  std::string text(static_cast<std::size_t>(i * i * 5) % (kLongest + 1), static_cast<char>(i));
  if (!text.empty()) text.back() = '\0';
  return text;
}

void single(shmemx::kv_string_table& table, int me) {
  for (int i = 0; i < kEach; ++i) {
    const std::string k = key(me, i), v = value(i), other = value(kEach - i);
    std::string old = "?";
    CHECK(!table.get(k) && !table.contains(k) && !table.take(k));
    CHECK_EQ(table.update(k, v), SHMEMX_KV_NOT_FOUND);
    CHECK_EQ(table.insert(k, v), SHMEMX_KV_OK);
    CHECK_EQ(table.insert(k, other), SHMEMX_KV_EXISTS);
    CHECK(table.get(k) == v && table.get_wait(k) == v && table.contains(k));
    CHECK_EQ(table.exchange(k, other, &old), SHMEMX_KV_OK);
    CHECK(old == v && table.get(k) == other);
    CHECK_EQ(table.get_or_insert(k, v, &old), SHMEMX_KV_OK);
    CHECK(old == other && table.take(k) == other && !table.remove(k));
    CHECK_EQ(table.get_or_insert(k, v, &old), SHMEMX_KV_INSERTED);
    CHECK(table.get(k) == v && table.remove(k));
    CHECK_EQ(table.insert_or_update(k, v), SHMEMX_KV_INSERTED);
    CHECK_EQ(table.put(k, other), SHMEMX_KV_OK);
    CHECK_EQ(table.update(k, v), SHMEMX_KV_OK);
    CHECK_EQ(table.put(k, std::string(kLongest + 1, 'x')), SHMEMX_KV_TOO_LARGE);
    CHECK(table.get(k) == v);
  }
}

// The value that is stored, and the key, may be where the old one goes.
void over_itself(shmemx::kv_string_table& table, int me) {
  for (const std::size_t n : {1, 300, 5000}) {
    const std::string k = key(me, 1000 + static_cast<int>(n)), first(n, 'a'), second(n, 'b');
    std::string both = first, name = k;
    CHECK_EQ(table.put(k, second), SHMEMX_KV_OK);
    CHECK_EQ(table.exchange(k, both, &both), SHMEMX_KV_OK);
    CHECK(both == second && table.get(k) == first);
    CHECK_EQ(table.exchange(name, second, &name), SHMEMX_KV_OK);
    CHECK(name == first && table.get(k) == second);
    CHECK_EQ(table.get_or_insert(k, both, &both), SHMEMX_KV_OK);
    CHECK(both == second);
    CHECK_EQ(table.exchange(k, first, nullptr), SHMEMX_KV_OK);
    CHECK(table.take(k) == first);
  }
}

void whole(shmemx::kv_string_table& table, int me, int npes) {
  shmem_barrier_all();
  CHECK_EQ(table.count(), static_cast<std::uint64_t>(kEach * npes));
  int seen = 0;
  for (int pe = 0; pe < npes; ++pe)
    table.scan(pe, [&](std::string_view k, std::string_view v) {
      CHECK_EQ(table.pe_of(k), pe);
      CHECK(v == value(std::stoi(std::string(k))));
      ++seen;
    });
  CHECK_EQ(seen, kEach * npes);
  shmem_barrier_all();
  const std::uint64_t before = table.count_local();
  const std::uint64_t removed =
      table.remove_if([](std::string_view, std::string_view v) { return v.size() > 999; });
  CHECK_EQ(table.count_local(), before - removed);
  shmem_barrier_all();
  for (int i = 0; i < kEach; ++i) CHECK_FOR(i, table.contains(key(me, i)), value(i).size() <= 999);
  shmem_barrier_all();
  table.clear();
  CHECK_EQ(table.count(), 0);
  shmem_barrier_all();
}

/// Each on its own.
void on_a_team(int me) {
  shmem_team_t alone = SHMEM_TEAM_INVALID, own;
  for (int pe = 0; pe < shmem_n_pes(); ++pe) {
    shmem_team_split_strided(SHMEM_TEAM_WORLD, pe, 1, 1, nullptr, 0, &own);
    if (own != SHMEM_TEAM_INVALID) alone = own;
  }
  shmemx::kv_string_table table(alone, 10, 8, 8), other(SHMEM_TEAM_WORLD, 10, 8, 8);
  CHECK(table && other);
  CHECK_EQ(table.put("me", std::to_string(me)), SHMEMX_KV_OK);
  CHECK(table.get("me") == std::to_string(me));
  CHECK_EQ(table.pe_of("me"), 0);
  table.close();
}

}  // namespace

int main() {
  shmem_init();
  const int me = shmem_my_pe(), npes = shmem_n_pes();
  {
    shmemx::kv_string_table made(static_cast<std::uint64_t>(kEach * npes), 100, kLongest), table;
    CHECK(made && !table);
    table = std::move(made);
    CHECK(!made && table);
    single(table, me);
    over_itself(table, me);
    whole(table, me, npes);
    shmemx::kv_string_table moved(std::move(table));
    CHECK_EQ(moved.put(key(me, 1), "1"), SHMEMX_KV_OK);
    shmem_barrier_all();
    if (me == 0) moved.leave();  // others find what it has
    if (me != 0) CHECK(moved.get(key(0, 1)) == "1");
  }
  shmemx::kv_string_table closed(10, 8, 0);
  CHECK_EQ(closed.put("key", ""), SHMEMX_KV_OK);
  CHECK(closed.get("key") == "");
  closed.close();
  CHECK(!closed);
  on_a_team(me);
  shmem_finalize();
}
