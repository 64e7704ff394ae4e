// SPDX-License-Identifier: BSD-3-Clause
// read, write and their kin, getrandom and getentropy.  The names with _chk are those of programs compiled
// with _FORTIFY_SOURCE.
#include <limits.h>
#include <sys/random.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cstring>

#include "blocks.hpp"
#include "next.hpp"
#include "transfers.hpp"

extern "C" [[noreturn]] void __chk_fail();

namespace remote_malloc {
namespace {

constinit Next<ssize_t(int, void*, size_t)> next_read("read");
constinit Next<ssize_t(int, const void*, size_t)> next_write("write");
constinit Next<ssize_t(int, void*, size_t, off_t)> next_pread("pread");
constinit Next<ssize_t(int, const void*, size_t, off_t)> next_pwrite("pwrite");
constinit Next<ssize_t(int, const iovec*, int)> next_readv("readv");
constinit Next<ssize_t(int, const iovec*, int)> next_writev("writev");
constinit Next<ssize_t(int, const iovec*, int, off_t)> next_preadv("preadv");
constinit Next<ssize_t(int, const iovec*, int, off_t)> next_pwritev("pwritev");
constinit Next<ssize_t(int, const iovec*, int, off_t, int)> next_preadv2("preadv2");
constinit Next<ssize_t(int, const iovec*, int, off_t, int)> next_pwritev2("pwritev2");
constinit Next<ssize_t(void*, size_t, unsigned)> next_getrandom("getrandom");
constinit Next<int(void*, size_t)> next_getentropy("getentropy");
constexpr size_t kMostEntropy = 256;  // more is refused

ssize_t read_by_stage(int fd, const Buffers& buffers) {
  return receive(buffers, Division::of_read(fd),
                 [fd](void* at, size_t n, size_t) { return next_read(fd, at, n); });
}

ssize_t write_by_stage(int fd, const Buffers& buffers) {
  return send_out(buffers, Division::of_write(fd),
                  [fd](const void* at, size_t n, size_t) { return next_write(fd, at, n); });
}

ssize_t pread_by_stage(int fd, const Buffers& buffers, off_t offset) {
  return receive(buffers, Division::of_read(fd), [=](void* at, size_t n, size_t done) {
    return next_pread(fd, at, n, offset + static_cast<off_t>(done));
  });
}

ssize_t pwrite_by_stage(int fd, const Buffers& buffers, off_t offset) {
  return send_out(buffers, Division::of_write(fd), [=](const void* at, size_t n, size_t done) {
    return next_pwrite(fd, at, n, offset + static_cast<off_t>(done));
  });
}

// Where a piece lies; without an offset it is where the file is, as for read().
off_t behind(off_t offset, size_t done) { return offset == -1 ? -1 : offset + static_cast<off_t>(done); }

// The system refuses a list that is too long, and one that is longer than what a result can say.
bool goes_by_stage(const iovec* list, int count) {
  if (!blocks::any_remote() || count <= 0 || count > IOV_MAX) return false;
  const Buffers buffers(list, static_cast<size_t>(count));
  if (!buffers.touch_remote()) return false;
  size_t all = 0;
  for (int i = 0; i < count; ++i) {
    if (list[i].iov_len > SSIZE_MAX - all) return false;
    all += list[i].iov_len;
  }
  return true;
}

Buffers listed(const iovec* list, int count) { return {list, static_cast<size_t>(count)}; }

}  // namespace
}  // namespace remote_malloc

using namespace remote_malloc;

REMOTE_MALLOC_WRAPPER ssize_t read(int fd, void* buffer, size_t n) {
  if (!blocks::touches(buffer, n)) return next_read(fd, buffer, n);
  const iovec one{buffer, n};
  return read_by_stage(fd, {&one, 1});
}

REMOTE_MALLOC_WRAPPER ssize_t write(int fd, const void* buffer, size_t n) {
  if (!blocks::touches(buffer, n)) return next_write(fd, buffer, n);
  const iovec one{const_cast<void*>(buffer), n};
  return write_by_stage(fd, {&one, 1});
}

REMOTE_MALLOC_WRAPPER ssize_t pread(int fd, void* buffer, size_t n, off_t offset) {
  if (!blocks::touches(buffer, n)) return next_pread(fd, buffer, n, offset);
  const iovec one{buffer, n};
  return pread_by_stage(fd, {&one, 1}, offset);
}

REMOTE_MALLOC_WRAPPER ssize_t pwrite(int fd, const void* buffer, size_t n, off_t offset) {
  if (!blocks::touches(buffer, n)) return next_pwrite(fd, buffer, n, offset);
  const iovec one{const_cast<void*>(buffer), n};
  return pwrite_by_stage(fd, {&one, 1}, offset);
}

