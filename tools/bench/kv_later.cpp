// SPDX-License-Identifier: BSD-3-Clause
// `nbi`, `tail`, `wait`: calls that nobody waits for at once, calls one of which takes long, and one that
// waits.
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <vector>

#include "kv_kernels.hpp"
#include "measure.hpp"

namespace bench {
namespace {

constexpr std::size_t kElements = 100000;

void say_wrong(bool right, const char* what) {
  if (!right) std::fprintf(stderr, "shmem_bench: PE %d: %s\n", shmem_my_pe(), what);
}

// ---- nbi

/// Gets in batches, `depth` of which are under way; each is looked at when its place is needed again.
class Stream {
 public:
  /// The store and the keys stay the caller's.  Without keys it only waits for the others.
  Stream(const Store& store, const Keys& keys, std::size_t batch, std::size_t depth)
      : store_(store),
        keys_(keys),
        batch_(batch),
        values_(batch * depth, store.value_bytes()),
        status_(batch * depth),
        first_(depth),
        requests_(depth) {}

  /// Collective: seconds of `count` gets, of which there are whole batches.
  double run(std::size_t count) {
    double took = 0;
    values_.clear();
    shmem_barrier_all();
    if (keys_.size() != 0) {
      const double start = now();
      get(count / batch_);
      took = now() - start;
    }
    shmem_barrier_all();
    return largest(took);
  }

  bool right() const { return right_; }

 private:
  void get(std::size_t batches) {
    const std::size_t depth = requests_.size();
    for (std::size_t i = 0, at = 0; i < batches; ++i, at += batch_) {
      const std::size_t place = i % depth;
      if (i >= depth) finish(place);
      if (at + batch_ > keys_.size()) at = 0;
      begin(place, at);
    }
    for (std::size_t place = 0; place < std::min(depth, batches); ++place) finish(place);
  }
  void begin(std::size_t place, std::size_t at) {
    first_[place] = at;
    Word* values = values_.at(place * batch_);
    int* status = &status_[place * batch_];
    if (batch_ == 1) {
      shmemx_kv_get_nbr(store_.kv(), keys_.at(at), keys_.bytes(), values, values_.bytes(), nullptr, status,
                        &requests_[place]);
    } else {
      shmemx_kv_get_batch_nbi(store_.kv(), batch_, keys_.at(at), keys_.bytes(), values, values_.bytes(),
                              nullptr, status, &requests_[place]);
    }
  }
  void finish(std::size_t place) {
    shmemx_kv_request_wait(&requests_[place]);
    bool right = true;
    for (std::size_t i = 0; i < batch_; ++i) {
      right = status_[place * batch_ + i] == SHMEMX_KV_OK &&
              values_.right(place * batch_ + i, keys_.word(first_[place] + i), 0) && right;
    }
    if (right_) say_wrong(right, "a nonblocking get had a wrong status or value");
    right_ = right_ && right;
  }

  const Store& store_;
  const Keys& keys_;
  const std::size_t batch_;
  Values values_;
  std::vector<int> status_;
  std::vector<std::size_t> first_;  ///< key of what is under way
  std::vector<shmemx_kv_request_t> requests_;
  bool right_ = true;
};

KvRow measure_stream(const Store& store, const Keys& keys, std::size_t batch, const KvOptions& options) {
  Stream stream(store, keys, batch, options.depth);
  const auto whole = [batch](std::size_t n) { return (n + batch - 1) / batch * batch; };
  const auto run = [&](std::size_t n) { return stream.run(whole(n)); };
  const double each = median_of(options.rounds, whole(calibrate(options.seconds, run)), run);
  return {.kernel = "nbi",
          .what = "get",
          .elements = store.elements() / static_cast<std::size_t>(shmem_n_pes()),
          .value = store.value_bytes(),
          .batch = batch,
          .each = each * 1e9,
          .right = stream.right()};
}

// ---- tail

/// Collective: PE 0 does `count` gets, or updates to another value, of all keys in turn, each of which is
/// timed.
class Timed {
 public:
  Timed(const Store& store, const Keys& keys) : store_(store), keys_(keys), values_(1, store.value_bytes()) {}

  double run(std::size_t count, bool updates) {
    stamp_ += updates ? 1 : 0;
    times_.clear();
    times_.reserve(count);
    shmem_barrier_all();
    double took = 0;
    bool right = true;
    for (std::size_t i = 0, at = 0; i < count && keys_.size() != 0; ++i) {
      if (updates) values_.fill(0, keys_.word(at), stamp_);
      const double start = now();
      const int status =
          updates ? shmemx_kv_update(store_.kv(), keys_.at(at), keys_.bytes(), values_.at(0), values_.bytes())
                  : shmemx_kv_get(store_.kv(), keys_.at(at), keys_.bytes(), values_.at(0), values_.bytes(),
                                  nullptr);
      const double each = now() - start;
      took += each;
      times_.push_back(static_cast<float>(each * 1e9));
      // Keys beyond those that have been updated in this round have the stamp of an earlier one.
      right = status == SHMEMX_KV_OK && values_.plausible(0, keys_.word(at)) && right;
      if (++at == keys_.size()) at = 0;
    }
    if (right_) say_wrong(right, "a timed call had a wrong status or value");
    right_ = right_ && right;
    if (updates && keys_.size() != 0)
      right_ = store_.all_right(keys_, 0, std::min(count, keys_.size()), stamp_) && right_;
    shmem_barrier_all();
    return largest(took);
  }

