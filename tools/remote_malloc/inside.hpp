// SPDX-License-Identifier: BSD-3-Clause
// Which threads are in Atoll, or are threads of it: what they allocate is local.
#pragma once

namespace remote_malloc {

// Constant, and in the block that every thread has from its start: to ask costs one load, and no allocation.
[[gnu::tls_model("initial-exec")]] inline constinit thread_local int inside_depth = 0;

/// This thread is in Atoll as long as one of these lives.  A thread that it creates meanwhile, or that is
/// created by one so created, is so for ever.
class Inside {
 public:
  Inside() { ++inside_depth; }
  ~Inside() { --inside_depth; }
  Inside(const Inside&) = delete;
  Inside& operator=(const Inside&) = delete;

  static bool now() { return inside_depth > 0; }
};

}  // namespace remote_malloc
