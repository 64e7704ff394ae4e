// SPDX-License-Identifier: BSD-3-Clause
// Whom a call is for, where its parameters alone do not say.
#pragma once

#include <pshmem.h>
#include <pshmemx.h>

#include <cstddef>
#include <cstdint>
#include <tuple>
#include <type_traits>

#include "record.hpp"

namespace observe {

struct Target {
  int pe = -1;
  std::uint64_t bytes = 0;
  shmem_ctx_t ctx = SHMEM_CTX_DEFAULT;
};

inline Target of_signal(std::uint64_t*, std::uint64_t, int pe) { return {pe, sizeof(std::uint64_t)}; }
inline Target of_signal(shmem_ctx_t ctx, std::uint64_t*, std::uint64_t, int pe) {
  return {pe, sizeof(std::uint64_t), ctx};
}

/// Tables of teams number their PEs otherwise, and have no call that says how: whom they talk to is not
/// known.
void note_team_table(shmemx_kv_t table);
/// The PE that has a key; -1 if that is not known.
int pe_of_key(shmemx_kv_t table, const void* key, std::size_t key_bytes);

/// Calls on one key, with the value that they bring; others are for no PE in particular.
template <class... More>
Target of_table(shmemx_kv_t table, const void* key, std::size_t key_bytes, More... more) {
  Target target{pe_of_key(table, key, key_bytes)};
  if constexpr (sizeof...(More) >= 2) {
    const auto behind = std::tuple(more...);
    using First = std::tuple_element_t<0, std::tuple<More...>>;
    using Second = std::tuple_element_t<1, std::tuple<More...>>;
    if constexpr (std::is_same_v<First, const void*> && std::is_same_v<Second, std::size_t>)
      target.bytes = std::get<1>(behind);
  }
  return target;
}
template <class... Others>
Target of_table(Others...) {
  return {};
}

/// Hands the result of a call to `then`, and returns it; of a call that has none, 0.
template <class Result>
struct Returning {
  template <class Made, class Then>
  static Result of(Made made, Then then) {
    Result result = made();
    then(result);
    return result;
  }
};
template <>
struct Returning<void> {
  template <class Made, class Then>
  static void of(Made made, Then then) {
    made();
    then(0);
  }
};

}  // namespace observe
