// SPDX-License-Identifier: BSD-3-Clause
// What is particular to devices on files.
#include "nvm/storage/file_device.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "transfers.hpp"

namespace shm::nvm {
namespace {

using ::testing::HasSubstr;

class FileTest : public ::testing::Test {
 protected:
  std::unique_ptr<Device> open(const DeviceOptions& options) {
    auto made = open_device(options);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return std::move(made.value());
  }
  static std::string refusal(const DeviceOptions& options) { return open_device(options).status().text(); }

  Folder folder;
};

TEST_F(FileTest, LeavesNoNameUnlessItIsToBeKept) {
  const auto device = open({.path = folder.file(), .size = kMiB});
  ASSERT_NE(device, nullptr);
  EXPECT_TRUE(folder.empty());
  const auto second = open({.path = folder.file(), .size = kMiB});
  ASSERT_NE(second, nullptr) << "the name is free again";
  const Buffer ones(kBlock, 1);
  EXPECT_EQ(write(*device, 0, ones, kBlock), 0);
  EXPECT_EQ(read(*second, 0, ones, kBlock), 0);
  EXPECT_TRUE(ones.holds(0)) << "two files of one name";
}

TEST_F(FileTest, TouchesNoFileThatWasThereUnlessItIsToBeKept) {
  std::ofstream(folder.file()) << "precious";
  EXPECT_THAT(refusal({.path = folder.file(), .size = kMiB}), HasSubstr("remove it"));
  std::string found;
  std::ifstream(folder.file()) >> found;
  EXPECT_EQ(found, "precious");
}

TEST_F(FileTest, FindsWhatWasKept) {
  const DeviceOptions options{.path = folder.file(), .size = kMiB, .keep = true};
  const Buffer memory(kMiB / 2, 9);
  {
    const auto device = open(options);
    ASSERT_NE(device, nullptr);
    EXPECT_EQ(write(*device, 0, memory, kMiB / 2), 0);
    EXPECT_TRUE(device->persist().ok());
  }
  EXPECT_EQ(std::filesystem::file_size(folder.file()), kMiB);
  for (const std::uint64_t size : {2 * kMiB, kMiB / 2}) {  // a larger and a smaller one
    std::memset(memory.data(), 0, kMiB / 2);
    auto again = options;
    again.size = size;
    const auto device = open(again);
    ASSERT_NE(device, nullptr);
    EXPECT_EQ(read(*device, 0, memory, kMiB / 2), 0);
    EXPECT_TRUE(memory.holds(9));
    EXPECT_EQ(std::filesystem::file_size(folder.file()), 2 * kMiB) << "it never shrinks";
  }
}

TEST_F(FileTest, HasRoomForTheLastBlockOfAnySize) {
  const auto device = open({.path = folder.file(), .size = kBlock + 1});
  ASSERT_NE(device, nullptr);
  const Buffer ones(kBlock, 1);
  EXPECT_EQ(write(*device, kBlock, ones, kBlock), 0);
  EXPECT_EQ(write(*device, 2 * kBlock, ones, kBlock), EINVAL);
}

TEST_F(FileTest, TwoDevicesDoNotKeepOneFile) {
  const DeviceOptions options{.path = folder.file(), .size = kMiB, .keep = true};
  auto device = open(options);
  ASSERT_NE(device, nullptr);
  EXPECT_THAT(refusal(options), HasSubstr("another job or PE has it open"));
  device.reset();
  EXPECT_EQ(refusal(options), "");
}

// The process's descriptors of files in `folder`.
std::vector<int> descriptors_in(const Folder& folder) {
  std::vector<int> found;
  for (const auto& fd : std::filesystem::directory_iterator("/proc/self/fd")) {
    std::error_code ignored;
    const std::string to = std::filesystem::read_symlink(fd.path(), ignored);
    if (to.starts_with(folder.path().string())) found.push_back(std::stoi(fd.path().filename()));
  }
  return found;
}

// Nobody else reads what a job keeps, no program that it starts has it open, and nothing stays open.
TEST_F(FileTest, IsItsOwnersAlone) {
  DeviceOptions options{.path = folder.file(), .size = kMiB, .keep = true};
  for (const bool to_read : {false, false, true}) {  // made, found, and only read
    options.to_read = to_read;
    const auto device = open(options);
    ASSERT_NE(device, nullptr);
    const auto permissions = std::filesystem::status(folder.file()).permissions();
    EXPECT_EQ(static_cast<unsigned>(permissions), 0600U);
    const std::vector<int> open_now = descriptors_in(folder);
    ASSERT_EQ(open_now.size(), 1U) << "its folder is not open any more";
    EXPECT_EQ(fcntl(open_now[0], F_GETFD), FD_CLOEXEC);
    EXPECT_NE(refusal(options), "");
    EXPECT_EQ(descriptors_in(folder).size(), 1U) << "who is refused leaves nothing open";
  }
  EXPECT_TRUE(descriptors_in(folder).empty());
}

TEST_F(FileTest, WritesToNothingThatIsOnlyRead) {
  DeviceOptions options{.path = folder.file(), .size = kMiB, .keep = true, .to_read = true};
  EXPECT_EQ(refusal(options),
            "cannot read " + folder.file() +
                " for the NVM heap: No such file or directory; this user must be able to read it");
  const Buffer ones(kBlock, 1), memory(kBlock);
  options.to_read = false;
  EXPECT_EQ(write(*open(options), 0, ones, kBlock), 0);
  options.to_read = true;
  options.size = 2 * kMiB;
  for (const IoEngine engine : {IoEngine::automatic, IoEngine::sync}) {
    options.engine = engine;
    const auto device = open(options);
    ASSERT_NE(device, nullptr);
    EXPECT_EQ(read(*device, 0, memory, kBlock), 0);
    EXPECT_TRUE(memory.holds(1));
    EXPECT_NE(write(*device, 0, ones, kBlock), 0);
    EXPECT_THAT(refusal(options), HasSubstr("another job or PE has it open"));
  }
  EXPECT_EQ(std::filesystem::file_size(folder.file()), kMiB);
}

TEST_F(FileTest, TakesNoRoomBeforeItIsReserved) {
  const auto device =
      open({.path = folder.file(), .size = std::uint64_t{1} << 38, .keep = true, .engine = IoEngine::sync});
  ASSERT_NE(device, nullptr);
  struct stat found {};
  const auto occupied = [&] {
    EXPECT_EQ(stat(folder.file().c_str(), &found), 0);
    return static_cast<std::uint64_t>(found.st_blocks) * 512;
  };
  EXPECT_LT(occupied(), kMiB);
  ASSERT_TRUE(device->reserve(std::uint64_t{1} << 37, 8 * kMiB).ok());
  EXPECT_GE(occupied(), 8 * kMiB);
  ASSERT_TRUE(device->release(std::uint64_t{1} << 37, 8 * kMiB).ok());
  EXPECT_LT(occupied(), kMiB);
}

TEST_F(FileTest, SaysHowItWorks) {
  EXPECT_EQ(
      open({.path = folder.file(), .size = kMiB, .engine = IoEngine::sync, .direct = false})->describe(),
      "pread and pwrite, page cache");
  const std::string automatic = open({.path = folder.file(), .size = kMiB})->describe();
  EXPECT_THAT(automatic, ::testing::AnyOf(HasSubstr("io_uring, "), HasSubstr("(no io_uring here: ")));
  RecordProperty("automatic", automatic);
}

// As in a container that does not permit io_uring.
void forbid_io_uring() {
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_io_uring_setup, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{std::size(program), program};
  EXPECT_EQ(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0), 0);
  EXPECT_EQ(prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter), 0);
}

