// SPDX-License-Identifier: BSD-3-Clause
#include "kv_data.hpp"

#include <algorithm>
#include <cstdio>
#include <random>

#include "measure.hpp"

namespace bench {
namespace {

unsigned long long shown(Word word) { return word; }

}  // namespace

std::size_t chunk_of(std::size_t value_bytes) {
  return std::clamp<std::size_t>((std::size_t{1} << 22) / value_bytes, 1, 4096);
}

void Keys::add(std::size_t number) {
  data_.resize(data_.size() + words_);
  fill(data_.data() + data_.size() - words_, number);
}

void Keys::repeat(std::size_t count) {
  const std::vector<Word> once = data_;
  while (size() < count && !once.empty()) data_.insert(data_.end(), once.begin(), once.end());
}

void Keys::shuffle(Word seed) {
  std::mt19937_64 random(seed);
  for (std::size_t i = size(); i > 1; --i) {
    const auto from = data_.begin() + static_cast<std::ptrdiff_t>((i - 1) * words_);
    const auto other = static_cast<std::ptrdiff_t>(random() % i * words_);
    std::swap_ranges(from, from + static_cast<std::ptrdiff_t>(words_), data_.begin() + other);
  }
}

int target_of(Where where) {
  static int first;  // PE of this PE's node
  first = shmem_team_translate_pe(SHMEM_TEAM_SHARED, 0, SHMEM_TEAM_WORLD);
  shmem_barrier_all();
  const int me = shmem_my_pe(), all = shmem_n_pes();
  const int place = shmem_team_my_pe(SHMEM_TEAM_SHARED), size = shmem_team_n_pes(SHMEM_TEAM_SHARED);
  int found = -1;
  if (where == Where::on_node)
    found = shmem_team_translate_pe(SHMEM_TEAM_SHARED, (place + 1) % size, SHMEM_TEAM_WORLD);
  for (int i = 0; i < all && found < 0; ++i) {
    const int pe = (me + size + i) % all;
    if (shmem_int_g(&first, pe) != first) found = pe;
  }
  shmem_barrier_all();
  return found;
}

Store::Store(const KvOptions& options, std::size_t elements, std::size_t value_bytes, std::size_t spare)
    : key_bytes_(options.key),
      value_bytes_(value_bytes),
      elements_(elements * static_cast<std::size_t>(shmem_n_pes())),
      spare_(spare * static_cast<std::size_t>(shmem_n_pes())) {
  shmemx_kv_options_t wanted{};
  wanted.key_bytes = key_bytes_;
  wanted.value_bytes = value_bytes_;
  wanted.capacity = elements_ + spare_;
  if (shmemx_kv_create(&wanted, &kv_) != SHMEMX_KV_OK) return;
  Keys mine = keys(shmem_my_pe(), elements_);
  mine.shuffle(1);  // so that those that are got one after the other do not lie one behind the other
  const std::size_t chunk = chunk_of(value_bytes_);
  Values values(chunk, value_bytes_);
  bool right = true;
  for (std::size_t from = 0; from < mine.size(); from += chunk) {
    const std::size_t count = std::min(chunk, mine.size() - from);
    for (std::size_t i = 0; i < count; ++i) values.fill(i, mine.word(from + i), 0);
    right = right && shmemx_kv_put_batch(kv_, count, mine.at(from), key_bytes_, values.at(0), value_bytes_,
                                         nullptr) == SHMEMX_KV_OK;
  }
  shmem_barrier_all();
  if (!right) std::fprintf(stderr, "shmem_bench: PE %d: not all elements could be put\n", shmem_my_pe());
  valid_ = total(right ? 0 : 1) == 0;
}

Store::Store(const KvOptions& options, shmemx_kv_options_t wanted)
    : key_bytes_(options.key), value_bytes_(options.value), elements_(0), spare_(0) {
  wanted.key_bytes = key_bytes_;
  wanted.value_bytes = value_bytes_;
  valid_ = shmemx_kv_create(&wanted, &kv_) == SHMEMX_KV_OK;
}

Store::~Store() {
  if (kv_ != nullptr) shmemx_kv_destroy(kv_);
}

Keys Store::of_numbers(std::size_t first, std::size_t count, int pe, std::size_t most) const {
  Keys found(key_bytes_);
  for (std::size_t number = first; number < first + count && found.size() < most; ++number) {
    found.add(number);
    if (shmemx_kv_pe(kv_, found.at(found.size() - 1), key_bytes_) != pe) found.drop_last();
  }
  found.shuffle(static_cast<Word>(shmem_my_pe()));
  return found;
}

Keys Store::shared_out(std::size_t most) const {
  Keys found(key_bytes_);
  const auto all = static_cast<std::size_t>(shmem_n_pes());
  for (auto number = static_cast<std::size_t>(shmem_my_pe()); number < elements_ && found.size() < most;
       number += all)
    found.add(number);
  found.shuffle(static_cast<Word>(shmem_my_pe()));
  return found;
}

bool Store::all_right(const Keys& keys, std::size_t first, std::size_t count, Word stamp) const {
  const std::size_t chunk = chunk_of(value_bytes_);
  Values values(chunk, value_bytes_);
  std::vector<int> status(chunk);
  for (std::size_t from = first; from < first + count; from += chunk) {
    const std::size_t some = std::min(chunk, first + count - from);
    values.clear();
    shmemx_kv_get_batch(kv_, some, keys.at(from), key_bytes_, values.at(0), value_bytes_, nullptr,
                        status.data());
    for (std::size_t i = 0; i < some; ++i) {
      const Word key = keys.word(from + i);
      if (status[i] == SHMEMX_KV_OK && values.all_right(i, key, stamp)) continue;
      std::fprintf(stderr, "shmem_bench: PE %d: get of key %#llx: status %d, value %#llx instead of %#llx\n",
                   shmem_my_pe(), shown(key), status[i], shown(*values.at(i)),
                   shown(value_word(key, 0, stamp)));
      return false;
    }
  }
  return true;
}

bool Values::all_right(std::size_t i, Word key, Word stamp) {
  for (std::size_t w = 0; w < words_; ++w) {
    if (at(i)[w] != value_word(key, w, stamp)) return false;
  }
  return true;
}

}  // namespace bench
