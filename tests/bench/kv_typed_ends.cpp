// SPDX-License-Identifier: BSD-3-Clause
// shmemx_kv.hpp: tables that end late, or never, and batches that end the job.  usage: kv_typed_ends <case>
#include <shmemx_kv.hpp>

#include <array>
#include <cstdio>
#include <cstring>
#include <vector>

namespace {

using Numbers = shmemx::kv_table<std::uint64_t, std::int64_t>;

Numbers global;

void batches(const char* name) {
  Numbers table(100);
  if (shmem_my_pe() != 0) return;  // and waits for PE 0 in shmem_finalize
  const std::array<std::uint64_t, 3> keys{1, 2, 3};
  const std::vector<std::int64_t> values(3), few(2);
  std::vector<std::int64_t> many(4);
  int status[1];
  const auto is = [&](const char* one) { return std::strcmp(name, one) == 0; };
  if (is("put")) table.put_batch(keys, few);
  if (is("insert")) table.insert_batch(keys, many);
  if (is("update")) table.update_batch(keys, few);
  if (is("get")) table.get_batch(keys, many);
  if (is("upsert")) table.upsert_batch(keys, SHMEMX_KV_ADD, few);
  if (is("olds")) table.upsert_batch(keys, SHMEMX_KV_ADD, values, many);
  if (is("status")) table.put_batch(keys, values, status);
  if (is("contains")) table.contains_batch(keys, status);
  if (is("remove")) table.remove_batch(keys, status);
  if (is("accumulate")) table.accumulate_batch(keys, SHMEMX_KV_ADD, few);
  if (is("expected")) table.compare_swap_batch(keys, few, values);
  if (is("desired")) table.compare_swap_batch(keys, values, many);
}

// Named, with the heap on NVM: as it was persisted last.
bool kept() {
  const auto key = static_cast<std::uint64_t>(shmem_my_pe());
  Numbers table(100, "numbers");
  if (!table || table.contains(key)) return false;
  table.put(key, 1);
  table.persist();
  table.put(key, 2);
  shmem_barrier_all();
  table.close();
  table = Numbers(100, "numbers");
  return table && table.get(key) == 1;
}

// PE 0 leaves at once, by the end of a handle that it has alone; the others go on with the elements that it
// has.  Memory of tables that all have left comes back: there would be none for so many.
bool early() {
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  bool right = true;
  Numbers kept(1000);  // that only PE 0 leaves while others are made
  kept.put(static_cast<std::uint64_t>(me), me);
  shmem_barrier_all();
  if (me == 0) kept.leave();
  for (int round = 0; round < 40; ++round) {
    Numbers table(static_cast<std::uint64_t>(pes) * 20000);
    right = right && table;
    if (!table) return false;
    table.put(static_cast<std::uint64_t>(me), me);
    shmem_barrier_all();
    if (me == 0) continue;  // to the next round, where it waits for the others
    for (int i = 0; i < 200; ++i) {
      const auto key = static_cast<std::uint64_t>(pes + i * pes + me);
      right = right && table.insert(key, i) == SHMEMX_KV_OK && table.get(key) == i && table.get(0) == 0;
    }
  }
  return right && (me == 0 ? !kept : kept.get(0) == 0);
}

// What of a request is under way is completed by the library's end.
bool request_outlives() {
  std::int64_t found[2] = {-1, -1};
  int status[2] = {-1, -1};
  shmemx_kv_request_t raw = nullptr;
  {
    shmemx::kv_request request;
    {
      Numbers table(1000);
      const auto other = static_cast<std::uint64_t>((shmem_my_pe() + 1) % shmem_n_pes());
      table.put(static_cast<std::uint64_t>(shmem_my_pe()), 5);
      shmem_barrier_all();
      for (std::uint64_t i = 100; i < 200; ++i) table.put_nbi(i, 1);
      request = table.get_nbr(other, &found[0], &status[0]);
      shmemx_kv_get_nbr(table.handle(), &other, sizeof other, &found[1], sizeof found[1], nullptr, &status[1],
                        &raw);
    }
    shmem_finalize();
  }
  bool complete = shmemx_kv_request_test(&raw) != 0;  // NULL where it was done at once, and when it is ended
  complete = shmemx_kv_request_test(&raw) != 0 && complete;
  shmemx_kv_request_wait(&raw);
  return complete && raw == nullptr && found[0] == 5 && found[1] == 5 && status[0] == SHMEMX_KV_OK &&
         status[1] == SHMEMX_KV_OK;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  shmem_init();
  if (std::strcmp(argv[1], "early") == 0) {
    const bool right = early();
    shmem_finalize();
    return right ? 0 : 1;
  }
  if (std::strcmp(argv[1], "request") == 0) return request_outlives() ? 0 : 1;
  if (std::strcmp(argv[1], "never") == 0) {
    const bool right = kept();
    shmem_finalize();
    return right ? 0 : 1;
  }
  if (std::strcmp(argv[1], "late") != 0) {
    batches(argv[1]);
    shmem_finalize();
    return 0;
  }
  Numbers table(1000), assigned(1000), closed(1000);
  global = Numbers(1000);
  table.put(static_cast<std::uint64_t>(shmem_my_pe()), 1);
  shmem_barrier_all();
  const bool right = table && table.count() == static_cast<std::uint64_t>(shmem_n_pes());
  shmem_finalize();
  assigned = Numbers();
  closed.close();
  return right && !closed ? 0 : 1;
}
