// SPDX-License-Identifier: BSD-3-Clause
// Which lock guards what, in words that clang checks (-Wthread-safety) and other compilers skip.
//
// tools/check_locks.py has clang check the library, whatever compiler builds it.  The lock types are in
// base/mutex.hpp and base/spin.hpp.  What clang cannot follow: a lock of the object that holds a struct (it
// is named by the functions that get the struct), a lock taken by one function and dropped by a handler.
#pragma once

#if defined(__clang__)
#define ATOLL_THREAD_ANNOTATION(words) __attribute__((words))
#else
#define ATOLL_THREAD_ANNOTATION(words)
#endif

/// Of a class: its objects are locks; objects of it hold a lock while they live.
#define CAPABILITY(name) ATOLL_THREAD_ANNOTATION(capability(name))
#define SCOPED_CAPABILITY ATOLL_THREAD_ANNOTATION(scoped_lockable)

/// Of a variable: is accessed with the lock held.
#define GUARDED_BY(lock) ATOLL_THREAD_ANNOTATION(guarded_by(lock))

/// Of a lock: a thread that takes both takes this one first.
#define ACQUIRED_BEFORE(...) ATOLL_THREAD_ANNOTATION(acquired_before(__VA_ARGS__))

/// Of a function: is called with these locks held, and returns with them; is called without them.
#define REQUIRES(...) ATOLL_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define EXCLUDES(...) ATOLL_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))

/// Of a function: takes these locks and returns with them; drops them; takes them if it returns its first
/// argument.
#define ACQUIRE(...) ATOLL_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define ACQUIRE_SHARED(...) ATOLL_THREAD_ANNOTATION(acquire_shared_capability(__VA_ARGS__))
#define RELEASE(...) ATOLL_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define RELEASE_SHARED(...) ATOLL_THREAD_ANNOTATION(release_shared_capability(__VA_ARGS__))
#define TRY_ACQUIRE(...) ATOLL_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))

/// Of a function: returns a reference to this lock.
#define RETURN_CAPABILITY(lock) ATOLL_THREAD_ANNOTATION(lock_returned(lock))

/// Of a function: does what cannot be expressed; a comment says what.
#define NO_THREAD_SAFETY_ANALYSIS ATOLL_THREAD_ANNOTATION(no_thread_safety_analysis)
