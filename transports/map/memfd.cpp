// SPDX-License-Identifier: BSD-3-Clause
// The mapper `memfd`: the leader's anonymous file, passed over an abstract Unix socket.
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

#include "base/service_thread.hpp"
#include "transports/map/mappers.hpp"
#include "transports/map/short_name.hpp"

namespace shm {
namespace {

using Clock = std::chrono::steady_clock;

// An abstract address (leading NUL): it lives in the network namespace and vanishes with the socket.
socklen_t abstract_address(const std::string& key, sockaddr_un& address) {
  std::memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  const std::string name = short_name("atoll.", key, sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
}

// From now on no call on the socket blocks for longer.
void limit_time(int socket, Clock::duration time) {
  const auto us = std::max<long>(std::chrono::duration_cast<std::chrono::microseconds>(time).count(), 1000);
  const timeval limit{us / 1000000, us % 1000000};
  setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);  // also of connect()
}

bool send_descriptor(int socket, int fd) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof fd)] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return sendmsg(socket, &message, MSG_NOSIGNAL) == 1;
}

int receive_descriptor(int socket) {
  char byte = 0;
  iovec data{&byte, 1};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (recvmsg(socket, &message, MSG_CMSG_CLOEXEC) != 1) return -1;
  const cmsghdr* header = CMSG_FIRSTHDR(&message);
  if (header == nullptr || header->cmsg_type != SCM_RIGHTS) return -1;
  int fd = -1;
  std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

class MemfdMapper final : public Mapper {
 public:
  ~MemfdMapper() override { stop_serving(); }
  const char* name() const override { return "memfd"; }

  Result<int> open(const NodeMember& member) override {
    return member.node_rank == 0 ? create(member) : attach(member);
  }

  void all_attached() override { stop_serving(); }

 private:
  Result<int> create(const NodeMember& member) {
    const int file = memfd_create("atoll", MFD_CLOEXEC);
    if (file < 0)
      return Status::error(std::string("memfd_create: ") + std::strerror(errno) + "; try SHMEM_MAPPER=posix");
    if (member.node_size == 1) return file;
    listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address;
    const socklen_t length = abstract_address(member.key, address);
    if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(listener_, member.node_size) != 0) {
      const int why = errno;
      close(file);
      return Status::error(std::string("cannot offer the node's memory on a Unix socket: ") +
                           std::strerror(why));
    }
    stop_event_ = eventfd(0, EFD_CLOEXEC);
    server_ = start_needed_thread("atoll-map", [this, shared = dup(file)] { serve(shared); });
    return file;
  }

  // Runs on server_: one descriptor to each that comes, until the members are known to have theirs or the
  // mapper goes away.  They are not counted: a member may come again, and other processes may come.
  void serve(int file) const {
    while (true) {
      pollfd events[2] = {{listener_, POLLIN, 0}, {stop_event_, POLLIN, 0}};
      if (poll(events, 2, -1) < 0 && errno != EINTR) break;
      if (events[1].revents != 0) break;
      if (events[0].revents == 0) continue;
      const int member = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (member < 0) continue;
      if (same_user(member)) send_descriptor(member, file);
      close(member);
    }
    close(file);
  }

  void stop_serving() {
    if (server_.joinable()) {
      const std::uint64_t one = 1;
      [[maybe_unused]] const ssize_t written = write(stop_event_, &one, sizeof one);
      server_.join();
      close(stop_event_);
    }
    if (listener_ >= 0) close(listener_);
    listener_ = -1;
  }

  static Result<int> attach(const NodeMember& member) {
    sockaddr_un address;
    const socklen_t length = abstract_address(member.key, address);
    const auto deadline = Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                             std::chrono::duration<double>(member.timeout));
    auto pause = std::chrono::microseconds(100);
    while (true) {  // until the leader listens
      const int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
      if (client < 0) {
        const int why = errno;
        return Status::error(std::string("socket: ") + std::strerror(why) + limit_behind(why));
      }
      limit_time(client, deadline - Clock::now());
      if (connect(client, reinterpret_cast<sockaddr*>(&address), length) == 0) {
        const int file = same_user(client) ? receive_descriptor(client) : -1;
        close(client);
        if (file >= 0) return file;
      } else {
        close(client);
      }
      if (Clock::now() > deadline) break;
      std::this_thread::sleep_for(pause);
      pause = std::min(pause * 2, std::chrono::microseconds(2000));
    }
    return late_leader("offer its memory", member.timeout);
  }

  int listener_ = -1;
  int stop_event_ = -1;
  std::thread server_;
};

}  // namespace

std::unique_ptr<Mapper> make_memfd_mapper() { return std::make_unique<MemfdMapper>(); }

}  // namespace shm
