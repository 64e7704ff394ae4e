// SPDX-License-Identifier: BSD-3-Clause
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <thread>
#include <utility>

#include "patterns.hpp"
#include "stage.hpp"

extern "C" {
ssize_t __read_chk(int, void*, size_t, size_t);
ssize_t __pread_chk(int, void*, size_t, off_t, size_t);
ssize_t __pread64_chk(int, void*, size_t, off64_t, size_t);
}

namespace remote_malloc {
namespace {

constexpr std::size_t kBytes = 3 * paged::kPage + 777;  // more than a stage holds with kMany of them
constexpr std::size_t kMany = std::size_t{1} << 20;
constexpr off_t kOffset = 1000;

class Descriptors : public Enabled {
 protected:
  void SetUp() override {
    file_ = memfd_create("atoll.test", MFD_CLOEXEC);
    ASSERT_GE(file_, 0);
    const std::vector<std::uint8_t> contents = pattern_of(kOffset + kMany, 9);
    ASSERT_EQ(write(file_, contents.data(), contents.size()), static_cast<ssize_t>(contents.size()));
    rewind();
  }
  void TearDown() override { close(file_); }
  void rewind(off_t to = 0) const { ASSERT_EQ(lseek(file_, to, SEEK_SET), to); }

  int file_ = -1;
};

// Of a call that fills `n` bytes with the file's contents from kOffset on.
using Fill = std::function<ssize_t(int, std::uint8_t*, std::size_t)>;

ssize_t readv_in_two(int fd, std::uint8_t* at, std::size_t n) {
  const iovec list[] = {{at, n / 3}, {at + n / 3, n - n / 3}};
  return readv(fd, list, 2);
}

ssize_t preadv_in_two(int fd, std::uint8_t* at, std::size_t n) {
  const iovec list[] = {{at, n / 3}, {nullptr, 0}, {at + n / 3, n - n / 3}};
  return preadv(fd, list, 3, kOffset);
}

const std::pair<const char*, Fill> kReads[] = {
    {"read", [](int fd, std::uint8_t* at, std::size_t n) { return read(fd, at, n); }},
    {"__read_chk", [](int fd, std::uint8_t* at, std::size_t n) { return __read_chk(fd, at, n, n); }},
    {"readv", readv_in_two},
    {"pread", [](int fd, std::uint8_t* at, std::size_t n) { return pread(fd, at, n, kOffset); }},
    {"pread64", [](int fd, std::uint8_t* at, std::size_t n) { return pread64(fd, at, n, kOffset); }},
    {"__pread_chk",
     [](int fd, std::uint8_t* at, std::size_t n) { return __pread_chk(fd, at, n, kOffset, n); }},
    {"__pread64_chk",
     [](int fd, std::uint8_t* at, std::size_t n) { return __pread64_chk(fd, at, n, kOffset, n); }},
    {"preadv", preadv_in_two},
    {"preadv64",
     [](int fd, std::uint8_t* at, std::size_t n) {
       const iovec one{at, n};
       return preadv64(fd, &one, 1, kOffset);
     }},
    {"preadv2",
     [](int fd, std::uint8_t* at, std::size_t n) {
       const iovec list[] = {{at, n / 3}, {at + n / 3, n - n / 3}};
       return preadv2(fd, list, 2, kOffset, RWF_HIPRI);
     }},
    {"preadv2 where the file is",
     [](int fd, std::uint8_t* at, std::size_t n) {
       const iovec one{at, n};
       return preadv2(fd, &one, 1, -1, 0);
     }},
    {"preadv64v2",
     [](int fd, std::uint8_t* at, std::size_t n) {
       const iovec one{at, n};
       return preadv64v2(fd, &one, 1, kOffset, 0);
     }},
};

TEST_F(Descriptors, ReadsFillMemoryThatIsNotHere) {
  Block block(2 * kMany);
  const std::vector<std::uint8_t> contents = pattern_of(kOffset + kMany, 9);
  for (const auto& [name, call] : kReads) {
    for (const Resident resident : {Resident::none, Resident::first, Resident::all_but_first}) {
      for (const std::size_t n : {std::size_t{1}, paged::kPage, kBytes, kMany}) {
        std::uint8_t* at = block.at(4 * paged::kPage - 100);
        std::memset(at - 1, 0xee, n + 2);
        make_resident(resident, at, n);
        rewind(kOffset);
        ASSERT_EQ(call(file_, at, n), static_cast<ssize_t>(n)) << name << ' ' << n << ' ' << strerror(errno);
        EXPECT_EQ(std::memcmp(at, contents.data() + kOffset, n), 0) << name << ' ' << n;
        EXPECT_TRUE(at[-1] == 0xee && at[n] == 0xee) << name << ' ' << n;
      }
    }
  }
}

const std::pair<const char*, Fill> kWrites[] = {
    {"write", [](int fd, std::uint8_t* at, std::size_t n) { return write(fd, at, n); }},
    {"writev",
     [](int fd, std::uint8_t* at, std::size_t n) {
       const iovec list[] = {{at, n / 3}, {at + n / 3, n - n / 3}};
       return writev(fd, list, 2);
     }},
    {"pwrite", [](int fd, std::uint8_t* at, std::size_t n) { return pwrite(fd, at, n, kOffset); }},
    {"pwrite64", [](int fd, std::uint8_t* at, std::size_t n) { return pwrite64(fd, at, n, kOffset); }},
    {"pwritev",
     [](int fd, std::uint8_t* at, std::size_t n) {
       const iovec list[] = {{at, n / 3}, {at + n / 3, n - n / 3}};
       return pwritev(fd, list, 2, kOffset);
     }},
    {"pwritev64",
     [](int fd, std::uint8_t* at, std::size_t n) {
       const iovec one{at, n};
       return pwritev64(fd, &one, 1, kOffset);
     }},
    {"pwritev2",
     [](int fd, std::uint8_t* at, std::size_t n) {
       const iovec list[] = {{at, n / 3}, {at + n / 3, n - n / 3}};
       return pwritev2(fd, list, 2, kOffset, RWF_DSYNC);
     }},
    {"pwritev2 where the file is",
     [](int fd, std::uint8_t* at, std::size_t n) {
       const iovec one{at, n};
       return pwritev2(fd, &one, 1, -1, 0);
     }},
    {"pwritev64v2",
     [](int fd, std::uint8_t* at, std::size_t n) {
       const iovec one{at, n};
       return pwritev64v2(fd, &one, 1, kOffset, 0);
     }},
};

TEST_F(Descriptors, WritesTakeMemoryThatIsNotHere) {
  Block block(2 * kMany);
  std::vector<std::uint8_t> back(kMany);
  for (const auto& [name, call] : kWrites) {
    for (const Resident resident : {Resident::none, Resident::first, Resident::all_but_first}) {
      for (const std::size_t n : {std::size_t{1}, paged::kPage, kBytes, kMany}) {
        std::uint8_t* at = block.at(4 * paged::kPage - 100);
        fill(at, n, n);
        make_resident(resident, at, n);
        ASSERT_EQ(ftruncate(file_, 0), 0);
        rewind(kOffset);
        ASSERT_EQ(call(file_, at, n), static_cast<ssize_t>(n)) << name << ' ' << n << ' ' << strerror(errno);
        ASSERT_EQ(pread(file_, back.data(), kMany, kOffset), static_cast<ssize_t>(n)) << name;
        EXPECT_EQ(first_other(back.data(), n, n), n) << name;
      }
    }
  }
}

// What the wrappers are for: the system itself refuses such memory.
TEST_F(Descriptors, WithoutThisTheSystemRefuses) {
  Block block(kMany);
  paged::close_all();
  EXPECT_EQ(syscall(SYS_read, file_, block.at(), paged::kPage), -1);
  EXPECT_EQ(errno, EFAULT);
  EXPECT_FALSE(paged::is_open(block.at()));
}

TEST_F(Descriptors, ListsOfLocalAndRemoteBuffersKeepTheirOrder) {
  Block block(kMany);
  std::vector<std::uint8_t> local(500);
  auto* list = static_cast<iovec*>(static_cast<void*>(block.at(kMany - 4096)));  // the list is remote, too
  list[0] = {local.data(), 200};
  list[1] = {block.at(paged::kPage - 50), 2 * paged::kPage};
  list[2] = {local.data() + 200, 300};
  const auto all = static_cast<ssize_t>(500 + 2 * paged::kPage);
  paged::close_all();
  ASSERT_EQ(readv(file_, list, 3), all);
  const std::vector<std::uint8_t> contents = pattern_of(kMany, 9);
  EXPECT_EQ(std::memcmp(local.data(), contents.data(), 200), 0);
  EXPECT_EQ(std::memcmp(block.at(paged::kPage - 50), contents.data() + 200, 2 * paged::kPage), 0);
  EXPECT_EQ(std::memcmp(local.data() + 200, contents.data() + 200 + 2 * paged::kPage, 300), 0);
  paged::close_all();
  ASSERT_EQ(pwritev(file_, list, 3, 4096), all);
  std::vector<std::uint8_t> back(static_cast<std::size_t>(all));
  ASSERT_EQ(pread(file_, back.data(), back.size(), 4096), all);
  EXPECT_EQ(std::memcmp(back.data(), contents.data(), back.size()), 0);
}

TEST_F(Descriptors, ListsThatTheSystemRefusesAreItsBusiness) {
  Block block(kMany);
  const iovec list[] = {{block.at(), SSIZE_MAX}, {block.at(), SSIZE_MAX}};
  for (const int count : {-1, 2, IOV_MAX + 1}) {
    EXPECT_EQ(syscall(SYS_readv, file_, list, count), -1);
    const int expected = std::exchange(errno, 0);
    EXPECT_EQ(readv(file_, list, count), -1);
    EXPECT_EQ(errno, expected) << count;
  }
}

TEST_F(Descriptors, TheEndOfAFileEndsARead) {
  Block block(2 * kMany);
  rewind(kOffset + 1);
  EXPECT_EQ(read(file_, block.at(), 2 * kMany), static_cast<ssize_t>(kMany - 1));
  EXPECT_EQ(read(file_, block.at(), 2 * kMany), 0);
  EXPECT_EQ(read(file_, block.at(), 0), 0);
}

TEST_F(Descriptors, ErrorsAreThoseOfTheSystem) {
  Block block(kMany);
  EXPECT_EQ(read(-1, block.at(), kMany), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(write(-1, block.at(), kMany), -1);
  EXPECT_EQ(errno, EBADF);
  EXPECT_EQ(pread(file_, block.at(), kMany, -1), -1);
  EXPECT_EQ(errno, EINVAL);
  errno = 55;
  EXPECT_EQ(pread(file_, block.at(), kMany, 0), static_cast<ssize_t>(kMany));
  EXPECT_EQ(errno, 55);
}

TEST_F(Descriptors, AReadOfAPipeDoesNotWaitForMoreThanThereIs) {
  Block block(2 * kMany);
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  ASSERT_GE(fcntl(ends[1], F_SETPIPE_SZ, 1 << 20), 1 << 20);
  const std::vector<std::uint8_t> sent = pattern_of(2 * Stage::kKeptBytes, 2);
  ASSERT_EQ(write(ends[1], sent.data(), sent.size()), static_cast<ssize_t>(sent.size()));
  ASSERT_EQ(read(ends[0], block.at(), 2 * kMany), static_cast<ssize_t>(sent.size()));
  EXPECT_EQ(first_other(block.at(), sent.size(), 2), sent.size());
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Descriptors, AWriteToAPipeWaitsUntilAllIsWritten) {
  constexpr std::size_t kAll = std::size_t{9} << 20;  // more than two pieces
  Block block(kAll);
  fill(block.at(), kAll, 6);
  paged::close_all();
  int ends[2];
  ASSERT_EQ(pipe(ends), 0);
  std::vector<std::uint8_t> got(kAll);
  std::size_t have = 0;
  std::thread reader([&] {
    for (ssize_t n = 1; n > 0 && have < kAll; have += static_cast<std::size_t>(n))
      n = std::max<ssize_t>(0, read(ends[0], got.data() + have, kAll - have));
  });
  EXPECT_EQ(write(ends[1], block.at(), kAll), static_cast<ssize_t>(kAll));
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(have, kAll);
  EXPECT_EQ(first_other(got.data(), kAll, 6), kAll);
}

TEST_F(Descriptors, AWriteThatMustNotWaitSaysHowFarItCame) {
  Block block(kMany);
  fill(block.at(), kMany, 6);
  int ends[2];
  ASSERT_EQ(pipe2(ends, O_NONBLOCK), 0);
  const int room = fcntl(ends[1], F_GETPIPE_SZ);
  EXPECT_EQ(write(ends[1], block.at(), kMany), room);
  EXPECT_EQ(write(ends[1], block.at(), kMany), -1);
  EXPECT_EQ(errno, EAGAIN);
  close(ends[0]);
  close(ends[1]);
}

TEST_F(Descriptors, AnErrorBehindTheFirstPieceIsTheNextCalls) {
  Block block(kMany);
  const int file = memfd_create("atoll.test", MFD_CLOEXEC | MFD_ALLOW_SEALING);
  ASSERT_EQ(ftruncate(file, Stage::kKeptBytes), 0);
  ASSERT_EQ(fcntl(file, F_ADD_SEALS, F_SEAL_GROW), 0);
  EXPECT_EQ(write(file, block.at(), kMany), static_cast<ssize_t>(Stage::kKeptBytes));
  EXPECT_EQ(write(file, block.at(), kMany), -1);
  EXPECT_EQ(errno, EPERM);
  close(file);
}

// A call that meets EFAULT has lost what it took from the counter.
TEST_F(Descriptors, EventsAreNotLost) {
  Block block(kLimit);
  const int events = eventfd(5, EFD_NONBLOCK);
  paged::close_all();
  ASSERT_EQ(read(events, block.at(), 8), 8);
  std::uint64_t count;
  std::memcpy(&count, block.at(), sizeof count);
  EXPECT_EQ(count, 5u);
  close(events);
}

TEST_F(Descriptors, RandomBytesComeInAnySize) {
  Block block(kMany);
  for (const std::size_t n : {std::size_t{32}, kBytes, kMany}) {
    std::memset(block.at(), 0, kMany);
    paged::close_all();
    ASSERT_EQ(getrandom(block.at(), n, 0), static_cast<ssize_t>(n));
    EXPECT_FALSE(std::all_of(block.at(n - 32), block.at(n), [](std::uint8_t byte) { return byte == 0; }));
    EXPECT_TRUE(n == kMany || *block.at(n) == 0);
  }
}

TEST_F(Descriptors, EntropyComesUpToItsLimit) {
  Block block(kLimit);
  for (const std::size_t n : {std::size_t{32}, std::size_t{256}}) {
    std::memset(block.at(), 0, 300);
    paged::close_all();
    ASSERT_EQ(getentropy(block.at(), n), 0) << strerror(errno);
    EXPECT_FALSE(std::all_of(block.at(n - 32), block.at(n), [](std::uint8_t byte) { return byte == 0; }));
    EXPECT_EQ(*block.at(n), 0);
  }
  EXPECT_EQ(getentropy(block.at(), 257), -1);
  EXPECT_EQ(errno, EIO);
}

TEST_F(Descriptors, FlagsOfACallAreTheSystems) {
  Block block(kMany);
  const iovec one{block.at(), kMany};
  EXPECT_EQ(preadv2(file_, &one, 1, 0, 1 << 30), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
  EXPECT_EQ(pwritev2(file_, &one, 1, 0, 1 << 30), -1);
  EXPECT_EQ(errno, EOPNOTSUPP);
}

TEST_F(Descriptors, ManyThreadsTransferAtTheSameTime) {
  constexpr std::size_t kThreads = 24;  // more than stages are kept
  const std::vector<std::uint8_t> contents = pattern_of(kOffset + kMany, 9);
  std::vector<int> good(kThreads);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < kThreads; ++t) {
    threads.emplace_back([&, t] {
      Block block(kMany);
      const off_t from = static_cast<off_t>(t) * 17;
      for (int i = 0; i < 5; ++i) {
        const ssize_t got = pread(file_, block.at(), kMany / 2, from);
        good[t] += got == static_cast<ssize_t>(kMany / 2) &&
                   std::memcmp(block.at(), contents.data() + from, kMany / 2) == 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(good, std::vector<int>(kThreads, 5));
}

TEST_F(Descriptors, FortifiedCallsKnowTheRoom) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  std::uint8_t small[8];
  EXPECT_DEATH((void)__read_chk(file_, small, 9, 8), "overflow");
}

}  // namespace
}  // namespace remote_malloc
