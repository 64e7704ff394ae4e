// SPDX-License-Identifier: BSD-3-Clause
// libshmem_profile: an example of a tool on OpenSHMEM's profiling interface (OpenSHMEM 1.6, section 10).  It
// defines every shmem_ function, counts the call and its time, and calls the pshmem_ function of that name;
// with Atoll's own, shmemx_ and pshmemx_, it does the same.
//
//   oshcc program.c -lshmem_profile -o program && oshrun -n 4 ./program
//   oshrun -n 4 -x LD_PRELOAD=<prefix>/lib/libshmem_profile.so ./program
//
// All definitions come from the tables that the headers themselves are made from.
#include <pshmem.h>
#include <pshmemx.h>

#include "table.hpp"

// ---- What a call moves, by its shape: elements of `size` bytes, named as the parameters are

// clang-format off
#define BYTES_STORE(size)            size
#define BYTES_LOAD(size)             size
#define BYTES_FETCH_OP(size)         size
#define BYTES_CSWAP(size)            size
#define BYTES_INC(size)              size
#define BYTES_FETCH_INC(size)        size
#define BYTES_FETCH_NBI(size)        size
#define BYTES_FETCH_OP_NBI(size)     size
#define BYTES_CSWAP_NBI(size)        size
#define BYTES_FETCH_INC_NBI(size)    size
#define BYTES_COPY(size)             nelems * size
#define BYTES_STRIDED(size)          nelems * size
#define BYTES_BLOCKS(size)           bsize * nblocks * size
#define BYTES_SIGNALED(size)         nelems * size
#define BYTES_TEAM(size)             nelems * size
#define BYTES_TEAM_STRIDED(size)     nelems * size
#define BYTES_TEAM_ROOTED(size)      nelems * size
#define BYTES_ACTIVE(size)           nelems * size
#define BYTES_ACTIVE_STRIDED(size)   nelems * size
#define BYTES_ACTIVE_ROOTED(size)    nelems * size
#define BYTES_ACTIVE_REDUCE(size)    static_cast<std::size_t>(nreduce) * size
// Waits and tests look at this PE's own memory.
#define BYTES_WAIT(size)             0
#define BYTES_TEST(size)             0
#define BYTES_WAIT_ALL(size)         0
#define BYTES_TEST_ALL(size)         0
#define BYTES_ANY(size)              0
#define BYTES_SOME(size)             0
#define BYTES_WAIT_ALL_VECTOR(size)  0
#define BYTES_TEST_ALL_VECTOR(size)  0
#define BYTES_ANY_VECTOR(size)       0
#define BYTES_SOME_VECTOR(size)      0
#define BYTES_CHANGE(size)           0
// clang-format on

// ---- All rows of all tables, through the macros MAKE... that are in force

// clang-format off
#define ROW(TYPES, OP, SHAPE)        ROW_OF(MAKE, shmem, TYPES, OP, SHAPE)
#define ROW_CTX(TYPES, OP, SHAPE)    ROW_OF(MAKE_CTX, shmem, TYPES, OP, SHAPE)
#define ROW_X(TYPES, OP, SHAPE)      ROW_OF(MAKE, shmemx, TYPES, OP, SHAPE)
#define ROW_X_CTX(TYPES, OP, SHAPE)  ROW_OF(MAKE_CTX, shmemx, TYPES, OP, SHAPE)
#define ROW_OF(FUNCTION, LIB, TYPES, OP, SHAPE) \
  ATOLL_TYPES_##TYPES(FUNCTION, LIB, OP, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, (ATOLL_ARGS_##SHAPE), BYTES_##SHAPE)
#define SIZED(UNITS, OP, TAIL, SHAPE) \
  ATOLL_UNITS_##UNITS(MAKE_SIZED, OP, TAIL, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, (ATOLL_ARGS_##SHAPE), \
                      BYTES_##SHAPE)
#define SIZED_CTX(UNITS, OP, TAIL, SHAPE) \
  ATOLL_UNITS_##UNITS(MAKE_SIZED_CTX, OP, TAIL, ATOLL_RET_##SHAPE, ATOLL_PARAMS_##SHAPE, (ATOLL_ARGS_##SHAPE), \
                      BYTES_##SHAPE)

#define PLAIN_FUNCTIONS                                                                                   \
  ATOLL_FUNCS_SETUP(MAKE_F) ATOLL_FUNCS_MEMORY(MAKE_F) ATOLL_FUNCS_TEAM(MAKE_F) ATOLL_FUNCS_CONTEXT(MAKE_F) \
  ATOLL_FUNCS_ORDER(MAKE_F) ATOLL_FUNCS_SIGNAL(MAKE_F) ATOLL_FUNCS_SYNC(MAKE_F) ATOLL_FUNCS_WAIT(MAKE_F)  \
  ATOLL_FUNCS_LOCK(MAKE_F) ATOLL_FUNCS_DEPRECATED(MAKE_F) SHMEMX_FUNCS(MAKE_F)
#define TYPED_FUNCTIONS                                                                                   \
  ATOLL_OPS_CTX(ROW) ATOLL_OPS_CTX(ROW_CTX) ATOLL_OPS_NO_CTX(ROW) ATOLL_OPS_DEPRECATED(ROW) ATOLL_OPS_EXTRA(ROW) \
  SHMEMX_OPS(ROW_X) SHMEMX_OPS(ROW_X_CTX)
