// SPDX-License-Identifier: BSD-3-Clause
// What a PE tells the launcher that asks who waits for whom: one datagram each, on a Unix socket.
//
// The launcher (tools/oshrun) listens on an abstract address named after the job, and asks by a datagram of
// one byte to an address that each PE listens on: a signal would cut short the program's own sleeps and
// polls. base/wait_report answers.  The kernel chooses a PE's address, and the PE's first datagram comes from
// it: so nobody can take the address before.  Both ends are built from this file; a report of another layout
// is not looked at.
#pragma once

#include <signal.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <string>

namespace shm {

/// Asks a PE what its threads wait for, where no launcher of ours can.  Ignored by processes that do not know
/// of it, and next to never used otherwise.
inline constexpr int kAskSignal = SIGURG;

/// How reports say that a PE has not begun a collective operation, or not got as far in it.
inline constexpr const char kNotAsFar[] = "which has not come as far";

struct WaitRecord {
  static constexpr std::uint32_t kLayout = 0x41574105;  // to be changed with the members
  static constexpr std::int32_t kNobody = -1;

  enum class News : std::int32_t {
    present,  // the PE has heard the question; as many reports follow as `waiting` says, unless a wait ends
    waits,    // what one thread waits for
    listens,  // questions to the address that this comes from are heard
    leaves,   // the program has ended without shmem_finalize, which is now called for it
  };

  std::uint32_t layout = kLayout;
  News news = News::waits;
  std::int32_t pe = kNobody;
  std::int32_t waiting = 0;       // present: threads that wait
  std::int32_t thread = 0;        // waits: the kernel's number of it
  std::int32_t for_pe = kNobody;  // waits: the PE that must act, if it is known
  std::int32_t program = 0;       // waits: 1: its agent does not end the wait; the program of for_pe must
  std::int32_t group = kNobody;   // waits: in a collective operation of these PEs, by a number that all have
  std::uint64_t calls = 0;        // waits: of these operations, so many has this PE begun
  double seconds = 0;             // waits: for how long
  char call[64] = "";             // waits: as the program wrote it
  char what[160] = "";            // waits: completes "<call> waits "
};

/// The abstract address whose name is all `parts` in a row.  Safe in signal handlers.
inline socklen_t abstract_address(std::initializer_list<const char*> parts, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  constexpr std::size_t kRoom = sizeof address.sun_path - 1;
  std::size_t length = 1;  // the first byte, 0, says that the name is abstract
  for (const char* part : parts) {
    for (; *part != '\0' && length < kRoom; ++part) address.sun_path[length++] = *part;
  }
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + length);
}

/// Before bind(): the kernel says with each datagram who has sent it.
inline bool ask_for_senders(int fd) {
  const int on = 1;
  return setsockopt(fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) == 0;
}

/// An address of a Unix socket; `length` 0: none.
struct UnixAddress {
  sockaddr_un name;
  socklen_t length = 0;
};

/// As recvfrom(); `ours`: whether something came, and a process of this user has sent it.  Abstract addresses
/// have no permissions of their own.
inline ssize_t receive_from_user(int fd, void* to, std::size_t n, int flags, bool& ours,
                                 UnixAddress* from = nullptr) {
  iovec data{to, n};
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(ucred))];
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control;
  message.msg_controllen = sizeof control;
  if (from != nullptr) {
    message.msg_name = &from->name;
    message.msg_namelen = sizeof from->name;
  }
  const ssize_t size = recvmsg(fd, &message, flags | MSG_CMSG_CLOEXEC);
  const cmsghdr* head = size < 0 ? nullptr : CMSG_FIRSTHDR(&message);
  if (from != nullptr) from->length = size < 0 ? 0 : message.msg_namelen;
  ours = false;
  if (head != nullptr && head->cmsg_type == SCM_CREDENTIALS) {
    ucred sender;  // with pid 0 from outside a container
    std::memcpy(&sender, CMSG_DATA(head), sizeof sender);
    ours = sender.uid == geteuid();
  }
  return size;
}

/// Where the launcher of job `id` (environment variable ATOLL_JOB_ID) hears reports.  Safe in signal
/// handlers.
inline socklen_t wait_report_address(const char* id, sockaddr_un& address) {
  return abstract_address({id, ".waits"}, address);
}

}  // namespace shm
