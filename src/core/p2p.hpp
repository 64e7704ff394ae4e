// SPDX-License-Identifier: BSD-3-Clause
// Point-to-point synchronization: wait until, or test whether, local words that other PEs update compare as
// asked (OpenSHMEM 1.6, section 9.11).
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "core/address.hpp"
#include "core/region.hpp"
#include "core/wait.hpp"
#include "shmem.h"

namespace shm {

/// REQUIRES: cmp is one of the SHMEM_CMP constants (check_comparison).
template <class T>
[[gnu::always_inline]] inline bool compare(T left, int cmp, T right) {
  switch (cmp) {
    case SHMEM_CMP_EQ: return left == right;
    case SHMEM_CMP_NE: return left != right;
    case SHMEM_CMP_GT: return left > right;
    case SHMEM_CMP_LE: return left <= right;
    case SHMEM_CMP_LT: return left < right;
    default: return left >= right;
  }
}

/// Ends the job unless `cmp` is a comparison, `words` is aligned to the size of a word, and [words, words +
/// n) is symmetric memory of this PE.
[[gnu::cold]] void check_wait(Call call, const char* argument, const void* words, std::size_t word,
                              std::size_t n, int cmp);

/// The word as its region sees it.
[[gnu::cold]] std::uint64_t load_from_region(const void* word, std::size_t n);

/// Own words of type T, read so that what their writer ordered before them is visible once they are.
template <class T>
class Words {
 public:
  Words(Call call, const char* argument, const T* words, std::size_t count, int cmp) : words_(words) {
    const auto address = reinterpret_cast<std::uintptr_t>(words);
    std::size_t n = 0;
    if (__builtin_mul_overflow(count, sizeof(T), &n)) n = SIZE_MAX;  // which no memory holds
    const bool known = (rt.heap.holds(address, n) || rt.statics.holds(address, n)) &&
                       (address & (sizeof(T) - 1)) == 0 && static_cast<unsigned>(cmp) <= SHMEM_CMP_GE;
    if (!known && count > 0) [[unlikely]] {
      check_wait(call, argument, words, sizeof(T), n, cmp);
      paged_ = find_region(address, n) != nullptr;
    }
  }

  T operator[](std::size_t i) const {
    if (!paged_) [[likely]]
      return __atomic_load_n(words_ + i, __ATOMIC_ACQUIRE);
    const std::uint64_t bits = load_from_region(words_ + i, sizeof(T));
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
  }

 private:
  const T* words_;
  bool paged_ = false;
};

/// Say that `call` waits until a word compares as asked with `value`, while it is `now`; or one of `count`
/// words.
[[gnu::cold]] void describe_word(WaitRecord& record, Call call, const char* argument, const void* word,
                                 int cmp, long double value, long double now);
[[gnu::cold]] void describe_words(WaitRecord& record, Call call, const void* words, std::size_t count);

/// Gives the library a chance to act, for programs that poll with the test functions.
void poll_progress();

/// A signal word.  Programs spin on it as they do on a test, so each look makes progress first.
inline std::uint64_t fetch_signal(Call call, const std::uint64_t* word) {
  const Words<std::uint64_t> words(call, "sig_addr", word, 1, SHMEM_CMP_EQ);
  poll_progress();
  return words[0];
}

template <class T>
T wait_until(Call call, const char* argument, const T* word, int cmp, T value) {
  const Words<T> words(call, argument, word, 1, cmp);
  T now = words[0];
  const auto describe = [&](WaitRecord& record) {
    describe_word(record, call, argument, word, cmp, static_cast<long double>(value),
                  static_cast<long double>(words[0]));
  };
  for (Waiter waiter; !compare(now, cmp, value); now = words[0]) waiter.pause(describe);
  return now;
}

template <class T>
bool test(Call call, const T* word, int cmp, T value) {
  const Words<T> words(call, "ivar", word, 1, cmp);
  if (compare(words[0], cmp, value)) return true;
  poll_progress();
  return compare(words[0], cmp, value);
}

/// The arguments that the _all, _any and _some families share.  Element i takes part if status is null or
/// status[i] is 0, and is compared with values[i * step]: step 0 for one value, 1 for the _vector forms.
template <class T>
struct Elements {
  const T* words;
  std::size_t count;
  const int* status;
  int cmp;
  const T* values;
  std::size_t step;

