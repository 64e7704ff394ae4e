// SPDX-License-Identifier: BSD-3-Clause
// shmemx_kv.hpp: tables that end after shmem_finalize.
#include <shmemx_kv.hpp>

namespace {

using Numbers = shmemx::kv_table<std::uint64_t, std::int64_t>;

Numbers global;

}  // namespace

int main() {
  shmem_init();
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
