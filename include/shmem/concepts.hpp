// SPDX-License-Identifier: BSD-3-Clause
// Part of shmem.hpp: which types and ranges its functions take.  The types are those of shmem/types.h.
#ifndef SHMEM_CONCEPTS_HPP
#define SHMEM_CONCEPTS_HPP

#include <cassert>
#include <complex>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <ranges>
#include <type_traits>

#include "../shmemx.h"

#ifdef SHMEM_NO_GENERICS
#error "shmem.hpp calls the names without a type, which SHMEM_NO_GENERICS leaves out"
#endif

namespace shmem {

#define SHMEM_HPP_OR_(NAME, TYPE, T) || std::same_as<T, TYPE>

/// Has typed functions of its own: shmem_long_put.
template <class T>
concept rma_type = false ATOLL_DISTINCT_RMA(SHMEM_HPP_OR_, T);

/// Words that can be added to and waited for.
template <class T>
concept atomic_type = false ATOLL_DISTINCT_AMO(SHMEM_HPP_OR_, T);

/// Words that can be read, set, swapped and have a maximum: the above, float and double.
template <class T>
concept swappable_type = false ATOLL_DISTINCT_AMO_EXT(SHMEM_HPP_OR_, T);

/// Words for and, or, xor.
template <class T>
concept bitwise_type = false ATOLL_DISTINCT_BITWISE_ALL(SHMEM_HPP_OR_, T);

/// Words for wait_until and test.
template <class T>
concept waitable_type = false ATOLL_DISTINCT_WAIT(SHMEM_HPP_OR_, T);

/// Of and_reduce; of max_reduce; of sum_reduce and scans.
template <class T>
concept reducible_bits = false ATOLL_DISTINCT_REDUCE_BITS(SHMEM_HPP_OR_, T);
template <class T>
concept reducible_order = false ATOLL_DISTINCT_REDUCE_ORDER(SHMEM_HPP_OR_, T);
template <class T>
concept reducible_sum =
    reducible_order<T> || std::same_as<T, std::complex<float>> || std::same_as<T, std::complex<double>>;

#undef SHMEM_HPP_OR_

/// What can be moved: its bytes are all of it.
template <class T>
concept element = std::is_object_v<T> && std::is_trivially_copyable_v<T> && !std::is_const_v<T> &&
                  !std::is_volatile_v<T> && !std::is_array_v<T>;

/// A range whose elements lie one behind the other.
template <class R>
concept elements =
    std::ranges::contiguous_range<R> && std::ranges::sized_range<R> && element<std::ranges::range_value_t<R>>;

namespace detail {

// The type of elements that a pointer or a range leads to, const if they may only be read.
template <class M>
struct led_to {};
template <class M>
requires std::is_pointer_v<std::remove_cvref_t<M>>
struct led_to<M> {
  using type = std::remove_pointer_t<std::remove_cvref_t<M>>;
};
template <elements M>
struct led_to<M> {
  using type = std::remove_reference_t<std::ranges::range_reference_t<M>>;
};

}  // namespace detail

/// The type of the elements of a pointer or a range.
template <class M>
using element_of = std::remove_const_t<typename detail::led_to<M>::type>;

/// A pointer to elements, or a range of them; `writable` if they may be changed.
template <class M>
concept readable = requires {
  typename detail::led_to<M>::type;
}
&&element<element_of<M>>;
template <class M>
concept writable = readable<M> && !std::is_const_v<typename detail::led_to<M>::type>;

/// A range, or a place, of the elements that M has.
template <class R, class M>
concept elements_for = elements<R> && std::same_as<element_of<R>, element_of<M>>;
template <class P, class M>
concept readable_for = readable<P> && std::same_as<element_of<P>, element_of<M>>;

/// A range that outlives the call, as a nonblocking one needs: no temporary that has its elements in itself.
template <class R>
concept lasting = elements<R> && std::ranges::borrowed_range<R>;

/// The context of a call: default_context, a shmem::context or a shmem_ctx_t.
struct default_context_t {};
inline constexpr default_context_t default_context{};

template <class C>
concept context_like = std::same_as<C, default_context_t> || std::same_as<C, ::shmem_ctx_t> ||
    requires(const C& c) {
  { c.handle() } -> std::same_as<::shmem_ctx_t>;
};

/// A shmem::team or a shmem_team_t.
template <class C>
concept team_like = std::same_as<C, ::shmem_team_t> || requires(const C& c) {
  { c.handle() } -> std::same_as<::shmem_team_t>;
};

namespace detail {

inline ::shmem_ctx_t handle(::shmem_ctx_t ctx) { return ctx; }
inline ::shmem_team_t handle(::shmem_team_t team) { return team; }
template <class Owner>
auto handle(const Owner& owner) {
  return owner.handle();
}

template <class M>
constexpr auto* first(M& memory) {
  if constexpr (std::is_pointer_v<std::remove_cv_t<M>>)
    return memory;
  else
    return std::ranges::data(memory);
}

template <class R>
constexpr std::size_t size(R& range) {
  return static_cast<std::size_t>(std::ranges::size(range));
}

// Whether n elements lie in it, as far as it says.
template <class M>
constexpr bool holds([[maybe_unused]] M& memory, [[maybe_unused]] std::size_t n) {
  if constexpr (std::is_pointer_v<std::remove_cv_t<M>>)
    return true;
  else
    return detail::size(memory) >= n;
}

inline bool running() {
  int running = 0;
  ::shmem_query_initialized(&running);
  return running != 0;
}

}  // namespace detail

}  // namespace shmem

// The C function without a context, or with the one that `on` is: those with overloads, and those without.
#define SHMEM_HPP_TYPED_(OP, ...)                                \
  if constexpr (std::same_as<Where, ::shmem::default_context_t>) \
    return ::shmem_##OP(__VA_ARGS__);                            \
  else                                                           \
    return ::shmem_##OP(::shmem::detail::handle(on), __VA_ARGS__)

#define SHMEM_HPP_SIZED_(OP, ...)                                \
  if constexpr (std::same_as<Where, ::shmem::default_context_t>) \
    return ::shmem_##OP(__VA_ARGS__);                            \
  else                                                           \
    return ::shmem_ctx_##OP(::shmem::detail::handle(on), __VA_ARGS__)

#endif
