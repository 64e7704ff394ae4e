// SPDX-License-Identifier: BSD-3-Clause
// The key/value store of shmemx.h, typed: shmemx::kv_table<Key, Value>.  C++17 and nothing but the standard
// library.
//
// What is said in shmem/kv.h holds: what is atomic, in which order calls take effect, which of them are
// collective, and what each can return.  Here is what types add:
//
//   * Keys are compared as bytes: a Key has no padding, and one way to write each value.  Integers, enums,
//     and arrays and structs of them are fine, floating point is not.  A Value is any trivially copyable
//     type.
//   * Every element has a whole Key and a whole Value, so nothing is ever SHMEMX_KV_TOO_LARGE.  What is put
//     through handle() should have both: local() skips elements of other lengths, and of a value that is
//     shorter the members below give its bytes and then undefined ones.
//   * A batch takes contiguous ranges: std::vector, std::array, built-in arrays, whatever std::data and
//     std::size take.  Their sizes are compared; the job ends with a line if they differ.
//
// This header is apart from shmemx.h because its members are words, such as get, that a C program may have as
// macros.
#ifndef SHMEMX_KV_HPP
#define SHMEMX_KV_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <memory>
#include <optional>
#include <type_traits>
#include <utility>

#include "shmemx.h"
#include "shmemx_kv_batches.hpp"

namespace shmemx {

/// An element; `auto [key, value]` takes it apart.
template <class Key, class Value>
struct kv_element {
  Key key;
  Value value;
};

/// A table of keys and values of these types.  Making one is collective over the world, or a team, with the
/// same arguments.  Members may be called by any thread of any PE at any time unless said to be collective.
template <class Key, class Value>
class kv_table : public kv_batches<Key, Value> {
  using kv_batches<Key, Value>::kv_;

  static_assert(std::is_trivially_copyable_v<Key> && std::is_trivially_copyable_v<Value>,
                "shmemx::kv_table: keys and values travel as bytes, so both must be trivially copyable");
  static_assert(std::has_unique_object_representations_v<Key>,
                "shmemx::kv_table: keys are compared as bytes: no padding, and no floating point");
  static_assert(std::is_default_constructible_v<Key> && std::is_default_constructible_v<Value>,
                "shmemx::kv_table: what is got needs an object to go to");

 public:
  using key_type = Key;
  using mapped_type = Value;
  using value_type = kv_element<Key, Value>;

  /// Of no table.
  kv_table() = default;

  /// Collective.  Room for `capacity` elements of all PEs together; with a name an object of the NVM heap.
  /// Where there is no room the handle is of no table (operator bool), on all PEs; a line on stderr says why.
  explicit kv_table(std::uint64_t capacity, const char* name = nullptr) { open(with(capacity, name)); }

  /// The same with all options; those for the sizes of keys and values are taken from the types.
  explicit kv_table(const ::shmemx_kv_options_t& options) { open(options); }

  /// Collective over the team, whose PEs alone have and use the table (shmemx_kv_team_create); PE numbers
  /// below are then those of the team.
  kv_table(::shmem_team_t team, std::uint64_t capacity) { open(team, with(capacity, nullptr)); }
  kv_table(::shmem_team_t team, const ::shmemx_kv_options_t& options) { open(team, options); }

  // ---- One key.

  kv_status put(const Key& key, const Value& value) {
    return status(::shmemx_kv_put(kv_, &key, sizeof key, &value, sizeof value));
  }
  kv_status insert(const Key& key, const Value& value) {
    return status(::shmemx_kv_insert(kv_, &key, sizeof key, &value, sizeof value));
  }
  kv_status update(const Key& key, const Value& value) {
    return status(::shmemx_kv_update(kv_, &key, sizeof key, &value, sizeof value));
  }

  /// The value of the key, if it is there.
  std::optional<Value> get(const Key& key) const {
    std::optional<Value> found(std::in_place);
    if (::shmemx_kv_get(kv_, &key, sizeof key, &*found, sizeof *found, nullptr) != SHMEMX_KV_OK)
      found.reset();
    return found;
  }

  /// Waits until the key is there.
  Value get_wait(const Key& key) const {
    Value found{};
    ::shmemx_kv_get_wait(kv_, &key, sizeof key, &found, sizeof found, nullptr);
    return found;
  }

  bool contains(const Key& key) const { return ::shmemx_kv_contains(kv_, &key, sizeof key) == SHMEMX_KV_OK; }

  /// Whether the key was there.
  bool remove(const Key& key) { return ::shmemx_kv_remove(kv_, &key, sizeof key) == SHMEMX_KV_OK; }

