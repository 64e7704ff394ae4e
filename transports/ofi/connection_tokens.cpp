// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/connection_tokens.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>

#include "base/mutex.hpp"
#include "base/random.hpp"

namespace shm::ofi {
namespace {

// How long (s) the kernel keeps a connection to itself that says nothing.  A process of the job may stand
// still for so long between connect() and its token.
constexpr int kSilence = 240;
constexpr std::chrono::milliseconds kWait{2};           // for a token that is late
constexpr std::chrono::milliseconds kBetweenWaits{20};  // as who accepts has other things to do

struct Listening {
  const ConnectionTokens* owner;
  ConnectionToken token;
};
struct Known {
  ConnectionToken token;
  unsigned endpoints;  // that know it
};

// Of this process.  Connections are rare, so one lock will do; it is never held in a system call.
struct Book {
  Mutex mutex;
  std::map<SocketPlace, Listening> listening GUARDED_BY(mutex);
  std::map<SocketPlace, Known> peers GUARDED_BY(mutex);
  std::map<int, ConnectionToken> under_way GUARDED_BY(mutex);  // by descriptor
};

// Never destroyed: threads of libfabric's may accept until the process ends.
Book& book() {
  static Book& only = *new Book;
  return only;
}

thread_local ConnectionTokens* opening = nullptr;

class KeptErrno {
 public:
  KeptErrno() = default;
  ~KeptErrno() { errno = kept_; }
  KeptErrno(const KeptErrno&) = delete;
  KeptErrno& operator=(const KeptErrno&) = delete;

 private:
  int kept_ = errno;
};

bool is_stream(int connection) {
  int type = 0;
  socklen_t length = sizeof type;
  return getsockopt(connection, SOL_SOCKET, SO_TYPE, &type, &length) == 0 && type == SOCK_STREAM;
}

std::optional<ConnectionToken> token_of_peer(const SocketPlace& place) {
  Book& known = book();
  const LockGuard guard(known.mutex);
  const auto found = known.peers.find(place);
  if (found == known.peers.end() || found->second.token == ConnectionToken{}) return {};
  return found->second.token;
}

std::optional<ConnectionToken> token_asked_at(const SocketPlace& place) {
  Book& known = book();
  const LockGuard guard(known.mutex);
  const auto found = known.listening.find(place);
  if (found == known.listening.end()) return {};
  return found->second.token;
}

void begin(int connection, const ConnectionToken& token) {
  Book& known = book();
  const LockGuard guard(known.mutex);
  known.under_way[connection] = token;
}

// Descriptors are used again: what is left of one that was closed meanwhile goes too.
std::optional<ConnectionToken> end(int connection) {
  Book& known = book();
  const LockGuard guard(known.mutex);
  const auto found = known.under_way.find(connection);
  if (found == known.under_way.end()) return {};
  const ConnectionToken token = found->second;
  known.under_way.erase(found);
  return token;
}

// A socket that has sent nothing yet has room.  Returns 0 or what went wrong.
int write_token(int connection, const ConnectionToken& token) {
  const ssize_t n = send(connection, &token, sizeof token, MSG_DONTWAIT | MSG_NOSIGNAL);
  if (n == static_cast<ssize_t>(sizeof token)) return 0;
  return n < 0 && errno != EAGAIN ? errno : ETIMEDOUT;  // EAGAIN: it is not connected yet
}

using Clock = std::chrono::steady_clock;

// Who accepts may be driving the network: in a flood of connections that say nothing it goes on.
bool may_wait() {
  static std::atomic<Clock::rep> next{0};
  const Clock::time_point now = Clock::now();
  Clock::rep from = next.load(std::memory_order_relaxed);
  return now.time_since_epoch().count() >= from &&
         next.compare_exchange_strong(from, (now + kBetweenWaits).time_since_epoch().count());
}

// For kWait, also where signals interrupt.
void await_bytes(int connection) {
  const Clock::time_point end = Clock::now() + kWait;
  pollfd readable{connection, POLLIN, 0};
  do {
    if (poll(&readable, 1, 1) > 0) return;
  } while (Clock::now() < end);
}

// In a time that says nothing of where they differ.
bool are_equal(const ConnectionToken& one, const ConnectionToken& other) {
  return ((one[0] ^ other[0]) | (one[1] ^ other[1])) == 0;
}

}  // namespace

std::optional<SocketPlace> SocketPlace::of(const sockaddr* address, std::size_t bytes) {
  SocketPlace place;
  sockaddr_in v4{};
  sockaddr_in6 v6{};
  if (bytes >= sizeof v4 && address->sa_family == AF_INET) {
    std::memcpy(&v4, address, sizeof v4);
    place.address[10] = place.address[11] = 0xff;
    std::memcpy(&place.address[12], &v4.sin_addr, 4);
    place.port = v4.sin_port;
    return place;
  }
  if (bytes >= sizeof v6 && address->sa_family == AF_INET6) {
    std::memcpy(&v6, address, sizeof v6);
    std::memcpy(place.address.data(), &v6.sin6_addr, 16);
    place.port = v6.sin6_port;
    return place;
  }
  return {};
}

std::optional<SocketPlace> SocketPlace::of(int socket) {
  sockaddr_storage own{};
  socklen_t length = sizeof own;
  auto* address = reinterpret_cast<sockaddr*>(&own);
  if (getsockname(socket, address, &length) != 0) return {};
  return of(address, length);
}

ConnectionTokens::ConnectionTokens() : own_{random_number(), random_number()} {}

ConnectionTokens::~ConnectionTokens() {
  Book& known = book();
  const LockGuard guard(known.mutex);
  for (const SocketPlace& place : listens_) {
    const auto found = known.listening.find(place);
    if (found != known.listening.end() && found->second.owner == this) known.listening.erase(found);
  }
  for (const SocketPlace& place : peers_) {
    const auto found = known.peers.find(place);
    if (--found->second.endpoints == 0) known.peers.erase(found);
  }
}

ConnectionTokens::Opening::Opening(ConnectionTokens& tokens) { opening = &tokens; }
ConnectionTokens::Opening::~Opening() { opening = nullptr; }

bool ConnectionTokens::add_peer(std::span<const std::byte> name, const ConnectionToken& token) {
  sockaddr_storage address{};
  std::memcpy(&address, name.data(), std::min(name.size(), sizeof address));
  const std::optional<SocketPlace> place =
      SocketPlace::of(reinterpret_cast<const sockaddr*>(&address), name.size());
  if (!place.has_value()) return false;
  peers_.push_back(*place);
  Book& known = book();
  const LockGuard guard(known.mutex);
  Known& peer = known.peers[*place];
  peer.token = token;  // the latest endpoint there counts
  ++peer.endpoints;
  return true;
}

int listen_guarded(int listener, int backlog) {
  ConnectionTokens* const tokens = opening;
  if (tokens != nullptr) tokens->heard_of_listen_ = true;
  const std::optional<SocketPlace> place = SocketPlace::of(listener);
  if (!place.has_value()) return listen(listener, backlog);
  Book& known = book();
  // Without TCP_DEFER_ACCEPT a peer's token might come after the connection, when nobody can wait for it.
  if (tokens == nullptr ||
      setsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &kSilence, sizeof kSilence) != 0) {
    {
      const LockGuard guard(known.mutex);
      known.listening.erase(*place);  // of an endpoint that has closed its socket, and is not destroyed yet
    }
    return listen(listener, backlog);
  }
  {
    const LockGuard guard(known.mutex);
    known.listening.insert_or_assign(*place, Listening{tokens, tokens->own_});
  }
  tokens->listens_.push_back(*place);
  const int code = listen(listener, backlog);
  if (code == 0) return code;
  const KeptErrno kept;
  tokens->listens_.pop_back();
  const LockGuard guard(known.mutex);
  known.listening.erase(*place);
  return code;
}

