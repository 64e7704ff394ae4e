// SPDX-License-Identifier: BSD-3-Clause
// Team reductions and scans (OpenSHMEM 1.6, section 9.10).
#include "api/coll_arguments.hpp"
#include "api/define.hpp"

namespace shm::api {
namespace {

template <ReduceOp op, class T>
int reduce_in(Call call, shmem_team_t team, T* dest, const T* source, std::size_t n) {
  const std::size_t bytes = bytes_of(call, n, sizeof(T));
  Group& g = group_of(call, team);
  check_both(call, dest, bytes, source, bytes);
  reduce(g, call, kReduction<op, T>, dest, source, n);
  return 0;
}

#define ATOLL_REDUCE(NAME, OP)                                                                  \
  template <class T>                                                                            \
  int _##NAME##_reduce(Call call, shmem_team_t team, T* dest, const T* source, std::size_t n) { \
    return reduce_in<ReduceOp::OP>(call, team, dest, source, n);                                \
  }
ATOLL_REDUCE(and, bit_and)
ATOLL_REDUCE(or, bit_or)
ATOLL_REDUCE(xor, bit_xor)
ATOLL_REDUCE(max, max)
ATOLL_REDUCE(min, min)
ATOLL_REDUCE(sum, sum)
ATOLL_REDUCE(prod, prod)
#undef ATOLL_REDUCE

template <class T>
int scan_in(Call call, shmem_team_t team, T* dest, const T* source, std::size_t n, bool inclusive) {
  const std::size_t bytes = bytes_of(call, n, sizeof(T));
  Group& g = group_of(call, team);
  check_both(call, dest, bytes, source, bytes);
  scan(g, call, kReduction<ReduceOp::sum, T>, dest, source, n, inclusive);
  return 0;
}

template <class T>
int _sum_inscan(Call call, shmem_team_t team, T* dest, const T* source, std::size_t n) {
  return scan_in(call, team, dest, source, n, true);
}

template <class T>
int _sum_exscan(Call call, shmem_team_t team, T* dest, const T* source, std::size_t n) {
  return scan_in(call, team, dest, source, n, false);
}

}  // namespace
}  // namespace shm::api

extern "C" {
ATOLL_OPS_REDUCE(ATOLL_ROW)
ATOLL_OPS_SCAN(ATOLL_ROW)
}
