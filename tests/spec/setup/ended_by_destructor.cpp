// SPDX-License-Identifier: BSD-3-Clause
// An object that was made before shmem_init communicates in its destructor, and ends the library there.
#include <shmem.h>

#include <cstdio>
#include <cstdlib>

static long word;

namespace {

struct Session {
  ~Session() {
    int started = 0;
    shmem_query_initialized(&started);
    const int me = started ? shmem_my_pe() : 0, pes = started ? shmem_n_pes() : 0;
    if (pes > 0) {
      shmem_long_p(&word, me + 1, (me + 1) % pes);
      shmem_barrier_all();
      shmem_finalize();
    }
    if (pes > 0 && word == (me + pes - 1) % pes + 1) return;
    std::fprintf(stderr, "PE %d of %d: started %d, word %ld\n", me, pes, started, word);
    std::_Exit(1);
  }
} session;

}  // namespace

int main() {
  shmem_init();
  return 0;
}
