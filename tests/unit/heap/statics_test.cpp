// SPDX-License-Identifier: BSD-3-Clause
#include "heap/statics.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <iterator>

#include "processes.hpp"

namespace shm {
namespace {

constexpr std::size_t kLarge = std::size_t{64} << 20;

// Not const-folded, not in registers: the tests look at memory.
volatile long in_data = 42;
volatile long in_bss;
char large_bss[kLarge];
const char in_rodata[] = "read-only";

bool holds(const StaticRange& range, const volatile void* object) {
  const auto at = reinterpret_cast<std::uintptr_t>(object);
  return at >= range.base && at < range.base + range.size;
}

// A file with the statics at `offset`, and another view of it.
struct Shared {
  StaticRange range = find_statics();
  std::uint64_t offset = 8192;
  int file = memfd_create("statics", MFD_CLOEXEC);
  std::byte* view = nullptr;

  bool share() {
    if (ftruncate(file, static_cast<off_t>(offset + range.size)) != 0) return false;
    const Status status = share_statics(range, file, offset);
    EXPECT_TRUE(status.ok()) << status.text();
    view = static_cast<std::byte*>(
        mmap(nullptr, range.size, PROT_READ | PROT_WRITE, MAP_SHARED, file, static_cast<off_t>(offset)));
    return status.ok() && view != MAP_FAILED;
  }
  // The same object through the other view, as a peer sees it.
  volatile long& peer(volatile long& object) const {
    return *reinterpret_cast<volatile long*>(view + (reinterpret_cast<std::uintptr_t>(&object) - range.base));
  }
};

TEST(FindStatics, HoldsVariablesAndNothingElse) {
  const StaticRange range = find_statics();
  ASSERT_GT(range.size, kLarge);
  EXPECT_TRUE(holds(range, &in_data));
  EXPECT_TRUE(holds(range, &in_bss));
  EXPECT_TRUE(holds(range, large_bss));
  EXPECT_TRUE(holds(range, large_bss + kLarge - 1));
  EXPECT_FALSE(holds(range, in_rodata));
  const int on_stack = 0;
  EXPECT_FALSE(holds(range, &on_stack));
  EXPECT_FALSE(holds(range, reinterpret_cast<const void*>(&find_statics))) << "code";
}

TEST(FindStatics, IsWholePagesAndAlwaysTheSame) {
  const StaticRange one = find_statics(), other = find_statics();
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  EXPECT_EQ(one.base % page, 0U);
  EXPECT_EQ(one.size % page, 0U);
  EXPECT_EQ(one.layout, other.layout);
  EXPECT_NE(one.layout, 0U);
}

TEST(ShareStatics, KeepsValuesAndSharesThem) {
  test::run_process([] {
    in_bss = 7;
    large_bss[kLarge / 2] = 'x';
    Shared shared;
    if (!shared.share()) return false;
    EXPECT_EQ(in_data, 42);
    EXPECT_EQ(in_bss, 7);
    EXPECT_EQ(large_bss[kLarge / 2], 'x');
    in_data = 43;
    EXPECT_EQ(shared.peer(in_data), 43);
    shared.peer(in_bss) = 99;
    EXPECT_EQ(in_bss, 99);
    EXPECT_STREQ(in_rodata, "read-only");
    return true;
  });
}

TEST(ShareStatics, CommitsOnlyWhatIsUsed) {
  test::run_process([] {
    Shared shared;
    if (!shared.share()) return false;
    struct stat info {};
    fstat(shared.file, &info);
    EXPECT_LT(static_cast<std::size_t>(info.st_blocks) * 512, kLarge / 4);
    return true;
  });
}

TEST(ShareStatics, GivesChildrenACopy) {
  test::run_process([] {
    Shared shared;
    if (!shared.share()) return false;
    in_bss = 5;
    test::run_process([&] {
      EXPECT_EQ(in_bss, 5);
      EXPECT_EQ(in_data, 42);
      in_bss = 6;  // the child's own
      large_bss[100] = 'y';
      return shared.peer(in_bss) == 5;
    });
    EXPECT_EQ(in_bss, 5);
    EXPECT_EQ(large_bss[100], 0);
    return true;
  });
}

// It has nothing to do with the variables of the PE any more.
TEST(ShareStatics, GivesChildrenOfChildrenWhatTheChildHas) {
  test::run_process([] {
    Shared shared;
    if (!shared.share()) return false;
    in_bss = 5;
    test::run_process([&] {
      in_bss = 6;
      large_bss[100] = 'y';
      test::run_process([&] {
        EXPECT_EQ(in_bss, 6);
        EXPECT_EQ(large_bss[100], 'y');
        in_bss = 7;
        return shared.peer(in_bss) == 5;
      });
      EXPECT_EQ(in_bss, 6);
      return true;
    });
    EXPECT_EQ(in_bss, 5);
    return true;
  });
}

TEST(ShareStatics, LeavesNoDescriptorBehind) {
  test::run_process([] {
    const auto descriptors = [] {
      const std::filesystem::directory_iterator open("/proc/self/fd");
      return std::distance(begin(open), end(open));
    };
    Shared shared;
    const auto before = descriptors();
    if (!shared.share()) return false;
    EXPECT_EQ(descriptors(), before);
    return true;
  });
}

TEST(ShareStatics, FailsWithAReason) {
  const StaticRange range = find_statics();
  const Status status = share_statics(range, -1, 0);
  EXPECT_FALSE(status.ok());
  EXPECT_NE(status.text().find("variables"), std::string::npos);
  EXPECT_TRUE(share_statics(StaticRange(), -1, 0).ok()) << "nothing to share is no error";
}

}  // namespace
}  // namespace shm
