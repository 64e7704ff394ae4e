// SPDX-License-Identifier: BSD-3-Clause
// Part of shmem.hpp: collective operations.  All PEs of the team call, with arguments that fit together; `to`
// and `from` are symmetric.  Zero is success.
#ifndef SHMEM_COLLECTIVES_HPP
#define SHMEM_COLLECTIVES_HPP

#include "concepts.hpp"

namespace shmem {

inline void barrier_all() { ::shmem_barrier_all(); }
inline void sync_all() { ::shmem_sync_all(); }
template <team_like Team>
int sync(const Team& team) {
  return ::shmem_team_sync(detail::handle(team));
}

/// All of `from` on the PE that is `root` in the team goes to `to` on all of its PEs.
template <team_like Team, writable To, elements_for<To> From>
int broadcast(const Team& team, To&& to, From&& from, int root) {
  const std::size_t n = detail::size(from);
  assert(detail::holds(to, n));
  if constexpr (rma_type<element_of<To>>)
    return ::shmem_broadcast(detail::handle(team), detail::first(to), detail::first(from), n, root);
  else
    return ::shmem_broadcastmem(detail::handle(team), detail::first(to), detail::first(from),
                                n * sizeof(element_of<To>), root);
}

/// The ranges of all PEs one behind the other, on all of them: `collect` where they differ in size,
/// `fcollect` where they do not.
template <team_like Team, writable To, elements_for<To> From>
int collect(const Team& team, To&& to, From&& from) {
  const std::size_t n = detail::size(from);
  if constexpr (rma_type<element_of<To>>)
    return ::shmem_collect(detail::handle(team), detail::first(to), detail::first(from), n);
  else
    return ::shmem_collectmem(detail::handle(team), detail::first(to), detail::first(from),
                              n * sizeof(element_of<To>));
}
template <team_like Team, writable To, elements_for<To> From>
int fcollect(const Team& team, To&& to, From&& from) {
  const std::size_t n = detail::size(from);
  if constexpr (rma_type<element_of<To>>)
    return ::shmem_fcollect(detail::handle(team), detail::first(to), detail::first(from), n);
  else
    return ::shmem_fcollectmem(detail::handle(team), detail::first(to), detail::first(from),
                               n * sizeof(element_of<To>));
}

/// n elements from each PE to each: the i-th n of `from` go to PE i.
template <team_like Team, writable To, readable_for<To> From>
int alltoall(const Team& team, To&& to, From&& from, std::size_t n) {
  if constexpr (rma_type<element_of<To>>)
    return ::shmem_alltoall(detail::handle(team), detail::first(to), detail::first(from), n);
  else
    return ::shmem_alltoallmem(detail::handle(team), detail::first(to), detail::first(from),
                               n * sizeof(element_of<To>));
}
/// The same with a distance between elements.
template <team_like Team, writable To, readable_for<To> From>
requires rma_type<element_of<To>>
int alltoalls(const Team& team, To&& to, From&& from, std::ptrdiff_t to_stride, std::ptrdiff_t from_stride,
              std::size_t n) {
  return ::shmem_alltoalls(detail::handle(team), detail::first(to), detail::first(from), to_stride,
                           from_stride, n);
}

// Reductions and scans, element by element; `to` may be `from`.
#define SHMEM_HPP_REDUCE_(NAME, TYPES)                                                      \
  template <team_like Team, writable To, elements_for<To> From>                             \
  requires TYPES<element_of<To>>                                                            \
  int NAME(const Team& team, To&& to, From&& from) {                                        \
    const std::size_t n = detail::size(from);                                               \
    assert(detail::holds(to, n));                                                           \
    return ::shmem_##NAME(detail::handle(team), detail::first(to), detail::first(from), n); \
  }

SHMEM_HPP_REDUCE_(and_reduce, reducible_bits)
SHMEM_HPP_REDUCE_(or_reduce, reducible_bits)
SHMEM_HPP_REDUCE_(xor_reduce, reducible_bits)
SHMEM_HPP_REDUCE_(max_reduce, reducible_order)
SHMEM_HPP_REDUCE_(min_reduce, reducible_order)
SHMEM_HPP_REDUCE_(sum_reduce, reducible_sum)
SHMEM_HPP_REDUCE_(prod_reduce, reducible_sum)
/// Of the PEs up to this one in the team, and of those before it.
SHMEM_HPP_REDUCE_(sum_inscan, reducible_sum)
SHMEM_HPP_REDUCE_(sum_exscan, reducible_sum)

#undef SHMEM_HPP_REDUCE_

}  // namespace shmem

#endif
