// SPDX-License-Identifier: BSD-3-Clause
#include "pages/local_sweeper.hpp"

#include <gtest/gtest.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <fstream>
#include <string>
#include <thread>

namespace shm::pages {
namespace {

// A sweep does not end before it may; until() ends with CTest's limit if what it waits for never comes.
class Sweeps final : public LocalSweeper::Work {
 public:
  void sweep() override {
    begun.fetch_add(1);
    while (begun.load() > may_end.load()) std::this_thread::yield();
  }
  void bring_mapped(PageNumber page, Access) override { brought.store(page); }

  std::atomic<int> begun{0}, may_end{0};
  std::atomic<PageNumber> brought{0};
};

template <class Condition>
void until(Condition condition) {
  while (!condition()) std::this_thread::yield();
}

bool is_asleep(pid_t thread) {
  std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
  std::string number, name, state;
  file >> number >> name >> state;
  return state == "S";
}

TEST(LocalSweeper, SweepsAgainForWhatRangDuringASweep) {
  Sweeps sweeps;
  LocalSweeper sweeper(sweeps);
  sweeper.start();
  until([&] { return sweeps.begun.load() == 1; });
  sweeper.ring();
  sweeps.may_end.store(100);
  until([&] { return sweeps.begun.load() == 2; });
}

TEST(LocalSweeper, AnswersWhoAskedDuringItsLastSweep) {
  Sweeps sweeps;
  LocalSweeper sweeper(sweeps);
  sweeper.start();
  until([&] { return sweeps.begun.load() == 1; });
  std::atomic<pid_t> id{0};
  bool answered = false;
  std::thread asker([&] {
    id.store(static_cast<pid_t>(syscall(SYS_gettid)));
    answered = sweeper.ask(7, Access::read);
  });
  until([&] { return id.load() != 0 && is_asleep(id.load()); });  // in ask(), which sleeps nowhere else
  std::thread stopper([&] { sweeper.stop(); });
  until([&] { return !sweeper.runs(); });
  sweeps.may_end.store(100);
  asker.join();
  stopper.join();
  EXPECT_TRUE(answered);
  EXPECT_EQ(sweeps.brought.load(), 7U);
}

TEST(LocalSweeper, AnswersNobodyOnceItHasEnded) {
  Sweeps sweeps;
  sweeps.may_end.store(100);
  LocalSweeper sweeper(sweeps);
  EXPECT_FALSE(sweeper.ask(7, Access::read));
  sweeper.start();
  sweeper.stop();
  EXPECT_FALSE(sweeper.ask(7, Access::read));
}

}  // namespace
}  // namespace shm::pages
