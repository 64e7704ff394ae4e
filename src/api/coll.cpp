// SPDX-License-Identifier: BSD-3-Clause
// Team collectives that move data, and team_sync (OpenSHMEM 1.6, section 9.10).
#include "api/coll_arguments.hpp"
#include "api/define.hpp"
#include "coll/barrier.hpp"

namespace shm::api {
namespace {

int broadcast_in(Call call, shmem_team_t team, void* dest, const void* source, std::size_t n, int root) {
  Group& g = group_of(call, team);
  check_both(call, dest, n, source, n);
  broadcast(g, call, dest, source, n, checked_root(call, g.size(), root), true);
  return 0;
}

// What the others contribute is not known yet; dest has room for at least what this PE does.
int collect_in(Call call, shmem_team_t team, void* dest, const void* source, std::size_t n) {
  Group& g = group_of(call, team);
  check_both(call, dest, n, source, n);
  collect(g, call, dest, source, n);
  return 0;
}

int fcollect_in(Call call, shmem_team_t team, void* dest, const void* source, std::size_t n,
                std::size_t element) {
  Group& g = group_of(call, team);
  const std::size_t all = bytes_of(call, n, element, static_cast<std::size_t>(g.size()));
  check_both(call, dest, all, source, n * element);
  fcollect(g, call, dest, source, n * element);
  return 0;
}

int alltoall_in(Call call, shmem_team_t team, void* dest, const void* source, std::ptrdiff_t dst,
                std::ptrdiff_t sst, std::size_t count, std::size_t element) {
  Group& g = group_of(call, team);
  alltoall(g, call, blocks_of(call, kDestSide, dest, dst, element, count, g.size()),
           blocks_of(call, kSourceSide, source, sst, element, count, g.size()));
  return 0;
}

// ---- By type

template <class T>
int _alltoall(Call call, shmem_team_t team, T* dest, const T* source, std::size_t n) {
  return alltoall_in(call, team, dest, source, 1, 1, n, sizeof(T));
}

template <class T>
int _alltoalls(Call call, shmem_team_t team, T* dest, const T* source, std::ptrdiff_t dst, std::ptrdiff_t sst,
               std::size_t n) {
  return alltoall_in(call, team, dest, source, dst, sst, n, sizeof(T));
}

template <class T>
int _broadcast(Call call, shmem_team_t team, T* dest, const T* source, std::size_t n, int root) {
  return broadcast_in(call, team, dest, source, bytes_of(call, n, sizeof(T)), root);
}

template <class T>
int _collect(Call call, shmem_team_t team, T* dest, const T* source, std::size_t n) {
  return collect_in(call, team, dest, source, bytes_of(call, n, sizeof(T)));
}

template <class T>
int _fcollect(Call call, shmem_team_t team, T* dest, const T* source, std::size_t n) {
  return fcollect_in(call, team, dest, source, n, sizeof(T));
}

// ---- Bytes

template <std::size_t kBytes>
int sized_alltoall(Call call, shmem_team_t team, void* dest, const void* source, std::size_t n) {
  return alltoall_in(call, team, dest, source, 1, 1, n, kBytes);
}

template <std::size_t kBytes>
int sized_alltoalls(Call call, shmem_team_t team, void* dest, const void* source, std::ptrdiff_t dst,
                    std::ptrdiff_t sst, std::size_t n) {
  return alltoall_in(call, team, dest, source, dst, sst, n, kBytes);
}

template <std::size_t kBytes>
int sized_broadcast(Call call, shmem_team_t team, void* dest, const void* source, std::size_t n, int root) {
  return broadcast_in(call, team, dest, source, bytes_of(call, n, kBytes), root);
}

template <std::size_t kBytes>
int sized_collect(Call call, shmem_team_t team, void* dest, const void* source, std::size_t n) {
  return collect_in(call, team, dest, source, bytes_of(call, n, kBytes));
}

template <std::size_t kBytes>
int sized_fcollect(Call call, shmem_team_t team, void* dest, const void* source, std::size_t n) {
  return fcollect_in(call, team, dest, source, n, kBytes);
}

}  // namespace
}  // namespace shm::api

extern "C" {

int pshmem_team_sync(shmem_team_t team) {
  shm::sync_group(shm::group_of({"shmem_team_sync"}, team));
  return 0;
}
ATOLL_ALIAS_(int, shmem_team_sync, (shmem_team_t team))

ATOLL_OPS_COLL(ATOLL_ROW)
ATOLL_SIZED_COLL(ATOLL_SIZED_ROW)

}  // extern "C"
