// SPDX-License-Identifier: BSD-3-Clause
// `ycsb`: the mixes A to F of the Yahoo! Cloud Serving Benchmark, by all PEs at once on keys of all PEs.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include "kv_kernels.hpp"
#include "measure.hpp"

namespace bench {
namespace {

constexpr std::size_t kUsuallyThere = 100000;
constexpr std::size_t kMostScanned = 100;

/// Numbers below n, the lower the more often: Zipf's distribution, as Gray and others draw it (SIGMOD 1994);
/// with exponent 0 all alike.
class Zipf {
 public:
  Zipf(std::size_t n, double exponent) : n_(static_cast<double>(n)), exponent_(exponent) {
    if (exponent_ == 0) return;
    for (std::size_t i = 1; i <= n; ++i) sum_ += std::pow(static_cast<double>(i), -exponent_);
    second_ = 1 + std::pow(0.5, exponent_);
    slope_ = (1 - std::pow(2 / n_, 1 - exponent_)) / (1 - second_ / sum_);
  }
  template <class Random>
  std::size_t operator()(Random& random) const {
    const double u = static_cast<double>(random() >> 11) * 0x1p-53;
    double found = n_ * u;
    if (exponent_ != 0) {
      if (u * sum_ < 1) return 0;
      if (u * sum_ < second_) return 1;
      found = n_ * std::pow(slope_ * u - slope_ + 1, 1 / (1 - exponent_));
    }
    return static_cast<std::size_t>(std::clamp(found, 0.0, n_ - 1));
  }

 private:
  double n_, exponent_, sum_ = 0, second_ = 0, slope_ = 0;
};

enum class Act : unsigned char { read, update, insert, scan, read_modify_write };

struct Mix {
  const char* name;
  const char* what;
  Act usual, other;
  unsigned other_percent;
  bool latest;  ///< reads are of what has been inserted last
};
constexpr Mix kMixes[] = {
    {"A", "A: half updates", Act::read, Act::update, 50, false},
    {"B", "B: 5 % updates", Act::read, Act::update, 5, false},
    {"C", "C: reads", Act::read, Act::read, 0, false},
    {"D", "D: 5 % inserts", Act::read, Act::insert, 5, true},
    {"E", "E: scans", Act::scan, Act::insert, 5, false},
    {"F", "F: half changes", Act::read, Act::read_modify_write, 50, false},
};

/// What a PE does, drawn beforehand, again and again.
class Mixed {
 public:
  Mixed(const Store& store, const Mix& mix, const Zipf& zipf, const KvOptions& options)
      : store_(store),
        mix_(mix),
        keys_(options.key),
        one_(options.key),
        values_(kMostScanned, options.value),
        scanned_(kMostScanned * options.key / sizeof(Word)),
        lengths_(2 * kMostScanned),
        cursors_(static_cast<std::size_t>(shmem_n_pes())),
        inserted_(share_of(store)) {
    const std::size_t me = static_cast<std::size_t>(shmem_my_pe());
    std::mt19937_64 random(me + 1);
    const Zipf recent(inserted_, options.zipf);
    const std::size_t drawn = std::clamp<std::size_t>((std::size_t{64} << 20) / options.key, 1024, 1 << 18);
    for (std::size_t i = 0; i < drawn; ++i) {
      keys_.add(zipf(random));
      acts_.push_back(random() % 100 < mix.other_percent ? mix.other : mix.usual);
      details_.push_back(static_cast<unsigned>(mix.latest ? recent(random) : 1 + random() % kMostScanned));
    }
  }

  /// Collective: seconds of `count` operations of each PE.
  double run(std::size_t count) {
    values_.clear();
    shmem_barrier_all();
    const double start = now();
    bool right = true;
    for (std::size_t i = 0; i < count; ++i) {
      right = act(at_) && right;
      if (++at_ == keys_.size()) at_ = 0;
    }
    const double took = now() - start;
    if (right_ && !right)
      std::fprintf(stderr, "shmem_bench: PE %d: %s: a wrong status or value\n", shmem_my_pe(), mix_.what);
    right_ = right_ && right;
    shmem_barrier_all();
    return largest(took);
  }

  /// Collective: whether the table has what it should have.
  bool right() {
    const double inserted = total(static_cast<double>(inserted_ - share_of(store_)));
    if (store_.elements() + static_cast<std::size_t>(inserted) != shmemx_kv_count(store_.kv())) {
      if (right_) std::fprintf(stderr, "shmem_bench: %s: a wrong number of elements\n", mix_.what);
      right_ = false;
    }
    const std::size_t chunk = chunk_of(values_.bytes());
    Values found(chunk, values_.bytes());
    for (std::size_t from = 0; from < keys_.size(); from += chunk) {
      const std::size_t some = std::min(chunk, keys_.size() - from);
      right_ = shmemx_kv_get_batch(store_.kv(), some, keys_.at(from), keys_.bytes(), found.at(0),
                                   found.bytes(), nullptr, nullptr) == SHMEMX_KV_OK &&
               right_;
      for (std::size_t i = 0; i < some; ++i) right_ = found.plausible(i, keys_.word(from + i)) && right_;
    }
    shmem_barrier_all();
    return right_;
  }

