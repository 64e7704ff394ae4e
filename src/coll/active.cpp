// SPDX-License-Identifier: BSD-3-Clause
#include "coll/active.hpp"

#include <algorithm>
#include <map>

#include "base/fatal.hpp"
#include "base/mutex.hpp"
#include "coll/barrier.hpp"
#include "coll/slots.hpp"
#include "coll/teams.hpp"
#include "core/amo.hpp"
#include "core/p2p.hpp"
#include "core/rma.hpp"

namespace shm {
namespace {

constexpr int kKept =
    kSlots / 2;  // slots from here on serve one call: programs may have any number of pSyncs

// A set with one pSync is another group than with the next one: threads may use both at the same time.
struct Key {
  Triplet set;
  const long* psync;
  auto operator<=>(const Key&) const = default;
};

Mutex mutex;
std::map<Key, std::unique_ptr<Group>> groups GUARDED_BY(mutex);  // groups themselves do not move

// ---- Agreement by way of pSync, which is all zeros before and after.

constexpr std::size_t kArrived = 0, kReleased = 1, kWords = 2;  // of pSync
constexpr std::size_t kSlotWords = std::tuple_size_v<SlotWords>;
static_assert(kWords + kSlotWords < SHMEM_SYNC_SIZE);

// Members that have arrived: how many, and above that the sum of their numbers, so that the last one that is
// missing is known.
constexpr int kCountBits = 24;
constexpr long arrival_of(int member) { return (static_cast<long>(member) << kCountBits) + 1; }
constexpr long count_in(long arrived) { return arrived & ((1L << kCountBits) - 1); }
constexpr long numbers_in(long arrived) { return arrived >> kCountBits; }
// Of all members but member 0, of a set of so many.
constexpr long all_arrived(long size) { return (size * (size - 1) / 2 << kCountBits) + size - 1; }

// Whether members may have counted so far.
bool may_have_arrived(long arrived) {
  const long count = count_in(arrived), numbers = numbers_in(arrived), most = static_cast<long>(rt.npes) - 1;
  return count <= most && numbers >= count && numbers <= count * most;
}

constexpr long kRelease = 1;

class Agreement {
 public:
  Agreement(Call call, const Team& team, long* psync) : call_(call), team_(team), psync_(psync) {}

  int slot(const Triplet& set) {
    const Place place = place_of(psync_);
    const SlotExchange exchange{[this](SlotWords& words) { all_and(words); },
                                [this](std::uint64_t value) { return max(value); }};
    const SlotPriority priority{
        kSlots,  // after all teams, which have lower numbers
        static_cast<std::uint64_t>(set.start),
        static_cast<std::uint64_t>(set.size) << 8 | static_cast<unsigned>(set.log_stride),
        place.memory << 60 | place.offset};
    int found = -1;
    const auto describe = [this](WaitRecord& record) {
      describe_wait(record, call_.name, WaitRecord::kNobody,
                    "until one of the %d teams and active sets that are in use has ended", kSlots);
    };
    wait_for(
        [&] {
          found = agree_on_slot(call_, exchange, priority, {kFirstSlot, kSlots}, true);
          return found >= 0;
        },
        describe);
    sync();
    std::fill(psync_ + kWords, psync_ + kWords + kSlotWords + 1, SHMEM_SYNC_VALUE);
    sync();  // also the sets that are used next find it so
    return found;
  }

 private:
  // Member 0 counts the others and resets the count before it releases them; each resets its own release.
  void sync() {
    long* arrived = psync_ + kArrived;
    long* released = psync_ + kReleased;
    if (team_.me != 0) {
      amo_update<AtomicOp::add>(call_, SHMEM_CTX_DEFAULT, arrived, arrival_of(team_.me), team_.world_pe(0));
      await(released, SHMEM_CMP_NE, SHMEM_SYNC_VALUE, [this](long) { return team_.world_pe(0); });
      std::atomic_ref(*released).store(SHMEM_SYNC_VALUE, std::memory_order_relaxed);
      return;
    }
    const long all = all_arrived(team_.size);
    await(arrived, SHMEM_CMP_EQ, all, [this, all](long now) {
      const bool one_misses = count_in(all) - count_in(now) == 1;
      return one_misses ? team_.world_pe(static_cast<int>(numbers_in(all) - numbers_in(now)))
                        : WaitRecord::kNobody;
    });
    std::atomic_ref(*arrived).store(SHMEM_SYNC_VALUE, std::memory_order_relaxed);
    for (int member = 1; member < team_.size; ++member) {
      amo_update<AtomicOp::set>(call_, SHMEM_CTX_DEFAULT, released, kRelease, team_.world_pe(member));
    }
  }

  // `missing(now)`: the PE that must act.
  template <class Missing>
  void await(const long* word, int cmp, long value, Missing missing) {
    const Words<long> words(call_, "pSync", word, 1, cmp);
    const auto describe = [&](WaitRecord& record) {
      const int pe = missing(words[0]);
      if (pe == WaitRecord::kNobody)
        return describe_wait(record, call_.name, pe, "for several members of a new active set");
      describe_wait(record, call_.name, pe, "for PE %d, %s", pe, kNotAsFar);
      record.program = 1;
    };
    wait_for([&] { return compare(words[0], cmp, value); }, describe);
  }

