// SPDX-License-Identifier: BSD-3-Clause
#include "check.hpp"

#include <algorithm>

#include "checks.hpp"

namespace checks {
namespace {

// Bytes from the first of `n` blocks to the last of the last.
std::size_t extent(std::size_t n, std::size_t block, std::ptrdiff_t stride, std::size_t size) {
  const std::size_t before = times(n - 1, static_cast<std::size_t>(stride), size);
  const std::size_t last = times(block, size);
  return last > SIZE_MAX - before ? SIZE_MAX : before + last;
}

bool is_get(std::string_view op) { return op.find("get") != op.npos; }
bool has(std::string_view op, std::string_view word) { return op.find(word) != op.npos; }

}  // namespace

void Call::symmetric(const char* argument, const void* at, std::size_t n, std::size_t size) const {
  if (const std::size_t bytes = times(n, size); bytes > 0) check_symmetric(name_, argument, at, bytes);
}

void Call::local(const char* argument, const void* at, std::size_t n, std::size_t size) const {
  if (const std::size_t bytes = times(n, size); bytes > 0) check_local(name_, argument, at, bytes);
}

void Call::strided(bool is_symmetric, const char* argument, const void* at, std::size_t n, std::size_t block,
                   std::ptrdiff_t stride, std::size_t size) const {
  if (n == 0 || block == 0 || stride < 1) return;
  const std::size_t bytes = extent(n, block, stride, size);
  is_symmetric ? symmetric(argument, at, bytes, 1) : local(argument, at, bytes, 1);
}

void Call::block(const char* argument, const void* at) const {
  if (at != nullptr) check_block(name_, argument, at);
}

void Call::copy(std::string_view op, const void* dest, const void* source, std::size_t n,
                std::size_t size) const {
  is_get(op) ? local("dest", dest, n, size) : symmetric("dest", dest, n, size);
  is_get(op) ? symmetric("source", source, n, size) : local("source", source, n, size);
}

void Call::copy_strided(std::string_view op, const void* dest, const void* source, std::ptrdiff_t dst,
                        std::ptrdiff_t sst, std::size_t n, std::size_t block, std::size_t size) const {
  strided(!is_get(op), "dest", dest, n, block, dst, size);
  strided(is_get(op), "source", source, n, block, sst, size);
}

void Call::collective(std::string_view op, int members, const void* dest, const void* source, std::size_t n,
                      std::size_t size) const {
  if (members < 1) return;
  const auto all = static_cast<std::size_t>(members);
  const bool to_all = has(op, "alltoall");
  // The rest of collect's dest is looked at when it is known (CallChecks::range).
  symmetric("dest", dest, times(n, to_all || has(op, "fcollect") ? all : 1), size);
  symmetric("source", source, times(n, to_all ? all : 1), size);
}

void Call::alltoalls(int members, const void* dest, const void* source, std::ptrdiff_t dst,
                     std::ptrdiff_t sst, std::size_t n, std::size_t size) const {
  if (members < 1) return;
  const std::size_t elements = times(n, static_cast<std::size_t>(members));
  strided(true, "dest", dest, elements, 1, dst, size);
  strided(true, "source", source, elements, 1, sst, size);
}

void Call::to_all(int members, const void* dest, const void* source, int n, std::size_t size,
                  const void* work) const {
  if (n < 0) return;
  const auto elements = static_cast<std::size_t>(n);
  collective("", members, dest, source, elements, size);
  // Other implementations need it, this one does not: it may be NULL.
  if (work != nullptr)
    symmetric("pWrk", work, std::max<std::size_t>(elements / 2 + 1, SHMEM_REDUCE_MIN_WRKDATA_SIZE), size);
}

void Call::words(const void* ivars, std::size_t n, std::size_t size, const int* status, std::size_t* indices,
                 const void* values) const {
  symmetric("ivars", ivars, n, size);
  may_be_null("status", status, n, sizeof *status);
  may_be_null("cmp_values", values, n, size);
  if (indices == nullptr) return;
  std::size_t wanted = n;
  for (std::size_t i = 0; status != nullptr && i < n; ++i) wanted -= status[i] != 0 ? 1 : 0;
  local("indices", indices, wanted, sizeof *indices);
}

void Call::batch(const shmemx_kv_call_t* calls, std::size_t count) const {
  local("calls", calls, count, sizeof *calls);
  for (std::size_t i = 0; calls != nullptr && i < count; ++i) {
    const shmemx_kv_call_t& each = calls[i];
    key(each.key, each.key_bytes);
    switch (each.call) {
      case SHMEMX_KV_GET_OR_INSERT:
      case SHMEMX_KV_EXCHANGE:
      case SHMEMX_KV_APPLY: may_be_null("old", each.old, 1, each.room); [[fallthrough]];
      case SHMEMX_KV_PUT:
      case SHMEMX_KV_INSERT:
      case SHMEMX_KV_UPDATE:
      case SHMEMX_KV_INSERT_OR_UPDATE: may_be_null("val", each.val, 1, each.value_bytes); break;
      case SHMEMX_KV_GET:
      case SHMEMX_KV_TAKE: may_be_null("old", each.old, 1, each.room); break;
      case SHMEMX_KV_ACCUMULATE:
      case SHMEMX_KV_UPSERT:
        local("val", each.val, 1, bytes_of_type(each.type));
        may_be_null("old", each.old, 1, bytes_of_type(each.type));
        break;
      case SHMEMX_KV_COMPARE_SWAP:
        may_be_null("val", each.val, 1, each.value_bytes);
        may_be_null("expected", each.expected, 1, each.value_bytes);
        may_be_null("old", each.old, 1, each.value_bytes);
        break;
      default: break;
    }
  }
}

}  // namespace checks
