// SPDX-License-Identifier: BSD-3-Clause
// Every function of the API: writes the call down, and calls the pshmem_ function of that name.
#include "calls.hpp"

#include <string_view>

#include "ticks.hpp"
#include "tools/profile/functions.hpp"

namespace observe {
namespace {

#define NAMED(FUNCTION) k_##FUNCTION,
enum Function : std::uint32_t { ALL_FUNCTIONS k_end };
#undef NAMED

}  // namespace

const std::size_t kFunctions = k_end;

#define NAMED(FUNCTION) #FUNCTION,
constexpr const char* kNames[] = {ALL_FUNCTIONS "page fault of a load", "page fault of a store"};
#undef NAMED

namespace {

/// What tells who a PE is, and the like: not worth a place in a ring.
constexpr bool is_written_down(Function function) {
  constexpr std::string_view kNot[] = {"my_pe",      "n_pes",  "num_pes", "_ptr",
                                       "accessible", "query_", "info_get"};
  for (const std::string_view part : kNot) {
    if (std::string_view(kNames[function]).find(part) != std::string_view::npos) return false;
  }
  return function != k_shmemx_kv_pe && function != k_shmem_init && function != k_shmem_init_thread &&
         function != k_start_pes;
}

/// A call, from construction to destruction.
template <Function function>
class Call {
 public:
  explicit Call(std::uint64_t bytes = 0, int pe = -1, shmem_ctx_t ctx = SHMEM_CTX_DEFAULT)
      : bytes_(bytes), ctx_(ctx), pe_(pe) {
    if (kWrittenDown && mode.load(std::memory_order_relaxed) != kNothing) [[likely]]
      begin_ = ticks();
  }
  ~Call() {
    if (kWrittenDown && begin_ != 0)
      record({begin_, end_ != 0 ? end_ : ticks()}, function, bytes_, pe_, ctx_);
  }
  /// Before who it was for is found out, which takes time of its own.  False: it is not written down.
  bool has_ended() {
    if (begin_ != 0) end_ = ticks();
    return begin_ != 0;
  }
  void is(const Target& target) {
    pe_ = target.pe;
    bytes_ = target.bytes;
    ctx_ = target.ctx;
  }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  static constexpr bool kWrittenDown = is_written_down(function);
  std::uint64_t begin_ = 0, end_ = 0, bytes_;
  shmem_ctx_t ctx_;
  int pe_;
};

/// Of functions without a type in their names: what they move, and whom they are for.  Asked after the call,
/// which has refused what is wrong by then.
template <Function function, class... Arguments>
Target target_of(Arguments... arguments) {
  if constexpr (function == k_shmem_signal_add || function == k_shmem_signal_set ||
                function == k_shmem_ctx_signal_add || function == k_shmem_ctx_signal_set) {
    return of_signal(arguments...);
  } else if constexpr (std::string_view(kNames[function]).starts_with("shmemx_kv_") &&
                       function != k_shmemx_kv_pe) {
    return of_table(arguments...);
  } else {
    return {};
  }
}

/// After the call, if there is anything to remember of it.
template <Function function, class Result, class... Arguments>
void after([[maybe_unused]] Result result, [[maybe_unused]] Arguments... arguments) {
  if constexpr (function == k_shmemx_kv_team_create) {
    if (result == SHMEMX_KV_OK)
      note_team_table(*std::get<sizeof...(Arguments) - 1>(std::tuple(arguments...)));
  }
}

}  // namespace
}  // namespace observe

#undef MAKE_F
#undef MAKE_EXIT
#undef MAKE
#undef MAKE_CTX
#undef MAKE_SIZED
#undef MAKE_SIZED_CTX

#define STRIP(...) __VA_ARGS__

#define MAKE_F(RET, NAME, PARAMS, ARGS)                                                                 \
  RET NAME PARAMS {                                                                                     \
    observe::Call<observe::k_##NAME> call;                                                              \
    return observe::Returning<RET>::of([&] { return p##NAME ARGS; },                                    \
                                       [&](auto result) {                                               \
                                         if (call.has_ended())                                          \
                                           call.is(observe::target_of<observe::k_##NAME> ARGS);         \
                                         observe::after<observe::k_##NAME>(result OBSERVE_BEHIND ARGS); \
                                       });                                                              \
  }
#define OBSERVE_BEHIND(...) __VA_OPT__(, ) __VA_ARGS__
// Nothing comes after it; the library says when the process dies.
#define MAKE_EXIT(RET, NAME, PARAMS, ARGS) \
  RET NAME PARAMS { p##NAME ARGS; }
#define MAKE(NAME, T, LIB, OP, RET, PARAMS, ARGS, MOVED, TO, ...)                    \
  RET(T) LIB##_##NAME##OP(PARAMS(T)) {                                               \
    const observe::Call<observe::k_##LIB##_##NAME##OP> call(MOVED(sizeof(T)), (TO)); \
    return p##LIB##_##NAME##OP ARGS;                                                 \
  }
#define MAKE_CTX(NAME, T, LIB, OP, RET, PARAMS, ARGS, MOVED, TO, ...)                         \
  RET(T) LIB##_ctx_##NAME##OP(shmem_ctx_t ctx, PARAMS(T)) {                                   \
    const observe::Call<observe::k_##LIB##_ctx_##NAME##OP> call(MOVED(sizeof(T)), (TO), ctx); \
    return p##LIB##_ctx_##NAME##OP(ctx, STRIP ARGS);                                          \
  }
#define MAKE_SIZED(NAME, UNIT, OP, TAIL, RET, PARAMS, ARGS, MOVED, TO, ...)        \
  RET(void) shmem##OP##NAME##TAIL(PARAMS(void)) {                                  \
    const observe::Call<observe::k_shmem##OP##NAME##TAIL> call(MOVED(UNIT), (TO)); \
    return pshmem##OP##NAME##TAIL ARGS;                                            \
  }
#define MAKE_SIZED_CTX(NAME, UNIT, OP, TAIL, RET, PARAMS, ARGS, MOVED, TO, ...)             \
  RET(void) shmem_ctx##OP##NAME##TAIL(shmem_ctx_t ctx, PARAMS(void)) {                      \
    const observe::Call<observe::k_shmem_ctx##OP##NAME##TAIL> call(MOVED(UNIT), (TO), ctx); \
    return pshmem_ctx##OP##NAME##TAIL(ctx, STRIP ARGS);                                     \
  }

extern "C" {
ALL_FUNCTIONS
}