TEST_F(FileTest, WorksWhereIoUringIsForbidden) {
  test::run_process([&] {
    forbid_io_uring();
    EXPECT_THAT(refusal({.path = folder.file(), .size = kMiB, .engine = IoEngine::uring}),
                HasSubstr("no io_uring here: Operation not permitted"));
    const auto device = open({.path = folder.file(), .size = kMiB});
    EXPECT_THAT(device->describe(),
                HasSubstr("pread and pwrite (no io_uring here: Operation not permitted)"));
    const Buffer ones(kBlock, 1);
    EXPECT_EQ(write(*device, 0, ones, kBlock), 0);
    return true;
  });
}

TEST_F(FileTest, SaysWhatToDoIfItCannotBeOpened) {
  EXPECT_THAT(refusal({.path = folder.file("none/segment"), .size = kMiB}),
              HasSubstr("choose a folder that is there"));
  EXPECT_THAT(refusal({.path = folder.path(), .size = kMiB, .keep = true}), HasSubstr("remove it"));
  EXPECT_THAT(refusal({.path = folder.file(), .size = UINT64_MAX}), HasSubstr("ask for less"));
  ASSERT_EQ(mkfifo(folder.file("fifo").c_str(), 0600), 0);
  EXPECT_THAT(refusal({.path = folder.file("fifo"), .size = kMiB, .keep = true}),
              HasSubstr("not a regular file"));
  EXPECT_FALSE(std::filesystem::exists(folder.file()));
}

