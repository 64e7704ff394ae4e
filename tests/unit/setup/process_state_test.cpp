// SPDX-License-Identifier: BSD-3-Clause
#include "setup/process_state.hpp"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <functional>

#include "processes.hpp"
#include "sanitized.hpp"

namespace shm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Blob = std::vector<std::byte>;

TEST(DefaultHeap, IsAShareOfTheNodesMemory) {
  const auto memory =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  std::size_t last = SIZE_MAX;
  for (int pes : {1, 2, 4, 64, 512}) {
    const std::size_t heap = default_heap(pes);
    EXPECT_LE(heap * static_cast<std::size_t>(pes), memory / 2);
    EXPECT_EQ(heap % (std::size_t{2} << 20), 0U) << "whole huge pages";
    EXPECT_LE(heap, last);
    last = heap;
  }
  EXPECT_EQ(default_heap(0), default_heap(1));
}

TEST(DefaultHeap, OfAllPesIsHalfOfWhatTheContainerMayUse) {
  auto memory =
      static_cast<std::size_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (const char* path : {"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"}) {
    std::size_t limit = 0;
    if (!(std::ifstream(path) >> limit) || limit == 0) continue;  // "max": none
    memory = std::min(memory, limit);
    break;
  }
  constexpr std::size_t kMost = std::size_t{64} << 30, kUnit = std::size_t{2} << 20;  // for one PE
  for (std::size_t pes : {1, 3}) {
    const std::size_t share = memory / 2 / pes;
    EXPECT_LE(default_heap(static_cast<int>(pes)), std::min(share, kMost));
    EXPECT_GT(default_heap(static_cast<int>(pes)) + kUnit, std::min(share, kMost));
  }
}

// As batch systems set it, by `ulimit -v`: each PE of the node maps all heaps.
TEST(DefaultHeap, FitsIntoWhatAProcessMayMap) {
  if (test::kSanitized) GTEST_SKIP() << "a sanitizer maps more than that";
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_AS, &before), 0);
  constexpr std::size_t kAllowed = std::size_t{600} << 20;
  const rlimit small{kAllowed, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_AS, &small), 0);
  const std::size_t alone = default_heap(1), of_two = default_heap(2);
  setrlimit(RLIMIT_AS, &before);
  EXPECT_EQ(alone, kAllowed / 4);
  EXPECT_EQ(of_two, (kAllowed - (std::size_t{8} << 20)) / 8);  // whole huge pages
}

TEST(PesOfHost, CountsThoseOfAllVirtualNodes) {
  Job job;
  job.size = 4;
  job.node_pes = {0, 1};
  job.one_host = true;
  EXPECT_EQ(pes_of_host(job), 4);
  job.one_host = false;
  EXPECT_EQ(pes_of_host(job), 2);
}

/// PE 0 of a job of two nodes with a PE each.  What the other one gives is made by `other` of what this one
/// gave.
class TwoNodes final : public Boot {
 public:
  explicit TwoNodes(std::function<Result<Blob>(Blob)> other, const std::string& name = "process_state",
                    std::uint64_t token = 7)
      : other_(std::move(other)), token_(token) {
    job_.size = 2;
    job_.node_pes = {0};
    job_.id = test::unique_key(name);
    job_.host = "here";
  }
  Status join(const Env&) override { return {}; }
  const Job& job() const override { return job_; }
  Result<std::uint64_t> node_token() override {
    if (token_ == 0) return Status::error("no token");
    return token_;
  }
  Status exchange(const Blob& mine) override {
    mine_ = mine;
    return {};
  }
  Result<Blob> fetch(int rank) override { return rank == 0 ? mine_ : other_(mine_); }
  Status barrier() override { return {}; }
  void leave() override {}
  void abort(int, const char*) override {}

 private:
  std::function<Result<Blob>(Blob)> other_;
  std::uint64_t token_;
  Job job_;
  Blob mine_;
};

// What a node gives, in the order of process_state.cpp, behind 8 bytes: that there is no link to memory
// servers.
constexpr std::size_t kHeapAt = 8, kPageAt = 24, kMembersAt = 32, kRankAt = 40, kLeaderAt = 44;

template <class T>
void set(Blob& blob, std::size_t at, T value) {
  std::memcpy(blob.data() + at, &value, sizeof value);
}

// The other node's, which has PE 1.
Blob of_other(Blob blob) {
  set(blob, kRankAt, std::int32_t{1});
  set(blob, kLeaderAt, std::int32_t{2});
  return blob;
}

constexpr std::size_t kHeap = std::size_t{16} << 20;

// In a process of its own: its variables become shared memory.
void in_process(const std::function<void()>& body) {
  test::run_process([&] {
    setenv("SHMEM_SYMMETRIC_SIZE", "16m", 1);
    setenv("FI_PROVIDER", "tcp,ofi_rxm", 1);  // libfabric need not look for others
    body();
    return true;
  });
}

