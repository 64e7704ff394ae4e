// SPDX-License-Identifier: BSD-3-Clause
#include "kv_kernels.hpp"

#include <algorithm>
#include <cstdio>
#include <vector>

#include "kv_work.hpp"
#include "measure.hpp"

namespace bench {
namespace {

constexpr std::size_t kUsualElements = 100000;
constexpr std::size_t kAbsent = 16384;  // keys that nobody puts
constexpr Where kPlaces[] = {Where::on_node, Where::off_node};

/// Of PEs that do not work, none.
Keys keys_for(const Store& store, Keys (Store::*which)(int, std::size_t) const, int target, bool works,
              std::size_t most) {
  return (store.*which)(target, works ? most : 0);
}

// ---- pingpong

/// What goes to a PE and comes back: a value with its signal, a word that is its own signal, or words that a
/// PE reads from the other's memory.
enum class Ball { put_signal, put, memory };
constexpr const char* kBalls[] = {"put, signal", "put", "memory get"};

/// Symmetric.
class PingPong {
 public:
  /// Collective.
  explicit PingPong(std::size_t value_bytes)
      : bytes_(value_bytes),
        block_(static_cast<Word*>(shmem_calloc(value_bytes / sizeof(Word) + 1, sizeof(Word)))) {}
  ~PingPong() { shmem_free(block_); }
  PingPong(const PingPong&) = delete;
  PingPong& operator=(const PingPong&) = delete;

  bool valid() const { return block_ != nullptr; }
  bool right() const { return right_; }

  /// Collective: seconds of `count` round trips between PE 0 and `target`.
  double run(Ball ball, std::size_t count, int target) {
    const int me = shmem_my_pe();
    const bool plays = me == 0 || (me == target && ball != Ball::memory);
    Values values(1, bytes_);
    values.fill(0, turn_, 0);
    if (ball == Ball::memory) std::copy_n(values.at(0), bytes_ / sizeof(Word), block_ + 1);
    shmem_barrier_all();
    const double start = now();
    for (std::size_t i = 0; i < count && plays; ++i) {
      if (ball == Ball::memory) {
        values.clear();
        shmem_getmem(values.at(0), block_ + 1, bytes_, target);
        expect(values.right(0, turn_, 0));
        continue;
      }
      ++turn_;
      if (me == 0) send(ball, values, target);
      receive(ball, values);
      if (me == target) send(ball, values, 0);
    }
    const double took = me == 0 ? now() - start : 0;
    shmem_barrier_all();
    turn_ = static_cast<Word>(largest(static_cast<double>(turn_)));
    return largest(took);
  }

 private:
  void send(Ball ball, Values& values, int to) {
    if (ball == Ball::put) return shmem_uint64_p(block_, turn_, to);
    values.fill(0, turn_, 0);
    shmem_putmem_signal(block_ + 1, values.at(0), bytes_, block_, turn_, SHMEM_SIGNAL_SET, to);
  }
  void receive(Ball ball, Values& values) {
    if (ball == Ball::put) return shmem_uint64_wait_until(block_, SHMEM_CMP_EQ, turn_);
    shmem_signal_wait_until(block_, SHMEM_CMP_EQ, turn_);
    std::copy_n(block_ + 1, bytes_ / sizeof(Word), values.at(0));
    expect(values.right(0, turn_, 0));
  }
  void expect(bool condition) {
    if (right_ && !condition)
      std::fprintf(stderr, "shmem_bench: PE %d: a ball had a wrong value\n", shmem_my_pe());
    right_ = right_ && condition;
  }

