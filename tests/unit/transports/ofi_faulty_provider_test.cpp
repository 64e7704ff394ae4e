// SPDX-License-Identifier: BSD-3-Clause
// The faulty provider, around one that only counts.
#include "ofi/faulty_provider.hpp"

#include <gtest/gtest.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_eq.h>
#include <rdma/fi_errno.h>
#include <rdma/fi_rma.h>

#include <algorithm>
#include <vector>

namespace shm::test {
namespace {

// What the provider has been called for, and what its queue gives next.
int calls_below = 0;
std::vector<fi_cq_tagged_entry> completions;

ssize_t send(fid_ep*, const void*, size_t, void*, fi_addr_t, void*) { return ++calls_below, 0; }
ssize_t receive(fid_ep*, void*, size_t, void*, fi_addr_t, void*) { return ++calls_below, 0; }

ssize_t read(fid_cq*, void* entries, size_t count) {
  if (completions.empty()) return -FI_EAGAIN;
  const std::size_t n = std::min(count, completions.size());
  std::copy_n(completions.begin(), n, static_cast<fi_cq_tagged_entry*>(entries));
  completions.erase(completions.begin(), completions.begin() + static_cast<std::ptrdiff_t>(n));
  return static_cast<ssize_t>(n);
}
ssize_t read_no_error(fid_cq*, fi_cq_err_entry*, uint64_t) { return -FI_EAGAIN; }

struct CountingProvider {
  CountingProvider() {
    calls_below = 0;
    completions.clear();
    msg.send = send;
    msg.recv = receive;
    queue.read = read;
    queue.readerr = read_no_error;
    ep.msg = &msg;
    ep.rma = &rma;
    ep.atomic = &atomic;
    cq.ops = &queue;
  }
  fi_ops_msg msg{};
  fi_ops_rma rma{};
  fi_ops_atomic atomic{};
  fi_ops_cq queue{};
  fid_ep ep{};
  fid_cq cq{};
};

TEST(OfiFaultyProvider, StormsComeAndGo) {
  CountingProvider provider;
  const ofi::FaultyProvider faulty(provider.ep, provider.cq, {.seed = 5});
  for (int i = 0; i < 1000; ++i)
    EXPECT_EQ(fi_recv(&provider.ep, nullptr, 0, nullptr, 0, nullptr), 0) << "before the first operation";
  calls_below = 0;
  constexpr int kCalls = 100'000;
  int refused = 0, in_turn = 0, longest = 0, storms = 0;
  for (int i = 0; i < kCalls; ++i) {
    const auto code = fi_send(&provider.ep, nullptr, 0, nullptr, 0, nullptr);
    EXPECT_TRUE(code == 0 || code == -FI_EAGAIN) << code;
    in_turn = code == 0 ? 0 : in_turn + 1;
    storms += in_turn == 1;
    refused += code != 0;
    longest = std::max(longest, in_turn);
  }
  EXPECT_EQ(calls_below, kCalls - refused) << "what is refused does not reach the provider, all else does";
  EXPECT_GT(storms, 100);
  EXPECT_GT(longest, 100);
  EXPECT_LT(refused, kCalls * 9 / 10);
}

// As the engine waits for room: it looks at the queue.
TEST(OfiFaultyProvider, ProgressEndsAStorm) {
  CountingProvider provider;
  const ofi::FaultyProvider faulty(provider.ep, provider.cq, {.seed = 5});
  int storms = 0, still_refused = 0;
  for (int i = 0; i < 50'000; ++i) {
    if (fi_send(&provider.ep, nullptr, 0, nullptr, 0, nullptr) == 0) continue;
    ++storms;
    fi_cq_tagged_entry entry;
    for (int looks = 0; looks < 200; ++looks) fi_cq_read(&provider.cq, &entry, 1);
    still_refused += fi_send(&provider.ep, nullptr, 0, nullptr, 0, nullptr) != 0;  // a new one
  }
  EXPECT_GT(storms, 100);
  EXPECT_LT(still_refused, storms / 10);
}

fi_cq_tagged_entry completion(int& what, std::uint64_t flags) {
  fi_cq_tagged_entry entry{};
  entry.op_context = &what;
  entry.flags = flags;
  return entry;
}

const char* describe(fid_cq*, int, const void*, char*, size_t) { return "of the provider"; }

TEST(OfiFaultyProvider, TheOperationWithTheNumberFails) {
  CountingProvider provider;
  provider.queue.strerror = describe;
  const ofi::FaultyProvider faulty(provider.ep, provider.cq, {.failing_operation = 2});
  int operations[4] = {};
  completions = {completion(operations[0], FI_RMA | FI_WRITE), completion(operations[1], FI_RECV),
                 completion(operations[2], FI_SEND), completion(operations[3], FI_RMA | FI_READ)};
  std::vector<void*> done, failed;
  for (int i = 0; i < 10; ++i) {
    fi_cq_tagged_entry entries[8];
    EXPECT_LE(fi_cq_read(&provider.cq, nullptr, 0), 0) << "progress alone, as libfabric itself asks for";
    const auto n = fi_cq_read(&provider.cq, entries, 8);
    for (int k = 0; k < n; ++k) done.push_back(entries[k].op_context);
    if (n != -FI_EAVAIL) continue;
    fi_cq_err_entry error{};
    ASSERT_EQ(fi_cq_readerr(&provider.cq, &error, 0), 1);
    EXPECT_EQ(error.err, FI_EIO);
    char room[8];
    EXPECT_STREQ(fi_cq_strerror(&provider.cq, FI_EIO, error.err_data, room, sizeof room),
                 "injected, as SHMEM_FAULT_AT says");
    failed.push_back(error.op_context);
  }
  EXPECT_EQ(done, (std::vector<void*>{&operations[0], &operations[1], &operations[3]}));
  EXPECT_EQ(failed, (std::vector<void*>{&operations[2]}));
  EXPECT_STREQ(fi_cq_strerror(&provider.cq, FI_EIO, nullptr, nullptr, 0), "of the provider");
}

}  // namespace
}  // namespace shm::test
