// SPDX-License-Identifier: BSD-3-Clause
// Part of shmem.hpp: atomics on words of other PEs, waits for and tests of this PE's own, locks.
#ifndef SHMEM_ATOMICS_HPP
#define SHMEM_ATOMICS_HPP

#include <span>

#include "concepts.hpp"
#include "rma.hpp"

namespace shmem {

// ---- Atomics.  Those that return the old value wait for it.

template <swappable_type T, context_like Where = default_context_t>
[[nodiscard]] T atomic_fetch(const T* word, int pe, [[maybe_unused]] const Where& on = {}) {
  SHMEM_HPP_TYPED_(atomic_fetch, word, pe);
}
template <swappable_type T, context_like Where = default_context_t>
void atomic_set(T* word, std::type_identity_t<T> value, int pe, [[maybe_unused]] const Where& on = {}) {
  SHMEM_HPP_TYPED_(atomic_set, word, value, pe);
}
template <swappable_type T, context_like Where = default_context_t>
T atomic_swap(T* word, std::type_identity_t<T> value, int pe, [[maybe_unused]] const Where& on = {}) {
  SHMEM_HPP_TYPED_(atomic_swap, word, value, pe);
}
template <atomic_type T, context_like Where = default_context_t>
T atomic_compare_swap(T* word, std::type_identity_t<T> expected, std::type_identity_t<T> desired, int pe,
                      [[maybe_unused]] const Where& on = {}) {
  SHMEM_HPP_TYPED_(atomic_compare_swap, word, expected, desired, pe);
}
template <atomic_type T, context_like Where = default_context_t>
T atomic_fetch_inc(T* word, int pe, [[maybe_unused]] const Where& on = {}) {
  SHMEM_HPP_TYPED_(atomic_fetch_inc, word, pe);
}
template <atomic_type T, context_like Where = default_context_t>
void atomic_inc(T* word, int pe, [[maybe_unused]] const Where& on = {}) {
  SHMEM_HPP_TYPED_(atomic_inc, word, pe);
}

// The rest has one shape for each of: with the old value, without, and with the old value by the next quiet.
#define SHMEM_HPP_ATOMIC_(NAME, TYPES, CALL)                            \
  template <TYPES T, context_like Where = default_context_t>            \
  T atomic_fetch_##NAME(T* word, std::type_identity_t<T> value, int pe, \
                        [[maybe_unused]] const Where& on = {}) {        \
    CALL(atomic_fetch_##NAME, word, value, pe);                         \
  }                                                                     \
  template <TYPES T, context_like Where = default_context_t>            \
  void atomic_##NAME(T* word, std::type_identity_t<T> value, int pe,    \
                     [[maybe_unused]] const Where& on = {}) {           \
    CALL(atomic_##NAME, word, value, pe);                               \
  }
#define SHMEM_HPP_LATER_(NAME, TYPES, CALL)                                        \
  template <TYPES T, context_like Where = default_context_t>                       \
  void atomic_##NAME##_nbi(T* old, T* word, std::type_identity_t<T> value, int pe, \
                           [[maybe_unused]] const Where& on = {}) {                \
    CALL(atomic_##NAME##_nbi, old, word, value, pe);                               \
  }
#define SHMEM_HPP_EXTENSION_(OP, ...)                            \
  if constexpr (std::same_as<Where, ::shmem::default_context_t>) \
    return ::shmemx_##OP(__VA_ARGS__);                           \
  else                                                           \
    return ::shmemx_##OP(::shmem::detail::handle(on), __VA_ARGS__)

SHMEM_HPP_ATOMIC_(add, atomic_type, SHMEM_HPP_TYPED_)
SHMEM_HPP_ATOMIC_(and, bitwise_type, SHMEM_HPP_TYPED_)
SHMEM_HPP_ATOMIC_(or, bitwise_type, SHMEM_HPP_TYPED_)
SHMEM_HPP_ATOMIC_(xor, bitwise_type, SHMEM_HPP_TYPED_)
SHMEM_HPP_ATOMIC_(max, swappable_type, SHMEM_HPP_EXTENSION_)
SHMEM_HPP_ATOMIC_(min, swappable_type, SHMEM_HPP_EXTENSION_)

// *old has the old value by the next quiet.
SHMEM_HPP_LATER_(swap, swappable_type, SHMEM_HPP_TYPED_)
SHMEM_HPP_LATER_(fetch_add, atomic_type, SHMEM_HPP_TYPED_)
SHMEM_HPP_LATER_(fetch_and, bitwise_type, SHMEM_HPP_TYPED_)
SHMEM_HPP_LATER_(fetch_or, bitwise_type, SHMEM_HPP_TYPED_)
SHMEM_HPP_LATER_(fetch_xor, bitwise_type, SHMEM_HPP_TYPED_)
SHMEM_HPP_LATER_(fetch_max, swappable_type, SHMEM_HPP_EXTENSION_)
SHMEM_HPP_LATER_(fetch_min, swappable_type, SHMEM_HPP_EXTENSION_)

#undef SHMEM_HPP_ATOMIC_
#undef SHMEM_HPP_LATER_
#undef SHMEM_HPP_EXTENSION_

template <swappable_type T, context_like Where = default_context_t>
void atomic_fetch_nbi(T* old, const T* word, int pe, [[maybe_unused]] const Where& on = {}) {
  SHMEM_HPP_TYPED_(atomic_fetch_nbi, old, word, pe);
}
template <atomic_type T, context_like Where = default_context_t>
void atomic_compare_swap_nbi(T* old, T* word, std::type_identity_t<T> expected,
                             std::type_identity_t<T> desired, int pe, [[maybe_unused]] const Where& on = {}) {
  SHMEM_HPP_TYPED_(atomic_compare_swap_nbi, old, word, expected, desired, pe);
}
template <atomic_type T, context_like Where = default_context_t>
void atomic_fetch_inc_nbi(T* old, T* word, int pe, [[maybe_unused]] const Where& on = {}) {
  SHMEM_HPP_TYPED_(atomic_fetch_inc_nbi, old, word, pe);
}

// ---- Waits and tests of this PE's own words, which other PEs change.

template <waitable_type T>
void wait_until(T* word, cmp how, std::type_identity_t<T> value) {
  ::shmem_wait_until(word, static_cast<int>(how), value);
}
template <waitable_type T>
[[nodiscard]] bool test(T* word, cmp how, std::type_identity_t<T> value) {
  return ::shmem_test(word, static_cast<int>(how), value) != 0;
}

/// Words to wait for: a range of them that may change.
template <class R>
concept waitable_words = elements<R> && writable<R> && waitable_type<element_of<R>>;

// Of many words: those where `skip`, unless it is empty, has 0.  With one value for all, or (vector) one for
// each. `any` returns an index, SIZE_MAX if there is none to wait for, or (test) none is so; `some` their
// number, with the indices in the first elements of `indices`, which has room for all.

template <waitable_words R>
void wait_until_all(R&& ivars, cmp how, element_of<R> value, std::span<const int> skip = {}) {
  ::shmem_wait_until_all(detail::first(ivars), detail::size(ivars), skip.data(), static_cast<int>(how),
                         value);
}
template <waitable_words R>
[[nodiscard]] std::size_t wait_until_any(R&& ivars, cmp how, element_of<R> value,
                                         std::span<const int> skip = {}) {
  return ::shmem_wait_until_any(detail::first(ivars), detail::size(ivars), skip.data(), static_cast<int>(how),
                                value);
}
template <waitable_words R>
std::size_t wait_until_some(R&& ivars, std::span<std::size_t> indices, cmp how, element_of<R> value,
                            std::span<const int> skip = {}) {
  assert(indices.size() >= detail::size(ivars));
  return ::shmem_wait_until_some(detail::first(ivars), detail::size(ivars), indices.data(), skip.data(),
                                 static_cast<int>(how), value);
}
template <waitable_words R>
[[nodiscard]] bool test_all(R&& ivars, cmp how, element_of<R> value, std::span<const int> skip = {}) {
  return ::shmem_test_all(detail::first(ivars), detail::size(ivars), skip.data(), static_cast<int>(how),
                          value) != 0;
}
template <waitable_words R>
[[nodiscard]] std::size_t test_any(R&& ivars, cmp how, element_of<R> value, std::span<const int> skip = {}) {
  return ::shmem_test_any(detail::first(ivars), detail::size(ivars), skip.data(), static_cast<int>(how),
                          value);
}
template <waitable_words R>
[[nodiscard]] std::size_t test_some(R&& ivars, std::span<std::size_t> indices, cmp how, element_of<R> value,
                                    std::span<const int> skip = {}) {
  assert(indices.size() >= detail::size(ivars));
  return ::shmem_test_some(detail::first(ivars), detail::size(ivars), indices.data(), skip.data(),
                           static_cast<int>(how), value);
}

template <waitable_words R, elements_for<R> Values>
void wait_until_all_vector(R&& ivars, cmp how, Values&& values, std::span<const int> skip = {}) {
  assert(detail::holds(values, detail::size(ivars)));
  ::shmem_wait_until_all_vector(detail::first(ivars), detail::size(ivars), skip.data(), static_cast<int>(how),
                                detail::first(values));
}
template <waitable_words R, elements_for<R> Values>
[[nodiscard]] std::size_t wait_until_any_vector(R&& ivars, cmp how, Values&& values,
                                                std::span<const int> skip = {}) {
  assert(detail::holds(values, detail::size(ivars)));
  return ::shmem_wait_until_any_vector(detail::first(ivars), detail::size(ivars), skip.data(),
                                       static_cast<int>(how), detail::first(values));
}
template <waitable_words R, elements_for<R> Values>
std::size_t wait_until_some_vector(R&& ivars, std::span<std::size_t> indices, cmp how, Values&& values,
                                   std::span<const int> skip = {}) {
  assert(indices.size() >= detail::size(ivars) && detail::holds(values, detail::size(ivars)));
  return ::shmem_wait_until_some_vector(detail::first(ivars), detail::size(ivars), indices.data(),
                                        skip.data(), static_cast<int>(how), detail::first(values));
}
template <waitable_words R, elements_for<R> Values>
[[nodiscard]] bool test_all_vector(R&& ivars, cmp how, Values&& values, std::span<const int> skip = {}) {
  assert(detail::holds(values, detail::size(ivars)));
  return ::shmem_test_all_vector(detail::first(ivars), detail::size(ivars), skip.data(),
                                 static_cast<int>(how), detail::first(values)) != 0;
}
template <waitable_words R, elements_for<R> Values>
[[nodiscard]] std::size_t test_any_vector(R&& ivars, cmp how, Values&& values,
                                          std::span<const int> skip = {}) {
  assert(detail::holds(values, detail::size(ivars)));
  return ::shmem_test_any_vector(detail::first(ivars), detail::size(ivars), skip.data(),
                                 static_cast<int>(how), detail::first(values));
}
template <waitable_words R, elements_for<R> Values>
[[nodiscard]] std::size_t test_some_vector(R&& ivars, std::span<std::size_t> indices, cmp how,
                                           Values&& values, std::span<const int> skip = {}) {
  assert(indices.size() >= detail::size(ivars) && detail::holds(values, detail::size(ivars)));
  return ::shmem_test_some_vector(detail::first(ivars), detail::size(ivars), indices.data(), skip.data(),
                                  static_cast<int>(how), detail::first(values));
}

// ---- Locks.

/// A lock of all PEs for std::lock_guard and its kin; what it is in is a symmetric long that is zero at
/// first.
class mutex {
 public:
  explicit mutex(long* word) : word_(word) {}
  void lock() { ::shmem_set_lock(word_); }
  [[nodiscard]] bool try_lock() { return ::shmem_test_lock(word_) == 0; }
  void unlock() { ::shmem_clear_lock(word_); }

 private:
  long* word_;
};

}  // namespace shmem

#endif
