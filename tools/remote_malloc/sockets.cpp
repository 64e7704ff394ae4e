// SPDX-License-Identifier: BSD-3-Clause
// send, recv and their kin.
#include <sys/socket.h>
#include <time.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "blocks.hpp"
#include "next.hpp"
#include "transfers.hpp"

extern "C" [[noreturn]] void __chk_fail();

namespace remote_malloc {
namespace {

constinit Next<ssize_t(int, const void*, size_t, int)> next_send("send");
constinit Next<ssize_t(int, void*, size_t, int)> next_recv("recv");
constinit Next<ssize_t(int, const void*, size_t, int, const sockaddr*, socklen_t)> next_sendto("sendto");
constinit Next<ssize_t(int, void*, size_t, int, sockaddr*, socklen_t*)> next_recvfrom("recvfrom");
constinit Next<ssize_t(int, const msghdr*, int)> next_sendmsg("sendmsg");
constinit Next<ssize_t(int, msghdr*, int)> next_recvmsg("recvmsg");
constinit Next<int(int, mmsghdr*, unsigned, int)> next_sendmmsg("sendmmsg");
constinit Next<int(int, mmsghdr*, unsigned, int, timespec*)> next_recvmmsg("recvmmsg");

Buffers buffers_of(const msghdr& message) { return {message.msg_iov, message.msg_iovlen}; }

bool goes_by_stage(const msghdr* message) {
  if (!blocks::any_remote()) return false;
  return blocks::touches(message, sizeof *message) ||
         blocks::touches(message->msg_name, message->msg_namelen) ||
         blocks::touches(message->msg_control, message->msg_controllen) ||
         buffers_of(*message).touch_remote();
}

// A read that waits for all of it goes on; another one ends with what one call has got.
Division of_receive(int fd, int flags) {
  Division division = Division::of_read(fd);
  division.goes_on = (flags & MSG_WAITALL) != 0;
  return division;
}

// What is sent beside the data, in local memory.
struct Beside {
  explicit Beside(const msghdr& message) : control(std::max<size_t>(message.msg_controllen, 1)) {}

  sockaddr_storage name{};
  Stage control;
};

ssize_t send_by_stage(int fd, const msghdr& message, int flags) {
  Beside beside(message);
  if (beside.control.at() == nullptr) return -1;
  msghdr local = message;
  if (message.msg_name != nullptr && message.msg_namelen <= sizeof beside.name)
    local.msg_name = std::memcpy(&beside.name, message.msg_name, message.msg_namelen);
  if (message.msg_control != nullptr)
    local.msg_control = std::memcpy(beside.control.at(), message.msg_control, message.msg_controllen);
  return send_out(buffers_of(message), Division::of_write(fd), [&](void* at, size_t n, size_t done) {
    iovec one{at, n};
    local.msg_iov = &one;
    local.msg_iovlen = 1;
    if (done > 0) local.msg_controllen = 0;  // once, with the first bytes
    return next_sendmsg(fd, &local, flags);
  });
}

ssize_t receive_by_stage(int fd, msghdr& message, int flags) {
  Beside beside(message);
  if (beside.control.at() == nullptr) return -1;
  msghdr local = message;
  if (message.msg_name != nullptr) {
    local.msg_name = &beside.name;
    local.msg_namelen = std::min<socklen_t>(message.msg_namelen, sizeof beside.name);
  }
  if (message.msg_control != nullptr) local.msg_control = beside.control.at();
  Division division = Division::of_read(fd);
  division.goes_on = false;  // what comes beside the data comes with one call
  const ssize_t got = receive(buffers_of(message), division, [&](void* at, size_t n, size_t) {
    iovec one{at, n};
    local.msg_iov = &one;
    local.msg_iovlen = 1;
    return next_recvmsg(fd, &local, flags);
  });
  if (got < 0) return got;
  if (message.msg_name != nullptr)
    std::memcpy(message.msg_name, &beside.name, std::min(message.msg_namelen, local.msg_namelen));
  if (message.msg_control != nullptr)
    std::memcpy(message.msg_control, beside.control.at(), local.msg_controllen);
  message.msg_namelen = local.msg_namelen;
  message.msg_controllen = local.msg_controllen;
  message.msg_flags = local.msg_flags;
  return got;
}

// ---- Several messages at a time: one after the other, if any of them is remote

constexpr unsigned kMostMessages = 1024;  // Linux sends no more with one call

bool go_by_stage(const mmsghdr* messages, unsigned count) {
  if (!blocks::any_remote() || count == 0) return false;
  if (blocks::touches(messages, count * sizeof *messages)) return true;
  return std::any_of(messages, messages + count,
                     [](const mmsghdr& one) { return goes_by_stage(&one.msg_hdr); });
}

// By the system's rules: an error only if no message was sent before, and none behind one that was cut.
int send_one_by_one(int fd, mmsghdr* messages, unsigned count, int flags) {
  unsigned sent = 0;
  while (sent < count) {
    mmsghdr& one = messages[sent];
    const ssize_t n = sendmsg(fd, &one.msg_hdr, flags);
    if (n < 0) return sent > 0 ? static_cast<int>(sent) : -1;
    one.msg_len = static_cast<unsigned>(n);
    ++sent;
    if (static_cast<size_t>(n) < buffers_of(one.msg_hdr).bytes()) break;
  }
  return static_cast<int>(sent);
}

// What is left of a limit of time, which the system looks at only when a message has come.
class TimeLeft {
 public:
  explicit TimeLeft(timespec* limit) : limit_(limit) {
    if (limit_ != nullptr) end_ = now() + of(*limit_);
  }

