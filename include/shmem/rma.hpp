// SPDX-License-Identifier: BSD-3-Clause
// Part of shmem.hpp: puts and gets, with signals too, and what orders and completes them.
#ifndef SHMEM_RMA_HPP
#define SHMEM_RMA_HPP

#include <span>

#include "concepts.hpp"

namespace shmem {

// ---- One element.

template <element T, context_like Where = default_context_t>
void p(T* to, std::type_identity_t<T> value, int pe, [[maybe_unused]] const Where& on = {}) {
  if constexpr (rma_type<T>) {
    SHMEM_HPP_TYPED_(p, to, value, pe);
  } else {
    SHMEM_HPP_SIZED_(putmem, to, &value, sizeof value, pe);
  }
}

template <readable From, context_like Where = default_context_t>
requires std::is_pointer_v<std::remove_cvref_t<From>>
[[nodiscard]] element_of<From> g(From from, int pe, [[maybe_unused]] const Where& on = {}) {
  using T = element_of<From>;
  if constexpr (rma_type<T>) {
    SHMEM_HPP_TYPED_(g, from, pe);
  } else {
    static_assert(std::is_default_constructible_v<T>, "shmem::g: what is got needs an object to go to");
    T value;
    const auto get = [&] { SHMEM_HPP_SIZED_(getmem, &value, from, sizeof value, pe); };
    get();
    return value;
  }
}

// ---- Many: as many as the local range has.

template <writable To, elements_for<To> From, context_like Where = default_context_t>
void put(To&& to, From&& from, int pe, [[maybe_unused]] const Where& on = {}) {
  const std::size_t n = detail::size(from);
  assert(detail::holds(to, n));
  if constexpr (rma_type<element_of<To>>) {
    SHMEM_HPP_TYPED_(put, detail::first(to), detail::first(from), n, pe);
  } else {
    SHMEM_HPP_SIZED_(putmem, detail::first(to), detail::first(from), n * sizeof(element_of<To>), pe);
  }
}

template <elements To, readable_for<To> From, context_like Where = default_context_t>
requires writable<To>
void get(To&& to, From&& from, int pe, [[maybe_unused]] const Where& on = {}) {
  const std::size_t n = detail::size(to);
  assert(detail::holds(from, n));
  if constexpr (rma_type<element_of<To>>) {
    SHMEM_HPP_TYPED_(get, detail::first(to), detail::first(from), n, pe);
  } else {
    SHMEM_HPP_SIZED_(getmem, detail::first(to), detail::first(from), n * sizeof(element_of<To>), pe);
  }
}

// Nonblocking: the local range is not to be touched until quiet, so it may be no temporary.

template <writable To, elements_for<To> From, context_like Where = default_context_t>
requires lasting<From>
void put_nbi(To&& to, From&& from, int pe, [[maybe_unused]] const Where& on = {}) {
  const std::size_t n = detail::size(from);
  assert(detail::holds(to, n));
  if constexpr (rma_type<element_of<To>>) {
    SHMEM_HPP_TYPED_(put_nbi, detail::first(to), detail::first(from), n, pe);
  } else {
    SHMEM_HPP_SIZED_(putmem_nbi, detail::first(to), detail::first(from), n * sizeof(element_of<To>), pe);
  }
}

template <lasting To, readable_for<To> From, context_like Where = default_context_t>
requires writable<To>
void get_nbi(To&& to, From&& from, int pe, [[maybe_unused]] const Where& on = {}) {
  const std::size_t n = detail::size(to);
  assert(detail::holds(from, n));
  if constexpr (rma_type<element_of<To>>) {
    SHMEM_HPP_TYPED_(get_nbi, detail::first(to), detail::first(from), n, pe);
  } else {
    SHMEM_HPP_SIZED_(getmem_nbi, detail::first(to), detail::first(from), n * sizeof(element_of<To>), pe);
  }
}

// ---- n elements, of which each is to_stride, and from_stride, elements behind the one before.

template <writable To, readable_for<To> From, context_like Where = default_context_t>
void iput(To&& to, From&& from, std::ptrdiff_t to_stride, std::ptrdiff_t from_stride, std::size_t n, int pe,
          [[maybe_unused]] const Where& on = {}) {
  if constexpr (rma_type<element_of<To>>) {
    SHMEM_HPP_TYPED_(iput, detail::first(to), detail::first(from), to_stride, from_stride, n, pe);
  } else {
    constexpr std::ptrdiff_t bytes = sizeof(element_of<To>);
    SHMEM_HPP_SIZED_(ibput8, detail::first(to), detail::first(from), to_stride * bytes, from_stride * bytes,
                     std::size_t{bytes}, n, pe);
  }
}

template <writable To, readable_for<To> From, context_like Where = default_context_t>
void iget(To&& to, From&& from, std::ptrdiff_t to_stride, std::ptrdiff_t from_stride, std::size_t n, int pe,
          [[maybe_unused]] const Where& on = {}) {
  if constexpr (rma_type<element_of<To>>) {
    SHMEM_HPP_TYPED_(iget, detail::first(to), detail::first(from), to_stride, from_stride, n, pe);
  } else {
    constexpr std::ptrdiff_t bytes = sizeof(element_of<To>);
    SHMEM_HPP_SIZED_(ibget8, detail::first(to), detail::first(from), to_stride * bytes, from_stride * bytes,
                     std::size_t{bytes}, n, pe);
  }
}

// The same with blocks of `length` elements; strides are from the beginning of one to that of the next.

template <writable To, readable_for<To> From, context_like Where = default_context_t>
void ibput(To&& to, From&& from, std::ptrdiff_t to_stride, std::ptrdiff_t from_stride, std::size_t length,
           std::size_t n, int pe, [[maybe_unused]] const Where& on = {}) {
  if constexpr (rma_type<element_of<To>>) {
    SHMEM_HPP_TYPED_(ibput, detail::first(to), detail::first(from), to_stride, from_stride, length, n, pe);
  } else {
    constexpr std::ptrdiff_t bytes = sizeof(element_of<To>);
    SHMEM_HPP_SIZED_(ibput8, detail::first(to), detail::first(from), to_stride * bytes, from_stride * bytes,
                     length * std::size_t{bytes}, n, pe);
  }
}

template <writable To, readable_for<To> From, context_like Where = default_context_t>
void ibget(To&& to, From&& from, std::ptrdiff_t to_stride, std::ptrdiff_t from_stride, std::size_t length,
           std::size_t n, int pe, [[maybe_unused]] const Where& on = {}) {
  if constexpr (rma_type<element_of<To>>) {
    SHMEM_HPP_TYPED_(ibget, detail::first(to), detail::first(from), to_stride, from_stride, length, n, pe);
  } else {
    constexpr std::ptrdiff_t bytes = sizeof(element_of<To>);
    SHMEM_HPP_SIZED_(ibget8, detail::first(to), detail::first(from), to_stride * bytes, from_stride * bytes,
                     length * std::size_t{bytes}, n, pe);
  }
}

// ---- Signals: words of 64 bits that a put announces itself in.

enum class signal_op : int { set = SHMEM_SIGNAL_SET, add = SHMEM_SIGNAL_ADD };

enum class cmp : int {
  eq = SHMEM_CMP_EQ,
  ne = SHMEM_CMP_NE,
  gt = SHMEM_CMP_GT,
  le = SHMEM_CMP_LE,
  lt = SHMEM_CMP_LT,
  ge = SHMEM_CMP_GE
};

template <writable To, elements_for<To> From, context_like Where = default_context_t>
void put_signal(To&& to, From&& from, std::uint64_t* word, std::uint64_t signal, signal_op op, int pe,
                [[maybe_unused]] const Where& on = {}) {
  const std::size_t n = detail::size(from);
  assert(detail::holds(to, n));
  if constexpr (rma_type<element_of<To>>) {
    SHMEM_HPP_TYPED_(put_signal, detail::first(to), detail::first(from), n, word, signal,
                     static_cast<int>(op), pe);
  } else {
    SHMEM_HPP_SIZED_(putmem_signal, detail::first(to), detail::first(from), n * sizeof(element_of<To>), word,
                     signal, static_cast<int>(op), pe);
  }
}

template <writable To, elements_for<To> From, context_like Where = default_context_t>
requires lasting<From>
void put_signal_nbi(To&& to, From&& from, std::uint64_t* word, std::uint64_t signal, signal_op op, int pe,
                    [[maybe_unused]] const Where& on = {}) {
  const std::size_t n = detail::size(from);
  assert(detail::holds(to, n));
  if constexpr (rma_type<element_of<To>>) {
    SHMEM_HPP_TYPED_(put_signal_nbi, detail::first(to), detail::first(from), n, word, signal,
                     static_cast<int>(op), pe);
  } else {
    SHMEM_HPP_SIZED_(putmem_signal_nbi, detail::first(to), detail::first(from), n * sizeof(element_of<To>),
                     word, signal, static_cast<int>(op), pe);
  }
}

template <context_like Where = default_context_t>
void signal_add(std::uint64_t* word, std::uint64_t signal, int pe, [[maybe_unused]] const Where& on = {}) {
  SHMEM_HPP_TYPED_(signal_add, word, signal, pe);
}
template <context_like Where = default_context_t>
void signal_set(std::uint64_t* word, std::uint64_t signal, int pe, [[maybe_unused]] const Where& on = {}) {
  SHMEM_HPP_TYPED_(signal_set, word, signal, pe);
}
/// Of this PE's own word.
[[nodiscard]] inline std::uint64_t signal_fetch(const std::uint64_t* word) {
  return ::shmem_signal_fetch(word);
}
/// Returns the value that the word has then.
inline std::uint64_t signal_wait_until(std::uint64_t* word, cmp how, std::uint64_t value) {
  return ::shmem_signal_wait_until(word, static_cast<int>(how), value);
}

// ---- Order and completion.

template <context_like Where = default_context_t>
void fence([[maybe_unused]] const Where& on = {}) {
  if constexpr (std::same_as<Where, default_context_t>)
    ::shmem_fence();
  else
    ::shmem_ctx_fence(detail::handle(on));
}
template <context_like Where = default_context_t>
void quiet([[maybe_unused]] const Where& on = {}) {
  if constexpr (std::same_as<Where, default_context_t>)
    ::shmem_quiet();
  else
    ::shmem_ctx_quiet(detail::handle(on));
}
/// Completes what goes to these PEs.
template <context_like Where = default_context_t>
void pe_quiet(std::span<const int> pes, [[maybe_unused]] const Where& on = {}) {
  SHMEM_HPP_SIZED_(pe_quiet, pes.data(), pes.size());
}

}  // namespace shmem

#endif
