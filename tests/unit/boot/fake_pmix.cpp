// SPDX-License-Identifier: BSD-3-Clause
#include "fake_pmix.hpp"

#include <dlfcn.h>

#include <cstring>

using shm::test::FakePmix;

extern "C" {

pmix_status_t PMIx_Init(pmix_proc_t* self, pmix_info_t info[], std::size_t n) {
  FakePmix* server = FakePmix::current();
  if (server == nullptr) {
    using Init = pmix_status_t(pmix_proc_t*, pmix_info_t*, std::size_t);
    return reinterpret_cast<Init*>(dlsym(RTLD_NEXT, "PMIx_Init"))(self, info, n);
  }
  std::memset(self, 0, sizeof *self);
  std::strncpy(self->nspace, server->nspace.c_str(), sizeof self->nspace - 1);
  self->rank = server->rank;
  pthread_sigmask(SIG_SETMASK, nullptr, &server->blocked_at_init);
  return server->called("PMIx_Init");
}

pmix_status_t PMIx_Finalize(const pmix_info_t*, std::size_t) {
  return FakePmix::current()->called("PMIx_Finalize");
}

pmix_status_t PMIx_Abort(int code, const char* message, pmix_proc_t*, std::size_t) {
  FakePmix::current()->abort_code = code;
  FakePmix::current()->abort_message = message;
  return FakePmix::current()->called("PMIx_Abort");
}

pmix_status_t PMIx_Put(pmix_scope_t scope, const char* key, pmix_value_t* value) {
  FakePmix* server = FakePmix::current();
  server->scope = scope;
  if (value->type == PMIX_UINT64) {
    server->numbers[key] = value->data.uint64;
  } else {
    const auto* bytes = reinterpret_cast<const std::byte*>(value->data.bo.bytes);
    server->put.assign(bytes, bytes + value->data.bo.size);
  }
  return server->called("PMIx_Put");
}

pmix_status_t PMIx_Commit(void) { return FakePmix::current()->called("PMIx_Commit"); }

pmix_status_t PMIx_Fence(const pmix_proc_t*, std::size_t, const pmix_info_t info[], std::size_t n) {
  FakePmix* server = FakePmix::current();
  for (std::size_t i = 0; i < n; ++i) {
    if (std::strcmp(info[i].key, PMIX_COLLECT_DATA) == 0) server->collects = info[i].value.data.flag;
    if (std::strcmp(info[i].key, PMIX_TIMEOUT) == 0) server->seconds = info[i].value.data.integer;
  }
  return server->called("PMIx_Fence");
}

pmix_status_t PMIx_Get(const pmix_proc_t* proc, const char* key, const pmix_info_t info[], std::size_t n,
                       pmix_value_t** value) {
  FakePmix* server = FakePmix::current();
  server->how = n == 1 && info[0].value.data.flag ? info[0].key : "";
  if (server->absent_first > 0 && server->absent_first-- > 0) return PMIX_ERR_NOT_FOUND;
  const auto answer = server->answers.find({proc->rank, key});
  if (answer == server->answers.end() || server->nspace != proc->nspace) return PMIX_ERR_NOT_FOUND;
  PMIX_VALUE_CREATE(*value, 1);
  answer->second(**value);
  return PMIX_SUCCESS;
}
}
