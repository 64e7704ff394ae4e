// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point synchronization (OpenSHMEM 1.6, section 9.11), and the operations on signal words (9.8).
#include "api/define.hpp"
#include "core/amo.hpp"
#include "core/p2p.hpp"

namespace shm::api {
namespace {

template <class T>
void _wait_until(Call call, T* ivar, int cmp, T value) {
  wait_until(call, "ivar", ivar, cmp, value);
}

template <class T>
int _test(Call call, T* ivar, int cmp, T value) {
  return test(call, ivar, cmp, value) ? 1 : 0;
}

template <class T>
void _wait(Call call, T* ivar, T value) {
  wait_until(call, "ivar", ivar, SHMEM_CMP_NE, value);
}

// ---- One value for all elements

template <class T>
void _wait_until_all(Call call, T* ivars, size_t n, const int* status, int cmp, T value) {
  wait_all<T>(call, {ivars, n, status, cmp, &value, 0});
}

template <class T>
size_t _wait_until_any(Call call, T* ivars, size_t n, const int* status, int cmp, T value) {
  return wait_any<T>(call, {ivars, n, status, cmp, &value, 0});
}

template <class T>
size_t _wait_until_some(Call call, T* ivars, size_t n, size_t* indices, const int* status, int cmp, T value) {
  return wait_some<T>(call, {ivars, n, status, cmp, &value, 0}, indices);
}

template <class T>
int _test_all(Call call, T* ivars, size_t n, const int* status, int cmp, T value) {
  return test_all<T>(call, {ivars, n, status, cmp, &value, 0}) ? 1 : 0;
}

template <class T>
size_t _test_any(Call call, T* ivars, size_t n, const int* status, int cmp, T value) {
  return test_any<T>(call, {ivars, n, status, cmp, &value, 0});
}

template <class T>
size_t _test_some(Call call, T* ivars, size_t n, size_t* indices, const int* status, int cmp, T value) {
  return test_some<T>(call, {ivars, n, status, cmp, &value, 0}, indices);
}

// ---- A value for each element

template <class T>
Elements<T> each_with_its_own(Call call, T* ivars, size_t n, const int* status, int cmp, const T* values) {
  check_array(call, "cmp_values", values, n);
  return {ivars, n, status, cmp, values, 1};
}

template <class T>
void _wait_until_all_vector(Call call, T* ivars, size_t n, const int* status, int cmp, const T* values) {
  wait_all(call, each_with_its_own(call, ivars, n, status, cmp, values));
}

template <class T>
size_t _wait_until_any_vector(Call call, T* ivars, size_t n, const int* status, int cmp, const T* values) {
  return wait_any(call, each_with_its_own(call, ivars, n, status, cmp, values));
}

template <class T>
size_t _wait_until_some_vector(Call call, T* ivars, size_t n, size_t* indices, const int* status, int cmp,
                               const T* values) {
  return wait_some(call, each_with_its_own(call, ivars, n, status, cmp, values), indices);
}

template <class T>
int _test_all_vector(Call call, T* ivars, size_t n, const int* status, int cmp, const T* values) {
  return test_all(call, each_with_its_own(call, ivars, n, status, cmp, values)) ? 1 : 0;
}

template <class T>
size_t _test_any_vector(Call call, T* ivars, size_t n, const int* status, int cmp, const T* values) {
  return test_any(call, each_with_its_own(call, ivars, n, status, cmp, values));
}

template <class T>
size_t _test_some_vector(Call call, T* ivars, size_t n, size_t* indices, const int* status, int cmp,
                         const T* values) {
  return test_some(call, each_with_its_own(call, ivars, n, status, cmp, values), indices);
}

}  // namespace
}  // namespace shm::api

extern "C" {

ATOLL_OPS_WAIT(ATOLL_ROW)
ATOLL_OPS_EXTRA_WAIT(ATOLL_ROW)
ATOLL_OPS_OLD_WAIT(ATOLL_ROW)

void pshmem_wait_until(long* ivar, int cmp, long value) {
  shm::wait_until(shm::Call{"shmem_wait_until"}, "ivar", ivar, cmp, value);
}
void pshmem_wait(long* ivar, long value) {
  shm::wait_until(shm::Call{"shmem_wait"}, "ivar", ivar, SHMEM_CMP_NE, value);
}
ATOLL_FUNCS_WAIT(ATOLL_ALIAS_)
ATOLL_FUNCS_OLD_WAIT(ATOLL_ALIAS_)

void pshmem_ctx_signal_add(shmem_ctx_t ctx, uint64_t* word, uint64_t value, int pe) {
  shm::amo_update<shm::AtomicOp::add>(shm::Call{"shmem_ctx_signal_add"}, ctx, word, value, pe, true);
}
void pshmem_signal_add(uint64_t* word, uint64_t value, int pe) {
  shm::amo_update<shm::AtomicOp::add>(shm::Call{"shmem_signal_add"}, SHMEM_CTX_DEFAULT, word, value, pe,
                                      true);
}
void pshmem_ctx_signal_set(shmem_ctx_t ctx, uint64_t* word, uint64_t value, int pe) {
  shm::amo_update<shm::AtomicOp::set>(shm::Call{"shmem_ctx_signal_set"}, ctx, word, value, pe, true);
}
void pshmem_signal_set(uint64_t* word, uint64_t value, int pe) {
  shm::amo_update<shm::AtomicOp::set>(shm::Call{"shmem_signal_set"}, SHMEM_CTX_DEFAULT, word, value, pe,
                                      true);
}
uint64_t pshmem_signal_fetch(const uint64_t* word) {
  return shm::fetch_signal(shm::Call{"shmem_signal_fetch"}, word);
}
uint64_t pshmem_signal_wait_until(uint64_t* word, int cmp, uint64_t value) {
  return shm::wait_until(shm::Call{"shmem_signal_wait_until"}, "sig_addr", word, cmp, value);
}
ATOLL_FUNCS_SIGNAL(ATOLL_ALIAS_)

}  // extern "C"