  // Words that all members have written are read by all between two syncs.
  void all_and(SlotWords& words) {
    sync();
    std::copy(words.begin(), words.end(), psync_ + kWords);
    sync();
    for (int member = 0; member < team_.size; ++member) {
      SlotWords theirs;
      get_bytes(call_, SHMEM_CTX_DEFAULT, theirs.data(), psync_ + kWords, sizeof theirs,
                team_.world_pe(member), Blocking::yes);
      for (std::size_t i = 0; i < kSlotWords; ++i) words[i] &= theirs[i];
    }
  }

  std::uint64_t max(std::uint64_t value) {
    long* word = psync_ + kWords + kSlotWords;
    *word = static_cast<long>(value);
    sync();
    for (int member = 0; member < team_.size; ++member) {
      const long theirs = get_element(call_, SHMEM_CTX_DEFAULT, word, team_.world_pe(member));
      value = std::max(value, static_cast<std::uint64_t>(theirs));
    }
    return value;
  }

  const Call call_;
  const Team& team_;
  long* psync_;
};

// ---- Checks

void check_triplet(Call call, const Triplet& set) {
  const auto npes = static_cast<std::int64_t>(rt.npes);
  if (set.log_stride < 0 || set.log_stride > 30) {
    fatal("%s: logPE_stride is %d; allowed is 0 to 30", call.name, set.log_stride);
  }
  const std::int64_t last =
      set.start + (static_cast<std::int64_t>(set.size) - 1) * (std::int64_t{1} << set.log_stride);
  if (set.start < 0 || set.size < 1 || last >= npes) {
    fatal(
        "%s: PE_start %d, logPE_stride %d and PE_size %d name PEs up to %lld; allowed are PEs 0 to %lld and "
        "sizes "
        "from 1",
        call.name, set.start, set.log_stride, set.size, static_cast<long long>(last),
        static_cast<long long>(npes - 1));
  }
}

[[noreturn, gnu::cold]] void refuse_psync(Call call, std::size_t index, long word) {
  fatal(
      "%s: pSync[%zu] is %ld; every element must be SHMEM_SYNC_VALUE (%ld) on all PEs before the first use, "
      "and not be written to by the program afterwards",
      call.name, index, word, SHMEM_SYNC_VALUE);
}

// Members that are here already may have written the two counts of a set that is new; the rest is as the
// program left it.
void check_psync(Call call, const long* psync) {
  if (rt.env.checks == Checks::least) return;
  constexpr std::size_t kBytes = SHMEM_SYNC_SIZE * sizeof *psync;
  const auto a = reinterpret_cast<std::uintptr_t>(psync);
  if (a % sizeof *psync != 0) [[unlikely]]
    check_aligned(call, "pSync", psync, sizeof *psync);
  if (!rt.heap.holds(a, kBytes) && !rt.statics.holds(a, kBytes)) [[unlikely]]
    resolve(call, "pSync", psync, kBytes, rt.me);
  for (std::size_t i = kWords; i < SHMEM_SYNC_SIZE; ++i) {
    if (psync[i] != SHMEM_SYNC_VALUE) [[unlikely]]
      refuse_psync(call, i, psync[i]);
  }
  for (std::size_t i = 0; i < kWords; ++i) {
    const long word = std::atomic_ref(const_cast<long&>(psync[i])).load(std::memory_order_relaxed);
    const bool possible =
        i == kArrived ? may_have_arrived(word) : word == SHMEM_SYNC_VALUE || word == kRelease;
    if (!possible) [[unlikely]]
      refuse_psync(call, i, word);
  }
}

Team team_of(const Triplet& set) {
  Team team{set.start, 1 << set.log_stride, set.size, -1, nullptr, 0};
  team.me = team.member(rt.me);
  return team;
}

Group* find_group(const Key& key) {
  const LockGuard lock(mutex);
  const auto found = groups.find(key);
  return found == groups.end() ? nullptr : found->second.get();
}

}  // namespace

ActiveSet::ActiveSet(Call call, const Triplet& set, long* psync) : call_(call), set_(set), psync_(psync) {
  check_started(call);
  check_psync(call, psync);
  if (set.size == 1 && set.log_stride > 0) set_.log_stride = 0;  // any stride leads nowhere
  if ((group_ = find_group({set_, psync})) != nullptr) return;
  check_triplet(call, set_);
  if (team_of(set_).me < 0) {
    fatal("%s: PE_start %d, logPE_stride %d and PE_size %d do not include this PE; only members may call",
          call.name, set_.start, set_.log_stride, set_.size);
  }
}

Group& ActiveSet::group() {
  if (group_ == nullptr) {
    const Team team = team_of(set_);
    // A set of one never uses its slot.
    const int slot = set_.size == 1 ? kWorldSlot : Agreement(call_, team, psync_).slot(set_);
    std::unique_ptr<Group> made = make_group(team, slot);
    group_ = made.get();
    if (slot >= kKept) {
      temporary_ = std::move(made);
    } else {
      const LockGuard lock(mutex);
      groups[{set_, psync_}] = std::move(made);
    }
  }
  if (set_.size > 1) begin_call(group_->slot, call_);
  return *group_;
}

ActiveSet::~ActiveSet() {
  if (temporary_ == nullptr) return;
  sync_group(*temporary_);
  free_slot(temporary_->slot);
}

void close_active_sets() {
  const LockGuard lock(mutex);
  groups.clear();
}

}  // namespace shm
