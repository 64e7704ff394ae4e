// SPDX-License-Identifier: BSD-3-Clause
// Threads that Atoll, libfabric or PMIx start are known by who creates them.
#include <pthread.h>

#include <cerrno>
#include <memory>
#include <new>

#include "inside.hpp"
#include "next.hpp"

namespace remote_malloc {
namespace {

struct Beginning {
  void* (*routine)(void*);
  void* argument;
};

constinit Next<int(pthread_t*, const pthread_attr_t*, void* (*)(void*), void*)> next_pthread_create(
    "pthread_create");

void* begin_inside(void* given) {
  const Beginning beginning = *static_cast<Beginning*>(given);
  delete static_cast<Beginning*>(given);
  const Inside inside;
  return beginning.routine(beginning.argument);
}

}  // namespace
}  // namespace remote_malloc

REMOTE_MALLOC_WRAPPER int pthread_create(pthread_t* thread, const pthread_attr_t* attributes,
                                         void* (*routine)(void*), void* argument) noexcept {
  using namespace remote_malloc;
  if (!Inside::now()) return next_pthread_create(thread, attributes, routine, argument);
  std::unique_ptr<Beginning> beginning(new (std::nothrow) Beginning{routine, argument});
  if (beginning == nullptr) return EAGAIN;
  const int error = next_pthread_create(thread, attributes, begin_inside, beginning.get());
  if (error == 0) (void)beginning.release();
  return error;
}