 private:
  static std::size_t share_of(const Store& store) {
    return store.elements() / static_cast<std::size_t>(shmem_n_pes());
  }

  bool act(std::size_t i) {
    switch (acts_[i]) {
      case Act::read: return mix_.latest ? read_latest(details_[i]) : read(keys_, i);
      case Act::update: return update(i);
      case Act::insert: return insert();
      case Act::scan: return scan(i);
      case Act::read_modify_write: return read(keys_, i) && update(i);
    }
    return false;
  }
  bool read(const Keys& keys, std::size_t i) {
    return shmemx_kv_get(store_.kv(), keys.at(i), keys.bytes(), values_.at(0), values_.bytes(), nullptr) ==
               SHMEMX_KV_OK &&
           values_.plausible(0, keys.word(i));
  }
  bool update(std::size_t i) {
    values_.fill(0, keys_.word(i), ++stamp_ & ((Word{1} << 40) - 1));
    return shmemx_kv_put(store_.kv(), keys_.at(i), keys_.bytes(), values_.at(0), values_.bytes()) ==
           SHMEMX_KV_OK;
  }
  /// Numbers that this PE has, or inserts: no other does.
  void take_own(std::size_t which) {
    one_.clear();
    one_.add(which * static_cast<std::size_t>(shmem_n_pes()) + static_cast<std::size_t>(shmem_my_pe()));
  }
  bool read_latest(std::size_t age) {
    take_own(inserted_ - 1 - age);
    return read(one_, 0);
  }
  bool insert() {
    take_own(inserted_++);
    values_.fill(0, one_.word(0), 0);
    return shmemx_kv_insert(store_.kv(), one_.at(0), one_.bytes(), values_.at(0), values_.bytes()) ==
           SHMEMX_KV_OK;
  }
  /// The next elements of the PE of a key; those of a hash table have no other order.
  bool scan(std::size_t i) {
    const int pe = shmemx_kv_pe(store_.kv(), keys_.at(i), keys_.bytes());
    std::uint64_t& cursor = cursors_[static_cast<std::size_t>(pe)];
    std::size_t found = 0;
    const int status =
        shmemx_kv_scan(store_.kv(), pe, &cursor, details_[i], scanned_.data(), keys_.bytes(), lengths_.data(),
                       values_.at(0), values_.bytes(), lengths_.data() + kMostScanned, &found);
    if (status == SHMEMX_KV_NOT_FOUND) cursor = 0;
    bool right = status == SHMEMX_KV_OK || status == SHMEMX_KV_NOT_FOUND;
    for (std::size_t e = 0; status == SHMEMX_KV_OK && e < found; ++e) {
      right = lengths_[e] == keys_.bytes() && lengths_[kMostScanned + e] == values_.bytes() &&
              values_.plausible(e, scanned_[e * keys_.bytes() / sizeof(Word)]) && right;
    }
    return right;
  }

  const Store& store_;
  const Mix& mix_;
  Keys keys_, one_;
  std::vector<Act> acts_;
  std::vector<unsigned> details_;  ///< elements of a scan, or the age of what is read
  Values values_;
  std::vector<Word> scanned_;
  std::vector<std::size_t> lengths_;
  std::vector<std::uint64_t> cursors_;  ///< of the scans, by PE
  std::size_t inserted_;                ///< numbers of this PE that are there
  std::size_t at_ = 0;
  Word stamp_ = 0;
  bool right_ = true;
};

}  // namespace

bool measure_ycsb(const KvOptions& options, const KvReport& report) {
  for (const std::size_t elements : options.elements_or({kUsuallyThere})) {
    const Zipf zipf(elements * static_cast<std::size_t>(shmem_n_pes()), options.zipf);
    for (const Mix& mix : kMixes) {
      if (!among(options.mixes, mix.name)) continue;
      const Store store(options, elements, options.value, most_inserted(options));
      if (!store.valid()) return false;
      Mixed work(store, mix, zipf, options);
      const auto run = [&](std::size_t n) { return work.run(n); };
      const double each = median_of(options.rounds, calibrate(options.seconds, run), run);
      report({.kernel = "ycsb",
              .what = mix.what,
              .where = places().back().where,
              .elements = elements,
              .value = options.value,
              .readers = static_cast<std::size_t>(shmem_n_pes()),
              .each = each * 1e9,
              .right = work.right()});
    }
  }
  return true;
}

}  // namespace bench
