// SPDX-License-Identifier: BSD-3-Clause
#include "base/call_stack.hpp"

#include <cxxabi.h>
#include <dlfcn.h>
#include <link.h>
#include <sys/uio.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string_view>

#if ATOLL_HAS_BACKTRACE
#include <backtrace.h>
#endif

namespace shm {
namespace {

using std::uintptr_t;

// Of the machine, when the signal came.
struct Registers {
  uintptr_t instruction = 0, stack = 0;
};

Registers registers_of(const void* context) {
  const mcontext_t& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return {static_cast<uintptr_t>(machine.gregs[REG_RIP]), static_cast<uintptr_t>(machine.gregs[REG_RSP])};
#elif defined(__aarch64__)
  return {machine.pc, machine.sp};
#else
#error "where are the address of the instruction and the stack pointer?"
#endif
}

// Memory that may not be there.
template <class T>
bool read_memory(uintptr_t from, T& to) {
  const iovec here{&to, sizeof to};
  const iovec there{reinterpret_cast<void*>(from), sizeof to};
  return process_vm_readv(getpid(), &here, 1, &there, 1, 0) == static_cast<ssize_t>(sizeof to);
}

// ---- the frames

struct Walk {
  CallStack& stack;
  bool behind;  // of the signal, which has interrupted the instruction `first`
  uintptr_t first;
};

_Unwind_Reason_Code take_frame(_Unwind_Context* context, void* argument) {
  Walk& walk = *static_cast<Walk*>(argument);
  int interrupted = 0;
  const uintptr_t at = _Unwind_GetIPInfo(context, &interrupted);
  if (walk.behind && at != walk.first) return _URC_NO_REASON;
  walk.behind = false;
  if (at == 0 || walk.stack.frames == CallStack::kMost) return _URC_END_OF_STACK;
  // A return address is behind the call, and may be another line's.
  walk.stack.places[walk.stack.frames++] = interrupted != 0 ? at : at - 1;
  return _URC_NO_REASON;
}

// ---- which call of the API

const void* own_object() {
  static const void* base = [] {
    Dl_info info{};
    return dladdr(reinterpret_cast<void*>(&take_call_stack), &info) != 0 ? info.dli_fbase : nullptr;
  }();
  return base;
}

// Libraries that calls come through.
const void* between[2] = {};

bool is_in_api(const Dl_info& info) {
  return info.dli_fbase == own_object() || std::ranges::find(between, info.dli_fbase) != std::end(between);
}

// Enters the name if it is one of the API's.  Each function of it has two, shmem_x and pshmem_x.
bool enter_call(CallStack& stack, std::string_view name) {
  if (name.starts_with('p')) name.remove_prefix(1);
  if (!name.starts_with("shmem_") && !name.starts_with("shmemx_")) return false;
  const std::size_t length = std::min(name.size(), sizeof stack.call - 1);
  std::memcpy(stack.call, name.data(), length);
  stack.call[length] = '\0';
  return true;
}

// Name of the function of this library, or of one between, that `place` is in, or starts at; empty: it has no
// public one.
std::string_view own_function(uintptr_t place, bool starts) {
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(place), &info) == 0 || !is_in_api(info) || info.dli_sname == nullptr ||
      (starts && reinterpret_cast<uintptr_t>(info.dli_saddr) != place))
    return {};
  return info.dli_sname;
}

// Where the call instruction goes that ends at `behind`; 0: not known.  What the API does last may be a jump,
// to memcpy or to the cold half of a call, and leave no frame of its own: only its caller shows what was
// called.
uintptr_t called_before(uintptr_t behind) {
#if defined(__x86_64__)
  constexpr std::uint8_t kCall = 0xe8, kIndirect = 0xff, kOfCall = 0x15, kOfJump = 0x25;
  std::uint8_t code[6];
  if (!read_memory(behind - sizeof code, code)) return 0;
  std::int32_t distance = 0;
  std::memcpy(&distance, code + 2, sizeof distance);
  uintptr_t target = 0;
  if (code[0] == kIndirect && code[1] == kOfCall)  // -fno-plt
    return read_memory(behind + static_cast<uintptr_t>(distance), target) ? target : 0;
  if (code[1] != kCall) return 0;
  target = behind + static_cast<uintptr_t>(distance);
  // An entry of the procedure linkage table: endbr64 and bnd may stand before its jump.
  std::uint8_t entry[11];
  if (!read_memory(target, entry)) return target;
  constexpr std::uint8_t kMarker[] = {0xf3, 0x0f, 0x1e, 0xfa};
  std::size_t at = std::memcmp(entry, kMarker, sizeof kMarker) == 0 ? sizeof kMarker : 0;
  if (entry[at] == 0xf2) ++at;
  if (entry[at] != kIndirect || entry[at + 1] != kOfJump) return target;
  if (at + 6 > sizeof entry) return target;
  std::memcpy(&distance, entry + at + 2, sizeof distance);
  uintptr_t function = 0;
  return read_memory(target + at + 6 + static_cast<uintptr_t>(distance), function) ? function : target;
#else
  static_cast<void>(behind);
  return 0;
#endif
}

