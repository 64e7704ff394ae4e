// SPDX-License-Identifier: BSD-3-Clause
// Both mappers against the one contract of transports/mapper.hpp.
#include "transports/mapper.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include "processes.hpp"
#include "transports/map/short_name.hpp"
#include "transports/registry.hpp"

namespace shm {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using Clock = std::chrono::steady_clock;

class MapperTest : public ::testing::TestWithParam<const char*> {
 protected:
  static std::unique_ptr<Mapper> make() { return make_mapper(GetParam()); }
};

// What the processes of a test tell each other beside the file.
struct Board {
  std::atomic<int> arrived;
  std::atomic<ino_t> inode;
};

void meet(Board& board, int processes) {
  board.arrived.fetch_add(1);
  while (board.arrived.load() % processes != 0) usleep(100);
}

bool name_exists(const std::string& key) { return access(("/dev/shm/atoll." + key).c_str(), F_OK) == 0; }

ino_t inode_of(int file) {
  struct stat info {};
  EXPECT_EQ(fstat(file, &info), 0);
  return info.st_ino;
}

// Under the name of a job may lie what somebody else has put there.
TEST(PosixMapper, RefusesAFileThatIsThereAlready) {
  const std::string key = test::unique_key("mapper"), name = "/atoll." + key;
  const int strange = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  ASSERT_GE(strange, 0);
  const std::unique_ptr<Mapper> mapper = make_mapper("posix");
  const Result<int> file = mapper->open({key, 0, 1, 20});
  EXPECT_FALSE(file.ok());
  EXPECT_THAT(file.status().text(), HasSubstr("File exists"));
  close(strange);
  shm_unlink(name.c_str());
}

TEST_P(MapperTest, GivesAllTheSameFile) {
  constexpr int kProcesses = 5;
  const std::string key = test::unique_key("mapper");
  Board& board = test::shared_object<Board>();
  test::run_processes(kProcesses, [&](int me) {
    if (me == 0) usleep(20000);  // the members come first
    const std::unique_ptr<Mapper> mapper = make();
    Result<int> file = mapper->open({key, me, kProcesses, 20});
    EXPECT_TRUE(file.ok()) << file.status().text();
    if (!file.ok()) return false;
    struct stat info {};
    fstat(file.value(), &info);
    if (me == 0) {
      EXPECT_EQ(info.st_size, 0) << "an empty file";
      EXPECT_EQ(ftruncate(file.value(), 1 << 20), 0);
      board.inode.store(info.st_ino);
    }
    EXPECT_NE(fcntl(file.value(), F_GETFD) & FD_CLOEXEC, 0) << "children of the program must not inherit it";
    meet(board, kProcesses);
    mapper->all_attached();
    EXPECT_EQ(board.inode.load(), info.st_ino);
    fstat(file.value(), &info);
    EXPECT_EQ(info.st_size, 1 << 20);
    return true;
  });
  EXPECT_FALSE(name_exists(key));
}

TEST_P(MapperTest, LeavesNoNameBehindWhenSetUpFails) {
  const std::string key = test::unique_key("mapper");
  {
    const std::unique_ptr<Mapper> leader = make();
    Result<int> file = leader->open({key, 0, 2, 1});
    ASSERT_TRUE(file.ok()) << file.status().text();
    close(file.value());
  }
  EXPECT_FALSE(name_exists(key));
}

int descriptors() {
  const std::filesystem::directory_iterator open("/proc/self/fd");
  return static_cast<int>(std::distance(begin(open), end(open)));
}

TEST_P(MapperTest, LeavesNoDescriptorBehind) {
  const std::string key = test::unique_key("mapper");
  const int before = descriptors();
  {
    const std::unique_ptr<Mapper> leader = make(), member = make();
    Result<int> file = leader->open({key, 0, 2, 5}), same = member->open({key, 1, 2, 5});
    ASSERT_TRUE(file.ok() && same.ok()) << file.status().text() << same.status().text();
    leader->all_attached();
    member->all_attached();
    close(file.value());
    close(same.value());
  }
  EXPECT_EQ(descriptors(), before);
}

// When all have attached, what the mapper had may belong to somebody else.
TEST_P(MapperTest, ThatIsDoneTouchesNothingMore) {
  const std::string key = test::unique_key("mapper");
  std::unique_ptr<Mapper> done = make(), next = make();
  Result<int> file = done->open({key, 0, 2, 5});
  ASSERT_TRUE(file.ok()) << file.status().text();
  const int before = descriptors();
  done->all_attached();
  std::vector<int> others;
  for (int i = 0; i < 8; ++i) others.push_back(dup(STDERR_FILENO));
  Result<int> of_next = next->open({key, 0, 2, 5});
  ASSERT_TRUE(of_next.ok()) << of_next.status().text();
  done->all_attached();
  done.reset();
  for (const int other : others) EXPECT_NE(fcntl(other, F_GETFD), -1);
  Result<int> same = make()->open({key, 1, 2, 5});
  ASSERT_TRUE(same.ok()) << same.status().text();
  EXPECT_EQ(inode_of(same.value()), inode_of(of_next.value()));
  others.insert(others.end(), {file.value(), of_next.value(), same.value()});
  for (const int other : others) close(other);
  next.reset();
  EXPECT_LT(descriptors(), before);
}

TEST_P(MapperTest, OfTwoLeadersOneIsRefusedAndLeavesNoDescriptorBehind) {
  const std::string key = test::unique_key("mapper");
  const std::unique_ptr<Mapper> leader = make();
  Result<int> file = leader->open({key, 0, 2, 5});
  ASSERT_TRUE(file.ok()) << file.status().text();
  const int before = descriptors();
  const Result<int> refused = make()->open({key, 0, 2, 5});
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().text(), AnyOf(HasSubstr("on a Unix socket: Address already in use"),
                                             HasSubstr("shm_open(/atoll." + key + "): File exists")));
  EXPECT_EQ(descriptors(), before);
  Result<int> same = make()->open({key, 1, 2, 5});
  ASSERT_TRUE(same.ok()) << "the first one goes on: " << same.status().text();
  EXPECT_EQ(inode_of(same.value()), inode_of(file.value()));
  close(same.value());
  close(file.value());
}