TEST_F(FileTest, RespectsTheLimitOfFileSizes) {
  test::run_process([&] {
    const rlimit limit{kMiB, 4 * kMiB};
    setrlimit(RLIMIT_FSIZE, &limit);
    EXPECT_THAT(
        refusal({.path = folder.file(), .size = 2 * kMiB, .keep = true}),
        HasSubstr(
            " the 2097152 bytes of the NVM heap: the limit of file sizes is 1048576; raise it (ulimit -f)"));
    EXPECT_EQ(refusal({.path = folder.file(), .size = kMiB}), "");
    return true;
  });
  EXPECT_TRUE(folder.empty()) << "a file that is of no use was left behind";
}

// Runs the body in a process that sees another file system, of this type, in the folder.  False: not
// permitted here.
bool with_file_system(const Folder& folder, const char* type, const char* options,
                      const std::function<void()>& body) {
  bool& mounted = test::shared_object<bool>();
  test::run_process([&] {
    // Whoever is not root is it in a user namespace of its own, if that may be had.
    const int flags = CLONE_NEWNS | (geteuid() == 0 ? 0 : CLONE_NEWUSER);
    const std::string users = "0 " + std::to_string(geteuid()) + " 1";
    const std::string groups = "0 " + std::to_string(getegid()) + " 1";
    if (unshare(flags) != 0) return true;
    if ((flags & CLONE_NEWUSER) != 0) {
      std::ofstream("/proc/self/setgroups") << "deny";  // the condition for what follows
      std::ofstream("/proc/self/gid_map") << groups;
      std::ofstream("/proc/self/uid_map") << users;
    }
    if (mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) return true;
    if (mount(type, folder.path().c_str(), type, 0, options) != 0) return true;
    mounted = true;
    body();
    return true;
  });
  return mounted;
}

constexpr const char* kNoMount = "this user may not mount in a namespace of its own";

// Room for some of what is asked for, in turn.
void fill_small_file_system(const DeviceOptions& options) {
  auto made = open_device(options);
  ASSERT_TRUE(made.ok()) << made.status().text();
  Device& device = *made.value();
  EXPECT_TRUE(device.reserve(0, kMiB).ok());
  const std::string text = device.reserve(kMiB, 8 * kMiB).text();
  EXPECT_THAT(text, HasSubstr("cannot make room for 8388608 bytes at offset 1048576 of " + options.path));
  EXPECT_THAT(text, HasSubstr("No space left on device"));
  EXPECT_THAT(text, HasSubstr("ask for less"));
  EXPECT_TRUE(device.release(kMiB, 8 * kMiB).ok());
  const Buffer ones(kMiB, 1);
  EXPECT_TRUE(device.reserve(kMiB, kMiB).ok()) << "the room of the failed call was not given back";
  EXPECT_EQ(write(device, 0, ones, kMiB), 0);
  EXPECT_EQ(write(device, kMiB, ones, kMiB), 0) << "there is room";
  const Buffer large(8 * kMiB, 1);
  EXPECT_EQ(write(device, 2 * kMiB, large, 8 * kMiB), ENOSPC) << "there is none";
  EXPECT_TRUE(device.release(0, 16 * kMiB).ok());
  EXPECT_TRUE(device.reserve(4 * kMiB, 3 * kMiB).ok());
}

TEST_F(FileTest, SaysThatTheFileSystemIsFull) {
  const bool ran = with_file_system(folder, "tmpfs", "size=4m", [&] {
    for (const IoEngine engine : {IoEngine::sync, IoEngine::automatic})
      fill_small_file_system({.path = folder.file(), .size = 16 * kMiB, .engine = engine});
  });
  if (!ran) GTEST_SKIP() << kNoMount;
}

TEST_F(FileTest, WorksWhereRoomCannotBeReserved) {
  const bool ran = with_file_system(folder, "ramfs", nullptr, [&] {
    auto made = open_device({.path = folder.file(), .size = 4 * kMiB});
    ASSERT_TRUE(made.ok()) << made.status().text();
    Device& device = *made.value();
    const Buffer memory(2 * kMiB, 3);
    EXPECT_EQ(write(device, kMiB, memory, 2 * kMiB), 0);
    const Status room = device.reserve(0, 4 * kMiB);
    EXPECT_TRUE(room.ok()) << room.text();
    EXPECT_EQ(read(device, kMiB, memory, 2 * kMiB), 0);
    EXPECT_TRUE(memory.holds(3)) << "making room changed what was written";
    const Status gone = device.release(kMiB, 2 * kMiB);
    EXPECT_TRUE(gone.ok()) << gone.text();
    EXPECT_EQ(read(device, kMiB, memory, 2 * kMiB), 0);
    EXPECT_TRUE(memory.holds(0));
  });
  if (!ran) GTEST_SKIP() << kNoMount;
}

