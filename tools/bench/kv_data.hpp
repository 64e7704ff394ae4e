// SPDX-License-Identifier: BSD-3-Clause
// What the kernels of `shmem_bench kv` work on: a table whose elements have numbers, and keys of one PE.
#pragma once

#include <shmem.h>
#include <shmemx.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "kv_options.hpp"
#include "kv_words.hpp"

namespace bench {

/// Keys one after the other, as a batch takes them.  The first word of a key is its number's, which no other
/// has.
class Keys {
 public:
  explicit Keys(std::size_t key_bytes) : words_(key_bytes / sizeof(Word)) {}

  void add(std::size_t number);
  /// Key `i` of `other`, at the end, or instead of one.
  void take(const Keys& other, std::size_t i) {
    data_.resize(data_.size() + words_);
    replace(size() - 1, other, i);
  }
  void replace(std::size_t at, const Keys& other, std::size_t i) {
    std::copy_n(other.data_.data() + i * words_, words_, data_.data() + at * words_);
  }
  void clear() { data_.clear(); }
  void drop_last() { data_.resize(data_.size() - words_); }
  /// The same keys again and again, until there are `count` or more.
  void repeat(std::size_t count);
  void shuffle(Word seed);
  std::size_t size() const { return data_.size() / words_; }
  std::size_t bytes() const { return words_ * sizeof(Word); }
  const void* at(std::size_t i) const { return data_.data() + i * words_; }
  Word word(std::size_t i) const { return data_[i * words_]; }
  const Word* words() const { return data_.data(); }

 private:
  void fill(Word* key, std::size_t number) const {
    key[0] = key_word(number);
    for (std::size_t w = 1; w < words_; ++w) key[w] = number + w;
  }

  std::size_t words_;
  std::vector<Word> data_;
};

/// Which PE works on the elements of which.
enum class Where { on_node, off_node };
inline const char* name_of(Where where) { return where == Where::on_node ? "on node" : "off node"; }

/// The PE of `where` whose elements this PE works on: the next one of its node, or itself if it is alone
/// there; or one of the next node, -1 if there is none.  Collective.
int target_of(Where where);

/// A table with `elements` elements a PE, and room for `spare` more.
class Store {
 public:
  /// Collective; puts the elements with stamp 0.
  Store(const KvOptions& options, std::size_t elements, std::size_t value_bytes, std::size_t spare = 0);
  /// Collective; nothing is in it, and nothing is counted: a table as it is wanted, but for lengths.
  Store(const KvOptions& options, shmemx_kv_options_t wanted);
  ~Store();
  Store(const Store&) = delete;
  Store& operator=(const Store&) = delete;

  /// False: there was no room.  The same on all PEs.
  bool valid() const { return valid_; }

  shmemx_kv_t kv() const { return kv_; }
  std::size_t value_bytes() const { return value_bytes_; }

  /// Keys that `pe` has, or would have, in random order; at most `most`.  Of numbers that are there, and of
  /// those from `spare` and from as many more, which nobody puts.
  Keys keys(int pe, std::size_t most) const { return of_numbers(0, elements_, pe, most); }
  Keys spare_keys(int pe, std::size_t most) const { return of_numbers(elements_, spare_, pe, most); }
  Keys absent_keys(int pe, std::size_t most) const {
    return of_numbers(elements_ + spare_, elements_ + spare_, pe, most);
  }

  /// This PE's share of those that are there, whichever PE has them: no other PE's.
  Keys shared_out(std::size_t most) const;

  std::size_t elements() const { return elements_; }

  /// Whether `count` keys from number `first` on have whole values with this stamp; says what is wrong.
  bool all_right(const Keys& keys, std::size_t first, std::size_t count, Word stamp) const;

 private:
  Keys of_numbers(std::size_t first, std::size_t count, int pe, std::size_t most) const;

  const std::size_t key_bytes_, value_bytes_, elements_, spare_;  ///< the last two: of all PEs
  shmemx_kv_t kv_ = nullptr;
  bool valid_ = false;
};

/// Keys of a batch where batches are not what is measured.
std::size_t chunk_of(std::size_t value_bytes);

/// Values one after the other.
class Values {
 public:
  Values(std::size_t count, std::size_t value_bytes)
      : words_(value_bytes / sizeof(Word)), data_(count * words_) {}

  std::size_t bytes() const { return words_ * sizeof(Word); }
  Word* at(std::size_t i) { return data_.data() + i * words_; }

  void fill(std::size_t i, Word key, Word stamp) {
    for (std::size_t w = 0; w < words_; ++w) at(i)[w] = value_word(key, w, stamp);
  }
  /// So that what is read next is not what was read before.
  void clear() { std::fill(data_.begin(), data_.end(), 0); }
  /// First and last word: quick enough to be timed with what it verifies.
  bool right(std::size_t i, Word key, Word stamp) {
    return (*at(i) ^ value_word(key, 0, stamp)) == 0 &&
           (at(i)[words_ - 1] ^ value_word(key, words_ - 1, stamp)) == 0;
  }
  bool all_right(std::size_t i, Word key, Word stamp);
  /// The whole value that some PE has given the key, whichever stamp that had.
  bool plausible(std::size_t i, Word key) {
    return has_some_stamp(key, *at(i)) && at(i)[words_ - 1] == *at(i) + words_ - 1;
  }

 private:
  std::size_t words_;
  std::vector<Word> data_;
};

}  // namespace bench