// Of the threads of this process but the calling one: those that take a signal of the program's.
std::vector<std::string> threads_that_take(int signal) {
  std::vector<std::string> names;
  for (const auto& thread : std::filesystem::directory_iterator("/proc/self/task")) {
    if (thread.path().filename() == std::to_string(gettid())) continue;
    std::ifstream status(thread.path() / "status");
    std::string key, name;
    std::uint64_t blocked = 0;
    while (status >> key) {
      if (key == "Name:") status >> name;
      if (key == "SigBlk:") status >> std::hex >> blocked >> std::dec;
    }
    if ((blocked >> (signal - 1) & 1) == 0) names.push_back(name);
  }
  return names;
}

TEST_P(MapperTest, TakesNoSignals) {
  const std::string key = test::unique_key("mapper");
  const std::vector<std::string> before = threads_that_take(SIGUSR1);  // of sanitizers
  const std::unique_ptr<Mapper> leader = make();
  Result<int> file = leader->open({key, 0, 2, 5});
  ASSERT_TRUE(file.ok()) << file.status().text();
  EXPECT_EQ(threads_that_take(SIGUSR1), before);
  close(file.value());
}

TEST_P(MapperTest, WorksForAPeAlone) {
  const std::unique_ptr<Mapper> mapper = make();
  Result<int> file = mapper->open({test::unique_key("mapper"), 0, 1, 1});
  ASSERT_TRUE(file.ok()) << file.status().text();
  EXPECT_EQ(ftruncate(file.value(), 4096), 0);
  mapper->all_attached();
  close(file.value());
}

TEST_P(MapperTest, GivesUpOnALeaderThatDoesNotCome) {
  const auto start = Clock::now();
  const std::unique_ptr<Mapper> mapper = make();
  const int before = descriptors();
  const Result<int> file = mapper->open({test::unique_key("mapper"), 1, 2, 0.2});
  EXPECT_EQ(descriptors(), before);
  EXPECT_FALSE(file.ok());
  EXPECT_THAT(file.status().text(), HasSubstr("within SHMEM_INIT_TIMEOUT=0.2 seconds"));
  EXPECT_GE(Clock::now() - start, std::chrono::milliseconds(200));
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
}

// Names of sockets end at 107 characters and names of files at 255.
TEST_P(MapperTest, KeepsLongKeysApartThatDifferOnlyAtTheEnd) {
  const std::string key = test::unique_key("mapper") + "." + std::string(300, 'k');
  const std::string keys[] = {key + ".0", key + ".1"};
  std::unique_ptr<Mapper> leaders[2];
  ino_t inodes[2];
  for (int node = 0; node < 2; ++node) {
    leaders[node] = make();
    Result<int> file = leaders[node]->open({keys[node], 0, 2, 5});
    ASSERT_TRUE(file.ok()) << file.status().text();
    inodes[node] = inode_of(file.value());
    close(file.value());
  }
  for (int node = 0; node < 2; ++node) {
    const std::unique_ptr<Mapper> member = make();
    Result<int> file = member->open({keys[node], 1, 2, 5});
    ASSERT_TRUE(file.ok()) << file.status().text();
    EXPECT_EQ(inode_of(file.value()), inodes[node]);
    close(file.value());
    leaders[node]->all_attached();
  }
}

