// SPDX-License-Identifier: BSD-3-Clause
// accept() of libpmix: connections of other users are closed before a byte of them is read.
//
// The server listens on loopback, where any user may connect, and reads what a client says first on its only
// thread, with patience: who connects and says nothing would stall the job.  PMIx asks who a client is only
// then, and believes it. Whoever calls accept() in this process gets this one, as the program's own symbols
// come first.
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

#include "base/other_end.hpp"

namespace oshrun {
namespace {

bool is_of_this_user(int connection) {
  const shm::OtherEnd owner = shm::other_end_of(connection);
  static std::atomic<bool> said{false};
  if (owner == shm::OtherEnd::unknown && !said.exchange(true)) {
    static constexpr char kLine[] =
        "oshrun: the kernel does not say whose connections are (neither tcp_diag nor /proc/net/tcp, or a "
        "user "
        "namespace without users), so no PE can be let in\n";
    [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, kLine, std::strlen(kLine));
  }
  return owner == shm::OtherEnd::this_user;
}

}  // namespace
}  // namespace oshrun

extern "C" __attribute__((visibility("default"))) int accept(int listener, sockaddr* address,
                                                             socklen_t* length) {
  const int connection = accept4(listener, address, length, 0);
  if (connection < 0) return connection;
  sockaddr_storage own{};
  socklen_t size = sizeof own;
  const bool internet =
      getsockname(connection, reinterpret_cast<sockaddr*>(&own), &size) == 0 && own.ss_family != AF_UNIX;
  if (!internet || oshrun::is_of_this_user(connection)) return connection;
  close(connection);
  errno = EAGAIN;  // as if nobody had come
  return -1;
}
