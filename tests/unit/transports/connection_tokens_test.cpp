// SPDX-License-Identifier: BSD-3-Clause
// What connections begin with, at sockets of the test's own: these are the functions that libfabric calls.
#include "ofi/connection_tokens.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "fabric_job.hpp"
#include "loopback.hpp"
#include "ofi/endpoint.hpp"

namespace shm::ofi {
namespace {

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() { close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;
  operator int() const { return descriptor_; }  // NOLINT: as a descriptor is passed

 private:
  int descriptor_;
};

// Where a listener on loopback is.
class Address : public test::LoopbackAddress {
 public:
  using LoopbackAddress::LoopbackAddress;
  bool listen_at(int socket) { return bind_to(socket) && listen_guarded(socket, 16) == 0; }
  std::span<const std::byte> name() const { return {reinterpret_cast<const std::byte*>(get()), length()}; }
};

bool shows_token(int listener, int connection) { return what_is_shown(listener, connection) == Shown::token; }

class OfiTokens : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override {
    const ConnectionTokens::Opening opening(server_);
    if (!address_.listen_at(listener_)) GTEST_SKIP() << "there is no such loopback address";
  }
  // As libfabric does it: without blocking, and SO_ERROR says when it has been made.
  static int made(int connection) {
    pollfd writable{connection, POLLOUT, 0};
    poll(&writable, 1, 5000);
    int error = -1;
    socklen_t length = sizeof error;
    EXPECT_EQ(getsockopt_with_token(connection, SOL_SOCKET, SO_ERROR, &error, &length), 0);
    return error;
  }
  int connect_now(int connection) const {
    const int code = connect_with_token(connection, address_.get(), address_.length());
    if (code == 0) return 0;
    return errno == EINPROGRESS ? made(connection) : errno;
  }
  // Whether the listener takes a connection that begins so.
  bool shows(const void* said, std::size_t n) const {
    const Socket client(socket(GetParam(), SOCK_STREAM, 0));
    EXPECT_EQ(connect(client, address_.get(), address_.length()), 0);
    EXPECT_EQ(send(client, said, n, MSG_NOSIGNAL), static_cast<ssize_t>(n));
    const Socket connection(accept(listener_, nullptr, nullptr));
    return shows_token(listener_, connection);
  }
  bool somebody_waits() const {
    pollfd readable{listener_, POLLIN, 0};
    return poll(&readable, 1, 100) != 0;
  }

