// SPDX-License-Identifier: BSD-3-Clause
// Where a socket on loopback is, of IPv4 or IPv6.
#pragma once

#include <netinet/in.h>
#include <sys/socket.h>

namespace shm::test {

class LoopbackAddress {
 public:
  /// Any port.
  explicit LoopbackAddress(int family) {
    if (family == AF_INET) {
      auto& v4 = reinterpret_cast<sockaddr_in&>(address_);
      v4.sin_family = AF_INET;
      v4.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      length_ = sizeof v4;
    } else {
      auto& v6 = reinterpret_cast<sockaddr_in6&>(address_);
      v6.sin6_family = AF_INET6;
      v6.sin6_addr = in6addr_loopback;
      length_ = sizeof v6;
    }
  }

  /// Binds the socket to it; from then on it has the port that the socket got.  Returns false if there is no
  /// such address.
  bool bind_to(int socket) {
    return bind(socket, get(), length_) == 0 &&
           getsockname(socket, reinterpret_cast<sockaddr*>(&address_), &length_) == 0;
  }

  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  socklen_t length() const { return length_; }

 private:
  sockaddr_storage address_{};
  socklen_t length_ = 0;
};

}  // namespace shm::test
