// SPDX-License-Identifier: BSD-3-Clause
#include "base/random.hpp"

#include <sys/random.h>

#include <cerrno>
#include <cstring>

#include "base/fatal.hpp"

namespace shm {

std::uint64_t random_number() {
  std::uint64_t secret = 0;
  while (secret == 0) {
    const ssize_t n = getrandom(&secret, sizeof secret, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n != sizeof secret) fatal("getrandom: %s: there are no random numbers", std::strerror(errno));
  }
  return secret;
}

}  // namespace shm
