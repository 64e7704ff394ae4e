// SPDX-License-Identifier: BSD-3-Clause
// Every function of the API: looks at its arguments, and calls the pshmem_ function of that name.
#include "check.hpp"
#include "plain_calls.hpp"
#include "shapes.hpp"
#include "tools/profile/functions.hpp"

#undef MAKE_F
#undef MAKE_EXIT
#undef MAKE
#undef MAKE_CTX
#undef MAKE_SIZED
#undef MAKE_SIZED_CTX

#define STRIP(...) __VA_ARGS__
#define LOOK(NAME, OP, WHAT)                                       \
  if (checks::active.load(std::memory_order_relaxed)) [[likely]] { \
    const checks::Call call(NAME);                                 \
    [[maybe_unused]] constexpr std::string_view op = OP;           \
    WHAT;                                                          \
  }

#define MAKE_F(RET, NAME, PARAMS, ARGS)                                                 \
  RET NAME PARAMS {                                                                     \
    checks::caller = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) - 1; \
    LOOK(#NAME, "", CHECK_##NAME)                                                       \
    return p##NAME ARGS;                                                                \
  }
#define MAKE_EXIT(RET, NAME, PARAMS, ARGS) \
  RET NAME PARAMS { p##NAME ARGS; }
#define MAKE(NAME, T, LIB, OP, RET, PARAMS, ARGS, MOVED, TO, CHECKED) \
  RET(T) LIB##_##NAME##OP(PARAMS(T)) {                                \
    LOOK(#LIB "_" #NAME #OP, #OP, CHECKED(sizeof(T)))                 \
    return p##LIB##_##NAME##OP ARGS;                                  \
  }
#define MAKE_CTX(NAME, T, LIB, OP, RET, PARAMS, ARGS, MOVED, TO, CHECKED) \
  RET(T) LIB##_ctx_##NAME##OP(shmem_ctx_t ctx, PARAMS(T)) {               \
    LOOK(#LIB "_ctx_" #NAME #OP, #OP, CHECKED(sizeof(T)))                 \
    return p##LIB##_ctx_##NAME##OP(ctx, STRIP ARGS);                      \
  }
#define MAKE_SIZED(NAME, UNIT, OP, TAIL, RET, PARAMS, ARGS, MOVED, TO, CHECKED) \
  RET(void) shmem##OP##NAME##TAIL(PARAMS(void)) {                               \
    LOOK("shmem" #OP #NAME #TAIL, #OP, CHECKED(UNIT))                           \
    return pshmem##OP##NAME##TAIL ARGS;                                         \
  }
#define MAKE_SIZED_CTX(NAME, UNIT, OP, TAIL, RET, PARAMS, ARGS, MOVED, TO, CHECKED) \
  RET(void) shmem_ctx##OP##NAME##TAIL(shmem_ctx_t ctx, PARAMS(void)) {              \
    LOOK("shmem_ctx" #OP #NAME #TAIL, #OP, CHECKED(UNIT))                           \
    return pshmem_ctx##OP##NAME##TAIL(ctx, STRIP ARGS);                             \
  }

extern "C" {
ALL_FUNCTIONS
}
