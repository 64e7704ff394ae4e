// SPDX-License-Identifier: BSD-3-Clause
// `load`, `churn`, `full`: tables with so many of their slots taken, and with a past.
#include <algorithm>
#include <cstdio>
#include <vector>

#include "kv_kernels.hpp"
#include "measure.hpp"

namespace bench {
namespace {

constexpr std::size_t kUsual = 100000;   // elements that the table is made for
constexpr std::size_t kNobodys = 16384;  // keys that nobody puts
constexpr std::size_t kChunk = 4096;

std::size_t slots_of(const Store& store) {
  shmemx_kv_stats_t stats;
  shmemx_kv_stats(store.kv(), &stats);
  return stats.slots;
}

/// Collective: the least memory with which a table for so many elements begins with as many slots as without
/// a limit, so that it cannot grow.  0: no room.
std::size_t memory_without_growth(const KvOptions& options, std::size_t capacity) {
  shmemx_kv_options_t wanted{};
  wanted.capacity = capacity;
  const auto slots_with = [&](std::size_t memory) {
    wanted.memory_bytes = memory;
    const Store store(options, wanted);
    return store.valid() ? slots_of(store) : 0;
  };
  const std::size_t slots = slots_with(0);
  if (slots == 0) return 0;
  std::size_t little = 0, enough = slots * (options.key + options.value + 64) + 65536;
  if (slots_with(enough) != slots) return 0;
  while (enough - little > kChunk) {
    const std::size_t half = little + (enough - little) / 2;
    (slots_with(half) == slots ? enough : little) = half;
  }
  return enough;
}

/// A table that cannot grow; PE 0 alone works on the elements of a PE of its node.
class Filled {
 public:
  Filled(const KvOptions& options, std::size_t capacity, std::size_t memory)
      : store_(options, wanted(capacity, memory)),
        target_(target_of(Where::on_node)),
        keys_(options.key),
        values_(1, options.value) {}

  bool valid() const { return store_.valid(); }
  const Store& store() const { return store_; }
  const Keys& keys() const { return keys_; }
  std::size_t slots() const { return slots_of(store_); }
  bool right() const { return right_; }

  /// PE 0 inserts until there are `wanted` elements, or `most_refused` have found no room.
  void fill(std::size_t wanted, std::size_t most_refused) {
    std::size_t refused = 0;
    while (is_first() && keys_.size() < wanted && refused < most_refused) {
      keys_.add(next_number());
      const int status = insert(keys_, keys_.size() - 1);
      if (status == SHMEMX_KV_OK) continue;
      keys_.drop_last();
      ++refused;
      expect(status == SHMEMX_KV_FULL, "an insert had a wrong status");
    }
    shmem_barrier_all();
  }

  /// Of those that there are the newest stay.
  void keep_newest(std::size_t count) {
    Keys newest(keys_.bytes());
    for (std::size_t i = 0; i < keys_.size(); ++i) {
      if (i + count >= keys_.size()) {
        newest.take(keys_, i);
        continue;
      }
      expect(shmemx_kv_remove(store_.kv(), keys_.at(i), keys_.bytes()) == SHMEMX_KV_OK,
             "what was inserted could not be removed");
    }
    keys_ = newest;
    shmem_barrier_all();
  }

  /// Inserts `count` new elements, and for each that finds room removes the oldest one; nanoseconds of both.
  double churn(std::size_t count) {
    Keys fresh(keys_.bytes());
    double took = 0;
    for (std::size_t done = 0, oldest = 0; is_first() && done < count; done += kChunk) {
      fresh.clear();
      for (std::size_t i = 0; i < std::min(kChunk, count - done); ++i) fresh.add(next_number());
      const double start = now();
      for (std::size_t i = 0; i < fresh.size(); ++i) {
        const int status = insert(fresh, i);
        if (status == SHMEMX_KV_FULL) continue;
        expect(status == SHMEMX_KV_OK, "an insert had a wrong status");
        expect(shmemx_kv_remove(store_.kv(), keys_.at(oldest), keys_.bytes()) == SHMEMX_KV_OK,
               "what was inserted could not be removed");
        keys_.replace(oldest, fresh, i);
        if (++oldest == keys_.size()) oldest = 0;
      }
      took += now() - start;
    }
    shmem_barrier_all();
    return largest(took) * 1e9 / static_cast<double>(count);
  }

  /// Whether all that should be there is, and nothing else.
  void check() {
    expect(shmemx_kv_count(store_.kv()) == static_cast<std::size_t>(total(static_cast<double>(keys_.size()))),
           "there is a wrong number of elements");
    expect(store_.all_right(keys_, 0, keys_.size(), 0), "a value is wrong");
  }