  bool included(std::size_t i) const { return status == nullptr || status[i] == 0; }
  bool empty() const {
    for (std::size_t i = 0; i < count; ++i) {
      if (included(i)) return false;
    }
    return true;
  }
  bool satisfied(const Words<T>& now, std::size_t i) const { return compare(now[i], cmp, values[i * step]); }
};

template <class T>
bool all_satisfied(const Elements<T>& e, const Words<T>& now) {
  for (std::size_t i = 0; i < e.count; ++i) {
    if (e.included(i) && !e.satisfied(now, i)) return false;
  }
  return true;
}

/// Where the searches of a thread for any element begin: behind the one that was found last, and now and then
/// anywhere, so that no pattern of calls on this array and others passes over an element for ever.
class SearchTurn {
 public:
  /// A place below `count`, which is not 0.
  std::size_t begin(std::size_t count) {
    random_ = random_ * 6364136223846793005u + 1442695040888963407u;  // the top bits are the best ones
    if (random_ >> 62 == 0) next_ = random_ ^ random_ >> 32;
    return next_ < count ? next_ : next_ % count;
  }
  void found(std::size_t i) { next_ = i + 1; }

 private:
  std::size_t next_ = 0;
  std::uint64_t random_ = 1;
};

/// Index of a satisfied element, or SIZE_MAX.
template <class T>
std::size_t any_satisfied(const Elements<T>& e, const Words<T>& now, SearchTurn& turn) {
  if (e.count == 0) return SIZE_MAX;
  const std::size_t begin = turn.begin(e.count);
  std::size_t end = e.count;
  for (std::size_t i = begin;; ++i) {
    if (i == end) {
      if (end == begin) return SIZE_MAX;
      i = 0, end = begin;
      if (end == 0) return SIZE_MAX;
    }
    if (!e.included(i) || !e.satisfied(now, i)) continue;
    turn.found(i);
    return i;
  }
}

/// Number of satisfied elements, whose indices go to `indices`.
template <class T>
std::size_t some_satisfied(const Elements<T>& e, const Words<T>& now, std::size_t* indices) {
  std::size_t found = 0;
  for (std::size_t i = 0; i < e.count; ++i) {
    if (e.included(i) && e.satisfied(now, i)) indices[found++] = i;
  }
  return found;
}

inline thread_local SearchTurn search_turn;

template <class T>
void wait_all(Call call, const Elements<T>& e) {
  const Words<T> now(call, "ivars", e.words, e.count, e.cmp);
  // Words are waited for one after the other: once satisfied, an element need not be looked at again.
  for (std::size_t i = 0; i < e.count; ++i) {
    if (!e.included(i)) continue;
    const auto describe = [&](WaitRecord& record) {
      describe_word(record, call, "ivars", e.words + i, e.cmp, static_cast<long double>(e.values[i * e.step]),
                    static_cast<long double>(now[i]));
    };
    for (Waiter waiter; !e.satisfied(now, i);) waiter.pause(describe);
  }
}

template <class T>
std::size_t wait_any(Call call, const Elements<T>& e) {
  const Words<T> now(call, "ivars", e.words, e.count, e.cmp);
  if (e.empty()) return SIZE_MAX;
  const auto describe = [&](WaitRecord& record) { describe_words(record, call, e.words, e.count); };
  for (Waiter waiter;; waiter.pause(describe)) {
    const std::size_t i = any_satisfied(e, now, search_turn);
    if (i != SIZE_MAX) return i;
  }
}

template <class T>
std::size_t wait_some(Call call, const Elements<T>& e, std::size_t* indices) {
  const Words<T> now(call, "ivars", e.words, e.count, e.cmp);
  check_array(call, "indices", indices, e.count);
  if (e.empty()) return 0;
  const auto describe = [&](WaitRecord& record) { describe_words(record, call, e.words, e.count); };
  for (Waiter waiter;; waiter.pause(describe)) {
    const std::size_t found = some_satisfied(e, now, indices);
    if (found > 0) return found;
  }
}

template <class T>
bool test_all(Call call, const Elements<T>& e) {
  const Words<T> now(call, "ivars", e.words, e.count, e.cmp);
  if (all_satisfied(e, now)) return true;
  poll_progress();
  return all_satisfied(e, now);
}

template <class T>
std::size_t test_any(Call call, const Elements<T>& e) {
  const Words<T> now(call, "ivars", e.words, e.count, e.cmp);
  const std::size_t i = any_satisfied(e, now, search_turn);
  if (i != SIZE_MAX) return i;
  poll_progress();
  return any_satisfied(e, now, search_turn);
}

template <class T>
std::size_t test_some(Call call, const Elements<T>& e, std::size_t* indices) {
  const Words<T> now(call, "ivars", e.words, e.count, e.cmp);
  check_array(call, "indices", indices, e.count);
  const std::size_t found = some_satisfied(e, now, indices);
  if (found > 0) return found;
  poll_progress();
  return some_satisfied(e, now, indices);
}

}  // namespace shm