  /// As put; SHMEMX_KV_INSERTED where the key was not there.
  kv_status insert_or_update(const Key& key, const Value& value) {
    return status(::shmemx_kv_insert_or_update(kv_, &key, sizeof key, &value, sizeof value));
  }
  /// SHMEMX_KV_OK: the key is there, and *found has its value; SHMEMX_KV_INSERTED: it has got this one.
  kv_status get_or_insert(const Key& key, const Value& value, Value* found) {
    return status(::shmemx_kv_get_or_insert(kv_, &key, sizeof key, &value, sizeof value, found, sizeof *found,
                                            nullptr));
  }
  /// As put; SHMEMX_KV_OK: *old has the value that was there; SHMEMX_KV_INSERTED: there was none.
  kv_status exchange(const Key& key, const Value& value, Value* old) {
    return status(
        ::shmemx_kv_exchange(kv_, &key, sizeof key, &value, sizeof value, old, sizeof *old, nullptr));
  }
  /// The value of the key, which is removed.
  std::optional<Value> take(const Key& key) {
    std::optional<Value> found(std::in_place);
    if (::shmemx_kv_take(kv_, &key, sizeof key, &*found, sizeof *found, nullptr) != SHMEMX_KV_OK)
      found.reset();
    return found;
  }

  /// value = value op operand, if the key is there; *old, unless nullptr, gets what the value was.
  kv_status accumulate(const Key& key, kv_op op, const Value& operand, Value* old = nullptr) {
    return status(
        ::shmemx_kv_accumulate(kv_, &key, sizeof key, 0, kv_detail::type_of<Value>(), op, &operand, old));
  }

  /// The same with a member of the value: accumulate(key, &Account::balance, SHMEMX_KV_ADD, 5).
  template <class Word, class Class>
  kv_status accumulate(const Key& key, Word Class::*member, kv_op op, const kv_detail::as<Word>& operand,
                       kv_detail::as<Word>* old = nullptr) {
    return status(::shmemx_kv_accumulate(kv_, &key, sizeof key, kv_detail::offset_of<Value>(member),
                                         kv_detail::type_of<Word>(), op, &operand, old));
  }

  /// value = value op operand; where the key is not there it gets the operand as value, and *old zero.
  kv_status upsert(const Key& key, kv_op op, const Value& operand, Value* old = nullptr) {
    return status(::shmemx_kv_upsert(kv_, &key, sizeof key, kv_detail::type_of<Value>(), op, &operand, old));
  }

  /// If the value is `expected` it becomes `desired`; *old, unless nullptr, gets what it was.  Values are
  /// compared as bytes, so a Value has no padding; of floating point, -0 is not 0 and a NaN may be itself.
  kv_status compare_swap(const Key& key, const Value& expected, const Value& desired, Value* old = nullptr) {
    return compare_swap_at(key, 0, expected, desired, old);
  }

  /// The same with a member of the value: compare_swap(key, &Account::owner, nobody, me).
  template <class Word, class Class>
  kv_status compare_swap(const Key& key, Word Class::*member, const kv_detail::as<Word>& expected,
                         const kv_detail::as<Word>& desired, kv_detail::as<Word>* old = nullptr) {
    return compare_swap_at(key, kv_detail::offset_of<Value>(member), expected, desired, old);
  }

  /// What the function (shmemx_kv_register) makes of the value, with the operand.
  template <class Operand>
  kv_status apply(const Key& key, int function, const Operand& operand, Value* old = nullptr) {
    static_assert(std::is_trivially_copyable_v<Operand>, "shmemx::kv_table: an operand travels as bytes");
    return status(::shmemx_kv_apply(kv_, &key, sizeof key, function, &operand, sizeof operand, old,
                                    old == nullptr ? 0 : sizeof *old, nullptr));
  }

  // ---- Nonblocking: complete after quiet.  Keys and values are copied; what a pointer names is not to be
  // touched until then.  *status, unless nullptr, is SHMEMX_KV_PENDING at first; what is got is undefined
  // where it does not become SHMEMX_KV_OK.

