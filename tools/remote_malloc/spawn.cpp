// SPDX-License-Identifier: BSD-3-Clause
// posix_spawn stores the child's number while all signals are blocked, where a page that has to come would
// end the process.
#include <spawn.h>

#include "next.hpp"

namespace remote_malloc {
namespace {

using Spawn = int(pid_t*, const char*, const posix_spawn_file_actions_t*, const posix_spawnattr_t*,
                  char* const*, char* const*);
constinit Next<Spawn> next_posix_spawn("posix_spawn"), next_posix_spawnp("posix_spawnp");

template <typename... Rest>
int spawn(Next<Spawn>& next, pid_t* child, Rest... rest) {
  pid_t made = 0;
  const int error = next(&made, rest...);
  if (error == 0 && child != nullptr) *child = made;
  return error;
}

}  // namespace
}  // namespace remote_malloc

using namespace remote_malloc;

REMOTE_MALLOC_WRAPPER int posix_spawn(pid_t* child, const char* path,
                                      const posix_spawn_file_actions_t* actions,
                                      const posix_spawnattr_t* attributes, char* const* arguments,
                                      char* const* environment) {
  return spawn(next_posix_spawn, child, path, actions, attributes, arguments, environment);
}
REMOTE_MALLOC_WRAPPER int posix_spawnp(pid_t* child, const char* file,
                                       const posix_spawn_file_actions_t* actions,
                                       const posix_spawnattr_t* attributes, char* const* arguments,
                                       char* const* environment) {
  return spawn(next_posix_spawnp, child, file, actions, attributes, arguments, environment);
}
