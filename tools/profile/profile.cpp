// SPDX-License-Identifier: BSD-3-Clause
// libshmem_profile: an example of a tool on OpenSHMEM's profiling interface (OpenSHMEM 1.6, section 10).  It
// defines every shmem_ function, counts the call and its time, and calls the pshmem_ function of that name;
// with Atoll's own, shmemx_ and pshmemx_, it does the same.
//
//   oshcc program.c -lshmem_profile -o program && oshrun -n 4 ./program
//   oshrun -n 4 -x LD_PRELOAD=<prefix>/lib/libshmem_profile.so ./program
#include "functions.hpp"
#include "table.hpp"

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
#define MAKE(NAME, T, LIB, OP, RET, PARAMS, ARGS, MOVED, ...)                  \
  RET(T) LIB##_##NAME##OP(PARAMS(T)) {                                         \
    const profile::Call call(profile::k_##LIB##_##NAME##OP, MOVED(sizeof(T))); \
    return p##LIB##_##NAME##OP ARGS;                                           \
  }
#define MAKE_CTX(NAME, T, LIB, OP, RET, PARAMS, ARGS, MOVED, ...)                  \
  RET(T) LIB##_ctx_##NAME##OP(shmem_ctx_t ctx, PARAMS(T)) {                        \
    const profile::Call call(profile::k_##LIB##_ctx_##NAME##OP, MOVED(sizeof(T))); \
    return p##LIB##_ctx_##NAME##OP(ctx, STRIP ARGS);                               \
  }
#define MAKE_SIZED(NAME, UNIT, OP, TAIL, RET, PARAMS, ARGS, MOVED, ...)      \
  RET(void) shmem##OP##NAME##TAIL(PARAMS(void)) {                            \
    const profile::Call call(profile::k_shmem##OP##NAME##TAIL, MOVED(UNIT)); \
    return pshmem##OP##NAME##TAIL ARGS;                                      \
  }
#define MAKE_SIZED_CTX(NAME, UNIT, OP, TAIL, RET, PARAMS, ARGS, MOVED, ...)      \
  RET(void) shmem_ctx##OP##NAME##TAIL(shmem_ctx_t ctx, PARAMS(void)) {           \
    const profile::Call call(profile::k_shmem_ctx##OP##NAME##TAIL, MOVED(UNIT)); \
    return pshmem_ctx##OP##NAME##TAIL(ctx, STRIP ARGS);                          \
  }

extern "C" {
ALL_FUNCTIONS
}
