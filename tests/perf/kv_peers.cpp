// SPDX-License-Identifier: BSD-3-Clause
// What hash maps of one process take, for compare_kv.py: the keys, values and loops of `shmem_bench kv`.
//
// usage: kv_peers get ELEMENTS SECONDS | threads ELEMENTS THREADS SECONDS | mixed ELEMENTS THREADS SECONDS
// Prints lines "map, what: nanoseconds of an operation, of all threads together"; exit code 1 if anything was
// wrong.
#include <absl/container/flat_hash_map.h>
#include <tbb/concurrent_hash_map.h>

#include <algorithm>
#include <atomic>
#include <barrier>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <random>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "kv_words.hpp"

namespace {

using bench::Word;

constexpr std::size_t kRounds = 5, kAbsent = 16384, kDrawn = std::size_t{1} << 18;

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

void expect(bool condition, const char* what) {
  if (condition) return;
  std::fprintf(stderr, "kv_peers: %s\n", what);
  std::exit(1);
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// Nanoseconds of one of `run(count)`, which returns its seconds.
template <class Run>
double measured(double seconds, Run run) {
  std::size_t count = 64;
  for (double took = 0; (took = run(count)) < seconds / 2;)
    count = static_cast<std::size_t>(static_cast<double>(count) * std::min(16.0, 1.1 * seconds / took)) + 1;
  std::vector<double> rounds;
  for (std::size_t i = 0; i < kRounds; ++i) rounds.push_back(run(count) * 1e9 / static_cast<double>(count));
  return median(rounds);
}

std::vector<Word> keys_in_random_order(std::size_t first, std::size_t count) {
  std::vector<Word> keys;
  for (std::size_t number = first; number < first + count; ++number) keys.push_back(bench::key_word(number));
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(1));
  return keys;
}

// ---- get: one thread

template <class Map>
double gets(const Map& map, const std::vector<Word>& keys, bool chained, std::size_t count) {
  bool right = true;
  const double start = now();
  for (std::size_t i = 0, at = 0; i < count; ++i) {
    const auto found = map.find(keys[at]);
    const Word wrong = found == map.end() ? 1 : found->second ^ bench::value_word(keys[at], 0, 0);
    right = wrong == 0 && right;
    at += 1 + (chained ? wrong : 0);
    if (at >= keys.size()) at = 0;
  }
  const double took = now() - start;
  expect(right, "a get had a wrong value");
  return took;
}

template <class Map>
double absent_gets(const Map& map, const std::vector<Word>& keys, std::size_t count) {
  bool right = true;
  const double start = now();
  for (std::size_t i = 0, at = 0; i < count; ++i) {
    right = map.find(keys[at]) == map.end() && right;
    if (++at == keys.size()) at = 0;
  }
  const double took = now() - start;
  expect(right, "a key was found that nobody has put");
  return took;
}

template <class Map>
void measure_gets(const char* name, std::size_t elements, double seconds) {
  const std::vector<Word> keys = keys_in_random_order(0, elements);
  const std::vector<Word> absent = keys_in_random_order(elements, kAbsent);
  Map map;
  map.reserve(elements);
  for (std::size_t number = 0; number < elements; ++number) {  // in another order than they are got
    const Word key = bench::key_word(number);
    map.emplace(key, bench::value_word(key, 0, 0));
  }
  const auto tell = [&](const char* what, double ns) { std::printf("%s, %s: %.4f\n", name, what, ns); };
  tell("get", measured(seconds, [&](std::size_t n) { return gets(map, keys, false, n); }));
  tell("get, chained", measured(seconds, [&](std::size_t n) { return gets(map, keys, true, n); }));
  tell("get, absent", measured(seconds, [&](std::size_t n) { return absent_gets(map, absent, n); }));
}

/// Seconds from the beginning of the first thread to the end of the last; each says whether all was right.
template <class Body>
double by_threads(std::size_t threads, Body body) {
  std::barrier begin(static_cast<std::ptrdiff_t>(threads));
  std::vector<double> began(threads), ended(threads);
  std::vector<std::thread> all;
  std::atomic<bool> right = true;
  for (std::size_t t = 0; t < threads; ++t) {
    all.emplace_back([&, t] {
      begin.arrive_and_wait();
      began[t] = now();
      if (!body(t)) right = false;
      ended[t] = now();
    });
  }
  for (std::thread& thread : all) thread.join();
  expect(right, "a get had a wrong value");
  return *std::max_element(ended.begin(), ended.end()) - *std::min_element(began.begin(), began.end());
}

// ---- threads: gets from one map, which shows what the machine lets threads have

void measure_threads(std::size_t elements, std::size_t threads, double seconds) {
  absl::flat_hash_map<Word, Word> map;
  for (std::size_t number = 0; number < elements; ++number) {
    const Word key = bench::key_word(number);
    map.emplace(key, bench::value_word(key, 0, 0));
  }
  std::vector<std::vector<Word>> keys(threads, keys_in_random_order(0, elements));
  for (std::size_t t = 0; t < threads; ++t) std::shuffle(keys[t].begin(), keys[t].end(), std::mt19937_64(t));
  double each[2];
  for (const bool together : {false, true}) {
    each[together ? 1 : 0] = measured(seconds, [&](std::size_t n) {
      return by_threads(together ? threads : 1,
                        [&](std::size_t t) { return gets(map, keys[t], false, n) > 0; });
    });
  }
  std::printf("absl, threads: %.4f\n", each[0] / each[1]);
}

// ---- mixed: half gets, half puts of keys that are there, by threads

class Tbb {
 public:
  bool get(Word key, Word& value) const {
    Map::const_accessor found;
    if (!map_.find(found, key)) return false;
    value = found->second;
    return true;
  }
  void put(Word key, Word value) {
    Map::accessor found;
    map_.insert(found, key);
    found->second = value;
  }

