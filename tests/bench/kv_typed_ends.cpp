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
  if (shmem_my_pe() != 0) return;  // and waits for PE 0 where the table ends
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

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  shmem_init();
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
