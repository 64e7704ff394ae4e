// SPDX-License-Identifier: BSD-3-Clause
// For ThreadSanitizer: stores that a thread makes in the name of a peer.
#pragma once

#if defined(__SANITIZE_THREAD__)
extern "C" void AnnotateIgnoreWritesBegin(const char* file, int line);
extern "C" void AnnotateIgnoreWritesEnd(const char* file, int line);
#endif

namespace shm {

/// What the thread stores while this lives is not recorded by ThreadSanitizer, like the stores of other
/// processes.  Whoever reads it has been told by the peer, perhaps through processes that it cannot see.
class PeerStores {
 public:
#if defined(__SANITIZE_THREAD__)
  PeerStores() { AnnotateIgnoreWritesBegin(__FILE__, __LINE__); }
  ~PeerStores() { AnnotateIgnoreWritesEnd(__FILE__, __LINE__); }
#else
  PeerStores() {}
  ~PeerStores() {}
#endif
  PeerStores(const PeerStores&) = delete;
  PeerStores& operator=(const PeerStores&) = delete;
};

}  // namespace shm
