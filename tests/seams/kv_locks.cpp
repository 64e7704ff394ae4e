// SPDX-License-Identifier: BSD-3-Clause
// Requests of PE 0 for elements of PE 1, which holds the locks they need: nothing is answered until it lets
// go, and then all is. How many requests there are meanwhile is counted, not timed. With SHMEM_KV_MATCH=entry
// they come by the network's matching, as many as have a place in its list; the others take the other way.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "boot/boot.hpp"
#include "check.h"
#include "core/runtime.hpp"
#include "kv/table.hpp"
#include "shmemx.h"
#include "transports/registry.hpp"

namespace {

constexpr int kThreads = 48, kRounds = 2;

shmemx_kv_t kv;
bool by_entry;  // the engine

/// The n-th key of PE 1.
std::string key(int n) {
  for (int tries = 0;; ++tries) {
    const std::string text = std::to_string(n) + "." + std::to_string(tries);
    if (shmemx_kv_pe(kv, text.data(), text.size()) == 1) return text;
  }
}

int put(const std::string& k, long value) {
  return shmemx_kv_put(kv, k.data(), k.size(), &value, sizeof value);
}
int get(const std::string& k, long& value) {
  return shmemx_kv_get(kv, k.data(), k.size(), &value, sizeof value, nullptr);
}
int remove(const std::string& k) { return shmemx_kv_remove(kv, k.data(), k.size()); }

/// PE 1 takes or gives up the locks of all homes of its shard, which all changes need.
void hold(bool held) {
  const auto& table = *reinterpret_cast<const shm::kv::Table*>(kv);
  for (std::uint64_t group = 0; group < table.layout().first_segments * table.layout().segment_groups;
       ++group) {
    const std::uint64_t at = table.layout().group_at(group) + offsetof(shm::kv::SlotGroup, home);
    __atomic_store_n(reinterpret_cast<std::uint32_t*>(table.memory() + at), held ? 1 : 0, __ATOMIC_RELEASE);
  }
}

struct Sent {
  std::uint64_t all, in_packets;
};
/// Messages of this PE, by either engine, and those of the first.
Sent sent() {
  shmemx_kv_stats_t table;
  shmemx_stats_t stats;
  shmemx_kv_stats(kv, &table);
  shmemx_stats_read(&stats);
  return {table.packets, stats.kv_packets};
}

/// Of PE 1, by its list.
struct Matching {
  std::uint64_t matched, unmatched, added;
};
Matching matching() {
  shmemx_stats_t stats;
  shmemx_stats_read(&stats);
  return {stats.kv_matched, stats.kv_unmatched, stats.kv_added};
}

/// PE 0: threads in calls, one more after the request of the one before has been sent; returns how many of
/// them went by the list.  PE 1 lets go when all have been.
template <class Ask>
std::uint64_t ask_while_held(Ask ask) {
  static std::uint64_t all_sent;  // symmetric
  const bool asks = shmem_my_pe() == 0;
  all_sent = 0;
  if (!asks) hold(true);
  shmem_barrier_all();
  std::uint64_t by_list = 0;
  if (asks) {
    const Sent before = sent();
    std::atomic<int> answered{0};
    std::vector<std::thread> threads;
    for (int i = 0; i < kThreads; ++i) {
      threads.emplace_back([&, i] { ask(i), ++answered; });
      while (sent().all < before.all + static_cast<std::uint64_t>(i) + 1) std::this_thread::yield();
    }
    const Sent now = sent();
    CHECK_EQ(now.all - before.all, kThreads);
    by_list = kThreads - (now.in_packets - before.in_packets);
    CHECK_EQ(answered.load(), 0);
    shmem_uint64_atomic_set(&all_sent, 1, 1);
    for (std::thread& thread : threads) thread.join();
  } else {
    shmem_uint64_wait_until(&all_sent, SHMEM_CMP_EQ, 1);
    hold(false);
  }
  shmem_barrier_all();
  return by_list;
}

/// The places for replies in a list that is opened as that of a table: SHMEM_KV_PENDING and 32 are asked for,
/// and the network may give more.
std::uint64_t count_places() {
  const shm::MatcherOptions options{.provider = shm::rt.env.provider,
                                    .one_host = shm::rt.boot->job().one_host,
                                    .receives = shm::rt.env.kv_pending + 32,
                                    .reports_unmatched = false};
  auto list = shm::make_matcher(options);
  CHECK(list.ok());
  return list.value()->most_receives() - shm::rt.env.kv_pending;
}

/// As many as the list has places for go by it, each time; the network may refuse one now and then.
void expect_places(std::uint64_t by_list) {
  if (shmem_my_pe() != 0) return;
  if (!by_entry) return CHECK_EQ(by_list, 0);
  static const std::uint64_t places = count_places();
  CHECK(places >= 32);
  const std::uint64_t most = std::min<std::uint64_t>(places, kThreads);
  CHECK(by_list <= most && by_list + 3 >= most);
}

void test_changes() {
  for (int round = 0; round < kRounds; ++round) {
    const Matching before = matching();
    const std::uint64_t by_list =
        ask_while_held([&](int i) { CHECK_EQ(put(key(i), i + round), SHMEMX_KV_OK); });
    expect_places(by_list);
    static std::uint64_t expected;
    if (shmem_my_pe() == 0) shmem_uint64_p(&expected, by_list, 1);
    shmem_barrier_all();
    if (shmem_my_pe() == 1) CHECK_EQ(matching().added - before.added, expected);
    for (int i = 0; i < kThreads; ++i) {
      long value = -1;
      CHECK_EQ(get(key(i), value), SHMEMX_KV_OK);
      CHECK_EQ(value, i + round);
    }
    shmem_barrier_all();
  }
}

/// They find their elements by the list.
void test_words() {
  expect_places(ask_while_held([](int i) {
    const std::string k = key(i);
    const long more = 5;
    long old = -1;
    CHECK_EQ(shmemx_kv_accumulate(kv, k.data(), k.size(), 0, SHMEMX_KV_INT64, SHMEMX_KV_ADD, &more, &old),
             SHMEMX_KV_OK);
    CHECK_EQ(old, i + kRounds - 1);
  }));
}

/// What was removed late has no entry any more; what was inserted late has one.
void test_removals() {
  expect_places(ask_while_held([](int i) { CHECK_EQ(remove(key(i)), SHMEMX_KV_OK); }));
  CHECK_EQ(shmemx_kv_count(kv), 0);
}

/// PE 0 reads all keys until each is matched, or none is: the list follows soon.
void expect_listed(bool listed) {
  static std::uint64_t done;  // symmetric
  for (int tries = 0;; ++tries) {
    CHECK(tries < 1000);
    const Matching before = matching();
    shmem_barrier_all();
    for (int i = 0; shmem_my_pe() == 0 && i < kThreads; ++i) {
      long value;
      CHECK_EQ(get(key(i), value), listed ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
    }
    shmem_barrier_all();
    const Matching now = matching();
    if (shmem_my_pe() == 1) {
      CHECK_EQ(now.matched + now.unmatched - before.matched - before.unmatched, by_entry ? kThreads : 0);
      done = !by_entry || (listed ? now.unmatched == before.unmatched : now.matched == before.matched);
      shmem_uint64_p(&done, done, 0);
    }
    shmem_barrier_all();
    if (done != 0) return;
  }
}

}  // namespace

int main() {
  int provided;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  const char* engine = std::getenv("SHMEM_KV_MATCH");
  by_entry = engine != nullptr && std::strcmp(engine, "entry") == 0;
  shmemx_kv_options_t options{};
  options.key_bytes = 16, options.value_bytes = sizeof(long), options.capacity = 2 * kThreads;
  CHECK_EQ(shmemx_kv_create(&options, &kv), SHMEMX_KV_OK);
  test_changes();
  expect_listed(true);
  test_words();
  expect_listed(true);
  test_removals();
  expect_listed(false);
  shmemx_kv_destroy(kv);
  shmem_finalize();
  return 0;
}
