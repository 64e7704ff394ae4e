// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <thread>

#include "patterns.hpp"

extern "C" {
ssize_t __recv_chk(int, void*, size_t, size_t, int);
ssize_t __recvfrom_chk(int, void*, size_t, size_t, int, sockaddr*, socklen_t*);
}

namespace remote_malloc {
namespace {

constexpr std::size_t kMessage = 100000;  // fits a local datagram, and lies on two pages at least

class Sockets : public Enabled {
 protected:
  void SetUp() override {
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, stream_), 0);
    ASSERT_EQ(socketpair(AF_UNIX, SOCK_DGRAM, 0, datagram_), 0);
    local_ = pattern_of(kMessage, 1);
  }
  void TearDown() override {
    for (const int fd : {stream_[0], stream_[1], datagram_[0], datagram_[1]}) close(fd);
  }
  std::uint8_t* place() const { return block_.at(paged::kPage - 10); }

  Block block_{std::size_t{2} << 20};
  int stream_[2], datagram_[2];
  std::vector<std::uint8_t> local_;
};

using Call = ssize_t (*)(int, std::uint8_t*, std::size_t);

const std::pair<const char*, Call> kReceives[] = {
    {"recv", [](int fd, std::uint8_t* at, std::size_t n) { return recv(fd, at, n, 0); }},
    {"__recv_chk", [](int fd, std::uint8_t* at, std::size_t n) { return __recv_chk(fd, at, n, n, 0); }},
    {"recvfrom",
     [](int fd, std::uint8_t* at, std::size_t n) { return recvfrom(fd, at, n, 0, nullptr, nullptr); }},
    {"__recvfrom_chk", [](int fd, std::uint8_t* at,
                          std::size_t n) { return __recvfrom_chk(fd, at, n, n, 0, nullptr, nullptr); }},
    {"recvmsg",
     [](int fd, std::uint8_t* at, std::size_t n) {
       iovec list[] = {{at, n / 4}, {at + n / 4, n - n / 4}};
       msghdr message{};
       message.msg_iov = list;
       message.msg_iovlen = 2;
       return recvmsg(fd, &message, 0);
     }},
    {"read", [](int fd, std::uint8_t* at, std::size_t n) { return read(fd, at, n); }},
};

TEST_F(Sockets, WhatIsReceivedReachesMemoryThatIsNotHere) {
  for (int* pair : {stream_, datagram_}) {
    for (const auto& [name, call] : kReceives) {
      for (const Resident resident : {Resident::none, Resident::first, Resident::all_but_first}) {
        std::memset(place() - 1, 0xee, kMessage + 2);
        make_resident(resident, place(), kMessage);
        ASSERT_EQ(send(pair[0], local_.data(), kMessage, 0), static_cast<ssize_t>(kMessage));
        ASSERT_EQ(call(pair[1], place(), kMessage), static_cast<ssize_t>(kMessage))
            << name << strerror(errno);
        EXPECT_EQ(first_other(place(), kMessage, 1), kMessage) << name;
        EXPECT_TRUE(place()[-1] == 0xee && place()[kMessage] == 0xee) << name;
      }
    }
  }
}

const std::pair<const char*, Call> kSends[] = {
    {"send", [](int fd, std::uint8_t* at, std::size_t n) { return send(fd, at, n, 0); }},
    {"sendto", [](int fd, std::uint8_t* at, std::size_t n) { return sendto(fd, at, n, 0, nullptr, 0); }},
    {"sendmsg",
     [](int fd, std::uint8_t* at, std::size_t n) {
       iovec list[] = {{at, n / 4}, {at + n / 4, n - n / 4}};
       msghdr message{};
       message.msg_iov = list;
       message.msg_iovlen = 2;
       return sendmsg(fd, &message, 0);
     }},
    {"write", [](int fd, std::uint8_t* at, std::size_t n) { return write(fd, at, n); }},
};

TEST_F(Sockets, WhatIsNotHereIsSentInOneMessage) {
  for (int* pair : {stream_, datagram_}) {
    for (const auto& [name, call] : kSends) {
      for (const Resident resident : {Resident::none, Resident::first, Resident::all_but_first}) {
        fill(place(), kMessage, 5);
        make_resident(resident, place(), kMessage);
        ASSERT_EQ(call(pair[0], place(), kMessage), static_cast<ssize_t>(kMessage))
            << name << strerror(errno);
        ASSERT_EQ(recv(pair[1], local_.data(), kMessage, 0), static_cast<ssize_t>(kMessage)) << name;
        EXPECT_EQ(first_other(local_.data(), kMessage, 5), kMessage) << name;
      }
    }
  }
}

TEST_F(Sockets, WithoutThisTheSystemRefuses) {
  paged::close_all();
  EXPECT_EQ(syscall(SYS_sendto, stream_[0], place(), kMessage, 0, nullptr, 0), -1);
  EXPECT_EQ(errno, EFAULT);
}

