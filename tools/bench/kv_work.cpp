// SPDX-License-Identifier: BSD-3-Clause
#include "kv_work.hpp"

#include <algorithm>
#include <cstdio>
#include <utility>
#include <vector>

#include "measure.hpp"

namespace bench {
namespace {

/// The smallest of all PEs' that is not zero.
std::size_t least(std::size_t value) {
  return static_cast<std::size_t>(1 / largest(value == 0 ? 0 : 1 / static_cast<double>(value)) + 0.5);
}

/// A get of any key.
struct OneKey {
  shmemx_kv_t kv;
  std::size_t key_bytes;
  Word* value;
  std::size_t room, last;  ///< bytes; the last word
  Word stamp;

  int ask(const Word* key) const { return shmemx_kv_get(kv, key, key_bytes, value, room, nullptr); }
  /// 0: it is right, as the first and the last word of the value tell.  Without a branch by which the
  /// processor could know that before it has the value.
  Word get(const Word* key) const {
    const auto status = static_cast<Word>(ask(key));
    return status | (*value ^ value_word(*key, 0, stamp)) | (value[last] ^ value_word(*key, last, stamp));
  }
};

}  // namespace

Work::Work(const Store& store, Keys keys, bool works, std::size_t batch)
    : store_(store),
      keys_(std::move(keys)),
      works_(works),
      batch_(batch),
      values_(std::max<std::size_t>(batch, 1), store.value_bytes()),
      most_(least(works ? keys_.size() : 0)) {}

void Work::expect(bool condition, const char* what) {
  if (!condition && right_) std::fprintf(stderr, "shmem_bench: PE %d: %s\n", shmem_my_pe(), what);
  right_ = right_ && condition;
}

template <class Body>
double Work::timed(Body body) {
  values_.clear();
  double took = 0;
  shmem_barrier_all();
  if (works_) {
    const double start = now();
    body();
    took = now() - start;
  }
  shmem_barrier_all();
  return largest(took);
}

/// `call(at)` takes the batch of keys from `at` on, and says whether it was right.
template <class Call>
double Work::in_batches(std::size_t count, Call call) {
  return timed([&] {
    bool right = true;
    for (std::size_t done = 0, at = 0; done < count; done += batch_, at += batch_) {
      if (at + batch_ > keys_.size()) at = 0;
      right = call(at) && right;
    }
    expect(right, "a batch had a wrong status or value");
  });
}

/// Gets `count` keys, one after the other and all over again: `get(call, key)` says what is wrong, 0 for
/// nothing, and `chained` that only this says where the next key is.  What is the same for all is where the
/// compiler knows that calls do not change it, so that little more than they is measured.
template <bool chained, class Get>
double Work::in_turn(std::size_t count, const char* what_is_wrong, Get get) {
  return timed([&] {
    const OneKey call{
        store_.kv(), keys_.bytes(), values_.at(0), values_.bytes(), values_.bytes() / sizeof(Word) - 1,
        stamp_};
    const std::size_t keys = keys_.size(), words = keys_.bytes() / sizeof(Word);
    const Word* const first = keys_.words();
    Word all_wrong = 0;
    std::size_t at = next_;
    for (std::size_t i = 0; i < count; ++i) {
      const Word wrong = get(call, first + at * words);
      all_wrong |= wrong;
      at += 1 + (chained ? wrong : 0);
      if (at >= keys) at = 0;
    }
    next_ = at;
    expect(all_wrong == 0, what_is_wrong);
  });
}

double Work::get_one_by_one(std::size_t count) {
  return in_turn<false>(count, "a get had a wrong status or value",
                        [](const OneKey& call, const Word* key) { return call.get(key); });
}

double Work::get(std::size_t count) {
  if (batch_ == 0) return get_one_by_one(count);
  return in_batches(count, [&](std::size_t at) {
    bool right = shmemx_kv_get_batch(store_.kv(), batch_, keys_.at(at), keys_.bytes(), values_.at(0),
                                     values_.bytes(), nullptr, nullptr) == SHMEMX_KV_OK;
    for (std::size_t i = 0; i < batch_; ++i) right = values_.right(i, keys_.word(at + i), stamp_) && right;
    return right;
  });
}

double Work::get_chained(std::size_t count) {
  return in_turn<true>(count, "a get had a wrong status or value",
                       [](const OneKey& call, const Word* key) { return call.get(key); });
}

double Work::get_absent(std::size_t count) {
  return in_turn<false>(count, "a key was found that nobody has put",
                        [](const OneKey& call, const Word* key) {
                          return static_cast<Word>(call.ask(key) == SHMEMX_KV_NOT_FOUND ? 0 : 1);
                        });
}

double Work::update(std::size_t count) {
  ++stamp_;
  const std::size_t began = next_;
  const double took = timed([&] {
    bool right = true;
    std::size_t at = next_;
    for (std::size_t i = 0; i < count; ++i) {
      values_.fill(0, keys_.word(at), stamp_);
      right = shmemx_kv_update(store_.kv(), keys_.at(at), keys_.bytes(), values_.at(0), values_.bytes()) ==
                  SHMEMX_KV_OK &&
              right;
      if (++at == keys_.size()) at = 0;
    }
    expect(right, "an update had a wrong status");
    next_ = at;
  });
  if (works_) {
    const std::size_t updated = std::min(count, keys_.size()), before_end = keys_.size() - began;
    const std::size_t first = std::min(updated, before_end);
    expect(
        store_.all_right(keys_, began, first, stamp_) && store_.all_right(keys_, 0, updated - first, stamp_),
        "an update left a wrong value");
  }
  return took;
}

double Work::insert_one_by_one(std::size_t count) {
  return timed([&] {
    bool right = true;
    for (std::size_t i = 0; i < count; ++i) {
      values_.fill(0, keys_.word(i), stamp_);
      right = shmemx_kv_insert(store_.kv(), keys_.at(i), keys_.bytes(), values_.at(0), values_.bytes()) ==
                  SHMEMX_KV_OK &&
              right;
    }
    expect(right, "an insert had a wrong status");
  });
}

double Work::insert_in_batches(std::size_t count) {
  return in_batches(count, [&](std::size_t at) {
    for (std::size_t i = 0; i < batch_; ++i) values_.fill(i, keys_.word(at + i), stamp_);
    return shmemx_kv_insert_batch(store_.kv(), batch_, keys_.at(at), keys_.bytes(), values_.at(0),
                                  values_.bytes(), nullptr) == SHMEMX_KV_OK;
  });
}

double Work::insert(std::size_t count) {
  ++stamp_;
  const double took = batch_ == 0 ? insert_one_by_one(count) : insert_in_batches(count);
  if (works_) {
    expect(store_.all_right(keys_, 0, count, stamp_), "an insert left a wrong value");
    expect(shmemx_kv_count(store_.kv()) == store_.elements() + count,
           "inserts left a wrong number of elements");
    const std::size_t chunk = chunk_of(values_.bytes());
    for (std::size_t from = 0; from < count; from += chunk)
      expect(shmemx_kv_remove_batch(store_.kv(), std::min(chunk, count - from), keys_.at(from), keys_.bytes(),
                                    nullptr) == SHMEMX_KV_OK,
             "what was inserted could not be removed");
  }
  shmem_barrier_all();
  return took;
}

double Work::change(std::size_t count) {
  ++stamp_;
  const std::size_t most = count / 3 + (count % 3 != 0 ? 1 : 0);
  const double took = timed([&] {
    bool right = true;
    for (std::size_t i = 0, at = 0; i < most; ++i) {
      const void* key = keys_.at(at);
      right = shmemx_kv_remove(store_.kv(), key, keys_.bytes()) == SHMEMX_KV_OK && right;
      values_.fill(0, keys_.word(at), ~stamp_);
      right =
          shmemx_kv_insert(store_.kv(), key, keys_.bytes(), values_.at(0), values_.bytes()) == SHMEMX_KV_OK &&
          right;
      values_.fill(0, keys_.word(at), stamp_);
      right =
          shmemx_kv_update(store_.kv(), key, keys_.bytes(), values_.at(0), values_.bytes()) == SHMEMX_KV_OK &&
          right;
      if (++at == keys_.size()) at = 0;
    }
    expect(right, "a change had a wrong status");
  });
  if (works_)
    expect(store_.all_right(keys_, 0, std::min(most, keys_.size()), stamp_), "changes left a wrong value");
  return took;
}

double Work::measure(Kind kind, const KvOptions& options) {
  const std::size_t unit = std::max<std::size_t>(batch_, 1);
  const std::size_t most = kind == &Work::insert ? most_ / unit * unit : kMostNumber * unit;
  const auto whole = [unit](std::size_t n) { return (n + unit - 1) / unit * unit; };
  const std::size_t tried = calibrate(options.seconds, [&](std::size_t n) {
    const double took = (this->*kind)(std::min(whole(n), most));
    return whole(n) >= most ? std::max(took, options.seconds) : took;  // there is no more to do
  });
  const std::size_t count = std::min(whole(tried), most);
  return median_of(options.rounds, count, [&](std::size_t n) { return (this->*kind)(n); });
}

}  // namespace bench