  const std::size_t bytes_;
  Word* const block_;  ///< the signal, and the value
  Word turn_ = 0;      ///< the same on all PEs between runs
  bool right_ = true;
};

KvRow round_trips(PingPong& game, Ball ball, Where where, int target, const KvOptions& options) {
  const auto run = [&](std::size_t n) { return game.run(ball, n, target); };
  return {.kernel = "pingpong",
          .what = kBalls[static_cast<int>(ball)],
          .where = where,
          .value = ball == Ball::put ? sizeof(Word) : options.value,
          .each = median_of(options.rounds, calibrate(options.seconds, run), run) * 1e9,
          .right = game.right()};
}

// ---- scale, throughput

/// A row of `readers` PEs that get at the same time.
KvRow together(const char* kernel, Place place, const Store& store, bool reads, std::size_t readers,
               const KvOptions& options) {
  const std::size_t most = store.elements();
  Work work(store, keys_for(store, &Store::keys, place.target, reads, most), reads);
  KvRow row = single(kernel, "get", place.where, store, work, &Work::get, options);
  row.readers = readers;
  return row;
}

// ---- batch

/// Rows of gets or inserts by the size of the batch, beside single calls.
void measure_batches(const char* what, Work::Kind kind, const Store& store, const Keys& keys, Where where,
                     const KvOptions& options, const KvReport& report) {
  Work one_by_one(store, keys, is_first());
  const KvRow plain = single("batch", what, where, store, one_by_one, kind, options);
  report(plain);
  for (const std::size_t batch : options.batches) {
    Work work(store, keys, is_first(), batch);
    KvRow row = single("batch", what, where, store, work, kind, options);
    row.batch = batch;
    row.ratio = plain.each / row.each;
    report(row);
  }
}

}  // namespace

std::vector<Place> places() {
  std::vector<Place> found;
  for (const Where where : kPlaces) {
    const int target = target_of(where);
    if (target >= 0) found.push_back({where, target});
  }
  return found;
}

std::size_t most_inserted(const KvOptions& options) {
  return std::clamp<std::size_t>((std::size_t{64} << 20) / (options.key + options.value), 64, 16384);
}

bool is_first() { return shmem_my_pe() == 0; }

KvRow single(const char* kernel, const char* what, Where where, const Store& store, Work& work,
             Work::Kind kind, const KvOptions& options) {
  const double seconds = work.measure(kind, options);
  return {.kernel = kernel,
          .what = what,
          .where = where,
          .elements = store.elements() / static_cast<std::size_t>(shmem_n_pes()),
          .value = store.value_bytes(),
          .each = seconds * 1e9,
          .right = work.right()};
}

bool measure_pingpong(const KvOptions& options, const KvReport& report) {
  PingPong game(options.value);
  if (!game.valid()) return false;
  for (const Place& place : places()) {
    // PE 0 chooses; the others play with it, or wait.
    const int target = static_cast<int>(largest(is_first() ? place.target : 0));
    if (target == 0) continue;
    for (const Ball ball : {Ball::put_signal, Ball::put, Ball::memory})
      report(round_trips(game, ball, place.where, target, options));
  }
  return true;
}

bool measure_get(const KvOptions& options, const KvReport& report) {
  for (const std::size_t elements : options.elements_or({1000, 10000, 100000, 1000000})) {
    const Store store(options, elements, options.value);
    if (!store.valid()) return false;
    for (const Place& place : places()) {
      Work work(store, keys_for(store, &Store::keys, place.target, is_first(), store.elements()), is_first());
      report(single("get", "get", place.where, store, work, &Work::get, options));
      report(single("get", "get, chained", place.where, store, work, &Work::get_chained, options));
      Work absent(store, keys_for(store, &Store::absent_keys, place.target, is_first(), kAbsent), is_first());
      report(single("get", "get, absent", place.where, store, absent, &Work::get_absent, options));
    }
  }
  return true;
}

bool measure_insert(const KvOptions& options, const KvReport& report) {
  for (const std::size_t elements : options.elements_or({kUsualElements})) {
    const std::size_t inserted = most_inserted(options);
    const Store store(options, elements, options.value, inserted);
    if (!store.valid()) return false;
    for (const Place& place : places()) {
      Work work(store, keys_for(store, &Store::spare_keys, place.target, is_first(), inserted), is_first());
      report(single("insert", "insert", place.where, store, work, &Work::insert, options));
    }
  }
  return true;
}

bool measure_update(const KvOptions& options, const KvReport& report) {
  for (const std::size_t elements : options.elements_or({kUsualElements})) {
    const Store store(options, elements, options.value);
    if (!store.valid()) return false;
    for (const Place& place : places()) {
      Work work(store, keys_for(store, &Store::keys, place.target, is_first(), store.elements()), is_first());
      report(single("update", "update", place.where, store, work, &Work::update, options));
      shmem_barrier_all();
    }
  }
  return true;
}

bool measure_mixed(const KvOptions& options, const KvReport& report) {
  for (const std::size_t elements : options.elements_or({kUsualElements})) {
    const Store store(options, elements, options.value);
    if (!store.valid()) return false;
    Work work(store, store.shared_out(elements), true);
    KvRow row = single("mixed", "changes", places().back().where, store, work, &Work::change, options);
    row.readers = static_cast<std::size_t>(shmem_n_pes());
    report(row);
  }
  return true;
}

bool measure_batch(const KvOptions& options, const KvReport& report) {
  const std::size_t largest_batch = *std::max_element(options.batches.begin(), options.batches.end());
  const std::size_t inserted = std::max(most_inserted(options), 2 * largest_batch);
  for (const std::size_t elements : options.elements_or({kUsualElements})) {
    const Store store(options, elements, options.value, inserted);
    if (!store.valid()) return false;
    for (const Place& place : places()) {
      Keys keys = keys_for(store, &Store::keys, place.target, is_first(), store.elements());
      keys.repeat(largest_batch);
      measure_batches("get", &Work::get, store, keys, place.where, options, report);
      const Keys spare = keys_for(store, &Store::spare_keys, place.target, is_first(), inserted);
      measure_batches("insert", &Work::insert, store, spare, place.where, options, report);
    }
  }
  return true;
}

bool measure_scale(const KvOptions& options, const KvReport& report) {
  const auto node = static_cast<std::size_t>(largest(is_first() ? shmem_team_n_pes(SHMEM_TEAM_SHARED) : 0));
  const auto place = static_cast<std::size_t>(shmem_team_my_pe(SHMEM_TEAM_SHARED));
  const bool with_first = shmem_team_translate_pe(SHMEM_TEAM_SHARED, 0, SHMEM_TEAM_WORLD) == 0;
  for (const std::size_t elements : options.elements_or({kUsualElements})) {
    const Store store(options, elements, options.value);
    if (!store.valid()) return false;
    const int target = target_of(Where::on_node);
    double alone = 0;
    for (std::size_t readers = 1;; readers = std::min(2 * readers, node)) {
      KvRow row =
          together("scale", {Where::on_node, target}, store, with_first && place < readers, readers, options);
      if (readers == 1) alone = row.each;
      row.ratio = alone / row.each;
      report(row);
      if (readers == node) break;
    }
  }
  return true;
}

bool measure_throughput(const KvOptions& options, const KvReport& report) {
  const Place place = places().back();
  for (const std::size_t elements : options.elements_or({10000, 20000, 30000, 40000, 50000})) {
    const Store store(options, elements, options.value);
    if (!store.valid()) return false;
    const auto all = static_cast<std::size_t>(shmem_n_pes());
    report(together("throughput", place, store, true, all, options));
  }
  return true;
}

bool measure_latency(const KvOptions& options, const KvReport& report) {
  for (const std::size_t value : options.values) {
    for (const std::size_t elements : options.elements_or({1000, 5000, 10000, 20000, 50000})) {
      const Store store(options, elements, value);
      if (!store.valid()) return false;
      for (const Place& place : places()) {
        Work work(store, keys_for(store, &Store::keys, place.target, is_first(), store.elements()),
                  is_first());
        report(single("latency", "get", place.where, store, work, &Work::get, options));
      }
    }
  }
  return true;
}

}  // namespace bench
