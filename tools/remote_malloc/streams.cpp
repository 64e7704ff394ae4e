// SPDX-License-Identifier: BSD-3-Clause
// What stdio hands to the system in the caller's own buffers: long pieces of fread, fwrite, fputs and puts,
// by calls within the C library that nobody can wrap.  And setvbuf, whose buffer would be one.
#include <stdio.h>

#include <algorithm>
#include <cstddef>
#include <cstring>

#include "blocks.hpp"
#include "next.hpp"
#include "stage.hpp"

extern "C" [[noreturn]] void __chk_fail();

namespace remote_malloc {
namespace {

using Read = size_t(void*, size_t, size_t, FILE*);
using Write = size_t(const void*, size_t, size_t, FILE*);
constinit Next<Read> next_fread("fread");
constinit Next<Read> next_fread_unlocked("fread_unlocked");
constinit Next<Write> next_fwrite("fwrite");
constinit Next<Write> next_fwrite_unlocked("fwrite_unlocked");
constinit Next<int(const char*, FILE*)> next_fputs("fputs");
constinit Next<int(const char*, FILE*)> next_fputs_unlocked("fputs_unlocked");
constinit Next<int(const char*)> next_puts("puts");
constinit Next<int(FILE*, char*, int, size_t)> next_setvbuf("setvbuf");

/// All of one call is one of the stream's for other threads.
class Locked {
 public:
  explicit Locked(FILE* stream) : stream_(stream) { flockfile(stream); }
  ~Locked() { funlockfile(stream_); }
  Locked(const Locked&) = delete;
  Locked& operator=(const Locked&) = delete;

 private:
  FILE* const stream_;
};

size_t read_by_stage(void* buffer, size_t n, FILE* stream) {
  const Stage stage(Stage::kKeptBytes);
  if (stage.at() == nullptr) return 0;
  size_t done = 0;
  while (done < n) {
    const size_t piece = std::min(n - done, Stage::kKeptBytes);
    const size_t got = next_fread_unlocked(stage.at(), 1, piece, stream);
    std::memcpy(static_cast<std::byte*>(buffer) + done, stage.at(), got);
    done += got;
    if (got != piece) break;
  }
  return done;
}

size_t write_by_stage(const void* buffer, size_t n, FILE* stream) {
  const Stage stage(Stage::kKeptBytes);
  if (stage.at() == nullptr) return 0;
  size_t done = 0;
  while (done < n) {
    const size_t piece = std::min(n - done, Stage::kKeptBytes);
    std::memcpy(stage.at(), static_cast<const std::byte*>(buffer) + done, piece);
    const size_t put = next_fwrite_unlocked(stage.at(), 1, piece, stream);
    done += put;
    if (put != piece) break;
  }
  return done;
}

bool write_text(const char* text, FILE* stream) {
  const size_t length = std::strlen(text);
  return write_by_stage(text, length, stream) == length;
}

bool is_remote(const void* buffer, size_t size, size_t count) {
  return blocks::touches(buffer, size * count);
}

}  // namespace
}  // namespace remote_malloc

using namespace remote_malloc;

REMOTE_MALLOC_WRAPPER size_t fread(void* buffer, size_t size, size_t count, FILE* stream) {
  if (!is_remote(buffer, size, count)) return next_fread(buffer, size, count, stream);
  const Locked locked(stream);
  return read_by_stage(buffer, size * count, stream) / size;
}

REMOTE_MALLOC_WRAPPER size_t fread_unlocked(void* buffer, size_t size, size_t count, FILE* stream) {
  if (!is_remote(buffer, size, count)) return next_fread_unlocked(buffer, size, count, stream);
  return read_by_stage(buffer, size * count, stream) / size;
}

REMOTE_MALLOC_WRAPPER size_t fwrite(const void* buffer, size_t size, size_t count, FILE* stream) {
  if (!is_remote(buffer, size, count)) return next_fwrite(buffer, size, count, stream);
  const Locked locked(stream);
  return write_by_stage(buffer, size * count, stream) / size;
}

REMOTE_MALLOC_WRAPPER size_t fwrite_unlocked(const void* buffer, size_t size, size_t count, FILE* stream) {
  if (!is_remote(buffer, size, count)) return next_fwrite_unlocked(buffer, size, count, stream);
  return write_by_stage(buffer, size * count, stream) / size;
}

REMOTE_MALLOC_WRAPPER int fputs(const char* text, FILE* stream) {
  if (!blocks::touches(text, 1)) return next_fputs(text, stream);
  const Locked locked(stream);
  return write_text(text, stream) ? 1 : EOF;
}

REMOTE_MALLOC_WRAPPER int fputs_unlocked(const char* text, FILE* stream) {
  if (!blocks::touches(text, 1)) return next_fputs_unlocked(text, stream);
  return write_text(text, stream) ? 1 : EOF;
}

REMOTE_MALLOC_WRAPPER int puts(const char* text) {
  if (!blocks::touches(text, 1)) return next_puts(text);
  const Locked locked(stdout);
  return write_text(text, stdout) && putc_unlocked('\n', stdout) != EOF ? 1 : EOF;
}

// A stream may use the buffer that it is given, or one of its own.
REMOTE_MALLOC_WRAPPER int setvbuf(FILE* stream, char* buffer, int mode, size_t size) noexcept {
  return next_setvbuf(stream, blocks::touches(buffer, size) ? nullptr : buffer, mode, size);
}

REMOTE_MALLOC_WRAPPER size_t __fread_chk(void* buffer, size_t room, size_t size, size_t count, FILE* stream) {
  size_t all;
  if (__builtin_mul_overflow(size, count, &all) || all > room) __chk_fail();
  return fread(buffer, size, count, stream);
}

REMOTE_MALLOC_WRAPPER size_t __fread_unlocked_chk(void* buffer, size_t room, size_t size, size_t count,
                                                  FILE* stream) {
  size_t all;
  if (__builtin_mul_overflow(size, count, &all) || all > room) __chk_fail();
  return fread_unlocked(buffer, size, count, stream);
}
