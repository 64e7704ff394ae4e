// SPDX-License-Identifier: BSD-3-Clause
#include "core/lock.hpp"

#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <bit>

#include "base/fatal.hpp"
#include "core/amo.hpp"
#include "core/order.hpp"
#include "core/p2p.hpp"
#include "core/region.hpp"
#include "core/wait.hpp"

namespace shm {
namespace {

static_assert(sizeof(long) == 8 && std::endian::native == std::endian::little);

constexpr std::uint32_t kGranted = std::uint32_t{1} << 31;
constexpr std::uint32_t kAsleep = std::uint32_t{1} << 30;

constexpr int kYields = 16;                       // before a waiter sleeps
constexpr timespec kLongestSleep{0, 10'000'000};  // to look whether somebody asks

std::uint32_t* tail_of(long* lock) { return reinterpret_cast<std::uint32_t*>(lock); }
std::uint32_t* place_of(long* lock) { return reinterpret_cast<std::uint32_t*>(lock) + 1; }

long futex(std::uint32_t* word, int operation, std::uint32_t value, const timespec* limit) {
  return syscall(SYS_futex, word, operation, value, limit, nullptr, 0);
}

// Locks are spread over the PEs by their place in symmetric memory, which is the same on all.
int home_of(Call call, const long* lock) {
  const auto a = reinterpret_cast<std::uintptr_t>(lock);
  if (a % sizeof *lock != 0) [[unlikely]]
    check_aligned(call, "lock", lock, sizeof *lock);
  if (rt.heap.holds(a, sizeof *lock)) [[likely]]
    return static_cast<int>((a - rt.heap.base) / sizeof *lock % rt.npes);
  if (rt.statics.holds(a, sizeof *lock))
    return static_cast<int>((a - rt.statics.base) / sizeof *lock % rt.npes);
  if (const Region* region = find_region(a, sizeof *lock))
    return static_cast<int>((a - region->base()) / sizeof *lock % rt.npes);
  resolve(call, "lock", lock, sizeof *lock, rt.me);  // says what is wrong with it
  return rt.me;
}

// Adds to a place in the queue, of another PE.  What waits for it elsewhere must not wait for a batch to
// fill.  A waiter that sleeps is woken by who passes the lock on to it; both are on one node then.
void tell(Call call, long* lock, std::uint32_t what, std::uint32_t pe_and_one) {
  const int pe = static_cast<int>(pe_and_one) - 1;
  if (std::uint32_t* place = mapped(place_of(lock), pe)) [[likely]] {
    const std::uint32_t before = std::atomic_ref(*place).fetch_add(what, std::memory_order_release);
    if (what == kGranted && (before & kAsleep) != 0) futex(place, FUTEX_WAKE, 1, nullptr);
    return;
  }
  amo_update<AtomicOp::add>(call, SHMEM_CTX_DEFAULT, place_of(lock), what, pe);
  if (Channel* channel = rt.world_context.channel) channel->ops->flush(channel);
}

std::uint32_t mine() { return static_cast<std::uint32_t>(rt.me) + 1; }

// The acquire pairs with the release of the PE that passed the lock on: its critical section is visible in
// ours.
std::uint32_t place_now(long* lock) {
  return std::atomic_ref(*place_of(lock)).load(std::memory_order_acquire);
}

bool is_granted(long* lock) { return (place_now(lock) & kGranted) != 0; }

// On one node, where whoever passes the lock on can wake this PE: waiters that sleep leave the cores to the
// holder and to those who are next.  Else as any wait, which drives the network.
template <class Describe>
void wait_for_grant(long* lock, const Describe& describe) {
  if (rt.progress != nullptr || in_region(lock))
    return wait_for([lock] { return is_granted(lock); }, describe);
  for (unsigned polls = 0; polls < rt.spin_polls; ++polls) {
    if (is_granted(lock)) return;
    cpu_pause();
  }
  for (int yields = 0; yields < kYields; ++yields) {
    if (is_granted(lock)) return;
    sched_yield();
  }
  const std::atomic_ref place(*place_of(lock));
  for (WaitWatch watch; !is_granted(lock); place.fetch_and(~kAsleep, std::memory_order_relaxed)) {
    watch.look_and_listen(WaitReason(describe));
    // Either the granting PE sees kAsleep, or the kernel, or this, sees its grant.
    const std::uint32_t now = place.fetch_or(kAsleep, std::memory_order_acquire) | kAsleep;
    if ((now & kGranted) == 0) futex(place_of(lock), FUTEX_WAIT, now, &kLongestSleep);
  }
}

}  // namespace

void set_lock(Call call, long* lock) {
  const int home = home_of(call, lock);
  const std::uint32_t before =
      amo_fetch<AtomicOp::swap>(call, SHMEM_CTX_DEFAULT, tail_of(lock), mine(), std::uint32_t{0}, home);
  if (before == 0) return;
  if (before == mine()) {
    fatal("%s: lock %p is held or waited for by this PE already; a PE must clear it before it sets it again",
          call.name, static_cast<void*>(lock));
  }
  tell(call, lock, mine(), before);
  wait_for_grant(lock, [&](WaitRecord& record) {
    const int pe = static_cast<int>(before) - 1;
    describe_wait(record, call.name, pe, "behind PE %d for the lock at %s", pe, PlaceName(lock).text);
    record.program = 1;
  });
  // The successor may add itself at the same time.
  std::atomic_ref(*place_of(lock)).fetch_sub(kGranted, std::memory_order_relaxed);
}

bool test_lock(Call call, long* lock) {
  const std::uint32_t holder = amo_fetch<AtomicOp::compare_swap>(
      call, SHMEM_CTX_DEFAULT, tail_of(lock), mine(), std::uint32_t{0}, home_of(call, lock));
  if (holder == 0) return true;
  poll_progress();  // the program may ask again and again
  return false;
}

void clear_lock(Call call, long* lock) {
  const int home = home_of(call, lock);
  quiet(rt.world_context, call);
  if (place_now(lock) == 0) {
    const std::uint32_t last = amo_fetch<AtomicOp::compare_swap>(call, SHMEM_CTX_DEFAULT, tail_of(lock),
                                                                 std::uint32_t{0}, mine(), home);
    if (last == mine()) return;
    if (last == 0) fatal("%s: lock %p is not held by anybody", call.name, static_cast<void*>(lock));
    wait_for([lock] { return place_now(lock) != 0; },
             [&](WaitRecord& record) {
               const int pe = static_cast<int>(last) - 1;
               describe_wait(record, call.name, WaitRecord::kNobody,
                             "for its successor at the lock at %s to say so; PE %d came last",
                             PlaceName(lock).text, pe);
             });
  }
  const std::uint32_t next = place_now(lock);
  std::atomic_ref(*place_of(lock))
      .store(0, std::memory_order_relaxed);  // before anybody else can have the lock
  tell(call, lock, kGranted, next);
}

}  // namespace shm
