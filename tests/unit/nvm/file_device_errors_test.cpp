// SPDX-License-Identifier: BSD-3-Clause
// What a device on a file does when the system refuses, is interrupted, or does less than it was asked for.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <filesystem>

#include "nvm/storage/file_device.hpp"
#include "system_calls.hpp"
#include "transfers.hpp"

namespace shm::nvm {
namespace {

using ::testing::AllOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using ::testing::Not;
using ::testing::StartsWith;
using enum Called;

constexpr auto real = SystemCalls::real;

class FileErrorsTest : public ::testing::Test {
 protected:
  DeviceOptions kept(IoEngine engine = IoEngine::sync) const {
    return {.path = folder.file(), .size = 4 * kMiB, .keep = true, .engine = engine, .direct = false};
  }
  static std::unique_ptr<Device> make(const DeviceOptions& options) {
    auto made = open_device(options);
    EXPECT_TRUE(made.ok()) << made.status().text();
    return std::move(made.value());
  }
  static std::string refusal(const DeviceOptions& options) { return open_device(options).status().text(); }
  static std::vector<std::string> paths(const std::vector<SystemCalls::Record>& records) {
    std::vector<std::string> paths;
    for (const auto& record : records) paths.push_back(record.path);
    return paths;
  }

  const Folder folder;
  SystemCalls calls;
};

// ---- Being durable

TEST_F(FileErrorsTest, PersistFlushesTheFile) {
  for (const IoEngine engine : {IoEngine::sync, IoEngine::automatic}) {
    const auto device = make(kept(engine));
    calls.clear();
    EXPECT_TRUE(device->persist().ok());
    EXPECT_THAT(paths(calls.records(fdatasync)), ::testing::ElementsAre(folder.file()));
    EXPECT_TRUE(device->persist().ok());
    EXPECT_EQ(calls.count(fdatasync), 2U) << "each time";
  }
}

// The next fdatasync() would be a success: the system has forgotten the writes that were lost.
TEST_F(FileErrorsTest, APersistThatFailedFailsForGood) {
  for (const int error : {EIO, ENOSPC}) {
    const auto device = make(kept());
    calls.next(fdatasync, {error});
    const std::string said = device->persist().text();
    EXPECT_THAT(said, MatchesRegex("cannot make the writes to .*/segment \\(NVM heap\\) durable: .*; what it "
                                   "holds is not to be relied on, look at the system's log"));
    EXPECT_THAT(said, HasSubstr(std::strerror(error)));
    EXPECT_EQ(device->persist().text(), said);
  }
}

TEST_F(FileErrorsTest, APersistThatIsInterruptedIsTriedAgain) {
  const auto device = make(kept());
  calls.next(fdatasync, {EINTR, EINTR, real});
  EXPECT_TRUE(device->persist().ok());
  EXPECT_EQ(calls.count(fdatasync), 3U);
  calls.next(fdatasync, {EINTR, EIO});
  EXPECT_THAT(device->persist().text(), HasSubstr(std::strerror(EIO)));
}

TEST_F(FileErrorsTest, ANewFilesNameIsMadeDurable) {
  auto device = make(kept());
  const std::vector<SystemCalls::Record> records = calls.records(fsync);
  ASSERT_EQ(records.size(), 1U);
  EXPECT_EQ(records[0].path, folder.path()) << "its folder, which has the name";
  device.reset();
  device = make(kept());
  EXPECT_EQ(calls.count(fsync), 1U) << "the name was there";
}

TEST_F(FileErrorsTest, ANewFileInTheCurrentFolderIsMadeDurableToo) {
  DeviceOptions options = kept();
  options.path = folder.path().filename() / "segment";  // the tests' current folder has theirs
  const auto device = make(options);
  EXPECT_THAT(paths(calls.records(fsync)), ::testing::ElementsAre(folder.path()));
  options.path = test::unique_key("nvm.segment");
  const auto here = make(options);
  ::unlink(options.path.c_str());
  EXPECT_EQ(calls.records(fsync).back().path, std::filesystem::current_path());
}

TEST_F(FileErrorsTest, AFileWhoseNameIsNotDurableIsNotUsed) {
  calls.next(fsync, {EINTR, EIO});
  EXPECT_THAT(refusal(kept()), MatchesRegex("cannot make the name .*/segment \\(NVM heap\\) durable: "
                                            "Input/output error; choose another folder, .*"));
  for (const int error : {ENOSPC, EDQUOT}) {
    calls.next(fsync, {error});
    EXPECT_THAT(refusal(kept()), HasSubstr(std::strerror(error)));
  }
  EXPECT_TRUE(folder.empty());
  calls.next(fsync, {EINVAL});
  EXPECT_EQ(refusal(kept()), "") << "file systems that cannot need not";
}

// ---- Room

TEST_F(FileErrorsTest, MakesRoomInSmallerPiecesAfterASignal) {
  const auto device = make(kept());
  for (int i = 0; i < 11; ++i) calls.next(fallocate, {EINTR});
  ASSERT_TRUE(device->reserve(0, 4 * kMiB).ok());
  std::int64_t at = 0;
  const auto pieces = calls.records(fallocate);
  for (const auto& piece : pieces) {
    EXPECT_EQ(piece.offset, at);
    if (piece.error == 0) at += piece.n;
  }
  EXPECT_EQ(at, static_cast<std::int64_t>(4 * kMiB)) << "all of it has room";
  EXPECT_EQ(pieces.front().n, static_cast<std::int64_t>(4 * kMiB));
  EXPECT_EQ(pieces.back().n, static_cast<std::int64_t>(kMiB)) << "the least";
}

TEST_F(FileErrorsTest, RoomThatIsNotThereIsSaidWithWhatIsFree) {
  const auto device = make(kept());
  calls.next(fallocate, {ENOSPC});
  EXPECT_THAT(
      device->reserve(kMiB, kMiB).text(),
      MatchesRegex("cannot make room for 1048576 bytes at offset 1048576 of .*/segment \\(NVM heap\\): "
                   "No space left on device, [0-9]+ bytes are free; ask for less, free some space or "
                   "choose another folder"));
  calls.next(fallocate, {EDQUOT});
  EXPECT_THAT(device->reserve(0, kMiB).text(),
              AllOf(HasSubstr("Disk quota exceeded; ask for less"), Not(HasSubstr("are free"))));
  calls.next(fallocate, {EIO});
  EXPECT_THAT(device->reserve(0, kMiB).text(),
              EndsWith("Input/output error; choose a folder on another file system"));
  EXPECT_TRUE(device->reserve(0, kMiB).ok()) << "it may be tried again";
}

TEST_F(FileErrorsTest, GivingBackIsTriedAgainAfterASignalAndSaysWhyItFails) {
  const auto device = make(kept());
  const Buffer ones(kMiB, 1), memory(kMiB);
  EXPECT_EQ(write(*device, 0, ones, kMiB), 0);
  calls.next(fallocate, {EINTR, real});
  EXPECT_TRUE(device->release(0, kMiB).ok());
  EXPECT_EQ(calls.count(fallocate), 2U);
  EXPECT_EQ(read(*device, 0, memory, kMiB), 0);
  EXPECT_TRUE(memory.holds(0));
  calls.next(fallocate, {EIO});
  EXPECT_THAT(
      device->release(0, kMiB).text(),
      AllOf(StartsWith("cannot give back 1048576 bytes at offset 0 of "), HasSubstr("Input/output error")));
}

// As on file systems without fallocate(): what is there is written again, or zeros.
TEST_F(FileErrorsTest, WhereRoomCannotBeReservedTheBytesAreWritten) {
  const auto device = make(kept());
  const Buffer memory(4 * kMiB);
  for (const int error : {EOPNOTSUPP, ENOSYS}) {
    calls.always(fallocate, error);
    const Buffer ones(kMiB, 1);
    EXPECT_EQ(write(*device, kMiB, ones, kMiB), 0);
    calls.clear();
    ASSERT_TRUE(device->reserve(0, 3 * kMiB + kBlock).ok());
    std::int64_t written = 0;
    for (const auto& record : calls.records(pwrite)) written += record.n;
    EXPECT_EQ(written, static_cast<std::int64_t>(3 * kMiB + kBlock));
    EXPECT_EQ(read(*device, kMiB, ones, kMiB), 0);
    EXPECT_TRUE(ones.holds(1)) << "making room changed what was written";
    ASSERT_TRUE(device->release(kMiB, kMiB).ok());
    EXPECT_EQ(read(*device, 0, memory, 4 * kMiB), 0);
    EXPECT_TRUE(memory.holds(0));
  }
}

TEST_F(FileErrorsTest, WhatFailsWhileTheBytesAreWrittenIsSaid) {
  const auto device = make(kept());
  calls.always(fallocate, EOPNOTSUPP);
  calls.next(pread, {EIO});
  EXPECT_THAT(device->reserve(0, kMiB).text(), HasSubstr("Input/output error"));
  EXPECT_EQ(calls.count(pwrite), 0U) << "what could not be read";
  calls.next(pwrite, {real, ENOSPC});
  EXPECT_THAT(device->reserve(0, 3 * kMiB).text(), HasSubstr("No space left on device"));
  EXPECT_EQ(calls.count(pwrite), 2U);
  calls.next(aligned_alloc, {ENOMEM});
  EXPECT_THAT(device->reserve(0, kMiB).text(), HasSubstr("Cannot allocate memory"));
  calls.next(pwrite, {EIO});
  EXPECT_THAT(device->release(0, kMiB).text(), HasSubstr("Input/output error"));
}

// ---- Being opened

TEST_F(FileErrorsTest, AFileThatCannotHaveItsSizeIsNotLeftBehind) {
  calls.next(ftruncate, {EFBIG});
  EXPECT_THAT(refusal(kept()), AllOf(HasSubstr("cannot give " + folder.file() + " the 4194304 bytes"),
                                     HasSubstr("File too large"), HasSubstr("ask for less")));
  EXPECT_TRUE(folder.empty());
  make(kept()).reset();
  DeviceOptions larger = kept();
  larger.size = 8 * kMiB;
  calls.next(ftruncate, {ENOSPC});
  EXPECT_THAT(refusal(larger), HasSubstr("No space left on device"));
  EXPECT_EQ(std::filesystem::file_size(folder.file()), 4 * kMiB) << "what was there stays";
}

TEST_F(FileErrorsTest, SaysWhatToDoIfNoFileCanBeMade) {
  calls.next(open, {ENOSPC});
  EXPECT_THAT(refusal(kept()), EndsWith("No space left on device; free some space or choose another folder"));
  calls.next(open, {EDQUOT});
  EXPECT_THAT(refusal(kept()), HasSubstr("free some space"));
  calls.next(open, {EACCES});
  EXPECT_THAT(refusal(kept()), HasSubstr("Permission denied; choose a folder"));
  EXPECT_TRUE(folder.empty());
}

TEST_F(FileErrorsTest, WorksWhereFilesCannotBeLocked) {
  calls.next(flock, {ENOLCK});
  EXPECT_EQ(refusal(kept()), "") << "then it is up to the user";
  calls.next(flock, {EWOULDBLOCK});
  EXPECT_THAT(refusal(kept()), HasSubstr("another job or PE has it open"));
}

// The file system takes the flag and refuses the transfers.
TEST_F(FileErrorsTest, GoesByThePageCacheWhereTransfersPastItFail) {
  DeviceOptions options = kept();
  options.direct = true;
  calls.next(pread, {EINVAL});
  const auto device = make(options);
  EXPECT_EQ(device->describe(), "pread and pwrite, page cache");
  const Buffer threes(kBlock, 3), memory(kBlock);
  calls.next(pwrite, {SystemCalls::at_most(1000)});  // what follows lies at no multiple that O_DIRECT takes
  EXPECT_EQ(write(*device, 0, threes, kBlock), 0);
  EXPECT_EQ(read(*device, 0, memory, kBlock), 0);
  EXPECT_TRUE(memory.holds(3));
}

// ---- Transfers by pread and pwrite

TEST_F(FileErrorsTest, TransfersGoOnWhereTheyWereCutShort) {
  const auto device = make(kept());
  const Buffer memory(kMiB, 5);
  calls.next(pwrite, {EINTR, SystemCalls::at_most(1000), EAGAIN, SystemCalls::at_most(70000), real});
  EXPECT_EQ(write(*device, kMiB, memory, kMiB), 0);
  const auto writes = calls.records(pwrite);
  ASSERT_EQ(writes.size(), 5U);
  EXPECT_EQ(writes.back().offset, static_cast<std::int64_t>(kMiB + 71000));
  EXPECT_EQ(writes.back().n, static_cast<std::int64_t>(kMiB - 71000));
  std::memset(memory.data(), 0, kMiB);
  calls.next(pread, {SystemCalls::at_most(3), EINTR, SystemCalls::at_most(4096)});
  EXPECT_EQ(read(*device, kMiB, memory, kMiB), 0);
  EXPECT_EQ(calls.count(pread), 4U);
  EXPECT_TRUE(memory.holds(5));
}

TEST_F(FileErrorsTest, ATransferEndsWithTheErrorOfTheSystem) {
  const auto device = make(kept());
  const Buffer memory(kBlock, 5);
  calls.next(pwrite, {ENOSPC});
  EXPECT_EQ(write(*device, 0, memory, kBlock), ENOSPC);
  calls.next(pread, {SystemCalls::at_most(512), EIO});
  EXPECT_EQ(read(*device, 0, memory, kBlock), EIO);
  EXPECT_EQ(write(*device, 0, memory, kBlock), 0) << "the next is another one";
}

}  // namespace
}  // namespace shm::nvm