#define SIZED_FUNCTIONS                                                                                   \
  ATOLL_SIZED_CTX(SIZED) ATOLL_SIZED_CTX(SIZED_CTX) ATOLL_SIZED_NO_CTX(SIZED) ATOLL_SIZED_DEPRECATED(SIZED)
#define ALL_FUNCTIONS PLAIN_FUNCTIONS TYPED_FUNCTIONS SIZED_FUNCTIONS ATOLL_FUNCS_EXIT(MAKE_EXIT)

// ---- Their numbers and names

#define MAKE_F(RET, NAME, PARAMS, ARGS)        NAMED(NAME)
#define MAKE_EXIT(RET, NAME, PARAMS, ARGS)     NAMED(NAME)
#define MAKE(NAME, T, LIB, OP, ...)            NAMED(LIB##_##NAME##OP)
#define MAKE_CTX(NAME, T, LIB, OP, ...)        NAMED(LIB##_ctx_##NAME##OP)
#define MAKE_SIZED(NAME, UNIT, OP, TAIL, ...)      NAMED(shmem##OP##NAME##TAIL)
#define MAKE_SIZED_CTX(NAME, UNIT, OP, TAIL, ...)  NAMED(shmem_ctx##OP##NAME##TAIL)
// clang-format on

namespace profile {
namespace {

#define NAMED(FUNCTION) k_##FUNCTION,
enum Function : std::size_t { ALL_FUNCTIONS k_end };
#undef NAMED

}  // namespace

const std::size_t kFunctions = k_end;

#define NAMED(FUNCTION) #FUNCTION,
const char* const kNames[] = {ALL_FUNCTIONS};
#undef NAMED

namespace {

/// One call: from construction to destruction.
class Call {
 public:
  explicit Call(Function function, std::uint64_t bytes = 0)
      : function_(function), counted_(counting()), bytes_(bytes) {
    if (counted_) start_ = Clock::now();
  }
  ~Call() {
    if (counted_) add(function_, bytes_, Clock::now() - start_);
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  Function function_;
  bool counted_;
  std::uint64_t bytes_;
  Clock::time_point start_{};
};

/// What the tool itself does before a call.
template <Function function, class... Arguments>
void before([[maybe_unused]] Arguments... arguments) {
  if constexpr (function == k_shmem_init || function == k_shmem_init_thread) {
    starts(arguments...);
  } else if constexpr (function == k_start_pes) {
    starts_once();
  } else if constexpr (function == k_shmem_finalize) {
    ends();
  } else if constexpr (function == k_shmem_pcontrol) {
    control(arguments...);
  }
}

}  // namespace
}  // namespace profile

// ---- Their definitions

#undef MAKE_F
#undef MAKE_EXIT
#undef MAKE
#undef MAKE_CTX
#undef MAKE_SIZED
#undef MAKE_SIZED_CTX

#define STRIP(...) __VA_ARGS__

#define MAKE_F(RET, NAME, PARAMS, ARGS)          \
  RET NAME PARAMS {                              \
    profile::before<profile::k_##NAME> ARGS;     \
    const profile::Call call(profile::k_##NAME); \
    return p##NAME ARGS;                         \
  }
// Nothing can be counted or printed after it.
#define MAKE_EXIT(RET, NAME, PARAMS, ARGS) \
  RET NAME PARAMS {                        \
    profile::ends_job(#NAME);              \
    p##NAME ARGS;                          \
  }
#define MAKE(NAME, T, LIB, OP, RET, PARAMS, ARGS, MOVED)                       \
  RET(T) LIB##_##NAME##OP(PARAMS(T)) {                                         \
    const profile::Call call(profile::k_##LIB##_##NAME##OP, MOVED(sizeof(T))); \
    return p##LIB##_##NAME##OP ARGS;                                           \
  }
#define MAKE_CTX(NAME, T, LIB, OP, RET, PARAMS, ARGS, MOVED)                       \
  RET(T) LIB##_ctx_##NAME##OP(shmem_ctx_t ctx, PARAMS(T)) {                        \
    const profile::Call call(profile::k_##LIB##_ctx_##NAME##OP, MOVED(sizeof(T))); \
    return p##LIB##_ctx_##NAME##OP(ctx, STRIP ARGS);                               \
  }
#define MAKE_SIZED(NAME, UNIT, OP, TAIL, RET, PARAMS, ARGS, MOVED)           \
  RET(void) shmem##OP##NAME##TAIL(PARAMS(void)) {                            \
    const profile::Call call(profile::k_shmem##OP##NAME##TAIL, MOVED(UNIT)); \
    return pshmem##OP##NAME##TAIL ARGS;                                      \
  }
#define MAKE_SIZED_CTX(NAME, UNIT, OP, TAIL, RET, PARAMS, ARGS, MOVED)           \
  RET(void) shmem_ctx##OP##NAME##TAIL(shmem_ctx_t ctx, PARAMS(void)) {           \
    const profile::Call call(profile::k_shmem_ctx##OP##NAME##TAIL, MOVED(UNIT)); \
    return pshmem_ctx##OP##NAME##TAIL(ctx, STRIP ARGS);                          \
  }

extern "C" {
ALL_FUNCTIONS
}
