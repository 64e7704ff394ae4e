// SPDX-License-Identifier: BSD-3-Clause
// Batches of shmemx::kv_table, for shmemx_kv.hpp, and what its types are to shmem/kv.h.  C++17 and nothing
// but the standard library.
#ifndef SHMEMX_KV_BATCHES_HPP
#define SHMEMX_KV_BATCHES_HPP

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <iterator>
#include <type_traits>
#include <utility>

#include "shmemx.h"
#include "shmemx_kv_handle.hpp"

namespace shmemx {

using kv_status = ::shmemx_kv_status;
using kv_op = ::shmemx_kv_op;

namespace kv_detail {

/// Whether words of this type have the operations of shmem_atomic_*.
template <class T>
inline constexpr bool arithmetic = std::is_same_v<T, float> || std::is_same_v<T, double> ||
                                   (std::is_integral_v<T> && (sizeof(T) == 4 || sizeof(T) == 8));

/// What an operand of type T is to accumulate.
template <class T>
constexpr ::shmemx_kv_type type_of() {
  static_assert(arithmetic<T>,
                "shmemx::kv_table: accumulate and upsert take float, double and integers of 4 or 8 bytes");
  if (std::is_same_v<T, float>) return SHMEMX_KV_FLOAT;
  if (std::is_same_v<T, double>) return SHMEMX_KV_DOUBLE;
  if (sizeof(T) == 4) return std::is_signed_v<T> ? SHMEMX_KV_INT32 : SHMEMX_KV_UINT32;
  return std::is_signed_v<T> ? SHMEMX_KV_INT64 : SHMEMX_KV_UINT64;
}

/// The type of the elements of a contiguous range.
template <class Range>
using element_of = std::remove_cv_t<std::remove_pointer_t<decltype(std::data(std::declval<Range&>()))>>;

/// Where a member of a T is.
template <class T, class Word, class Class>
std::size_t offset_of(Word Class::*member) {
  static const T sample{};
  return static_cast<std::size_t>(reinterpret_cast<const char*>(&(sample.*member)) -
                                  reinterpret_cast<const char*>(&sample));
}

/// Whether compare_swap takes T, whose bytes it compares.  long double has padding.
template <class T>
inline constexpr bool comparable =
    std::has_unique_object_representations_v<T> || std::is_same_v<T, float> || std::is_same_v<T, double>;

/// Operands of arithmetic type are taken as T, whatever they are written as.
template <class T>
struct identity {
  using type = T;
};
template <class T>
using as = typename identity<T>::type;

/// Ends the job unless `size`, which is that of an argument of the batch, is the number of keys.
inline void check_size(const char* call, const char* argument, std::size_t size, std::size_t keys) {
  if (size == keys) return;
  std::fprintf(stderr,
               "atoll: PE %d of %d: shmemx::kv_table::%s: %s has %zu elements; allowed are as many as keys "
               "has, which are %zu\n",
               ::shmem_my_pe(), ::shmem_n_pes(), call, argument, size, keys);
  ::shmem_global_exit(1);
}

/// Where results of a batch go: nullptr, a range of as many as there are keys, or a pointer to them, which
/// nobody can check.
template <class T, class Results>
T* results(const char* call, const char* argument, Results& to, std::size_t keys) {
  if constexpr (std::is_pointer_v<Results> || std::is_null_pointer_v<Results>) {
    return to;
  } else {
    check_size(call, argument, std::size(to), keys);
    return std::data(to);
  }
}

}  // namespace kv_detail

/// Calls for many keys: as many as `keys` has, with as many values.  What a call gives, `olds` and `status`,
/// goes to a range of as many, or a pointer to as many, of Value (of the member's type) and int, or is not
/// wanted (nullptr).
template <class Key, class Value>
class kv_batches : public kv_handle {
 public:
  kv_batches() = default;

  // Returned is the first status that is not SHMEMX_KV_OK; status[i] is that of key i.

