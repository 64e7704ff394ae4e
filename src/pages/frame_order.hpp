// SPDX-License-Identifier: BSD-3-Clause
// For ThreadSanitizer, which sees the threads of one process only: a frame that one of them has left may come
// to another one by way of pagers of other processes, in the order that the pool's lock gives it.
#pragma once

#if defined(__SANITIZE_THREAD__)
extern "C" {
void __tsan_acquire(void* address);
void __tsan_release(void* address);
}
#endif

namespace shm::pages {

inline char frames_in_order;  // its address only

/// The calling thread has finished with a frame.
inline void frame_left() {
#if defined(__SANITIZE_THREAD__)
  __tsan_release(&frames_in_order);
#endif
}

/// It may use one.
inline void frame_taken() {
#if defined(__SANITIZE_THREAD__)
  __tsan_acquire(&frames_in_order);
#endif
}

}  // namespace shm::pages
