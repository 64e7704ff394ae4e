// SPDX-License-Identifier: BSD-3-Clause
// What shmemx_kv.hpp refuses.  Compiled once for each CASE; CASE 0 compiles.
#include <shmemx_kv.hpp>

#include <vector>

struct Padded {
  long long number;
  char letter;
};
struct Value {
  Padded padded;
  long double exact;
  long long number;
};

void call(shmemx::kv_table<int, Value>& table, shmemx::kv_table<int, long double>& exact,
          shmemx::kv_table<int, double>& fine) {
  table.compare_swap(1, &Value::number, 1, 2);
  fine.compare_swap(1, 0.5, 1.5);
  table.compare_swap_batch(std::vector<int>(), &Value::number, std::vector<long long>(),
                           std::vector<long long>());
#if CASE == 1
  exact.compare_swap(1, 0.5L, 1.5L);
#elif CASE == 2
  table.compare_swap(1, Value{}, Value{});
#elif CASE == 3
  table.compare_swap(1, &Value::padded, Padded{}, Padded{});
#elif CASE == 4
  table.compare_swap(1, &Value::exact, 1, 2);
#elif CASE == 5
  fine.put_batch(std::vector<int>(), std::vector<float>());
#elif CASE == 6
  fine.put_batch(std::vector<long>(), std::vector<double>());
#elif CASE == 7
  shmemx::kv_table<double, int> keys_with_two_zeros;
#elif CASE == 8
  exact.accumulate(1, SHMEMX_KV_ADD, 1);
#elif CASE == 9
  exact.accumulate_batch(std::vector<int>(), SHMEMX_KV_ADD, std::vector<long double>());
#elif CASE == 10
  table.compare_swap_batch(std::vector<int>(), &Value::padded, std::vector<Padded>(), std::vector<Padded>());
#elif CASE == 11
  table.accumulate_batch(std::vector<int>(), &Value::number, SHMEMX_KV_ADD, std::vector<int>());
#endif
  static_cast<void>(exact);
}