  template <class Keys, class Values, class Status = std::nullptr_t>
  kv_status put_batch(const Keys& keys, const Values& values, Status&& status = nullptr) {
    return values_batch("put_batch", ::shmemx_kv_put_batch, keys, values, status);
  }
  template <class Keys, class Values, class Status = std::nullptr_t>
  kv_status insert_batch(const Keys& keys, const Values& values, Status&& status = nullptr) {
    return values_batch("insert_batch", ::shmemx_kv_insert_batch, keys, values, status);
  }
  template <class Keys, class Values, class Status = std::nullptr_t>
  kv_status update_batch(const Keys& keys, const Values& values, Status&& status = nullptr) {
    return values_batch("update_batch", ::shmemx_kv_update_batch, keys, values, status);
  }
  /// Values whose status is not SHMEMX_KV_OK are undefined.
  template <class Keys, class Values, class Status = std::nullptr_t>
  kv_status get_batch(const Keys& keys, Values&& values, Status&& status = nullptr) const {
    const auto get = [](::shmemx_kv_t kv, std::size_t n, const void* all_keys, std::size_t key_bytes,
                        void* found, std::size_t room, int* codes) {
      return ::shmemx_kv_get_batch(kv, n, all_keys, key_bytes, found, room, nullptr, codes);
    };
    return values_batch("get_batch", get, keys, values, status);
  }
  template <class Keys, class Status = std::nullptr_t>
  kv_status contains_batch(const Keys& keys, Status&& status = nullptr) const {
    check<const Keys>();
    const std::size_t n = std::size(keys);
    return kv_status(
        ::shmemx_kv_contains_batch(kv_, n, std::data(keys), sizeof(Key),
                                   kv_detail::results<int>("contains_batch", "status", status, n)));
  }
  template <class Keys, class Status = std::nullptr_t>
  kv_status remove_batch(const Keys& keys, Status&& status = nullptr) {
    check<const Keys>();
    const std::size_t n = std::size(keys);
    return kv_status(::shmemx_kv_remove_batch(kv_, n, std::data(keys), sizeof(Key),
                                              kv_detail::results<int>("remove_batch", "status", status, n)));
  }
  /// olds[i] gets what the value of key i was; it is undefined where status[i] is not SHMEMX_KV_OK.
  template <class Keys, class Values, class Olds = std::nullptr_t, class Status = std::nullptr_t>
  kv_status upsert_batch(const Keys& keys, kv_op op, const Values& operands, Olds&& olds = nullptr,
                         Status&& status = nullptr) {
    const Words<Value> all("upsert_batch", keys, operands, olds, status);
    return kv_status(::shmemx_kv_upsert_batch(kv_, all.n, std::data(keys), sizeof(Key), all.type, op,
                                              std::data(operands), all.olds, all.status));
  }
  /// Likewise: the value of each key that is there, or a member of it (accumulate of kv_table).
  template <class Keys, class Values, class Olds = std::nullptr_t, class Status = std::nullptr_t>
  kv_status accumulate_batch(const Keys& keys, kv_op op, const Values& operands, Olds&& olds = nullptr,
                             Status&& status = nullptr) {
    return accumulate_all<Value>(0, keys, op, operands, olds, status);
  }
  template <class Keys, class Word, class Class, class Operands, class Olds = std::nullptr_t,
            class Status = std::nullptr_t>
  kv_status accumulate_batch(const Keys& keys, Word Class::*member, kv_op op, const Operands& operands,
                             Olds&& olds = nullptr, Status&& status = nullptr) {
    return accumulate_all<Word>(kv_detail::offset_of<Value>(member), keys, op, operands, olds, status);
  }
  /// compare_swap of kv_table; olds[i] gets what the value of key i, or its member, was, where status[i] is
  /// SHMEMX_KV_OK or SHMEMX_KV_MISMATCH.
  template <class Keys, class Values, class Desired, class Olds = std::nullptr_t,
            class Status = std::nullptr_t,
            std::enable_if_t<!std::is_member_object_pointer_v<std::remove_cv_t<Values>>, int> = 0>
  kv_status compare_swap_batch(const Keys& keys, const Values& expected, const Desired& desired,
                               Olds&& olds = nullptr, Status&& status = nullptr) {
    return compare_swap_all<Value>(0, keys, expected, desired, olds, status);
  }
  template <class Keys, class Word, class Class, class Expected, class Desired, class Olds = std::nullptr_t,
            class Status = std::nullptr_t>
  kv_status compare_swap_batch(const Keys& keys, Word Class::*member, const Expected& expected,
                               const Desired& desired, Olds&& olds = nullptr, Status&& status = nullptr) {
    return compare_swap_all<Word>(kv_detail::offset_of<Value>(member), keys, expected, desired, olds, status);
  }