  KvRow row(const char* what, Where where, bool updates, const KvOptions& options) {
    const std::size_t count =
        options.rounds * calibrate(options.seconds, [&](std::size_t n) { return run(n, updates); });
    const double took = run(count, updates);
    Tail tail{.longest = 1};
    if (!times_.empty()) tail = tail_of(times_);
    return {.kernel = "tail",
            .what = what,
            .where = where,
            .elements = store_.elements() / static_cast<std::size_t>(shmem_n_pes()),
            .value = store_.value_bytes(),
            .each = took * 1e9 / static_cast<double>(count),
            .tail = tail,
            .right = right_};
  }

 private:
  const Store& store_;
  const Keys& keys_;
  Values values_;
  std::vector<float> times_;
  Word stamp_ = 0;
  bool right_ = true;
};

// ---- wait

/// Messages with requests that all PEs have sent for the table.
double requests_sent(const Store& store) {
  shmemx_kv_stats_t stats;
  shmemx_kv_stats(store.kv(), &stats);
  return total(static_cast<double>(stats.packets));
}

/// PE 0 waits for an element that its PE puts after a while.
KvRow measure_waiting(const Store& store, Where where, int target, const KvOptions& options) {
  const Keys keys = store.spare_keys(target, 1);
  Values values(1, options.value);
  bool right = true;
  const double before = requests_sent(store);
  const double called = now();  // before the PE that puts begins to count
  shmem_barrier_all();
  const double start = now();
  double took = 0;
  if (is_first()) {
    const int status =
        shmemx_kv_get_wait(store.kv(), keys.at(0), keys.bytes(), values.at(0), values.bytes(), nullptr);
    took = now() - called;
    right = status == SHMEMX_KV_OK && values.all_right(0, keys.word(0), 1) && took >= options.wait;
    say_wrong(right, "a get that waited had a wrong status or value, or did not wait");
  }
  if (shmem_my_pe() == target) {
    usleep(static_cast<useconds_t>(std::max(0.0, options.wait - (now() - start)) * 1e6));
    while (now() - start < options.wait) {
    }
    values.fill(0, keys.word(0), 1);
    right = shmemx_kv_put(store.kv(), keys.at(0), keys.bytes(), values.at(0), values.bytes()) == SHMEMX_KV_OK;
  }
  shmem_barrier_all();
  const double messages = 2 * (requests_sent(store) - before);  // each is answered
  return {.kernel = "wait",
          .what = "get_wait",
          .where = where,
          .elements = store.elements() / static_cast<std::size_t>(shmem_n_pes()),
          .value = options.value,
          .each = largest(took) * 1e9,
          .ratio = messages,
          .right = right};
}

}  // namespace

bool measure_nbi(const KvOptions& options, const KvReport& report) {
  const std::size_t largest_batch = *std::max_element(options.batches.begin(), options.batches.end());
  for (const std::size_t elements : options.elements_or({kElements})) {
    const Store store(options, elements, options.value);
    if (!store.valid()) return false;
    for (const Place& place : places()) {
      Keys keys = store.keys(place.target, is_first() ? store.elements() : 0);
      keys.repeat(largest_batch);
      Work one_by_one(store, keys, is_first());
      const KvRow plain = single("nbi", "get", place.where, store, one_by_one, &Work::get, options);
      report(plain);
      for (const std::size_t batch : options.batches) {
        KvRow row = measure_stream(store, keys, batch, options);
        row.where = place.where;
        row.ratio = plain.each / row.each;
        report(row);
      }
    }
  }
  return true;
}

bool measure_tail(const KvOptions& options, const KvReport& report) {
  for (const std::size_t elements : options.elements_or({kElements})) {
    const Store store(options, elements, options.value);
    if (!store.valid()) return false;
    for (const Place& place : places()) {
      const Keys keys = store.keys(place.target, is_first() ? store.elements() : 0);
      Timed timed(store, keys);
      report(timed.row("get", place.where, false, options));
      report(timed.row("update", place.where, true, options));
    }
  }
  return true;
}

bool measure_wait(const KvOptions& options, const KvReport& report) {
  const Store store(options, options.elements_or({1000})[0], options.value, 1000);
  if (!store.valid()) return false;
  for (const Place& place : places()) {
    const int target = static_cast<int>(largest(is_first() ? place.target : 0));
    if (target == 0) continue;  // nobody else could put it
    report(measure_waiting(store, place.where, target, options));
  }
  return true;
}

}  // namespace bench