Result<std::unique_ptr<ProcessState>> state_with(std::function<Result<Blob>(Blob)> other,
                                                 const std::string& name = "process_state") {
  static std::vector<std::unique_ptr<Boot>> boots;  // they outlive their worlds
  boots.push_back(std::make_unique<TwoNodes>(std::move(other), name));
  return make_process_state(*boots.back(), Env::read().value());
}

template <class T>
std::function<Blob(Blob)> other_with(std::size_t at, T value) {
  return [=](Blob blob) {
    blob = of_other(std::move(blob));
    set(blob, at, value);
    return blob;
  };
}

TEST(MakeProcessState, KnowsAllNodesAndTheSmallestHeap) {
  in_process([] {
    for (const auto& [theirs, smallest] : {std::pair{kHeap / 2, kHeap / 2}, std::pair{kHeap * 2, kHeap}}) {
      auto made = state_with(other_with(kHeapAt, std::uint64_t{theirs}));
      ASSERT_TRUE(made.ok()) << made.status().text();
      const ProcessState& state = *made.value();
      EXPECT_THAT(state.leaders, ElementsAre(0, 1));
      EXPECT_EQ(state.user_heap, smallest);
      EXPECT_EQ(state.memory->record(1).leader, 2);
    }
  });
}

// It becomes part of the name of a file.
TEST(MakeProcessState, TakesAnyNameThatALauncherGivesTheJob) {
  in_process([] {
    setenv("SHMEM_MAPPER", "posix", 1);
    const auto made = state_with(of_other, "of a user/prterun-1@7");
    EXPECT_TRUE(made.ok()) << made.status().text();
  });
}

// Somebody has what would be the name for another token, and for none.
TEST(MakeProcessState, TakesANameThatHasTheTokenOfTheNode) {
  in_process([] {
    setenv("SHMEM_MAPPER", "posix", 1);
    TwoNodes boot(of_other, "taken", 0x1b);
    const std::string name = "/atoll." + boot.job().id + "." + std::to_string(geteuid()) + ".0";
    std::vector<std::string> taken;
    for (const char* token : {"", ".0000000000000000", ".000000000000001a", ".1b"})
      taken.push_back(name + token);
    for (const std::string& one : taken)
      close(shm_open(one.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const auto made = make_process_state(boot, Env::read().value());
    EXPECT_TRUE(made.ok()) << made.status().text();
    for (const std::string& one : taken) shm_unlink(one.c_str());
    TwoNodes again(of_other, "taken", 0x1b);
    const std::string its =
        "/atoll." + again.job().id + "." + std::to_string(geteuid()) + ".0.000000000000001b";
    close(shm_open(its.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600));
    const auto refused = make_process_state(again, Env::read().value());
    EXPECT_THAT(refused.status().text(), HasSubstr("File exists"));
    shm_unlink(its.c_str());
  });
}

TEST(MakeProcessState, EndsWithoutAToken) {
  in_process([] {
    TwoNodes boot(of_other, "no_token", 0);
    EXPECT_EQ(make_process_state(boot, Env::read().value()).status().text(), "no token");
  });
}

TEST(MakeProcessState, RefusesWhatMakesNoSense) {
  in_process([] {
    const auto expect_refusal = [](std::function<Result<Blob>(Blob)> other, const char* text) {
      const auto made = state_with(std::move(other));
      EXPECT_FALSE(made.ok());
      EXPECT_THAT(made.status().text(), HasSubstr(text));
    };
    constexpr const char* kText = "PE 1 sent addresses that make no sense; do all PEs run the same version?";
    expect_refusal([](const Blob&) { return Blob(); }, kText);
    expect_refusal([](Blob blob) { return blob.resize(blob.size() - 1), of_other(std::move(blob)); }, kText);
    expect_refusal(other_with(kMembersAt, std::int32_t{2}), kText);
    expect_refusal(other_with(kRankAt, std::int32_t{2}), kText);
    expect_refusal(other_with(kRankAt, std::int32_t{-1}), kText);
    expect_refusal(other_with(kRankAt, std::int32_t{0}), kText);  // not the one that was asked
    expect_refusal(other_with(kPageAt, std::uint64_t{65536}),
                   "the NVM heap has pages of 0 bytes here and of 65536 on the node of PE 1");
    expect_refusal([](const Blob&) { return Status::error("the cable is cut"); }, "the cable is cut");
  });
}

TEST(MakeProcessState, RefusesHeapsThatNoMachineHas) {
  test::run_process([] {
    setenv("SHMEM_SYMMETRIC_SIZE", "33t", 1);
    TwoNodes boot(of_other);
    auto made = make_process_state(boot, Env::read().value());
    EXPECT_FALSE(made.ok());
    EXPECT_THAT(made.status().text(), HasSubstr("allowed is up to 32t"));
    return true;
  });
}

}  // namespace
}  // namespace shm