  // Nonblocking: `status`, `olds` and what is got are set when the request is complete.

  template <class Keys, class Values, class Status = std::nullptr_t>
  [[nodiscard]] kv_request put_batch_nbi(const Keys& keys, const Values& values, Status&& status = nullptr) {
    return values_batch_nbi("put_batch_nbi", ::shmemx_kv_put_batch_nbi, keys, values, status);
  }
  template <class Keys, class Values, class Status = std::nullptr_t>
  [[nodiscard]] kv_request insert_batch_nbi(const Keys& keys, const Values& values,
                                            Status&& status = nullptr) {
    return values_batch_nbi("insert_batch_nbi", ::shmemx_kv_insert_batch_nbi, keys, values, status);
  }
  template <class Keys, class Values, class Status = std::nullptr_t>
  [[nodiscard]] kv_request update_batch_nbi(const Keys& keys, const Values& values,
                                            Status&& status = nullptr) {
    return values_batch_nbi("update_batch_nbi", ::shmemx_kv_update_batch_nbi, keys, values, status);
  }
  template <class Keys, class Values, class Status = std::nullptr_t>
  [[nodiscard]] kv_request get_batch_nbi(const Keys& keys, Values&& values, Status&& status = nullptr) const {
    const auto get = [](::shmemx_kv_t kv, std::size_t n, const void* all_keys, std::size_t key_bytes,
                        void* found, std::size_t room, int* codes, ::shmemx_kv_request_t* request) {
      ::shmemx_kv_get_batch_nbi(kv, n, all_keys, key_bytes, found, room, nullptr, codes, request);
    };
    return values_batch_nbi("get_batch_nbi", get, keys, values, status);
  }
  template <class Keys, class Status = std::nullptr_t>
  [[nodiscard]] kv_request contains_batch_nbi(const Keys& keys, Status&& status = nullptr) const {
    return keys_batch_nbi("contains_batch_nbi", ::shmemx_kv_contains_batch_nbi, keys, status);
  }
  template <class Keys, class Status = std::nullptr_t>
  [[nodiscard]] kv_request remove_batch_nbi(const Keys& keys, Status&& status = nullptr) {
    return keys_batch_nbi("remove_batch_nbi", ::shmemx_kv_remove_batch_nbi, keys, status);
  }
  template <class Keys, class Values, class Olds = std::nullptr_t, class Status = std::nullptr_t>
  [[nodiscard]] kv_request upsert_batch_nbi(const Keys& keys, kv_op op, const Values& operands,
                                            Olds&& olds = nullptr, Status&& status = nullptr) {
    const Words<Value> all("upsert_batch_nbi", keys, operands, olds, status);
    kv_request request;
    ::shmemx_kv_upsert_batch_nbi(kv_, all.n, std::data(keys), sizeof(Key), all.type, op, std::data(operands),
                                 all.olds, all.status, request.handle());
    return request;
  }
  template <class Keys, class Values, class Olds = std::nullptr_t, class Status = std::nullptr_t>
  [[nodiscard]] kv_request accumulate_batch_nbi(const Keys& keys, kv_op op, const Values& operands,
                                                Olds&& olds = nullptr, Status&& status = nullptr) {
    return accumulate_all_nbi<Value>(0, keys, op, operands, olds, status);
  }
  template <class Keys, class Word, class Class, class Operands, class Olds = std::nullptr_t,
            class Status = std::nullptr_t>
  [[nodiscard]] kv_request accumulate_batch_nbi(const Keys& keys, Word Class::*member, kv_op op,
                                                const Operands& operands, Olds&& olds = nullptr,
                                                Status&& status = nullptr) {
    return accumulate_all_nbi<Word>(kv_detail::offset_of<Value>(member), keys, op, operands, olds, status);
  }
  template <class Keys, class Values, class Desired, class Olds = std::nullptr_t,
            class Status = std::nullptr_t,
            std::enable_if_t<!std::is_member_object_pointer_v<std::remove_cv_t<Values>>, int> = 0>
  [[nodiscard]] kv_request compare_swap_batch_nbi(const Keys& keys, const Values& expected,
                                                  const Desired& desired, Olds&& olds = nullptr,
                                                  Status&& status = nullptr) {
    return compare_swap_all_nbi<Value>(0, keys, expected, desired, olds, status);
  }
  template <class Keys, class Word, class Class, class Expected, class Desired, class Olds = std::nullptr_t,
            class Status = std::nullptr_t>
  [[nodiscard]] kv_request compare_swap_batch_nbi(const Keys& keys, Word Class::*member,
                                                  const Expected& expected, const Desired& desired,
                                                  Olds&& olds = nullptr, Status&& status = nullptr) {
    return compare_swap_all_nbi<Word>(kv_detail::offset_of<Value>(member), keys, expected, desired, olds,
                                      status);
  }