TEST_P(MapperTest, SomebodyElseWhoAsksTakesNoMembersPlace) {
  const std::string key = test::unique_key("mapper");
  const std::unique_ptr<Mapper> leader = make();
  Result<int> file = leader->open({key, 0, 2, 5});
  ASSERT_TRUE(file.ok()) << file.status().text();
  for (int turn = 0; turn < 3; ++turn) {
    Result<int> another = make()->open({key, 1, 2, 2});
    ASSERT_TRUE(another.ok()) << another.status().text();
    EXPECT_EQ(inode_of(another.value()), inode_of(file.value()));
    close(another.value());
  }
  leader->all_attached();
  close(file.value());
}

INSTANTIATE_TEST_SUITE_P(All, MapperTest, ::testing::Values("memfd", "posix"),
                         [](const auto& info) { return std::string(info.param); });

// The abstract address of the leader's socket.
socklen_t address_of(const std::string& key, sockaddr_un& address) {
  address = {};
  address.sun_family = AF_UNIX;
  const std::string name = "atoll." + key;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  return static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
}

// A leader that listens and never answers, stopped for instance.
TEST(Memfd, GivesUpOnALeaderThatIsStuck) {
  const std::string key = test::unique_key("mapper");
  const int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
  sockaddr_un address;
  const socklen_t length = address_of(key, address);
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), length), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  const int before = descriptors();
  const auto start = Clock::now();
  const Result<int> file = make_mapper("memfd")->open({key, 1, 2, 0.3});
  EXPECT_FALSE(file.ok());
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(5));
  EXPECT_EQ(descriptors(), before);
  close(listener);
}

// Somebody who asks and goes before the answer is not the end of the leader.
TEST(Memfd, OutlivesAMemberThatGoesAtOnce) {
  const std::string key = test::unique_key("mapper");
  const std::unique_ptr<Mapper> leader = make_mapper("memfd");
  Result<int> file = leader->open({key, 0, 2, 5});
  ASSERT_TRUE(file.ok()) << file.status().text();
  sockaddr_un address;
  const socklen_t length = address_of(key, address);
  for (int i = 0; i < 200; ++i) {
    const int member = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    EXPECT_EQ(connect(member, reinterpret_cast<sockaddr*>(&address), length), 0);
    close(member);
  }
  Result<int> same = make_mapper("memfd")->open({key, 1, 2, 5});
  ASSERT_TRUE(same.ok()) << same.status().text();
  close(same.value());
  close(file.value());
}

TEST(ShortName, IsTheKeyWhileThatFits) {
  const std::string key(40, 'k');
  std::string other_end = key, other_start = key;
  other_end.back() = other_start.front() = 'x';
  EXPECT_EQ(short_name("p.", key, 42), "p." + key);
  const std::string cut = short_name("p.", key, 41);
  EXPECT_EQ(cut.size(), 34U);
  EXPECT_TRUE(cut.starts_with("p."));
  EXPECT_NE(cut, short_name("p.", other_end, 41));
  EXPECT_NE(cut, short_name("p.", other_start, 41));
}

TEST(Posix, RefusesAnObjectThatOthersCanOpen) {
  const std::string key = test::unique_key("mapper"), name = "/atoll." + key;
  const int file = shm_open(name.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  ASSERT_GE(file, 0);
  const int before = descriptors();
  for (const mode_t mode : {0660U, 0610U, 0604U, 0602U, 0666U}) {
    ASSERT_EQ(fchmod(file, mode), 0);
    const Result<int> refused = make_mapper("posix")->open({key, 1, 2, 5});
    EXPECT_FALSE(refused.ok()) << mode;
    EXPECT_EQ(refused.status().text(),
              "/dev/shm/atoll." + key + " does not belong to this user alone; who made it?");
  }
  EXPECT_EQ(descriptors(), before);
  shm_unlink(name.c_str());
  close(file);
}

// What cannot be opened now will not get better by waiting.
TEST(Posix, SaysAtOnceWhatIsInTheWay) {
  const std::string key = test::unique_key("mapper"), folder = "/dev/shm/atoll." + key;
  ASSERT_EQ(mkdir(folder.c_str(), 0700), 0);
  const Result<int> refused = make_mapper("posix")->open({key, 1, 2, 1});
  EXPECT_FALSE(refused.ok());
  EXPECT_THAT(refused.status().text(), HasSubstr("shm_open(/atoll." + key + "): "));
  rmdir(folder.c_str());
}

TEST(Registry, KnowsTheMappers) {
  EXPECT_STREQ(make_mapper("auto")->name(), "memfd");
  EXPECT_STREQ(make_mapper("memfd")->name(), "memfd");
  EXPECT_STREQ(make_mapper("posix")->name(), "posix");
}

}  // namespace
}  // namespace shm