int connect_with_token(int connection, const sockaddr* to, socklen_t length) {
  end(connection);
  const std::optional<SocketPlace> place = SocketPlace::of(to, length);
  const std::optional<ConnectionToken> token = place.has_value() ? token_of_peer(*place) : std::nullopt;
  if (!token.has_value() || !is_stream(connection)) return connect(connection, to, length);
  begin(connection, *token);
  const int code = connect(connection, to, length);
  if (code != 0 && (errno == EINPROGRESS || errno == EAGAIN || errno == EINTR)) return code;
  {
    const KeptErrno kept;
    end(connection);
  }
  if (code != 0) return code;
  const int error = write_token(connection, *token);
  if (error == 0) return 0;
  errno = error;
  return -1;
}

int getsockopt_with_token(int connection, int level, int option, void* value, socklen_t* length) {
  const int code = getsockopt(connection, level, option, value, length);
  if (level != SOL_SOCKET || option != SO_ERROR || code != 0 || *length != sizeof(int)) return code;
  const KeptErrno kept;
  const std::optional<ConnectionToken> token = end(connection);
  int error = 0;
  std::memcpy(&error, value, sizeof error);
  if (!token.has_value() || error != 0) return code;
  error = write_token(connection, *token);
  std::memcpy(value, &error, sizeof error);
  return code;
}

// The kernel gives a connection away when its first segment is there, which has the token as a whole; or when
// it has said nothing for kSilence, or in a flood of connections (SYN cookies), at once.
Shown what_is_shown(int listener, int connection) {
  const std::optional<SocketPlace> place = SocketPlace::of(listener);
  const std::optional<ConnectionToken> asked = place.has_value() ? token_asked_at(*place) : std::nullopt;
  if (!asked.has_value()) return Shown::token;
  ConnectionToken said{};
  const auto read = [&] { return recv(connection, &said, sizeof said, MSG_DONTWAIT); };
  ssize_t n = read();
  if (n < 0 && errno == EAGAIN && may_wait()) {
    await_bytes(connection);
    n = read();
  }
  if (n == 0 || (n < 0 && errno != EAGAIN)) return Shown::nothing;
  return n == static_cast<ssize_t>(sizeof said) && are_equal(said, *asked) ? Shown::token : Shown::other;
}

void forget_connection(int connection) { end(connection); }

}  // namespace shm::ofi