  /// A row of gets or updates of what is there, or of gets of what is not.
  KvRow row(const char* kernel, const char* what, Work::Kind kind, const KvOptions& options) {
    Keys worked_on = keys_;
    if (kind == &Work::get_absent) {
      worked_on.clear();
      for (std::size_t i = 0; i < kNobodys && is_first(); ++i) worked_on.add(next_number());
    }
    worked_on.shuffle(1);
    Work work(store_, worked_on, is_first());
    KvRow row = single(kernel, what, Where::on_node, store_, work, kind, options);
    row.elements = static_cast<std::size_t>(largest(static_cast<double>(keys_.size())));
    row.right = row.right && right_;
    return row;
  }

 private:
  static shmemx_kv_options_t wanted(std::size_t capacity, std::size_t memory) {
    shmemx_kv_options_t wanted{};
    wanted.capacity = capacity;
    wanted.memory_bytes = memory;
    return wanted;
  }
  std::size_t next_number() {
    Keys one(keys_.bytes());
    for (;; ++number_) {
      one.clear();
      one.add(number_);
      if (shmemx_kv_pe(store_.kv(), one.at(0), one.bytes()) == target_) return number_++;
    }
  }
  int insert(const Keys& keys, std::size_t i) {
    values_.fill(0, keys.word(i), 0);
    return shmemx_kv_insert(store_.kv(), keys.at(i), keys.bytes(), values_.at(0), values_.bytes());
  }
  void expect(bool condition, const char* what) {
    if (!condition && right_) std::fprintf(stderr, "shmem_bench: PE %d: %s\n", shmem_my_pe(), what);
    right_ = right_ && condition;
  }

  const Store store_;
  const int target_;
  Keys keys_;  ///< what is there
  Values values_;
  std::size_t number_ = 0;  ///< the next that nobody has had
  bool right_ = true;
};

std::size_t part(double load, std::size_t slots) {
  return static_cast<std::size_t>(load * static_cast<double>(slots));
}

/// Calls measure(table) for each number of elements and each load: a table that is so full, and cannot grow.
/// Returns false if one cannot be made.
template <class Measure>
bool for_loads(const KvOptions& options, Measure measure) {
  for (const std::size_t elements : options.elements_or({kUsual})) {
    const std::size_t capacity = elements * static_cast<std::size_t>(shmem_n_pes());
    const std::size_t memory = memory_without_growth(options, capacity);
    if (memory == 0) return false;
    for (const double load : options.loads) {
      Filled table(options, capacity, memory);
      if (!table.valid()) return false;
      table.fill(part(load, table.slots()), table.slots());
      measure(table);
    }
  }
  return true;
}

}  // namespace

bool measure_load(const KvOptions& options, const KvReport& report) {
  return for_loads(options, [&](Filled& table) {
    table.check();
    const auto tell = [&](const char* what, Work::Kind kind) {
      KvRow row = table.row("load", what, kind, options);
      row.ratio = static_cast<double>(row.elements) / static_cast<double>(table.slots());
      report(row);
    };
    tell("get", &Work::get);
    tell("get, absent", &Work::get_absent);
    tell("update", &Work::update);
  });
}

bool measure_churn(const KvOptions& options, const KvReport& report) {
  return for_loads(options, [&](Filled& table) {
    const auto tell = [&](KvRow row) {
      row.ratio = static_cast<double>(row.elements) / static_cast<double>(table.slots());
      report(row);
    };
    tell(table.row("churn", "get, fresh", &Work::get, options));
    tell(table.row("churn", "get, absent, fresh", &Work::get_absent, options));
    KvRow change{.kernel = "churn", .what = "insert and remove", .where = Where::on_node};
    change.each = table.churn(options.changes);
    table.check();
    change.elements = static_cast<std::size_t>(largest(static_cast<double>(table.keys().size())));
    change.value = options.value;
    change.right = table.right();
    tell(change);
    tell(table.row("churn", "get", &Work::get, options));
    tell(table.row("churn", "get, absent", &Work::get_absent, options));
  });
}

bool measure_full(const KvOptions& options, const KvReport& report) {
  for (const std::size_t elements : options.elements_or({kUsual})) {
    const std::size_t capacity = elements * static_cast<std::size_t>(shmem_n_pes());
    const std::size_t memory = memory_without_growth(options, capacity);
    if (memory == 0) return false;
    Filled was_full(options, capacity, memory), fresh(options, capacity, memory);
    if (!was_full.valid() || !fresh.valid()) return false;
    was_full.fill(was_full.slots() + 1, 1000);
    was_full.check();
    const std::size_t kept = was_full.keys().size() / 10;
    was_full.keep_newest(kept);
    was_full.check();
    fresh.fill(kept, 1);
    fresh.check();
    for (const bool present : {false, true}) {
      const Work::Kind kind = present ? &Work::get : &Work::get_absent;
      const KvRow first = fresh.row("full", present ? "get, fresh" : "get, absent, fresh", kind, options);
      report(first);
      KvRow row = was_full.row("full", present ? "get" : "get, absent", kind, options);
      row.ratio = row.each / first.each;
      report(row);
    }
  }
  return true;
}

}  // namespace bench
