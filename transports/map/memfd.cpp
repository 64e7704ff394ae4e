// SPDX-License-Identifier: BSD-3-Clause
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstring>
#include <thread>

#include "transports/map/mappers.hpp"

namespace shm {
namespace {

using Clock = std::chrono::steady_clock;

// An abstract address (leading NUL): it lives in the network namespace and vanishes with the socket.
socklen_t abstract_address(const std::string& key, sockaddr_un& address) {
  std::memset(&address, 0, sizeof address);
  address.sun_family = AF_UNIX;
  const std::string name = "atoll." + key;
  const std::size_t length = std::min(name.size(), sizeof address.sun_path - 1);
  std::memcpy(address.sun_path + 1, name.data(), length);
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + length);
}

bool same_user(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  return getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) == 0 && peer.uid == geteuid();
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

  Result<int> open(const NodeGroup& group) override {
    return group.index == 0 ? create(group) : attach(group);
  }

  void all_attached() override { stop_serving(); }

 private:
  Result<int> create(const NodeGroup& group) {
    const int file = memfd_create("atoll", MFD_CLOEXEC);
    if (file < 0)
      return Status::error(std::string("memfd_create: ") + std::strerror(errno) + "; try SHMEM_MAPPER=posix");
    if (group.size == 1) return file;
    listener_ = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    sockaddr_un address;
    const socklen_t length = abstract_address(group.key, address);
    if (listener_ < 0 || bind(listener_, reinterpret_cast<sockaddr*>(&address), length) != 0 ||
        listen(listener_, group.size) != 0) {
      const int why = errno;
      close(file);
      return Status::error(std::string("cannot offer the node's memory on a Unix socket: ") +
                           std::strerror(why));
    }
    stop_event_ = eventfd(0, EFD_CLOEXEC);
    server_ = std::thread([this, shared = dup(file), left = group.size - 1] { serve(shared, left); });
    return file;
  }

  // Runs on server_: one descriptor to each member, until all have theirs or the mapper goes away.
  void serve(int file, int members) const {
    while (members > 0) {
      pollfd events[2] = {{listener_, POLLIN, 0}, {stop_event_, POLLIN, 0}};
      if (poll(events, 2, -1) < 0 && errno != EINTR) break;
      if (events[1].revents != 0) break;
      if (events[0].revents == 0) continue;
      const int member = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
      if (member < 0) continue;
      if (same_user(member) && send_descriptor(member, file)) --members;
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

  static Result<int> attach(const NodeGroup& group) {
    sockaddr_un address;
    const socklen_t length = abstract_address(group.key, address);
    const auto deadline = Clock::now() + std::chrono::duration<double>(group.timeout);
    auto pause = std::chrono::microseconds(100);
    while (true) {  // until the leader listens
      const int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
      if (client < 0) return Status::error(std::string("socket: ") + std::strerror(errno));
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
    return Status::error("the first PE of this node did not offer its memory within SHMEM_INIT_TIMEOUT=" +
                         std::to_string(group.timeout) + " seconds");
  }

  int listener_ = -1;
  int stop_event_ = -1;
  std::thread server_;
};

}  // namespace

std::unique_ptr<Mapper> make_memfd_mapper() { return std::make_unique<MemfdMapper>(); }

}  // namespace shm