 private:
  /// The arrays of a batch that changes a Word of each value.
  template <class Word>
  struct Changed {
    template <class Keys, class Operands, class Olds, class Status>
    Changed(const char* call, const char* argument, const Keys& keys, const Operands& operands, Olds& to,
            Status& statuses)
        : n(std::size(keys)) {
      check<Keys, Operands, Word>();
      kv_detail::check_size(call, argument, std::size(operands), n);
      olds = kv_detail::results<Word>(call, "olds", to, n);
      status = kv_detail::results<int>(call, "status", statuses, n);
    }
    std::size_t n;
    Word* olds;
    int* status;
  };
  template <class Word>
  struct Words : Changed<Word> {
    template <class Keys, class Operands, class Olds, class Status>
    Words(const char* call, const Keys& keys, const Operands& operands, Olds& to, Status& statuses)
        : Changed<Word>(call, "operands", keys, operands, to, statuses) {}
    static constexpr int type = kv_detail::type_of<Word>();
  };
  template <class Word>
  struct Swapped : Changed<Word> {
    static_assert(kv_detail::comparable<Word>,
                  "shmemx::kv_table: compare_swap compares bytes: no padding, and no long double");
    template <class Keys, class Expected, class Desired, class Olds, class Status>
    Swapped(const char* call, const Keys& keys, const Expected& expected, const Desired& desired, Olds& to,
            Status& statuses)
        : Changed<Word>(call, "expected", keys, expected, to, statuses) {
      check<Keys, Desired, Word>();
      kv_detail::check_size(call, "desired", std::size(desired), this->n);
    }
  };

