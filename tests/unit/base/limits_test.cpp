// SPDX-License-Identifier: BSD-3-Clause
#include "base/limits.hpp"

#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>

namespace shm::test {
namespace {

// While this lives, a limit is another one.  A hard limit cannot be raised again, so it stays.
class WithLimit {
 public:
  WithLimit(__rlimit_resource resource, rlim_t soft) : resource_(resource) {
    getrlimit(resource_, &before_);
    const rlimit other{soft, before_.rlim_max};
    EXPECT_EQ(setrlimit(resource_, &other), 0);
  }
  ~WithLimit() { setrlimit(resource_, &before_); }
  rlim_t hard() const { return before_.rlim_max; }

 private:
  __rlimit_resource resource_;
  rlimit before_{};
};

rlim_t soft_limit(__rlimit_resource resource) {
  rlimit now{};
  getrlimit(resource, &now);
  return now.rlim_cur;
}

TEST(Limits, OpenFilesAreRaisedAsFarAsIsAllowed) {
  const WithLimit files(RLIMIT_NOFILE, 50);
  EXPECT_EQ(allow_open_files(40), 50U);
  EXPECT_EQ(soft_limit(RLIMIT_NOFILE), 50U) << "it is never lowered";
  EXPECT_EQ(allow_open_files(60), 60U);
  EXPECT_EQ(soft_limit(RLIMIT_NOFILE), 60U);
  EXPECT_EQ(allow_open_files(files.hard() + 1), files.hard());
}

TEST(Limits, LockedMemoryIsRaised) {
  const WithLimit locked(RLIMIT_MEMLOCK, 4096);
  allow_locked_memory();
  EXPECT_EQ(soft_limit(RLIMIT_MEMLOCK), locked.hard());
}

TEST(Limits, WhatCannotBePinnedIsSaid) {
  constexpr std::size_t kGiB = std::size_t{1} << 30;
  EXPECT_EQ(why_not_pinned({kGiB, kGiB, 3}, 4 * kGiB, 2 * kGiB), "");
  EXPECT_EQ(why_not_pinned({kGiB, kGiB, 4}, 4 * kGiB, SIZE_MAX),
            "that is 5 GiB on this host of 4 GiB; set SHMEM_SYMMETRIC_SIZE, or a smaller one")
      << "what is shared is pinned once";
  EXPECT_EQ(why_not_pinned({kGiB, kGiB, 1}, 4 * kGiB, kGiB),
            "a process may lock 1 GiB; raise the hard limit (ulimit -Hl), or set SHMEM_SYMMETRIC_SIZE, or a "
            "smaller one")
      << "and counts for each";
}

TEST(Limits, OnlyWhatALimitMayBeBehindIsNamed) {
  const WithLimit files(RLIMIT_NOFILE, 50);
  EXPECT_EQ(limit_behind(EMFILE), "; this process may have 50 open files (ulimit -n)");
  EXPECT_EQ(limit_behind(EIO), "");
  const WithLimit space(RLIMIT_AS, rlim_t{1} << 45);
  EXPECT_EQ(limit_behind(ENOMEM), "; this process may map 32 TiB (ulimit -v)");
  EXPECT_EQ(limit_behind(EFBIG), "");
  const WithLimit sizes(RLIMIT_FSIZE, rlim_t{1} << 30);
  EXPECT_EQ(limit_behind(EFBIG), "; no file of this process may be larger than 1 GiB (ulimit -f)");
}

TEST(Limits, AFileThatMayNotBeSoLargeIsAnErrorAndNoSignal) {
  const int file = memfd_create("limits_test", MFD_CLOEXEC);
  {
    const WithLimit sizes(RLIMIT_FSIZE, 8192);
    EXPECT_EQ(set_file_size(file, 8193), -1);
    EXPECT_EQ(errno, EFBIG);
    EXPECT_EQ(set_file_size(file, 8192), 0);
  }
  EXPECT_EQ(set_file_size(file, 8193), 0);
  EXPECT_EQ(lseek(file, 0, SEEK_END), 8193);
  EXPECT_EQ(set_file_size(-1, 1), -1);
  EXPECT_EQ(errno, EBADF);
  close(file);
}

TEST(Limits, WhoHasNoDescriptorLeftKnowsIt) {
  EXPECT_FALSE(open_files_are_used_up());
  EXPECT_FALSE(threads_are_used_up());
  const WithLimit files(RLIMIT_NOFILE, 0);
  EXPECT_TRUE(open_files_are_used_up());
}

}  // namespace
}  // namespace shm::test
