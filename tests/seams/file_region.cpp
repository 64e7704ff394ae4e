// SPDX-License-Identifier: BSD-3-Clause
// A toy region: symmetric memory that lives in one file per PE and is never mapped.  Everything that the API
// does with addresses must reach it: put, get, atomics, signals, waits, pointers.
#include <fcntl.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "check.h"
#include "core/region.hpp"
#include "shmem.h"

namespace {

constexpr std::size_t kSize = std::size_t{1} << 20;

class FileRegion final : public shm::Region {
 public:
  FileRegion(void* base, std::vector<int> files)
      : Region("the toy region", reinterpret_cast<std::uintptr_t>(base), kSize), files_(std::move(files)) {}

  void put(shm::Context*, std::uintptr_t to, const void* source, std::size_t n, int pe, bool) override {
    CHECK_EQ(pwrite(file(pe), source, n, offset(to)), n);
  }
  void get(shm::Context*, void* dest, std::uintptr_t from, std::size_t n, int pe, bool) override {
    CHECK_EQ(pread(file(pe), dest, n, offset(from)), n);
  }
  void amo(shm::Context*, std::uintptr_t at, shm::AtomicOp op, shm::AtomicType type, const void* value,
           const void* compare, void* fetch, int pe, bool) override {
    const std::size_t size = shm::atomic_size(type);
    alignas(8) std::byte word[8];
    flock(file(pe), LOCK_EX);  // each process has its own open file description, so this excludes
    CHECK_EQ(pread(file(pe), word, size, offset(at)), size);
    shm::atomic_apply(op, type, word, value, compare, fetch);
    CHECK_EQ(pwrite(file(pe), word, size, offset(at)), size);
    flock(file(pe), LOCK_UN);
  }
  void load(std::uintptr_t address, void* value, std::size_t n) override {
    CHECK_EQ(pread(file(shmem_my_pe()), value, n, offset(address)), n);
  }
  void* ptr(std::uintptr_t, int) override { return nullptr; }
  void quiet(shm::Context&) override { ++quiets; }
  void fence(shm::Context&) override { ++fences; }

  int quiets = 0, fences = 0;

 private:
  int file(int pe) const { return files_[static_cast<std::size_t>(pe)]; }
  off_t offset(std::uintptr_t address) const { return static_cast<off_t>(address - base()); }
  std::vector<int> files_;
};

std::string file_name(int pe) {
  const char* folder = std::getenv("TMPDIR");
  const char* job = std::getenv("PMIX_NAMESPACE");
  return std::string(folder != nullptr ? folder : "/tmp") + "/atoll-region." +
         (job != nullptr ? job : "single") + "." + std::to_string(pe);
}

std::vector<int> open_files(int me, int pes) {
  const int own = open(file_name(me).c_str(), O_RDWR | O_CREAT | O_EXCL, 0600);
  CHECK_CMP(own, >=, 0);
  CHECK_EQ(ftruncate(own, kSize), 0);
  shmem_barrier_all();
  std::vector<int> files;
  for (int pe = 0; pe < pes; ++pe) files.push_back(pe == me ? own : open(file_name(pe).c_str(), O_RDWR));
  shmem_barrier_all();
  unlink(file_name(me).c_str());
  return files;
}

void test_put_get_and_pointers(long* words, int me, int pes) {
  const int next = (me + 1) % pes, previous = (me + pes - 1) % pes;
  shmem_long_p(words, 100 + me, next);
  long block[16], back[16];
  for (int i = 0; i < 16; ++i) block[i] = me * 16 + i;
  shmem_putmem(words + 8, block, sizeof block, next);
  shmem_long_iput(words + 64, block, 2, 1, 8, next);
  shmem_barrier_all();
  CHECK_EQ(shmem_long_g(words, me), 100 + previous);
  shmem_long_get_nbi(back, words + 8, 16, next);
  shmem_quiet();
  CHECK_BYTES(back, block, sizeof block);
  CHECK_EQ(shmem_long_g(words + 64 + 2 * 7, me), previous * 16 + 7);
  CHECK_EQ(shmem_ptr(words, next), nullptr);
  CHECK_EQ(shmem_addr_accessible(words, next), 1);
}

void test_atomics_and_waits(long* words, int me, int pes) {
  for (int i = 0; i < 20; ++i) {
    shmem_long_atomic_add(words + 128, 1, 0);
    shmem_long_atomic_fetch_inc(words + 129, 0);
  }
  shmem_barrier_all();
  CHECK_EQ(shmem_long_atomic_fetch(words + 128, 0), 20L * pes);
  CHECK_EQ(shmem_long_g(words + 129, 0), 20L * pes);
  auto* signal = reinterpret_cast<std::uint64_t*>(words + 200);
  shmem_putmem_signal(words + 208, &me, sizeof me, signal, 7, SHMEM_SIGNAL_SET, (me + 1) % pes);
  CHECK_EQ(shmem_signal_wait_until(signal, SHMEM_CMP_EQ, 7), 7);
  CHECK_EQ(shmem_int_g(reinterpret_cast<int*>(words + 208), me), (me + pes - 1) % pes);
}

}  // namespace

int main() {
  shmem_init();
  const int me = shmem_my_pe(), pes = shmem_n_pes();
  void* base = mmap(nullptr, kSize, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  CHECK(base != MAP_FAILED);
  FileRegion region(base, open_files(me, pes));
  CHECK_EQ(shmem_addr_accessible(base, me), 0);
  shm::add_region(&region);
  shmem_barrier_all();
  test_put_get_and_pointers(static_cast<long*>(base), me, pes);
  test_atomics_and_waits(static_cast<long*>(base), me, pes);
  shmem_fence();
  CHECK_CMP(region.quiets, >, 0);
  const int quiets = region.quiets, next = (me + 1) % pes;
  shmem_pe_quiet(&next, 1);
  CHECK_EQ(region.quiets, quiets + 1);
  CHECK_CMP(region.fences, >, 0);
  shmem_barrier_all();
  shm::remove_region(&region);
  shmem_finalize();
  return 0;
}
