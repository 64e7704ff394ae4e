// SPDX-License-Identifier: BSD-3-Clause
// What a pager cannot go on after.
#include <gtest/gtest.h>

#include <cerrno>

#include "pager_fixture.hpp"

namespace shm::nvm {
namespace {

using ::testing::ExitedWithCode;

// In a process that ends.
template <class Script>
void run_until_death(Script script) {
  const PoolMemory memory(shape_of(1));
  Pe pe(memory.pool);
  script(memory.pool, pe);
  await("death", [] { return false; });
}

TEST(PagerDeathTest, AnErrorOfAReadEndsTheJob) {
  EXPECT_EXIT(
      run_until_death([](const Pool&, const Pe& pe) {
        pe.device->fail(Kind::read, 2, EIO, 100);
        pe.ask(PageRequest::Kind::latch, 2).wait();
        pe.ask(PageRequest::Kind::latch, 5).wait();
      }),
      ExitedWithCode(1),
      "^atoll: the NVM heap cannot read 4096 bytes at offset 20480 of PE 0's file: Input/output error\n$");
}

TEST(PagerDeathTest, AnErrorOfAReadThatCameTooEarlyEndsTheJobWhenThePageIsNeeded) {
  EXPECT_EXIT(
      run_until_death([](const Pool& pool, const Pe& pe) {
        for (std::uint64_t read = 1; read <= 2; ++read) pe.device->fail(Kind::read, read, EIO, 100);
        pool.requests_of(0).queue.post_hint({5, RequestQueue::What::bring});
        pe.ask(PageRequest::Kind::latch, 5).wait();
      }),
      ExitedWithCode(1),
      "^atoll: the NVM heap cannot read 4096 bytes at offset 20480 of PE 0's file: Input/output error\n$");
}

TEST(PagerDeathTest, AnErrorOfAWriteEndsTheJob) {
  EXPECT_EXIT(
      run_until_death([](const Pool& pool, const Pe& pe) {
        pe.device->fail(Kind::write, 1, EIO);
        Latch(pool, 0, 3, Access::write)[1] = 1;
        pe.tell_to_evict(3);
      }),
      ExitedWithCode(1),
      "^atoll: the NVM heap cannot write 4096 bytes at offset 12288 of PE 0's file: Input/output error\n$");
}

TEST(PagerDeathTest, NoMappingsAtAllEndTheJob) {
  EXPECT_EXIT(run_until_death([](const Pool&, Pe& pe) {
                pe.host.most_mapped = 0;
                pe.ask(PageRequest::Kind::map, 2).wait();
              }),
              ExitedWithCode(1),
              "^atoll: a page of the NVM heap cannot be mapped: Cannot allocate memory; .*\n$");
}

TEST(PagerDeathTest, AFullDeviceEndsTheJob) {
  EXPECT_EXIT(
      run_until_death([](const Pool& pool, const Pe& pe) {
        Asked(pool, 0, 0, RangeCommand::drop, 0, kSegmentPages).wait();
        pe.device->limit_room(0);
        Latch(pool, 0, 3, Access::write)[1] = 1;
        pe.tell_to_evict(3);
      }),
      ExitedWithCode(1),
      "^atoll: the NVM heap cannot write .*: No space left on device; free some space in its folder, or "
      "choose another one\n$");
}

}  // namespace
}  // namespace shm::nvm