TEST_F(FileTest, EndsAReadBeyondTheEndOfTheFileWithZeros) {
  // Past the page cache some systems write zeros there of their own accord.
  for (const bool direct : {true, false}) {
    const IoEngine engine = direct ? IoEngine::automatic : IoEngine::sync;
    const auto device =
        open({.path = folder.file(), .size = kMiB, .keep = true, .engine = engine, .direct = direct});
    ASSERT_NE(device, nullptr);
    const Buffer memory(kMiB, 6);
    EXPECT_EQ(write(*device, 0, memory, kMiB), 0);
    ASSERT_EQ(truncate(folder.file().c_str(), kMiB / 4), 0);
    EXPECT_EQ(read(*device, 0, memory, kMiB), 0);
    EXPECT_EQ(std::count(memory.data(), memory.data() + kMiB, std::byte{6}), static_cast<long>(kMiB / 4));
    EXPECT_EQ(std::count(memory.data(), memory.data() + kMiB, std::byte{0}), static_cast<long>(kMiB / 4 * 3));
  }
}

TEST(AccountTest, GoesOnAfterShortTransfers) {
  for (const Kind kind : {Kind::read, Kind::write}) {
    const Buffer memory(4 * kBlock);
    Transfer transfer{kind, 0, memory.data(), 4 * kBlock};
    ASSERT_TRUE(begin(transfer, kMiB));
    EXPECT_FALSE(account(transfer, kBlock));
    EXPECT_FALSE(account(transfer, 512));
    EXPECT_EQ(next_piece(transfer), 3 * kBlock - 512);
    EXPECT_FALSE(account(transfer, -EINTR));
    EXPECT_FALSE(account(transfer, -EAGAIN));
    EXPECT_EQ(transfer.stalls, 2);
    EXPECT_FALSE(account(transfer, 512));
    EXPECT_EQ(transfer.stalls, 0) << "it gets on";
    EXPECT_FALSE(account(transfer, -EAGAIN));
    EXPECT_TRUE(account(transfer, 3 * kBlock - 1024));
    EXPECT_EQ(transfer.error, 0);
  }
}

TEST(AccountTest, EndsWithTheErrorOfAnyPiece) {
  const Buffer memory(2 * kBlock);
  Transfer transfer{Kind::write, 0, memory.data(), 2 * kBlock};
  ASSERT_TRUE(begin(transfer, kMiB));
  EXPECT_FALSE(account(transfer, kBlock));
  EXPECT_FALSE(account(transfer, -EAGAIN));
  EXPECT_TRUE(account(transfer, -EIO));
  EXPECT_EQ(transfer.error, EIO);
  ASSERT_TRUE(begin(transfer, kMiB)) << "it can be started again";
  EXPECT_EQ(transfer.error, 0);
  EXPECT_EQ(transfer.stalls, 0);
  EXPECT_EQ(next_piece(transfer), 2 * kBlock);
  EXPECT_TRUE(account(transfer, 0));
  EXPECT_EQ(transfer.error, EIO) << "a write that moves nothing";
}

TEST(AccountTest, DoesNotTryForEver) {
  const Buffer memory(kBlock);
  Transfer transfer{Kind::read, 0, memory.data(), kBlock};
  ASSERT_TRUE(begin(transfer, kMiB));
  int tries = 1;
  while (tries < 100'000'000 && !account(transfer, -EAGAIN)) ++tries;
  EXPECT_EQ(transfer.error, EAGAIN);
  EXPECT_GT(tries, 1000);
}

TEST(AccountTest, AsksForNoMoreThanACallCanMove) {
  Transfer transfer{Kind::read, 0, nullptr, std::size_t{5} << 30};
  ASSERT_TRUE(begin(transfer, std::uint64_t{1} << 40));
  std::size_t calls = 1;
  while (calls < 100 && !account(transfer, static_cast<long>(next_piece(transfer)))) ++calls;
  EXPECT_EQ(calls, 5U);
  EXPECT_EQ(transfer.done, transfer.n);
}

}  // namespace
}  // namespace shm::nvm
