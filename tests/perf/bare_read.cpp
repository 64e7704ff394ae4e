// SPDX-License-Identifier: BSD-3-Clause
// What the system takes to read pages of a file past its page cache, in random order, one by one, into memory
// on huge pages: the yardstick for a page that comes from NVM.
//
//   bare_read FOLDER PAGE_BYTES
//
// Output, us of a page, the median of some passes:
//   read <us>      into the same memory each time, which stays in the processor's cache
//   get <us>       as a pool and a get do it: into 16 MiB by turns, and copied from there
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <numeric>
#include <random>
#include <string>
#include <vector>

namespace {

constexpr std::size_t kHugePage = std::size_t{2} << 20;
constexpr std::size_t kFile = std::size_t{64} << 20, kPool = std::size_t{16} << 20;
constexpr int kPasses = 5;

[[noreturn]] void fail(const char* what) {
  std::perror(what);
  std::exit(1);
}

}  // namespace

int main(int argc, char** argv) {
  const std::size_t page = argc == 3 ? std::strtoull(argv[2], nullptr, 10) : 0;
  if (page < 4096 || page > kFile || page % 4096 != 0) {
    std::fprintf(stderr, "usage: bare_read FOLDER PAGE_BYTES\n");
    return 2;
  }
  const std::string path = std::string(argv[1]) + "/bare_read." + std::to_string(getpid());
  const int fd = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_DIRECT | O_CLOEXEC, 0600);
  if (fd < 0) fail(path.c_str());
  unlink(path.c_str());
  const std::size_t room = std::max(kPool, (page + kHugePage - 1) / kHugePage * kHugePage);
  auto* buffer = static_cast<std::uint64_t*>(std::aligned_alloc(kHugePage, room));
  if (buffer == nullptr) fail("memory");
  madvise(buffer, room, MADV_HUGEPAGE);
  std::memset(buffer, 1, room);
  std::mt19937_64 random(1);
  for (std::size_t at = 0; at < kFile; at += page) {
    std::generate_n(buffer, page / sizeof *buffer, std::ref(random));
    if (pwrite(fd, buffer, page, static_cast<off_t>(at)) != static_cast<ssize_t>(page)) fail("pwrite");
  }
  fsync(fd);
  std::vector<std::size_t> numbers(kFile / page);
  std::iota(numbers.begin(), numbers.end(), 0);
  // As aligned as the frames: some processors' memcpy is slow just behind an aligned source
  // (base/copy_bytes).
  void* const copy = std::aligned_alloc(kHugePage, room);
  if (copy == nullptr) fail("memory");
  // The median of some passes.
  const auto measure = [&](std::size_t frames, bool copies) {
    std::vector<double> passes;  // seconds of a read in each
    std::size_t reads = 0;
    for (int pass = 0; pass < kPasses; ++pass) {
      std::shuffle(numbers.begin(), numbers.end(), random);
      const auto start = std::chrono::steady_clock::now();
      for (const std::size_t number : numbers) {
        std::uint64_t* frame = buffer + reads++ % frames * (page / sizeof *buffer);
        if (pread(fd, frame, page, static_cast<off_t>(number * page)) != static_cast<ssize_t>(page))
          fail("pread");
        if (copies) std::memcpy(copy, frame, page);
      }
      const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
      passes.push_back(took.count() / static_cast<double>(numbers.size()));
    }
    std::sort(passes.begin(), passes.end());
    return passes[kPasses / 2] * 1e6;
  };
  std::printf("read %.3f\n", measure(1, false));
  std::printf("get %.3f\n", measure(std::max(kPool / page, std::size_t{1}), true));
}
