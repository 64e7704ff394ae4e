// SPDX-License-Identifier: BSD-3-Clause
// Distributed locks (OpenSHMEM 1.6, section 9.13).
#include "core/lock.hpp"

#include "api/define.hpp"

extern "C" {

void pshmem_set_lock(long* lock) { shm::set_lock({"shmem_set_lock"}, lock); }
int pshmem_test_lock(long* lock) { return shm::test_lock({"shmem_test_lock"}, lock) ? 0 : 1; }
void pshmem_clear_lock(long* lock) { shm::clear_lock({"shmem_clear_lock"}, lock); }

ATOLL_FUNCS_LOCK(ATOLL_ALIAS_)

}  // extern "C"
