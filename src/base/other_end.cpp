// SPDX-License-Identifier: BSD-3-Clause
#include "base/other_end.hpp"

#include <arpa/inet.h>
#include <ifaddrs.h>
#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>
#include <optional>

#include "base/mutex.hpp"

namespace shm {
namespace {

constexpr unsigned kEstablished = 1;  // TCP_ESTABLISHED: what is closed already is shown as root's

// An address and a port.  IPv4 that is mapped into IPv6 is IPv4, as the kernel's tables have it.
struct End {
  bool v4 = true;
  std::array<std::uint32_t, 4> address{};  // in network order, as all of this
  std::uint16_t port = 0;
  std::uint32_t interface = 0;  // of a link-local address
  bool is_loopback() const {
    if (v4) return ntohl(address[0]) >> 24 == 127;
    return std::memcmp(address.data(), &in6addr_loopback, sizeof in6addr_loopback) == 0;
  }
  bool has_address_of(const End& other) const { return v4 == other.v4 && address == other.address; }
};

std::optional<End> end_of(const sockaddr* address) {
  End end;
  if (address->sa_family == AF_INET) {
    sockaddr_in in{};
    std::memcpy(&in, address, sizeof in);
    end.address[0] = in.sin_addr.s_addr;
    end.port = in.sin_port;
    return end;
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 in{};
  std::memcpy(&in, address, sizeof in);
  std::memcpy(end.address.data(), &in.sin6_addr, sizeof in.sin6_addr);
  end.port = in.sin6_port;
  end.interface = in.sin6_scope_id;
  end.v4 = IN6_IS_ADDR_V4MAPPED(&in.sin6_addr);
  if (end.v4) end.address = {end.address[3], 0, 0, 0};
  return end;
}

std::optional<End> end_by(int (*ask)(int, sockaddr*, socklen_t*), int socket) {
  sockaddr_storage address{};
  socklen_t length = sizeof address;
  if (ask(socket, reinterpret_cast<sockaddr*>(&address), &length) != 0) return std::nullopt;
  return end_of(reinterpret_cast<const sockaddr*>(&address));
}

// A socket as the kernel knows it.
struct Known {
  bool found = false;
  unsigned state = 0, user = 0;
};

// A user that this process's user namespace does not know is shown as the overflow user.  Who is that user
// itself cannot tell, but in the first namespace, which knows all.
bool shows_strangers_as_this_user() {
  std::uint32_t first = 0, outside = 0, length = 0;
  unsigned overflow = 65534;
  std::ifstream("/proc/self/uid_map") >> first >> outside >> length;
  std::ifstream("/proc/sys/kernel/overflowuid") >> overflow;
  return geteuid() == overflow && length != UINT32_MAX;
}

OtherEnd judge(const Known& socket) {
  static const bool cannot_tell = shows_strangers_as_this_user();
  if (cannot_tell && socket.user == geteuid()) return OtherEnd::unknown;
  return socket.state == kEstablished && socket.user == geteuid() ? OtherEnd::this_user
                                                                  : OtherEnd::another_user;
}

// The socket from `from` to `to`, by netlink.  Empty: there is no netlink of this kind.
std::optional<Known> ask_netlink(int netlink, const End& from, const End& to) {
  struct {
    nlmsghdr head;
    inet_diag_req_v2 body;
  } question{};
  question.head.nlmsg_len = sizeof question;
  question.head.nlmsg_type = SOCK_DIAG_BY_FAMILY;
  question.head.nlmsg_flags = NLM_F_REQUEST;
  question.body.sdiag_family = from.v4 ? AF_INET : AF_INET6;
  question.body.sdiag_protocol = IPPROTO_TCP;
  question.body.idiag_states = ~0U;
  inet_diag_sockid& id = question.body.id;
  id.idiag_sport = from.port;
  id.idiag_dport = to.port;
  id.idiag_if = from.interface;
  std::memcpy(id.idiag_src, from.address.data(), sizeof id.idiag_src);
  std::memcpy(id.idiag_dst, to.address.data(), sizeof id.idiag_dst);
  id.idiag_cookie[0] = id.idiag_cookie[1] = INET_DIAG_NOCOOKIE;
  if (send(netlink, &question, sizeof question, 0) != static_cast<ssize_t>(sizeof question))
    return std::nullopt;
  alignas(nlmsghdr) char answer[4096];
  const ssize_t n = recv(netlink, answer, sizeof answer, 0);
  nlmsghdr head{};
  if (n < static_cast<ssize_t>(sizeof head)) return std::nullopt;
  std::memcpy(&head, answer, sizeof head);
  if (head.nlmsg_type == NLMSG_ERROR) return Known{};
  inet_diag_msg socket{};
  if (head.nlmsg_type != SOCK_DIAG_BY_FAMILY || n < static_cast<ssize_t>(NLMSG_LENGTH(sizeof socket)))
    return std::nullopt;
  std::memcpy(&socket, answer + NLMSG_HDRLEN, sizeof socket);
  return Known{true, socket.idiag_state, socket.idiag_uid};
}

// Opened once: strangers may use up a process's descriptors.
int open_netlink() {
  const int netlink = socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_SOCK_DIAG);
  const timeval second{1, 0};
  if (netlink >= 0) setsockopt(netlink, SOL_SOCKET, SO_RCVTIMEO, &second, sizeof second);
  return netlink;
}

int the_netlink() {
  static const int netlink = open_netlink();
  return netlink;
}

std::optional<Known> find_by_netlink(const End& here, const End& there) {
  const int netlink = the_netlink();
  static Mutex one_question;
  if (netlink < 0) return std::nullopt;
  const LockGuard guard(one_question);
  std::optional<Known> other = ask_netlink(netlink, there, here);
  // Without tcp_diag nothing is found, not even our own end.
  if (other && !other->found) {
    const std::optional<Known> own = ask_netlink(netlink, here, there);
    if (!own || !own->found) other.reset();
  }
  return other;
}

// The same by the table that is printed.  IPv4 only.
std::optional<Known> find_in_table(const End& here, const End& there) {
  const std::unique_ptr<FILE, int (*)(FILE*)> table(std::fopen("/proc/self/net/tcp", "re"), std::fclose);
  // Without a descriptor it cannot be looked for: then nobody is let in.
  if (table == nullptr && (errno == EMFILE || errno == ENFILE || errno == ENOMEM)) return Known{true};
  if (table == nullptr || !here.v4) return std::nullopt;
  char line[256];
  while (std::fgets(line, sizeof line, table.get()) != nullptr) {
    std::uint32_t local = 0, remote = 0;
    std::uint16_t local_port = 0, remote_port = 0;
    unsigned state = 0, user = 0;
    // sl local remote st tx:rx tr:when retransmits uid
    if (std::sscanf(line, " %*u: %" SCNx32 ":%hx %" SCNx32 ":%hx %x %*x:%*x %*x:%*x %*x %u", &local,
                    &local_port, &remote, &remote_port, &state, &user) != 6)
      continue;
    if (local == there.address[0] && htons(local_port) == there.port && remote == here.address[0] &&
        htons(remote_port) == here.port)
      return Known{true, state, user};
  }
  return Known{};
}

bool is_of_this_host(const End& end) {
  ifaddrs* list = nullptr;
  if (getifaddrs(&list) != 0) return true;  // it may be
  bool found = false;
  for (const ifaddrs* entry = list; entry != nullptr && !found; entry = entry->ifa_next) {
    if (entry->ifa_addr == nullptr) continue;
    const std::optional<End> own = end_of(entry->ifa_addr);
    found = own && own->has_address_of(end);
  }
  freeifaddrs(list);
  return found;
}

using Find = std::optional<Known> (*)(const End& here, const End& there);

OtherEnd other_end_by(Find find, int connection) {
  const std::optional<End> here = end_by(getsockname, connection), there = end_by(getpeername, connection);
  if (!here || !there) return OtherEnd::another_user;  // it is closed already
  const std::optional<Known> other = find(*here, *there);
  if (!other) return OtherEnd::unknown;
  if (other->found) return judge(*other);
  const bool local = there->is_loopback() || there->has_address_of(*here) || is_of_this_host(*there);
  return local ? OtherEnd::another_user : OtherEnd::another_host;
}

}  // namespace

void prepare_other_end() { the_netlink(); }

OtherEnd other_end_of(int connection) {
  const OtherEnd owner = other_end_by(find_by_netlink, connection);
  return owner == OtherEnd::unknown ? other_end_by_table(connection) : owner;
}

OtherEnd other_end_by_table(int connection) { return other_end_by(find_in_table, connection); }

}  // namespace shm
