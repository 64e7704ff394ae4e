// SPDX-License-Identifier: BSD-3-Clause
// What a get executes and touches beside a find of absl::flat_hash_map: the same keys in the same order, in a
// function that callgrind counts by itself.
//
// usage: valgrind --tool=callgrind --cache-sim=yes --branch-sim=yes '--toggle-collect=gets_of*' kv_loads
// atoll|absl ELEMENTS Prints how many gets that were, by which the totals of valgrind are to be divided; exit
// code 1 if one was wrong.
#include <absl/container/flat_hash_map.h>
#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <random>
#include <vector>

#include "kv_words.hpp"

namespace {

using bench::Word;
using Map = absl::flat_hash_map<Word, Word>;

std::vector<Word> keys_in_random_order(std::size_t count) {
  std::vector<Word> keys;
  for (std::size_t number = 0; number < count; ++number) keys.push_back(bench::key_word(number));
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(1));
  return keys;
}

}  // namespace

// Each returns the sum of the values.
[[gnu::noinline]] Word gets_of_atoll(shmemx_kv_t table, const std::vector<Word>& keys, std::size_t count) {
  Word sum = 0, value = 0;
  for (std::size_t i = 0, at = 0; i < count; ++i) {
    if (shmemx_kv_get(table, &keys[at], sizeof(Word), &value, sizeof value, nullptr) == SHMEMX_KV_OK)
      sum += value;
    if (++at == keys.size()) at = 0;
  }
  return sum;
}
[[gnu::noinline]] Word gets_of_absl(const Map& map, const std::vector<Word>& keys, std::size_t count) {
  Word sum = 0;
  for (std::size_t i = 0, at = 0; i < count; ++i) {
    if (const auto found = map.find(keys[at]); found != map.end()) sum += found->second;
    if (++at == keys.size()) at = 0;
  }
  return sum;
}

int main(int argc, char** argv) {
  if (argc != 3) return 1;
  const std::vector<Word> keys = keys_in_random_order(std::strtoul(argv[2], nullptr, 10));
  const std::size_t times = std::max<std::size_t>(100000 / keys.size(), 1), count = times * keys.size();
  Word expected = 0, sum = 0;
  for (const Word key : keys) expected += key * times;
  if (std::strcmp(argv[1], "absl") == 0) {
    Map map;
    map.reserve(keys.size());
    for (const Word key : keys) map.emplace(key, key);
    sum = gets_of_absl(map, keys, count);
  } else {
    shmem_init();
    shmemx_kv_options_t options{};
    options.key_bytes = options.value_bytes = sizeof(Word);
    options.capacity = keys.size();
    shmemx_kv_t table = nullptr;
    if (shmemx_kv_create(&options, &table) != SHMEMX_KV_OK) return 1;
    for (const Word key : keys) shmemx_kv_put(table, &key, sizeof key, &key, sizeof key);
    sum = gets_of_atoll(table, keys, count);
    shmemx_kv_destroy(table);
    shmem_finalize();
  }
  std::printf("%zu gets\n", count);
  return sum == expected ? 0 : 1;
}