  template <class Word, class Keys, class Operands, class Olds, class Status>
  kv_status accumulate_all(std::size_t offset, const Keys& keys, kv_op op, const Operands& operands,
                           Olds& olds, Status& status) {
    const Words<Word> all("accumulate_batch", keys, operands, olds, status);
    return kv_status(::shmemx_kv_accumulate_batch(kv_, all.n, std::data(keys), sizeof(Key), offset, all.type,
                                                  op, std::data(operands), all.olds, all.status));
  }
  template <class Word, class Keys, class Operands, class Olds, class Status>
  kv_request accumulate_all_nbi(std::size_t offset, const Keys& keys, kv_op op, const Operands& operands,
                                Olds& olds, Status& status) {
    const Words<Word> all("accumulate_batch_nbi", keys, operands, olds, status);
    kv_request request;
    ::shmemx_kv_accumulate_batch_nbi(kv_, all.n, std::data(keys), sizeof(Key), offset, all.type, op,
                                     std::data(operands), all.olds, all.status, request.handle());
    return request;
  }
  template <class Word, class Keys, class Expected, class Desired, class Olds, class Status>
  kv_status compare_swap_all(std::size_t offset, const Keys& keys, const Expected& expected,
                             const Desired& desired, Olds& olds, Status& status) {
    const Swapped<Word> all("compare_swap_batch", keys, expected, desired, olds, status);
    return kv_status(::shmemx_kv_compare_swap_batch(kv_, all.n, std::data(keys), sizeof(Key), offset,
                                                    sizeof(Word), std::data(expected), std::data(desired),
                                                    all.olds, all.status));
  }
  template <class Word, class Keys, class Expected, class Desired, class Olds, class Status>
  kv_request compare_swap_all_nbi(std::size_t offset, const Keys& keys, const Expected& expected,
                                  const Desired& desired, Olds& olds, Status& status) {
    const Swapped<Word> all("compare_swap_batch_nbi", keys, expected, desired, olds, status);
    kv_request request;
    ::shmemx_kv_compare_swap_batch_nbi(kv_, all.n, std::data(keys), sizeof(Key), offset, sizeof(Word),
                                       std::data(expected), std::data(desired), all.olds, all.status,
                                       request.handle());
    return request;
  }

  /// The batches that pass a value for each key: `function` is one of shmemx_kv_*_batch.
  template <class Function, class Keys, class Values, class Status>
  kv_status values_batch(const char* call, Function function, const Keys& keys, Values& values,
                         Status& status) const {
    check<const Keys, Values>();
    const std::size_t n = std::size(keys);
    kv_detail::check_size(call, "values", std::size(values), n);
    return kv_status(function(kv_, n, std::data(keys), sizeof(Key), std::data(values), sizeof(Value),
                              kv_detail::results<int>(call, "status", status, n)));
  }

  template <class Function, class Keys, class Values, class Status>
  kv_request values_batch_nbi(const char* call, Function function, const Keys& keys, Values& values,
                              Status& status) const {
    check<const Keys, Values>();
    const std::size_t n = std::size(keys);
    const std::size_t of_values = std::size(values);
    kv_detail::check_size(call, "values", of_values, n);
    kv_request request;
    function(kv_, n, std::data(keys), sizeof(Key), std::data(values), sizeof(Value),
             kv_detail::results<int>(call, "status", status, n), request.handle());
    return request;
  }

  template <class Function, class Keys, class Status>
  kv_request keys_batch_nbi(const char* call, Function function, const Keys& keys, Status& status) const {
    check<const Keys>();
    const std::size_t n = std::size(keys);
    kv_request request;
    function(kv_, n, std::data(keys), sizeof(Key), kv_detail::results<int>(call, "status", status, n),
             request.handle());
    return request;
  }

  template <class Keys>
  static constexpr void check() {
    static_assert(std::is_same_v<kv_detail::element_of<Keys>, Key>,
                  "shmemx::kv_table: a batch of other keys");
  }
  template <class Keys, class Values, class Word = Value>
  static constexpr void check() {
    check<Keys>();
    static_assert(std::is_same_v<kv_detail::element_of<Values>, Word>,
                  "shmemx::kv_table: a batch of other values");
  }
};

}  // namespace shmemx

#endif
