// SPDX-License-Identifier: BSD-3-Clause
// accept() of libpmix: connections of other users are closed before a byte of them is read.
//
// The server listens on loopback, where any user may connect, and reads what a client says first on its only
// thread, with patience: who connects and says nothing would stall the job.  PMIx asks who a client is only
// then, and believes it. Whoever calls accept() in this process gets this one, as the program's own symbols
// come first.
#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <memory>

namespace oshrun {
namespace {

constexpr unsigned kEstablished = 1;  // what is closed already is nobody's, and shown as root's

struct End {
  std::uint32_t address = 0;  // both as the kernel prints them
  std::uint16_t port = 0;
};

bool end_of(int (*ask)(int, sockaddr*, socklen_t*), int socket, End& end) {
  sockaddr_in address{};
  socklen_t length = sizeof address;
  if (ask(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0 || address.sin_family != AF_INET)
    return false;
  end = {address.sin_addr.s_addr, ntohs(address.sin_port)};
  return true;
}

/// Whether the other end of a connection on this host is a socket of this user: the kernel's table has all of
/// them.
bool is_of_this_user(int socket) {
  End here, there;
  if (!end_of(getsockname, socket, here) || !end_of(getpeername, socket, there)) return false;
  const std::unique_ptr<FILE, int (*)(FILE*)> table(std::fopen("/proc/self/net/tcp", "re"), std::fclose);
  if (table == nullptr) return false;
  char line[256];
  while (std::fgets(line, sizeof line, table.get()) != nullptr) {
    End local, remote;
    unsigned state = 0, uid = 0;
    // sl local remote st tx:rx tr:when retransmits uid
    if (std::sscanf(line, " %*u: %" SCNx32 ":%hx %" SCNx32 ":%hx %x %*x:%*x %*x:%*x %*x %u", &local.address,
                    &local.port, &remote.address, &remote.port, &state, &uid) != 6)
      continue;
    if (local.address == there.address && local.port == there.port && remote.address == here.address &&
        remote.port == here.port)
      return state == kEstablished && uid == geteuid();
  }
  return false;
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
