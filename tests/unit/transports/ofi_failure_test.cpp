// SPDX-License-Identifier: BSD-3-Clause
// Errors end the job with one line that says which PE and which operation.
#include <gtest/gtest.h>

#include <csignal>
#include <string>

#include "base/fatal.hpp"
#include "fabric_faults.hpp"
#include "pair.hpp"

namespace shm::test {
namespace {

// Runs the body with stderr of all processes in a file; returns what they wrote.
std::string stderr_of(const JobOptions& options, const Body& body, std::vector<int>* statuses) {
  testing::internal::CaptureStderr();
  *statuses = run_processes(options, body);
  return testing::internal::GetCapturedStderr();
}

void lose_peer_during(const std::function<void(Pe&)>& operation) {
  std::vector<int> statuses;
  const std::string text = stderr_of(
      {.seconds = 20},
      [&](Pe& pe) {
        // Connected in both directions before one dies.
        const std::uint64_t one = 1;
        pe.ops().amo(pe.channel, 1 - pe.me, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                     nullptr);
        pe.quiet();
        pe.barrier();
        if (pe.me == 1) {
          usleep(50000);
          raise(SIGKILL);
        }
        operation(pe);
        pe.quiet();
        usleep(100000);  // the peer is gone by now
        operation(pe);
        pe.quiet();
        ADD_FAILURE() << "no error";
      },
      &statuses);
  EXPECT_TRUE(WIFEXITED(statuses[0]) && WEXITSTATUS(statuses[0]) == kErrorExit) << statuses[0] << text;
  EXPECT_NE(text.find("PE 1"), std::string::npos) << text;
  EXPECT_NE(text.find("died"), std::string::npos) << text;
  std::printf("%s", text.c_str());
}

TEST(OfiFailure, ADeadPeEndsPuts) {
  lose_peer_during([](Pe& pe) {
    std::vector<std::byte> data(1000);
    for (int i = 0; i < 200; ++i)
      pe.ops().put(pe.channel, 1, Pe::at(0), data.data(), data.size(), true, nullptr);
  });
}

TEST(OfiFailure, ADeadPeEndsGets) {
  lose_peer_during([](Pe& pe) {
    std::byte data[64];
    for (int i = 0; i < 20; ++i) pe.ops().get(pe.channel, 1, data, Pe::at(0), sizeof data, nullptr);
    pe.quiet();
  });
}

TEST(OfiFailure, ADeadPeEndsAtomics) {
  lose_peer_during([](Pe& pe) {
    const std::uint64_t one = 1;
    for (int i = 0; i < 200; ++i) {
      pe.ops().amo(pe.channel, 1, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr, nullptr);
    }
  });
}

// watch.cpp's probe: a read of one byte, sent each time that a PE owes answers for long.  On a busy machine that
// may be more often than this test makes it.
TEST(OfiFailure, APeThatIsSilentIsProbedAgainTheNextTime) {
  FabricFaults calls;  // counts those of each process
  run_job({}, [&](Pe& pe) {
    std::atomic<std::int64_t>&may_answer = shared->words[0], &served = shared->words[1];
    const auto add = [&] {
      const std::uint64_t one = 1;
      pe.ops().amo(pe.channel, 1, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr, nullptr);
    };
    if (pe.me == 0) {  // connected before the first silence
      add();
      pe.quiet();
    }
    pe.barrier();
    for (int silence = 1; silence <= 2; ++silence) {
      if (pe.me == 0) {
        const long probes = calls.count(FabricCall::read);
        add();
        pe.ops().flush(pe.channel);
        pe.until([&] { return calls.count(FabricCall::read) > probes; });
        may_answer = silence;
        pe.quiet();
        add();  // its answer comes after the probe's
        pe.quiet();
        served = silence;
      } else {
        while (may_answer < silence) usleep(1000);  // without progress
        pe.until([&] { return served >= silence; });
      }
    }
  });
}

TEST(OfiFailure, APeThatLeavesInOrderIsNoError) {
  run_job({.npes = 3}, [](Pe& pe) {
    const std::uint64_t one = 1;
    for (int to = 0; to < pe.npes; ++to) {
      pe.ops().amo(pe.channel, to, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                   nullptr);
    }
    pe.quiet();
    pe.barrier();
    if (pe.me == 2) _exit(0);
    usleep(50000);
    for (int i = 0; i < 200; ++i) {
      pe.ops().amo(pe.channel, 1 - pe.me, Pe::at(0), AtomicOp::add, AtomicType::u64, &one, nullptr, nullptr,
                   nullptr);
      pe.quiet();
    }
    shared->arrived.fetch_add(1);  // for the one that left
    pe.barrier();
    shared->arrived.fetch_add(1);
  });
}

TEST(OfiFailure, AddressesOutsideTheSegmentAreCaught) {
  std::vector<int> statuses;
  const std::string text = stderr_of(
      {.npes = 1, .seconds = 20},
      [](Pe& pe) {
        const std::uint64_t one = 1;
        pe.ops().put(pe.channel, 0, Pe::at(kHeap - 4), &one, 8, true, nullptr);
      },
      &statuses);
  EXPECT_TRUE(WIFEXITED(statuses[0]) && WEXITSTATUS(statuses[0]) == kErrorExit);
  EXPECT_NE(text.find("put to PE 0: 8 bytes at offset 0xfffffc are outside its symmetric heap"),
            std::string::npos)
      << text;
}

TEST(OfiFailure, AnUnknownProviderIsAnErrorWithItsName) {
  Result<std::unique_ptr<Network>> net = open_fabric({.provider = "no_such_thing"});
  ASSERT_FALSE(net.ok());
  EXPECT_NE(net.status().text().find("no_such_thing"), std::string::npos) << net.status().text();
}

}  // namespace
}  // namespace shm::test
