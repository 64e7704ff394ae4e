// SPDX-License-Identifier: BSD-3-Clause
// Who has called whom, and which call of the API a thread is in: found from its stack when somebody asks, so
// that calls keep nothing for it.
#pragma once

#include <cstddef>
#include <cstdint>

namespace shm {

/// What the thread was doing, innermost first.
struct CallStack {
  static constexpr int kMost = 48;
  std::uintptr_t places[kMost];  ///< an address in the instruction of the call, or of what has faulted
  int frames = 0;
  int caller = -1;     ///< the frame that has called the API; -1: the thread is in no call of it
  char call[64] = "";  ///< the call's name, such as shmem_long_put
};

/// Loads what the others need, so that they take no memory later.  At init.
void prepare_call_stacks();

/// Calls are led through the library with `in` in it (setup/call_slots), one of two: its frames are no
/// callers of the API.  Call before other threads may ask.
void pass_over_in_call_stacks(const void* in);

/// Of this thread, from the caller of this function on; in a handler of a signal from what the signal has
/// interrupted on: `context` is the handler's.  Async-signal-safe once prepare_call_stacks() was called.
void take_call_stack(CallStack& stack, const void* context);

/// Where a frame's instruction is, as a person reads it.
struct FrameName {
  const char* function;  ///< null: not known
  const char* file;      ///< null: not known, the next two are 0 then
  int line;
  const char* object;  ///< program or library, without its folder; null: none
  std::uintptr_t at;   ///< in that object, for addr2line
};

/// Calls `said` for each function that has been inlined at `place`, innermost first, and for the one around
/// it.  Reads the debugging information of the process at its first call: tens of milliseconds.
/// Async-signal-safe; the strings are valid during the call.
void name_frames(std::uintptr_t place, void (*said)(const FrameName&, void*), void* argument);

/// The function that a C++ name means, or `name`.  Takes memory from the heap, unless the thread whose stack
/// this is may be inside the allocator.
class Demangled {
 public:
  Demangled(const char* name, bool may_allocate);
  ~Demangled();
  Demangled(const Demangled&) = delete;
  Demangled& operator=(const Demangled&) = delete;
  const char* text() const { return text_; }

 private:
  char* made_ = nullptr;
  const char* text_;
};
bool is_in_allocator(const CallStack& stack);

}  // namespace shm