 private:
  using Map = tbb::concurrent_hash_map<Word, Word>;
  Map map_;
};

class Locked {
 public:
  bool get(Word key, Word& value) const {
    const std::lock_guard lock(mutex_);
    const auto found = map_.find(key);
    if (found == map_.end()) return false;
    value = found->second;
    return true;
  }
  void put(Word key, Word value) {
    const std::lock_guard lock(mutex_);
    map_[key] = value;
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Word, Word> map_;
};

/// What a thread does, drawn beforehand.
struct Drawn {
  std::vector<Word> keys;
  std::vector<unsigned char> puts;
};

template <class Map>
bool change(Map& map, const Drawn& drawn, std::size_t count, Word stamp) {
  bool right = true;
  for (std::size_t i = 0, at = 0; i < count; ++i) {
    const Word key = drawn.keys[at];
    if (drawn.puts[at] != 0) {
      map.put(key, bench::value_word(key, 0, ++stamp));
    } else {
      Word value = 0;
      right = map.get(key, value) && bench::has_some_stamp(key, value) && right;
    }
    if (++at == kDrawn) at = 0;
  }
  return right;
}

template <class Map>
void measure_mixed(const char* name, std::size_t elements, std::size_t threads, double seconds) {
  Map map;
  for (std::size_t number = 0; number < elements; ++number) {
    const Word key = bench::key_word(number);
    map.put(key, bench::value_word(key, 0, 0));
  }
  std::vector<Drawn> drawn(threads);
  for (std::size_t t = 0; t < threads; ++t) {
    std::mt19937_64 random(t + 1);
    for (std::size_t i = 0; i < kDrawn; ++i) {
      drawn[t].keys.push_back(bench::key_word(random() % elements));
      drawn[t].puts.push_back(random() % 2);
    }
  }
  const double ns = measured(seconds, [&](std::size_t n) {
    return by_threads(threads, [&](std::size_t t) { return change(map, drawn[t], n, 0); });
  });
  std::printf("%s, mixed: %.4f\n", name, ns / static_cast<double>(threads));
}

}  // namespace

int main(int argc, char** argv) {
  const std::string what = argc > 1 ? argv[1] : "";
  const auto number = [&](int i) { return std::strtoull(argv[i], nullptr, 10); };
  if (what == "get" && argc == 4 && number(2) > 0 && std::atof(argv[3]) > 0) {
    measure_gets<absl::flat_hash_map<Word, Word>>("absl", number(2), std::atof(argv[3]));
    measure_gets<std::unordered_map<Word, Word>>("std", number(2), std::atof(argv[3]));
  } else if (what == "threads" && argc == 5 && number(2) > 0 && number(3) > 0 && std::atof(argv[4]) > 0) {
    measure_threads(number(2), number(3), std::atof(argv[4]));
  } else if (what == "mixed" && argc == 5 && number(2) > 0 && number(3) > 0 && std::atof(argv[4]) > 0) {
    measure_mixed<Tbb>("tbb", number(2), number(3), std::atof(argv[4]));
    measure_mixed<Locked>("std", number(2), number(3), std::atof(argv[4]));
  } else {
    std::fputs(
        "usage: kv_peers get ELEMENTS SECONDS | threads ELEMENTS THREADS SECONDS | mixed ELEMENTS THREADS "
        "SECONDS\n",
        stderr);
    return 2;
  }
  return 0;
}
