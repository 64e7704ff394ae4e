// SPDX-License-Identifier: BSD-3-Clause
// A toy service on messages: each PE owns a counter that lives in no symmetric memory.  Others add to it and
// are told its old value, while the owner computes and never calls the library: its agent answers.
#include <atomic>
#include <cstdio>
#include <cstring>

#include "check.h"
#include "core/progress.hpp"
#include "core/runtime.hpp"
#include "core/wait.hpp"
#include "shmem.h"

namespace {

using shm::rt;

constexpr auto kRequest = static_cast<std::uint16_t>(shm::MessageId::user_first);
constexpr std::uint16_t kReply = kRequest + 1;
constexpr int kRounds = 200;

std::atomic<long> counter{0};
std::atomic<long> replies{0}, last_reply{-1};
std::atomic<int> polled{0};

void answer(void*, int from_pe, const std::byte* message, std::size_t n) {
  long amount;
  CHECK_EQ(n, sizeof amount);
  std::memcpy(&amount, message, sizeof amount);
  const long old = counter.fetch_add(amount);
  rt.progress->send(from_pe, kReply, &old, sizeof old);
}

void take_reply(void*, int, const std::byte* message, std::size_t) {
  long old;
  std::memcpy(&old, message, sizeof old);
  last_reply.store(old);
  replies.fetch_add(1);
}

bool count_polls(void*) {
  polled.fetch_add(1, std::memory_order_relaxed);
  return false;
}

long remote_add(int pe, long amount) {
  const long before = replies.load();
  rt.progress->send(pe, kRequest, &amount, sizeof amount);
  shm::wait_for([before] { return replies.load() > before; });
  return last_reply.load();
}

}  // namespace

int main() {
  static long done;  // symmetric: written by the peer
  shm::Progress::set_handler(kRequest, answer, nullptr);
  shm::Progress::set_handler(kReply, take_reply, nullptr);
  shm::Progress::add_poller(count_polls, nullptr);
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  if (rt.progress == nullptr || pes < 2) {
    std::printf("needs PEs on two nodes\n");
    return 77;
  }
  const int half = pes / 2;  // PE p and PE p + half are on different virtual nodes
  if (me >= half) {
    while (*const_cast<volatile long*>(&done) == 0) {
    }  // computes; the library is not called
  } else {
    for (int i = 0; i < kRounds; ++i) {
      CHECK_EQ(remote_add(me + half, 3), 3L * i);
    }
    shmem_long_p(&done, 1, me + half);
  }
  shmem_barrier_all();
  if (me >= half) CHECK_EQ(counter.load(), 3L * kRounds);
  CHECK_CMP(polled.load(), >, 0);
  shmem_finalize();
  return 0;
}
