// SPDX-License-Identifier: BSD-3-Clause
// Static variables of this program as remote memory.  Each of these is a process of its own.
#include "statics.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "in_child.hpp"
#include "patterns.hpp"

extern "C" void shmem_init();

namespace remote_malloc {
namespace {

// There are no larger variables in this program, and of no other test as large ones.
constexpr std::size_t kStaticBytes = std::size_t{9} << 20;
std::uint8_t zeros_first[kStaticBytes];
std::uint8_t data_first[kStaticBytes] = {1, 2, 3};
int between = 5;

using StaticsDeath = InChild;

void start_with(std::size_t limit_bytes, bool waits) {
  end_with_process();
  enable(limit_bytes, waits);
  statics::enable();
  statics::before_main();
}

TEST_F(StaticsDeath, AreRemoteWithWhatTheyHold) {
  EXPECT_EXIT(
      {
        fill(zeros_first, kStaticBytes / 2, 4);
        start_with(kStaticBytes, false);
        REQUIRE_IN_CHILD(paged::counts().starts == 1);
        REQUIRE_IN_CHILD(statics::touches(zeros_first, kStaticBytes) && statics::touches(data_first, 1));
        REQUIRE_IN_CHILD(!statics::touches(&between, sizeof between) &&
                         !blocks::touches(&between, sizeof between));
        REQUIRE_IN_CHILD(!statics::touches(zeros_first, 0) && statics::touches(zeros_first - 1, 2));
        REQUIRE_IN_CHILD(!statics::touches(nullptr, 1) && statics::touches(nullptr, SIZE_MAX));
        REQUIRE_IN_CHILD(!blocks::contains(zeros_first));
        // Between them, and around them.
        for (const std::uint8_t* at :
             {zeros_first - 1, zeros_first + kStaticBytes, data_first - 1, data_first + kStaticBytes})
          REQUIRE_IN_CHILD(!statics::touches(at, 1));
        const std::size_t faults = paged::counts().faults;
        REQUIRE_IN_CHILD(first_other(zeros_first, kStaticBytes / 2, 4) == kStaticBytes / 2);
        REQUIRE_IN_CHILD(zeros_first[kStaticBytes - 1] == 0 && data_first[1] == 2 && between == 5);
        REQUIRE_IN_CHILD(paged::counts().faults > faults + 100);
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

void use_by_system_calls() {
  start_with(kStaticBytes, false);
  const int file = memfd_create("atoll.test", MFD_CLOEXEC);
  fill(zeros_first, kStaticBytes, 6);
  paged::close_all();
  REQUIRE_IN_CHILD(write(file, zeros_first, kStaticBytes) == static_cast<ssize_t>(kStaticBytes));
  paged::close_all();
  REQUIRE_IN_CHILD(pread(file, data_first, kStaticBytes, 0) == static_cast<ssize_t>(kStaticBytes));
  REQUIRE_IN_CHILD(first_other(data_first, kStaticBytes, 6) == kStaticBytes);
  paged::close_all();
  const iovec list[] = {{&between, sizeof between}, {data_first + 100000, 5000}};
  REQUIRE_IN_CHILD(preadv(file, list, 2, 0) == 5000 + sizeof between);
  REQUIRE_IN_CHILD(std::memcmp(&between, zeros_first, sizeof between) == 0);
  REQUIRE_IN_CHILD(std::memcmp(data_first + 100000, zeros_first + sizeof between, 5000) == 0);
  int ends[2];
  REQUIRE_IN_CHILD(socketpair(AF_UNIX, SOCK_STREAM, 0, ends) == 0);
  paged::close_all();
  msghdr message{};
  iovec one{zeros_first + 70000, 3000};
  message.msg_iov = &one;
  message.msg_iovlen = 1;
  REQUIRE_IN_CHILD(sendmsg(ends[0], &message, 0) == 3000);
  paged::close_all();
  REQUIRE_IN_CHILD(recv(ends[1], data_first, 3000, MSG_WAITALL) == 3000);
  REQUIRE_IN_CHILD(std::memcmp(data_first, zeros_first + 70000, 3000) == 0);
  std::memcpy(data_first, "a line", 7);
  FILE* stream = fdopen(file, "r+");
  paged::close_all();
  REQUIRE_IN_CHILD(std::fputs(reinterpret_cast<char*>(data_first), stream) >= 0);
}

TEST_F(StaticsDeath, SystemCallsReachThem) {
  EXPECT_EXIT(
      {
        use_by_system_calls();
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

// A constructor of the program's may have allocated.
TEST_F(StaticsDeath, AreRemoteThoughBlocksAreAlready) {
  EXPECT_EXIT(
      {
        end_with_process();
        enable(kStaticBytes, false);
        statics::enable();
        void* volatile block = std::malloc(kStaticBytes);
        REQUIRE_IN_CHILD(blocks::contains(block));
        statics::before_main();
        REQUIRE_IN_CHILD(paged::counts().starts == 1 && statics::touches(zeros_first, kStaticBytes));
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StaticsDeath, AProgramWithoutLargeOnesDoesNotStart) {
  EXPECT_EXIT(
      {
        start_with(kStaticBytes * 4, false);
        REQUIRE_IN_CHILD(paged::counts().starts == 0 && !statics::touches(zeros_first, kStaticBytes));
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StaticsDeath, StayLocalUnlessTheyAreWanted) {
  EXPECT_EXIT(
      {
        enable(kStaticBytes, false);
        statics::before_main();
        REQUIRE_IN_CHILD(paged::counts().starts == 0);
        void* volatile block = std::malloc(kStaticBytes);
        REQUIRE_IN_CHILD(blocks::contains(block) && !blocks::contains(zeros_first));
        REQUIRE_IN_CHILD(paged::counts().starts == 1 && !statics::touches(zeros_first, kStaticBytes));
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StaticsDeath, OfAProgramOfOpenSHMEMsFromItsStartOn) {
  EXPECT_EXIT(
      {
        start_with(kStaticBytes, true);
        REQUIRE_IN_CHILD(paged::counts().starts == 0);
        shmem_init();
        REQUIRE_IN_CHILD(paged::counts().starts == 1 && statics::touches(zeros_first, kStaticBytes));
        exit(0);
      },
      testing::ExitedWithCode(0), "");
}

TEST_F(StaticsDeath, OfSeveralPEsTheyStayLocal) {
  EXPECT_EXIT(
      {
        paged::set_alone(false);
        start_with(kStaticBytes, false);
        REQUIRE_IN_CHILD(!statics::touches(zeros_first, kStaticBytes));
        _exit(0);
      },
      testing::ExitedWithCode(0), "static variables stay local, as they are symmetric");
}

}  // namespace
}  // namespace remote_malloc