TEST_F(Sockets, AReceiveTakesWhatThereIs) {
  ASSERT_EQ(send(stream_[0], local_.data(), 500, 0), 500);
  EXPECT_EQ(recv(stream_[1], place(), kMessage, 0), 500);
  EXPECT_EQ(recv(stream_[1], place(), kMessage, MSG_DONTWAIT), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(Sockets, AReceiveThatWaitsForAllGetsAll) {
  constexpr std::size_t kAll = std::size_t{9} << 20;  // more than two pieces
  Block block(kAll);
  std::thread sender([&] {
    const std::vector<std::uint8_t> all = pattern_of(kAll, 8);
    for (std::size_t sent = 0; sent < kAll;) {
      const ssize_t n = send(stream_[0], all.data() + sent, std::min<std::size_t>(kAll - sent, 300000), 0);
      if (n < 0) break;
      sent += static_cast<std::size_t>(n);
    }
  });
  EXPECT_EQ(recv(stream_[1], block.at(), kAll, MSG_WAITALL), static_cast<ssize_t>(kAll));
  sender.join();
  EXPECT_EQ(first_other(block.at(), kAll, 8), kAll);
}

TEST_F(Sockets, ADatagramThatIsTooLongIsCut) {
  ASSERT_EQ(send(datagram_[0], local_.data(), 1000, 0), 1000);
  place()[300] = 0xee;
  EXPECT_EQ(recv(datagram_[1], place(), 300, MSG_TRUNC), 1000) << "its length, as asked for";
  EXPECT_EQ(first_other(place(), 300, 1), 300u);
  EXPECT_EQ(place()[300], 0xee);
}

// All that a message consists of is in remote memory.
struct Everything {
  msghdr header;
  iovec list[2];
  sockaddr_in name;
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
  socklen_t length;
};

TEST_F(Sockets, FilesAreHandedOverByMessagesInRemoteMemory) {
  auto& all = *new (block_.at()) Everything{};
  all.list[0] = {place() + 1000, 100};
  all.list[1] = {local_.data(), 50};
  all.header.msg_iov = all.list;
  all.header.msg_iovlen = 2;
  all.header.msg_control = all.control;
  all.header.msg_controllen = sizeof all.control;
  cmsghdr* item = CMSG_FIRSTHDR(&all.header);
  item->cmsg_level = SOL_SOCKET;
  item->cmsg_type = SCM_RIGHTS;
  item->cmsg_len = CMSG_LEN(sizeof(int));
  std::memcpy(CMSG_DATA(item), &datagram_[0], sizeof(int));
  paged::close_all();
  ASSERT_EQ(sendmsg(stream_[0], &all.header, 0), 150);
  std::memset(all.control, 0, sizeof all.control);
  paged::close_all();
  ASSERT_EQ(recvmsg(stream_[1], &all.header, 0), 150);
  item = CMSG_FIRSTHDR(&all.header);
  ASSERT_NE(item, nullptr);
  EXPECT_EQ(item->cmsg_type, SCM_RIGHTS);
  int handed;
  std::memcpy(&handed, CMSG_DATA(item), sizeof handed);
  ASSERT_EQ(send(handed, local_.data(), 7, 0), 7);
  EXPECT_EQ(recv(datagram_[1], place(), 100, 0), 7);
  close(handed);
}

TEST_F(Sockets, AddressesMayBeRemote) {
  auto& all = *new (block_.at()) Everything{};
  const int a = socket(AF_INET, SOCK_DGRAM, 0), b = socket(AF_INET, SOCK_DGRAM, 0);
  sockaddr_in loopback{};
  loopback.sin_family = AF_INET;
  loopback.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  for (const int fd : {a, b}) ASSERT_EQ(bind(fd, reinterpret_cast<sockaddr*>(&loopback), sizeof loopback), 0);
  sockaddr_in of_a{}, of_b{};
  socklen_t length = sizeof of_a;
  ASSERT_EQ(getsockname(a, reinterpret_cast<sockaddr*>(&of_a), &length), 0);
  ASSERT_EQ(getsockname(b, reinterpret_cast<sockaddr*>(&of_b), &length), 0);
  all.name = of_b;
  all.length = sizeof all.name;
  auto* name = reinterpret_cast<sockaddr*>(&all.name);
  paged::close_all();
  ASSERT_EQ(sendto(a, local_.data(), 9, 0, name, all.length), 9);
  std::memset(&all.name, 0, sizeof all.name);
  paged::close_all();
  ASSERT_EQ(recvfrom(b, place(), 100, 0, name, &all.length), 9);
  EXPECT_EQ(all.length, sizeof all.name);
  EXPECT_EQ(all.name.sin_port, of_a.sin_port);
  EXPECT_EQ(first_other(place(), 9, 1), 9u);
  close(a);
  close(b);
}

// Three messages in remote memory, headers included; the second one's data are local.
struct Several {
  mmsghdr messages[3];
  iovec list[3];
  timespec limit;
};

class SeveralMessages : public Sockets {
 protected:
  static constexpr std::size_t kEach = 1000;

  void SetUp() override {
    Sockets::SetUp();
    several_ = new (block_.at()) Several{};
    for (std::size_t i = 0; i < 3; ++i) {
      several_->list[i] = {i == 1 ? local_.data() : place() + i * kEach, kEach};
      several_->messages[i].msg_hdr.msg_iov = &several_->list[i];
      several_->messages[i].msg_hdr.msg_iovlen = 1;
    }
    paged::close_all();
  }
  void send_messages(int count) const {
    for (int i = 0; i < count; ++i) {
      const std::vector<std::uint8_t> sent = pattern_of(kEach, static_cast<std::size_t>(i) + 5);
      ASSERT_EQ(send(datagram_[0], sent.data(), kEach, 0), static_cast<ssize_t>(kEach));
    }
  }
  void expect_received(int count) const {
    for (std::size_t i = 0; i < 3; ++i) {
      const auto got = static_cast<int>(i) < count ? kEach : 0;
      EXPECT_EQ(several_->messages[i].msg_len, got) << i;
      const auto* data = static_cast<const std::uint8_t*>(several_->list[i].iov_base);
      EXPECT_EQ(first_other(data, got, i + 5), got) << i;
    }
  }

  Several* several_;
};

TEST_F(SeveralMessages, AreSentWithOneCall) {
  fill(place(), 3 * kEach, 4);
  paged::close_all();
  ASSERT_EQ(sendmmsg(datagram_[0], several_->messages, 3, 0), 3) << strerror(errno);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(several_->messages[i].msg_len, kEach);
    std::uint8_t got[2 * kEach];
    ASSERT_EQ(recv(datagram_[1], got, sizeof got, 0), static_cast<ssize_t>(kEach));
    EXPECT_EQ(std::memcmp(got, several_->list[i].iov_base, kEach), 0) << i;
  }
}

TEST_F(SeveralMessages, AreSentUpToTheFirstThatIsRefused) {
  several_->messages[1].msg_hdr.msg_iov = nullptr;
  several_->messages[1].msg_hdr.msg_iovlen = 0;
  several_->messages[1].msg_hdr.msg_name = &several_->limit;  // the socket has its peer
  several_->messages[1].msg_hdr.msg_namelen = sizeof several_->limit;
  paged::close_all();
  EXPECT_EQ(sendmmsg(datagram_[0], several_->messages, 3, 0), 1);
  EXPECT_EQ(sendmmsg(datagram_[0], several_->messages + 1, 2, 0), -1);
  EXPECT_EQ(sendmmsg(-1, several_->messages, 3, 0), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(sendmmsg(datagram_[0], several_->messages, 0, 0), 0);
}

TEST_F(SeveralMessages, AreNotSentBehindOneThatWasCut) {
  several_->list[0] = {block_.at(paged::kPage), 1 << 20};
  several_->list[1].iov_len = 0;  // which there is room for
  const int sent = sendmmsg(stream_[0], several_->messages, 3, MSG_DONTWAIT);
  EXPECT_EQ(sent, 1);
  EXPECT_GT(several_->messages[0].msg_len, 0U);
  EXPECT_LT(several_->messages[0].msg_len, 1U << 20);
}

TEST_F(SeveralMessages, AreReceivedWithOneCall) {
  send_messages(3);
  ASSERT_EQ(recvmmsg(datagram_[1], several_->messages, 3, 0, nullptr), 3) << strerror(errno);
  expect_received(3);
}

TEST_F(SeveralMessages, AreNotWaitedForBehindTheFirst) {
  send_messages(2);
  ASSERT_EQ(recvmmsg(datagram_[1], several_->messages, 3, MSG_WAITFORONE, nullptr), 2) << strerror(errno);
  expect_received(2);
  EXPECT_EQ(recvmmsg(datagram_[1], several_->messages, 3, MSG_DONTWAIT, nullptr), -1);
  EXPECT_EQ(errno, EAGAIN);
}

TEST_F(SeveralMessages, EndWithTheLimitOfTime) {
  send_messages(3);
  ASSERT_EQ(recvmmsg(datagram_[1], several_->messages, 3, 0, &several_->limit), 1)
      << "with the first there is no time left";
  expect_received(1);
  several_->limit = {60, 0};
  several_->messages[0].msg_hdr.msg_iov = &several_->list[1];
  ASSERT_EQ(recvmmsg(datagram_[1], several_->messages, 1, 0, &several_->limit), 1);
  EXPECT_LT(several_->limit.tv_sec, 60) << "what is left";
  several_->limit.tv_nsec = 1'000'000'000;
  EXPECT_EQ(recvmmsg(datagram_[1], several_->messages, 1, 0, &several_->limit), -1);
  EXPECT_EQ(errno, EINVAL);
}

}  // namespace
}  // namespace remote_malloc