bool is_own(uintptr_t place) {
  Dl_info info{};
  return dladdr(reinterpret_cast<void*>(place), &info) != 0 && is_in_api(info);
}

// The innermost call, as its name is what a person knows; the library calls some of its own.
void find_call(CallStack& stack) {
  for (int i = 0; i < stack.frames; ++i) {
    if (enter_call(stack, own_function(stack.places[i], false))) {
      int caller = i + 1;
      while (between[0] != nullptr && caller < stack.frames && is_own(stack.places[caller])) ++caller;
      stack.caller = std::min(caller, stack.frames - 1);
      return;
    }
    if (i == 0 || is_own(stack.places[i])) continue;
    if (enter_call(stack, own_function(called_before(stack.places[i] + 1), true))) {
      stack.caller = i;
      return;
    }
  }
}

// ---- names of frames

struct Naming {
  FrameName frame;
  void (*said)(const FrameName&, void*);
  void* argument;
  int count = 0;
};

#if ATOLL_HAS_BACKTRACE

void note_error(void*, const char*, int) {}

backtrace_state* debug_information() {
  static backtrace_state* state = backtrace_create_state(nullptr, 1, note_error, nullptr);
  return state;
}

void note_symbol(void* to, uintptr_t, const char* name, uintptr_t, uintptr_t) {
  static_cast<Naming*>(to)->frame.function = name;
}

int note_line(void* to, uintptr_t, const char* file, int line, const char* function) {
  Naming& naming = *static_cast<Naming*>(to);
  if (file == nullptr) return 0;
  FrameName frame = naming.frame;
  if (function != nullptr) frame.function = function;
  frame.file = file;
  frame.line = line;
  ++naming.count;
  naming.said(frame, naming.argument);
  return 0;
}

void name_from_debug_information(uintptr_t place, Naming& naming) {
  backtrace_syminfo(debug_information(), place, note_symbol, note_error, &naming);
  backtrace_pcinfo(debug_information(), place, note_line, note_error, &naming);
}

#else

void name_from_debug_information(uintptr_t, Naming&) {}

#endif

}  // namespace

void prepare_call_stacks() {
  CallStack stack;
  take_call_stack(stack, nullptr);  // loads libgcc's unwinder
}

void pass_over_in_call_stacks(const void* in) {
  Dl_info info{};
  if (dladdr(in, &info) == 0 || std::ranges::find(between, info.dli_fbase) != std::end(between)) return;
  (between[0] == nullptr ? between[0] : between[1]) = info.dli_fbase;
}

void take_call_stack(CallStack& stack, const void* context) {
  const Registers registers = context != nullptr ? registers_of(context) : Registers{};
  stack.frames = 0;
  Walk walk{stack, context != nullptr, registers.instruction};
  _Unwind_Backtrace(take_frame, &walk);
  if (context != nullptr && stack.frames == 0) {
    // Nothing is known of the place, such as that of a function whose pointer was NULL: but who has called?
    stack.places[stack.frames++] = registers.instruction;
    uintptr_t behind = 0;
    if (read_memory(registers.stack, behind) && behind != 0) stack.places[stack.frames++] = behind - 1;
  }
  find_call(stack);
}

void name_frames(uintptr_t place, void (*said)(const FrameName&, void*), void* argument) {
  Naming naming{{}, said, argument};
  Dl_info info{};
  if (dladdr(reinterpret_cast<void*>(place), &info) != 0) {
    naming.frame.function = info.dli_sname;
    const char* slash = info.dli_fname != nullptr ? std::strrchr(info.dli_fname, '/') : nullptr;
    naming.frame.object = slash != nullptr ? slash + 1 : info.dli_fname;
    naming.frame.at = place - reinterpret_cast<uintptr_t>(info.dli_fbase);
  }
  name_from_debug_information(place, naming);
  if (naming.count == 0) said(naming.frame, argument);
}

Demangled::Demangled(const char* name, bool may_allocate) : text_(name) {
  if (!may_allocate || name == nullptr || std::strncmp(name, "_Z", 2) != 0) return;
  made_ = abi::__cxa_demangle(name, nullptr, nullptr, nullptr);
  if (made_ != nullptr) text_ = made_;
}

Demangled::~Demangled() { std::free(made_); }

bool is_in_allocator(const CallStack& stack) {
  constexpr std::string_view kNames[] = {"malloc",         "free",           "calloc",         "realloc",
                                         "memalign",       "aligned_alloc",  "cfree",          "valloc",
                                         "posix_memalign", "reallocarray",   "__libc_malloc",  "__libc_free",
                                         "__libc_calloc",  "__libc_realloc", "__libc_memalign"};
  constexpr std::string_view kNew = "_Zn", kDelete = "_Zd";  // how names of these operators begin
  return std::any_of(stack.places, stack.places + stack.frames, [&](uintptr_t place) {
    Dl_info info{};
    if (dladdr(reinterpret_cast<void*>(place), &info) == 0 || info.dli_sname == nullptr) return false;
    const std::string_view name = info.dli_sname;
    return name.starts_with(kNew) || name.starts_with(kDelete) ||
           std::ranges::find(kNames, name) != std::end(kNames);
  });
}

}  // namespace shm