REMOTE_MALLOC_WRAPPER ssize_t readv(int fd, const iovec* list, int count) {
  if (!goes_by_stage(list, count)) return next_readv(fd, list, count);
  return read_by_stage(fd, listed(list, count));
}

REMOTE_MALLOC_WRAPPER ssize_t writev(int fd, const iovec* list, int count) {
  if (!goes_by_stage(list, count)) return next_writev(fd, list, count);
  return write_by_stage(fd, listed(list, count));
}

REMOTE_MALLOC_WRAPPER ssize_t preadv(int fd, const iovec* list, int count, off_t offset) {
  if (!goes_by_stage(list, count)) return next_preadv(fd, list, count, offset);
  return pread_by_stage(fd, listed(list, count), offset);
}

REMOTE_MALLOC_WRAPPER ssize_t pwritev(int fd, const iovec* list, int count, off_t offset) {
  if (!goes_by_stage(list, count)) return next_pwritev(fd, list, count, offset);
  return pwrite_by_stage(fd, listed(list, count), offset);
}

REMOTE_MALLOC_WRAPPER ssize_t preadv2(int fd, const iovec* list, int count, off_t offset, int flags) {
  if (!goes_by_stage(list, count)) return next_preadv2(fd, list, count, offset, flags);
  return receive(listed(list, count), Division::of_read(fd), [=](void* at, size_t n, size_t done) {
    const iovec one{at, n};
    return next_preadv2(fd, &one, 1, behind(offset, done), flags);
  });
}

REMOTE_MALLOC_WRAPPER ssize_t pwritev2(int fd, const iovec* list, int count, off_t offset, int flags) {
  if (!goes_by_stage(list, count)) return next_pwritev2(fd, list, count, offset, flags);
  return send_out(listed(list, count), Division::of_write(fd), [=](void* at, size_t n, size_t done) {
    const iovec one{at, n};
    return next_pwritev2(fd, &one, 1, behind(offset, done), flags);
  });
}

REMOTE_MALLOC_WRAPPER ssize_t getrandom(void* buffer, size_t n, unsigned flags) {
  if (!blocks::touches(buffer, n)) return next_getrandom(buffer, n, flags);
  const iovec one{buffer, n};
  return receive({&one, 1}, {Stage::kKeptBytes, true},
                 [flags](void* at, size_t piece, size_t) { return next_getrandom(at, piece, flags); });
}

REMOTE_MALLOC_WRAPPER int getentropy(void* buffer, size_t n) {
  if (n > kMostEntropy || !blocks::touches(buffer, n)) return next_getentropy(buffer, n);
  char local[kMostEntropy];
  const int failed = next_getentropy(local, n);
  if (failed == 0) std::memcpy(buffer, local, n);
  return failed;
}

// ---- Other names of them: offsets have 64 bits anyway

static_assert(sizeof(off_t) == sizeof(off64_t));

REMOTE_MALLOC_WRAPPER ssize_t pread64(int fd, void* buffer, size_t n, off64_t offset) {
  return pread(fd, buffer, n, offset);
}
REMOTE_MALLOC_WRAPPER ssize_t pwrite64(int fd, const void* buffer, size_t n, off64_t offset) {
  return pwrite(fd, buffer, n, offset);
}
REMOTE_MALLOC_WRAPPER ssize_t preadv64(int fd, const iovec* list, int count, off64_t offset) {
  return preadv(fd, list, count, offset);
}
REMOTE_MALLOC_WRAPPER ssize_t pwritev64(int fd, const iovec* list, int count, off64_t offset) {
  return pwritev(fd, list, count, offset);
}
REMOTE_MALLOC_WRAPPER ssize_t preadv64v2(int fd, const iovec* list, int count, off64_t offset, int flags) {
  return preadv2(fd, list, count, offset, flags);
}
REMOTE_MALLOC_WRAPPER ssize_t pwritev64v2(int fd, const iovec* list, int count, off64_t offset, int flags) {
  return pwritev2(fd, list, count, offset, flags);
}
REMOTE_MALLOC_WRAPPER ssize_t __read_chk(int fd, void* buffer, size_t n, size_t room) {
  if (n > room) __chk_fail();
  return read(fd, buffer, n);
}
REMOTE_MALLOC_WRAPPER ssize_t __pread_chk(int fd, void* buffer, size_t n, off_t offset, size_t room) {
  if (n > room) __chk_fail();
  return pread(fd, buffer, n, offset);
}
REMOTE_MALLOC_WRAPPER ssize_t __pread64_chk(int fd, void* buffer, size_t n, off64_t offset, size_t room) {
  if (n > room) __chk_fail();
  return pread(fd, buffer, n, offset);
}
