// SPDX-License-Identifier: BSD-3-Clause
#include "ofi/loader.hpp"

#include <dlfcn.h>
#include <sys/prctl.h>

#include <cstdlib>
#include <string>

#include "ofi/guarded_listeners.hpp"

namespace shm::ofi {
namespace {

constexpr const char* kBufferSize = "FI_OFI_RXM_BUFFER_SIZE";

struct Setting {
  const char* name;
  const char* value;
};

// Read by providers when they are first asked for, which is later than now.
constexpr Setting kTuning[] = {
    {"FI_OFI_RXM_MSG_RX_SIZE", "256"},           // 18 instead of 70 MiB, 12 instead of 50 ms per endpoint
    {kBufferSize, "16640"},                      // a message of kMaxMessage bytes goes without a rendezvous
    {"FI_OFI_RXM_CM_PROGRESS_INTERVAL", "100"},  // microseconds between looks for connections: 10000 is slow
    {"FI_MR_CACHE_MONITOR", "disabled"},         // no hooks into the program's munmap; segments never move
};

// While this lives, a sleep of the calling thread may take 2 ms longer.
class LongSleeps {
 public:
  LongSleeps() { prctl(PR_SET_TIMERSLACK, 2'000'000UL); }
  ~LongSleeps() { prctl(PR_SET_TIMERSLACK, before_); }
  LongSleeps(const LongSleeps&) = delete;
  LongSleeps& operator=(const LongSleeps&) = delete;

 private:
  unsigned long before_ = static_cast<unsigned long>(prctl(PR_GET_TIMERSLACK));
};

template <class F>
bool find(void* library, const char* name, F& function) {
  function = reinterpret_cast<F>(dlsym(library, name));
  return function != nullptr;
}

// libinfinipath and libpsm2, which libfabric needs, measure the clock as they are loaded: each sleeps for 125
// us until 100 ms have passed.  With the kernel's slack they wake up 700 times, which takes 16 ms of CPU.
void* open_library() {
  const LongSleeps sleeps;
  return dlopen("libfabric.so.1", RTLD_NOW | RTLD_LOCAL);
}

Result<const Library*> load() {
  set_environment();
  void* handle = open_library();
  if (handle == nullptr) {
    const char* reason = dlerror();
    return Status::error(std::string("cannot load libfabric (install libfabric1): ") +
                         (reason ? reason : ""));
  }
  static Library library;
  const bool complete =
      find(handle, "fi_getinfo", library.getinfo) && find(handle, "fi_freeinfo", library.freeinfo) &&
      find(handle, "fi_dupinfo", library.dupinfo) && find(handle, "fi_fabric", library.fabric) &&
      find(handle, "fi_strerror", library.strerror) && find(handle, "fi_version", library.version);
  if (!complete) return Status::error("libfabric.so.1 lacks functions of API 1.17: update libfabric");
  library.guard = guard_listeners(library);
  return &library;
}

}  // namespace

void set_environment() {
  // Without this, libinfinipath takes SIGSEGV, SIGBUS, SIGTERM, SIGINT, SIGILL and SIGABRT away from the
  // program.
  setenv("IPATH_NO_BACKTRACE", "1", 1);
  setenv("FI_TCP_IO_URING", "0", 1);  // would accept connections without calling accept()
  for (const Setting& setting : kTuning) setenv(setting.name, setting.value, 0);
}

Result<const Library*> load_library() {
  static Result<const Library*> library = load();
  return library;
}

}  // namespace shm::ofi