  void put_nbi(const Key& key, const Value& value, int* status = nullptr) {
    ::shmemx_kv_put_nbi(kv_, &key, sizeof key, &value, sizeof value, status);
  }
  void insert_nbi(const Key& key, const Value& value, int* status = nullptr) {
    ::shmemx_kv_insert_nbi(kv_, &key, sizeof key, &value, sizeof value, status);
  }
  void update_nbi(const Key& key, const Value& value, int* status = nullptr) {
    ::shmemx_kv_update_nbi(kv_, &key, sizeof key, &value, sizeof value, status);
  }
  void get_nbi(const Key& key, Value* value, int* status = nullptr) const {
    ::shmemx_kv_get_nbi(kv_, &key, sizeof key, value, sizeof *value, nullptr, status);
  }
  void remove_nbi(const Key& key, int* status = nullptr) {
    ::shmemx_kv_remove_nbi(kv_, &key, sizeof key, status);
  }
  void accumulate_nbi(const Key& key, kv_op op, const Value& operand, Value* old = nullptr,
                      int* status = nullptr) {
    ::shmemx_kv_accumulate_nbi(kv_, &key, sizeof key, 0, kv_detail::type_of<Value>(), op, &operand, old,
                               status);
  }
  void upsert_nbi(const Key& key, kv_op op, const Value& operand, Value* old = nullptr,
                  int* status = nullptr) {
    ::shmemx_kv_upsert_nbi(kv_, &key, sizeof key, kv_detail::type_of<Value>(), op, &operand, old, status);
  }

  // The same with a request, which says when this call alone is complete.

  [[nodiscard]] kv_request put_nbr(const Key& key, const Value& value, int* status = nullptr) {
    kv_request request;
    ::shmemx_kv_put_nbr(kv_, &key, sizeof key, &value, sizeof value, status, request.handle());
    return request;
  }
  [[nodiscard]] kv_request insert_nbr(const Key& key, const Value& value, int* status = nullptr) {
    kv_request request;
    ::shmemx_kv_insert_nbr(kv_, &key, sizeof key, &value, sizeof value, status, request.handle());
    return request;
  }
  [[nodiscard]] kv_request update_nbr(const Key& key, const Value& value, int* status = nullptr) {
    kv_request request;
    ::shmemx_kv_update_nbr(kv_, &key, sizeof key, &value, sizeof value, status, request.handle());
    return request;
  }
  [[nodiscard]] kv_request get_nbr(const Key& key, Value* value, int* status = nullptr) const {
    kv_request request;
    ::shmemx_kv_get_nbr(kv_, &key, sizeof key, value, sizeof *value, nullptr, status, request.handle());
    return request;
  }
  [[nodiscard]] kv_request remove_nbr(const Key& key, int* status = nullptr) {
    kv_request request;
    ::shmemx_kv_remove_nbr(kv_, &key, sizeof key, status, request.handle());
    return request;
  }
  [[nodiscard]] kv_request accumulate_nbr(const Key& key, kv_op op, const Value& operand,
                                          Value* old = nullptr, int* status = nullptr) {
    kv_request request;
    ::shmemx_kv_accumulate_nbr(kv_, &key, sizeof key, 0, kv_detail::type_of<Value>(), op, &operand, old,
                               status, request.handle());
    return request;
  }
  [[nodiscard]] kv_request upsert_nbr(const Key& key, kv_op op, const Value& operand, Value* old = nullptr,
                                      int* status = nullptr) {
    kv_request request;
    ::shmemx_kv_upsert_nbr(kv_, &key, sizeof key, kv_detail::type_of<Value>(), op, &operand, old, status,
                           request.handle());
    return request;
  }

  /// Completes what this PE has issued.
  void quiet() const { ::shmemx_kv_quiet(kv_); }
  /// Makes progress; whether quiet would not wait.
  bool test() const { return ::shmemx_kv_test(kv_) != 0; }
  /// What this thread issues next takes effect after what it has issued.
  void fence() const { ::shmemx_kv_fence(kv_); }

  // ---- Many keys: put_batch, get_batch and so on are members of kv_batches (shmemx_kv_batches.hpp).

  // ---- The table.