  ConnectionTokens server_, client_;
  Socket listener_{socket(GetParam(), SOCK_STREAM, 0)};
  Address address_{GetParam()};
};

TEST_P(OfiTokens, APeerIsLetIn) {
  ASSERT_TRUE(client_.add_peer(address_.name(), server_.told()));
  for (const int flags : {0, int{SOCK_NONBLOCK}}) {
    const Socket peer(socket(GetParam(), SOCK_STREAM | flags, 0));
    ASSERT_EQ(connect_now(peer), 0);
    const Socket connection(accept(listener_, nullptr, nullptr));
    EXPECT_EQ(send(peer, "next", 4, 0), 4);
    EXPECT_TRUE(shows_token(listener_, connection));
    char next[8] = "";
    EXPECT_EQ(recv(connection, next, sizeof next, 0), 4) << "nothing behind the token is taken";
    EXPECT_STREQ(next, "next");
    EXPECT_EQ(fcntl(connection, F_GETFL) & O_NONBLOCK, 0) << "as it was accepted";
  }
}

TEST_P(OfiTokens, OthersAreNot) {
  const ConnectionToken token = server_.told();
  EXPECT_TRUE(shows(&token, sizeof token));
  for (const std::size_t word : {0, 1}) {
    for (const int bit : {0, 63}) {
      ConnectionToken guess = token;
      guess[word] ^= std::uint64_t{1} << bit;
      EXPECT_FALSE(shows(&guess, sizeof guess));
    }
  }
  EXPECT_FALSE(shows(&token, sizeof token - 1));
  const ConnectionToken none{}, clients = ConnectionTokens().told();
  EXPECT_FALSE(shows(&none, sizeof none));
  EXPECT_FALSE(shows(&clients, sizeof clients));
  EXPECT_FALSE(shows(std::string(100, '?').data(), 100));
}

// A PE that has given up a connection, as both had begun one, is no stranger.
TEST_P(OfiTokens, WhoHasGoneIsNoStranger) {
  {
    const Socket client(socket(GetParam(), SOCK_STREAM, 0));
    ASSERT_EQ(connect(client, address_.get(), address_.length()), 0);
  }
  const Socket connection(accept(listener_, nullptr, nullptr));
  EXPECT_EQ(what_is_shown(listener_, connection), Shown::nothing);
  EXPECT_EQ(what_is_shown(listener_, connection), Shown::nothing);
}

TEST_P(OfiTokens, WhoSaysNothingIsKeptByTheKernel) {
  const Socket silent(socket(GetParam(), SOCK_STREAM, 0));
  ASSERT_EQ(connect(silent, address_.get(), address_.length()), 0);
  EXPECT_FALSE(somebody_waits());
  ASSERT_EQ(send(silent, "?", 1, 0), 1);
  EXPECT_TRUE(somebody_waits());
}

TEST_P(OfiTokens, EachEndpointHasItsOwn) {
  const ConnectionToken token = server_.told();
  EXPECT_NE(token, ConnectionToken{});
  EXPECT_EQ(client_.told(), ConnectionToken{}) << "it does not listen";
  const ConnectionTokens::Opening opening(client_);
  const Socket listener(socket(GetParam(), SOCK_STREAM, 0));
  ASSERT_TRUE(Address(GetParam()).listen_at(listener));
  EXPECT_NE(client_.told(), ConnectionToken{});
  EXPECT_NE(client_.told()[0], token[0]);
  EXPECT_NE(client_.told()[1], token[1]);
}

// Such as Open MPI's, in the same process.
TEST_P(OfiTokens, SocketsOfOthersAreAsTheyWere) {
  const Socket listener(socket(GetParam(), SOCK_STREAM, 0));
  Address address(GetParam());
  ASSERT_TRUE(address.listen_at(listener));
  int deferred = -1;
  socklen_t length = sizeof deferred;
  ASSERT_EQ(getsockopt(listener, IPPROTO_TCP, TCP_DEFER_ACCEPT, &deferred, &length), 0);
  EXPECT_EQ(deferred, 0);
  ASSERT_TRUE(client_.add_peer(address_.name(), server_.told()));
  const Socket client(socket(GetParam(), SOCK_STREAM, 0));
  ASSERT_EQ(connect_with_token(client, address.get(), address.length()), 0);
  const Socket connection(accept(listener, nullptr, nullptr));
  EXPECT_TRUE(shows_token(listener, connection));
  char byte = 0;
  EXPECT_EQ(recv(connection, &byte, 1, MSG_DONTWAIT), -1) << "a token has been written";
}

// libfabric connects one to learn which of its own addresses leads to a peer.
TEST_P(OfiTokens, ADatagramIsNoToken) {
  const Socket receiver(socket(GetParam(), SOCK_DGRAM, 0));
  ASSERT_EQ(bind(receiver, address_.get(), address_.length()), 0) << "the port is free for UDP";
  ASSERT_TRUE(client_.add_peer(address_.name(), server_.told()));
  const Socket sender(socket(GetParam(), SOCK_DGRAM, 0));
  EXPECT_EQ(connect_now(sender), 0);
  char byte = 0;
  EXPECT_EQ(recv(receiver, &byte, 1, MSG_DONTWAIT), -1);
}

TEST_P(OfiTokens, AreForgottenWithTheirEndpoint) {
  {
    ConnectionTokens one, two;
    const ConnectionToken wrong{1, 2};
    ASSERT_TRUE(one.add_peer(address_.name(), wrong));
    ASSERT_TRUE(two.add_peer(address_.name(), server_.told()));  // the latest
    const Socket peer(socket(GetParam(), SOCK_STREAM, 0));
    ASSERT_EQ(connect_now(peer), 0);
    EXPECT_TRUE(shows_token(listener_, Socket(accept(listener_, nullptr, nullptr))));
  }
  const Socket peer(socket(GetParam(), SOCK_STREAM, 0));
  ASSERT_EQ(connect_now(peer), 0);
  EXPECT_FALSE(somebody_waits()) << "it is no peer any more";

  const Socket listener(socket(GetParam(), SOCK_STREAM, 0));
  Address address(GetParam());
  {
    ConnectionTokens short_lived;
    const ConnectionTokens::Opening opening(short_lived);
    ASSERT_TRUE(address.listen_at(listener));
  }
  const Socket client(socket(GetParam(), SOCK_STREAM, 0));
  ASSERT_EQ(connect(client, address.get(), address.length()), 0);
  ASSERT_EQ(send(client, "?", 1, 0), 1);
  EXPECT_TRUE(shows_token(listener, Socket(accept(listener, nullptr, nullptr))));
}

// A listener that uses the port of an endpoint whose socket is closed, and that lives on.
TEST_P(OfiTokens, AreThoseOfTheLatestListener) {
  const Socket unused(socket(GetParam(), SOCK_STREAM, 0));
  ASSERT_EQ(dup2(unused, listener_), listener_) << "so the old one is closed";
  const Socket listener(socket(GetParam(), SOCK_STREAM, 0));
  ASSERT_EQ(bind(listener, address_.get(), address_.length()), 0);
  ASSERT_EQ(listen_guarded(listener, 16), 0);
  const Socket client(socket(GetParam(), SOCK_STREAM, 0));
  ASSERT_EQ(connect(client, address_.get(), address_.length()), 0);
  ASSERT_EQ(send(client, "?", 1, 0), 1);
  EXPECT_TRUE(shows_token(listener, Socket(accept(listener, nullptr, nullptr))));
}

// What was under way at a descriptor is not what is there now.
TEST_P(OfiTokens, DescriptorsAreUsedAgain) {
  ASSERT_TRUE(client_.add_peer(address_.name(), server_.told()));
  const Socket listener(socket(GetParam(), SOCK_STREAM, 0));
  Address address(GetParam());
  ASSERT_TRUE(address.listen_at(listener));
  int number = -1;
  {
    const Socket peer(socket(GetParam(), SOCK_STREAM | SOCK_NONBLOCK, 0));
    number = peer;
    connect_with_token(peer, address_.get(), address_.length());  // and nobody asks what has become of it
  }
  const Socket again(socket(GetParam(), SOCK_STREAM, 0));
  ASSERT_EQ(again, number);
  ASSERT_EQ(connect_with_token(again, address.get(), address.length()), 0);
  EXPECT_EQ(made(again), 0);
  const Socket connection(accept(listener, nullptr, nullptr));
  char byte = 0;
  EXPECT_EQ(recv(connection, &byte, 1, MSG_DONTWAIT), -1) << "a token has been written";
}

TEST_P(OfiTokens, WhatIsAcceptedIsNoConnectionThatWasBegun) {
  ASSERT_TRUE(client_.add_peer(address_.name(), server_.told()));
  const Socket peer(socket(GetParam(), SOCK_STREAM | SOCK_NONBLOCK, 0));
  const bool in_progress = connect_with_token(peer, address_.get(), address_.length()) != 0;
  forget_connection(peer);
  EXPECT_EQ(made(peer), 0);
  EXPECT_EQ(somebody_waits(), !in_progress);
}

TEST_P(OfiTokens, APeerThatAsksForNothingIsShownNothing) {
  ASSERT_TRUE(client_.add_peer(address_.name(), server_.told()));
  ASSERT_TRUE(client_.add_peer(address_.name(), ConnectionToken{}));
  const Socket peer(socket(GetParam(), SOCK_STREAM, 0));
  ASSERT_EQ(connect_now(peer), 0);
  EXPECT_FALSE(somebody_waits());
}

TEST_P(OfiTokens, APeerThatIsNotThere) {
  Address address(GetParam());
  {
    const Socket closed(socket(GetParam(), SOCK_STREAM, 0));
    ASSERT_TRUE(address.listen_at(closed));
  }
  ASSERT_TRUE(client_.add_peer(address.name(), server_.told()));
  for (const int flags : {0, int{SOCK_NONBLOCK}}) {
    const Socket peer(socket(GetParam(), SOCK_STREAM | flags, 0));
    errno = 0;
    ASSERT_EQ(connect_with_token(peer, address.get(), address.length()), -1);
    EXPECT_EQ(errno == EINPROGRESS ? made(peer) : errno, ECONNREFUSED);
  }
}

INSTANTIATE_TEST_SUITE_P(Families, OfiTokens, ::testing::Values(AF_INET, AF_INET6),
                         [](const auto& family) { return family.param == AF_INET ? "v4" : "v6"; });

TEST(OfiTokensOfEndpoints, DifferAndAreToldWithTheAddress) {
  for (const char* provider : {"tcp;ofi_rxm", "sockets"}) {
    FabricOptions options = test::loopback();
    options.provider = provider;
    Result<std::unique_ptr<Endpoint>> one = Endpoint::open(options), two = Endpoint::open(options);
    ASSERT_TRUE(one.ok()) << one.status().text();
    ASSERT_TRUE(two.ok()) << two.status().text();
    Result<std::unique_ptr<Endpoint>> lane = one.value()->open_another();
    ASSERT_TRUE(lane.ok()) << lane.status().text();
    const ConnectionToken token = one.value()->token();
    EXPECT_NE(token, ConnectionToken{}) << provider;
    EXPECT_NE(lane.value()->token(), ConnectionToken{});
    EXPECT_NE(token, two.value()->token());
    EXPECT_NE(token, lane.value()->token());
    const std::vector<std::byte> address = one.value()->address().value(), name = one.value()->name().value();
    ASSERT_EQ(address.size(), sizeof token + name.size());
    EXPECT_EQ(std::memcmp(address.data(), &token, sizeof token), 0);
  }
}

// Another build of libfabric, which the functions above do not reach.
TEST(OfiTokensOfEndpoints, APeerThatAsksForWhatCannotBeShownIsAnError) {
  Result<std::unique_ptr<Endpoint>> endpoint = Endpoint::open(test::loopback());
  ASSERT_TRUE(endpoint.ok()) << endpoint.status().text();
  std::vector<std::byte> address = endpoint.value()->address().value();
  auto& library = const_cast<Library&>(endpoint.value()->library());
  fi_addr_t peer = FI_ADDR_UNSPEC;
  library.guard = Guard::users;
  const std::string refused = endpoint.value()->insert(address, &peer).text();
  EXPECT_EQ(
      refused,
      "asks for a token, which this libfabric cannot be made to show: use the same build of it on all hosts");
  std::memset(address.data(), 0, sizeof(ConnectionToken));
  EXPECT_EQ(endpoint.value()->insert(address, &peer).text(), "") << "it asks for none";
  library.guard = Guard::tokens;
  address.resize(sizeof(ConnectionToken));
  EXPECT_EQ(endpoint.value()->insert(address, &peer).text(), "is too short");
}

}  // namespace
}  // namespace shm::ofi
