// SPDX-License-Identifier: BSD-3-Clause
// What a connection to an endpoint of Atoll begins with: 128 random bits that the endpoint has told to its
// peers.  Libfabric knows nothing of them: what it calls to connect and to accept writes and takes them.
#pragma once

#include <sys/socket.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace shm::ofi {

/// All zeros: none is asked for.
using ConnectionToken = std::array<std::uint64_t, 2>;

/// A place to connect to or to listen at; an IPv4 address in the way of IPv6.
struct SocketPlace {
  std::array<unsigned char, 16> address{};
  std::uint16_t port = 0;
  auto operator<=>(const SocketPlace&) const = default;

  /// None of what is no internet address.
  static std::optional<SocketPlace> of(const sockaddr* address, std::size_t bytes);
  /// Where a socket is.
  static std::optional<SocketPlace> of(int socket);
};

/// Those of one endpoint: its own, which who connects must show, and those of its peers, which this process
/// shows them.  Forgotten with this object, which must outlive the endpoint.  Thread safety: none; the
/// functions below may run in any thread meanwhile.
class ConnectionTokens {
 public:
  ConnectionTokens();
  ~ConnectionTokens();
  ConnectionTokens(const ConnectionTokens&) = delete;
  ConnectionTokens& operator=(const ConnectionTokens&) = delete;

  /// While this lives, listen_guarded() of the calling thread guards what it is called for.
  class Opening {
   public:
    explicit Opening(ConnectionTokens& tokens);
    ~Opening();
    Opening(const Opening&) = delete;
    Opening& operator=(const Opening&) = delete;
  };

  /// Whether listen_guarded() has been called in the scope of an Opening: what libfabric calls is replaced
  /// where it matters.
  bool heard_of_listen() const { return heard_of_listen_; }

  /// The own one, or none if nothing is guarded.
  ConnectionToken told() const { return listens_.empty() ? ConnectionToken{} : own_; }

  /// `name`: the peer's, which is its socket address.  Returns false if that is not what it is.
  bool add_peer(std::span<const std::byte> name, const ConnectionToken& token);

 private:
  friend int listen_guarded(int, int);
  ConnectionToken own_;
  bool heard_of_listen_ = false;
  std::vector<SocketPlace> listens_, peers_;
};

/// What libfabric calls instead of the functions of these names.  As the originals, but:
/// a connection to a peer begins with its token, and fails if that cannot be written;
int connect_with_token(int connection, const sockaddr* to, socklen_t length);
/// so does one that was in progress and has been made, as SO_ERROR tells;
int getsockopt_with_token(int connection, int level, int option, void* value, socklen_t* length);
/// the kernel gives a connection to accept() when its first bytes are there, in the scope of an Opening.
int listen_guarded(int listener, int backlog);

/// What a connection begins with.
enum class Shown : std::uint8_t {
  token,    // or nothing is asked for
  nothing,  // it is closed already: a PE may have given it up
  other,
};
/// Of a connection that `listener` has taken: reads what it must begin with.  If no byte is there, waits for
/// it for 2 ms, but not for more than a tenth of the time.
Shown what_is_shown(int listener, int connection);

/// A descriptor that accept() has returned: nothing is known any more of a connection that had it before.
void forget_connection(int connection);

}  // namespace shm::ofi