  /// The PE that has, or would have, the key.
  int pe_of(const Key& key) const { return ::shmemx_kv_pe(kv_, &key, sizeof key); }
  /// Elements of all PEs, and of this one; exact if nobody changes the table meanwhile.
  std::uint64_t count() const { return ::shmemx_kv_count(kv_); }
  std::uint64_t count_local() const { return ::shmemx_kv_count_local(kv_); }
  ::shmemx_kv_stats_t stats() const {
    ::shmemx_kv_stats_t found{};
    ::shmemx_kv_stats(kv_, &found);
    return found;
  }
  /// f(key, value) for the elements of a PE, whichever; beside changes as local().
  template <class F>
  void scan(int pe, F f) const {
    constexpr std::size_t most = 64;
    const std::unique_ptr<Key[]> keys(new Key[most]);
    const std::unique_ptr<Value[]> values(new Value[most]);
    std::size_t key_bytes[most], value_bytes[most], n = 0;
    for (std::uint64_t cursor = 0;
         ::shmemx_kv_scan(kv_, pe, &cursor, most, keys.get(), sizeof(Key), key_bytes, values.get(),
                          sizeof(Value), value_bytes, &n) == SHMEMX_KV_OK;)
      for (std::size_t i = 0; i < n; ++i)
        if (key_bytes[i] == sizeof(Key) && value_bytes[i] == sizeof(Value)) f(keys[i], values[i]);
  }
  /// Removes the elements of this PE for which f(key, value), which looks only and does not throw, is true.
  template <class F>
  std::uint64_t remove_if(F f) {
    const auto holds = [](const void* key, std::size_t key_bytes, const void* value, std::size_t value_bytes,
                          void* context) noexcept -> int {
      if (key_bytes != sizeof(Key) || value_bytes != sizeof(Value)) return 0;
      Key typed_key;
      Value typed_value;
      std::memcpy(&typed_key, key, sizeof(Key));
      std::memcpy(&typed_value, value, sizeof(Value));
      return (*static_cast<F*>(context))(std::as_const(typed_key), std::as_const(typed_value)) ? 1 : 0;
    };
    return ::shmemx_kv_remove_if(kv_, holds, &f);
  }
  void clear() { ::shmemx_kv_clear(kv_); }
  /// Collective, as what follows; no other call on the table meanwhile.
  kv_status resize(std::uint64_t capacity) { return status(::shmemx_kv_resize(kv_, capacity)); }
  void persist() { ::shmemx_kv_persist(kv_); }

  /// Elements of this PE, once through (input iterators): for (auto [key, value] : table.local()).  While
  /// others change the table, elements that are there all the time come exactly once, others once or not at
  /// all.
  class local_range {
   public:
    class iterator {
     public:
      using iterator_category = std::input_iterator_tag;
      using value_type = kv_element<Key, Value>;
      using difference_type = std::ptrdiff_t;
      using pointer = const value_type*;
      using reference = const value_type&;

      /// The end.
      iterator() = default;
      /// The first element of this PE; the table outlives the iterator.
      explicit iterator(::shmemx_kv_t kv) : kv_(kv) { ++*this; }

      reference operator*() const { return element_; }
      pointer operator->() const { return &element_; }
      iterator& operator++() {
        std::size_t key_bytes = 0, value_bytes = 0;
        do {
          if (::shmemx_kv_next_local(kv_, &cursor_, &element_.key, sizeof(Key), &key_bytes, &element_.value,
                                     sizeof(Value), &value_bytes) != SHMEMX_KV_OK)
            kv_ = nullptr;
        } while (kv_ != nullptr && (key_bytes != sizeof(Key) || value_bytes != sizeof(Value)));
        return *this;
      }
      /// *it++ lasts as long as what it++ returns.
      iterator operator++(int) {
        iterator before = *this;
        ++*this;
        return before;
      }
      /// Only whether both are at the end, or neither is.
      friend bool operator==(const iterator& a, const iterator& b) { return a.kv_ == b.kv_; }
      friend bool operator!=(const iterator& a, const iterator& b) { return a.kv_ != b.kv_; }

     private:
      ::shmemx_kv_t kv_ = nullptr;
      std::uint64_t cursor_ = 0;
      value_type element_{};
    };

    explicit local_range(::shmemx_kv_t kv) : kv_(kv) {}
    iterator begin() const { return iterator(kv_); }
    iterator end() const { return iterator(); }

   private:
    ::shmemx_kv_t kv_;
  };
  local_range local() const { return local_range(kv_); }

 private:
  static kv_status status(int code) { return static_cast<kv_status>(code); }

  static ::shmemx_kv_options_t with(std::uint64_t capacity, const char* name) {
    ::shmemx_kv_options_t options{};
    options.capacity = capacity;
    options.name = name;
    return options;
  }

  static ::shmemx_kv_options_t typed(::shmemx_kv_options_t options) {
    options.key_bytes = sizeof(Key);
    options.value_bytes = sizeof(Value);
    return options;
  }
  void open(const ::shmemx_kv_options_t& options) { this->kv_handle::open(typed(options)); }
  void open(::shmem_team_t team, const ::shmemx_kv_options_t& options) {
    this->kv_handle::open(team, typed(options));
  }

  template <class Word>
  kv_status compare_swap_at(const Key& key, std::size_t offset, const Word& expected, const Word& desired,
                            Word* old) {
    static_assert(kv_detail::comparable<Word>,
                  "shmemx::kv_table: compare_swap compares bytes: no padding, and no long double");
    return status(
        ::shmemx_kv_compare_swap(kv_, &key, sizeof key, offset, sizeof(Word), &expected, &desired, old));
  }
};

}  // namespace shmemx

#endif
