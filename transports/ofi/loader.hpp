// SPDX-License-Identifier: BSD-3-Clause
// libfabric at run time.  The library is not linked: loading it costs 0.2 s and its dependencies install
// signal handlers, which only a job with PEs off the node should pay for, and only the first of them at that.
#pragma once

#include <rdma/fabric.h>

#include "base/status.hpp"

namespace shm::ofi {

/// What is asked of those who connect to its listeners (guarded_listeners.hpp).
enum class Guard {
  none,
  users,   // not to be another user of this host
  tokens,  // that, and to begin with a token
};

/// The symbols of libfabric that exist; everything else in <rdma/...> is an inline call through an object.
struct Library {
  decltype(&::fi_getinfo) getinfo = nullptr;
  decltype(&::fi_freeinfo) freeinfo = nullptr;
  decltype(&::fi_dupinfo) dupinfo = nullptr;
  decltype(&::fi_fabric) fabric = nullptr;
  decltype(&::fi_strerror) strerror = nullptr;
  decltype(&::fi_version) version = nullptr;
  Guard guard = Guard::none;

  /// Text of a negative return code of libfabric.
  const char* error(long code) const { return strerror(static_cast<int>(code < 0 ? -code : code)); }
};

/// Sets the environment variables that tune providers, where the user has not set them, and the one that
/// keeps signal handlers out.  Part of load_library().
void set_environment();

/// Loads the library once per process and keeps it.  Signal handlers stay what they were.  Thread safety: any
/// thread, but setenv() is not safe against getenv() elsewhere: call during set-up.
Result<const Library*> load_library();

}  // namespace shm::ofi