  // Whether there is any; the program is told how much.
  bool update() const {
    if (limit_ == nullptr) return true;
    const std::int64_t left = std::max<std::int64_t>(end_ - now(), 0);
    *limit_ = {left / kSecond, left % kSecond};
    return left > 0;
  }

 private:
  static constexpr std::int64_t kSecond = 1'000'000'000;
  // More than ten years is for ever.
  static std::int64_t of(const timespec& time) {
    return std::min<std::int64_t>(time.tv_sec, 1 << 29) * kSecond + time.tv_nsec;
  }
  static std::int64_t now() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return of(time);
  }

  timespec* const limit_;
  std::int64_t end_ = 0;
};

// Likewise.  An error behind the first message is lost, where the system would keep it for the next call.
int receive_one_by_one(int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit) {
  const TimeLeft left(limit);
  int flags_now = flags & ~MSG_WAITFORONE;
  unsigned got = 0;
  while (got < count) {
    mmsghdr& one = messages[got];
    const ssize_t n = recvmsg(fd, &one.msg_hdr, flags_now);
    if (n < 0) return got > 0 ? static_cast<int>(got) : -1;
    one.msg_len = static_cast<unsigned>(n);
    ++got;
    if ((flags & MSG_WAITFORONE) != 0) flags_now |= MSG_DONTWAIT;
    if (!left.update() || (one.msg_hdr.msg_flags & MSG_OOB) != 0) break;
  }
  return static_cast<int>(got);
}

bool is_time(const timespec& time) {
  return time.tv_sec >= 0 && time.tv_nsec >= 0 && time.tv_nsec < 1'000'000'000;
}

}  // namespace
}  // namespace remote_malloc

using namespace remote_malloc;

REMOTE_MALLOC_WRAPPER ssize_t send(int fd, const void* buffer, size_t n, int flags) {
  if (!blocks::touches(buffer, n)) return next_send(fd, buffer, n, flags);
  const iovec one{const_cast<void*>(buffer), n};
  return send_out({&one, 1}, Division::of_write(fd),
                  [=](const void* at, size_t piece, size_t) { return next_send(fd, at, piece, flags); });
}

REMOTE_MALLOC_WRAPPER ssize_t recv(int fd, void* buffer, size_t n, int flags) {
  if (!blocks::touches(buffer, n)) return next_recv(fd, buffer, n, flags);
  const iovec one{buffer, n};
  return receive({&one, 1}, of_receive(fd, flags),
                 [=](void* at, size_t piece, size_t) { return next_recv(fd, at, piece, flags); });
}

REMOTE_MALLOC_WRAPPER ssize_t sendto(int fd, const void* buffer, size_t n, int flags, const sockaddr* to,
                                     socklen_t length) {
  if (!blocks::touches(buffer, n) && !blocks::touches(to, length))
    return next_sendto(fd, buffer, n, flags, to, length);
  iovec one{const_cast<void*>(buffer), n};
  msghdr message{};
  message.msg_name = const_cast<sockaddr*>(to);
  message.msg_namelen = length;
  message.msg_iov = &one;
  message.msg_iovlen = 1;
  return send_by_stage(fd, message, flags);
}

REMOTE_MALLOC_WRAPPER ssize_t recvfrom(int fd, void* buffer, size_t n, int flags, sockaddr* from,
                                       socklen_t* length) {
  const bool with_name = from != nullptr && length != nullptr;
  if (!blocks::touches(buffer, n) &&
      !(with_name && (blocks::touches(length, sizeof *length) || blocks::touches(from, *length))))
    return next_recvfrom(fd, buffer, n, flags, from, length);
  if (!with_name) return recv(fd, buffer, n, flags);
  iovec one{buffer, n};
  msghdr message{};
  message.msg_name = from;
  message.msg_namelen = *length;
  message.msg_iov = &one;
  message.msg_iovlen = 1;
  const ssize_t got = receive_by_stage(fd, message, flags);
  if (got >= 0) *length = message.msg_namelen;
  return got;
}

REMOTE_MALLOC_WRAPPER ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return goes_by_stage(message) ? send_by_stage(fd, *message, flags) : next_sendmsg(fd, message, flags);
}

REMOTE_MALLOC_WRAPPER ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return goes_by_stage(message) ? receive_by_stage(fd, *message, flags) : next_recvmsg(fd, message, flags);
}

REMOTE_MALLOC_WRAPPER int sendmmsg(int fd, mmsghdr* messages, unsigned count, int flags) {
  count = std::min(count, kMostMessages);
  return go_by_stage(messages, count) ? send_one_by_one(fd, messages, count, flags)
                                      : next_sendmmsg(fd, messages, count, flags);
}

REMOTE_MALLOC_WRAPPER int recvmmsg(int fd, mmsghdr* messages, unsigned count, int flags, timespec* limit) {
  const bool remote_limit = limit != nullptr && blocks::touches(limit, sizeof *limit);
  if (!remote_limit && !go_by_stage(messages, count)) return next_recvmmsg(fd, messages, count, flags, limit);
  if (limit != nullptr && !is_time(*limit)) {
    errno = EINVAL;
    return -1;
  }
  return receive_one_by_one(fd, messages, count, flags, limit);
}

REMOTE_MALLOC_WRAPPER ssize_t __recv_chk(int fd, void* buffer, size_t n, size_t room, int flags) {
  if (n > room) __chk_fail();
  return recv(fd, buffer, n, flags);
}

REMOTE_MALLOC_WRAPPER ssize_t __recvfrom_chk(int fd, void* buffer, size_t n, size_t room, int flags,
                                             sockaddr* from, socklen_t* length) {
  if (n > room) __chk_fail();
  return recvfrom(fd, buffer, n, flags, from, length);
}
