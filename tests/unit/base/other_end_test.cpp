// SPDX-License-Identifier: BSD-3-Clause
#include "base/other_end.hpp"

#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <functional>

#include "loopback.hpp"

namespace shm::test {
namespace {

// A listener on loopback.
class Listener {
 public:
  explicit Listener(int family) : family_(family), socket_(socket(family, SOCK_STREAM, 0)), address_(family) {
    usable_ = address_.bind_to(socket_) && listen(socket_, 4) == 0;
  }
  ~Listener() { close(socket_); }
  bool usable() const { return usable_; }
  int connect_to() const {
    const int client = socket(family_, SOCK_STREAM, 0);
    EXPECT_EQ(connect(client, address_.get(), address_.length()), 0);
    return client;
  }
  int take() const { return accept(socket_, nullptr, nullptr); }

 private:
  int family_, socket_;
  bool usable_ = false;
  test::LoopbackAddress address_;
};

void expect_this_user(int family) {
  const Listener listener(family);
  if (!listener.usable()) GTEST_SKIP() << "there is no such loopback address";
  const int client = listener.connect_to(), connection = listener.take();
  EXPECT_EQ(other_end_of(connection), OtherEnd::this_user);
  EXPECT_EQ(other_end_of(client), OtherEnd::this_user);
  const bool in_table = family == AF_INET;
  EXPECT_EQ(other_end_by_table(connection), in_table ? OtherEnd::this_user : OtherEnd::unknown);
  close(client);
  EXPECT_EQ(other_end_of(connection), OtherEnd::another_user) << "it is closed";
  close(connection);
}

TEST(OtherEnd, IsThisUsers) { expect_this_user(AF_INET); }
TEST(OtherEnd, IsThisUsersOverIpv6) { expect_this_user(AF_INET6); }

// A program that connects from another address of the host looks like no other host.
TEST(OtherEnd, IsAnothers) {
  if (geteuid() != 0) GTEST_SKIP() << "needs to be another user for a while";
  const Listener listener(AF_INET);
  const int own = listener.connect_to(), first = listener.take();  // to the same port
  std::array<int, 2> end{};
  ASSERT_EQ(pipe(end.data()), 0);
  const pid_t child = fork();
  if (child == 0) {
    constexpr uid_t kNobody = 65534;
    char last = 0;
    const bool left = setgid(kNobody) == 0 && setuid(kNobody) == 0;
    const int client = left ? listener.connect_to() : -1;
    close(end[1]);
    _exit(client >= 0 && read(end[0], &last, 1) == 0 ? 0 : 1);
  }
  close(end[0]);
  const int connection = listener.take();
  EXPECT_EQ(other_end_of(connection), OtherEnd::another_user);
  EXPECT_EQ(other_end_by_table(connection), OtherEnd::another_user);
  EXPECT_EQ(other_end_by_table(first), OtherEnd::this_user);
  close(end[1]);
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_EQ(status, 0);
  for (const int open : {connection, own, first}) close(open);
}

// Who has used up the descriptors of a process is not let in for that.
TEST(OtherEnd, IsFoundWithoutADescriptor) {
  prepare_other_end();
  const Listener listener(AF_INET);
  const int client = listener.connect_to(), connection = listener.take();
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  const rlimit none{0, files.rlim_max};
  setrlimit(RLIMIT_NOFILE, &none);
  const OtherEnd found = other_end_of(connection), in_table = other_end_by_table(connection);
  setrlimit(RLIMIT_NOFILE, &files);
  EXPECT_EQ(found, OtherEnd::this_user);
  EXPECT_EQ(in_table, OtherEnd::another_user) << "what cannot be looked for is not let in";
  close(client);
  close(connection);
}

TEST(OtherEnd, OfWhatIsNoConnectionIsNobodys) {
  const int alone = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(other_end_of(alone), OtherEnd::another_user);
  close(alone);
  EXPECT_EQ(other_end_of(-1), OtherEnd::another_user);
}

}  // namespace
}  // namespace shm::test
