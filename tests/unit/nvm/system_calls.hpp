// SPDX-License-Identifier: BSD-3-Clause
// The calls of the library into the system, recorded, and failing where a test wants it.
//
// The linker leads every call of one of these functions in the library to system_calls.cpp (--wrap,
// CMakeLists.txt).  Without a SystemCalls object they go on to the system at once.
#pragma once

#include <sys/types.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <deque>
#include <initializer_list>
#include <mutex>
#include <string>
#include <vector>

namespace shm::nvm {

enum class Called : std::uint8_t {
  open,
  flock,
  ftruncate,
  fallocate,
  pread,
  pwrite,
  fdatasync,
  fsync,
  unlink,
  mmap,
  aligned_alloc,
  uring_init,      // io_uring_queue_init()
  uring_probe,     // io_uring_get_probe_ring()
  uring_submit,    // io_uring_submit_and_wait()
  uring_transfer,  // each transfer that this hands to the system
};
inline constexpr std::size_t kCalled = 15;

/// From its making to its end; one at a time.  Thread safety: any thread.
class SystemCalls {
 public:
  /// What becomes of a call: this errno (positive), `real`, or, of a transfer, `at_most(n)` bytes of it.
  using Outcome = std::int64_t;
  static constexpr Outcome real = 0;
  static constexpr Outcome at_most(std::int64_t n) { return -n; }

  struct Record {
    Called call;
    std::string path;  // that the call names, or its descriptor has
    std::int64_t offset = 0, n = 0;
    int error = 0;
    bool operator==(const Record&) const = default;
  };

  SystemCalls();
  ~SystemCalls();
  SystemCalls(const SystemCalls&) = delete;
  SystemCalls& operator=(const SystemCalls&) = delete;

  /// What becomes of the next calls of this kind, in turn; those after them go to the system.  Of a
  /// uring_transfer any errno stands for EBADF.
  void next(Called call, std::initializer_list<Outcome> outcomes);
  /// What becomes of all calls of this kind, after those of next().
  void always(Called call, Outcome outcome);
  /// From now on rings are made of memory alone, and their transfers with pread() and pwrite(): also where
  /// the system permits no io_uring.
  void fake_rings() { fakes_rings_.store(true); }

  /// In the order of their beginning.
  std::vector<Record> records() const;
  /// Those of one kind.
  std::vector<Record> records(Called call) const;
  std::size_t count(Called call) const { return records(call).size(); }
  void clear();

  /// For system_calls.cpp: the script's next outcome, and what is recorded of it.
  Outcome take(Called call, const std::string& path, std::int64_t offset = 0, std::int64_t n = 0);
  bool fakes_rings() const { return fakes_rings_.load(); }

 private:
  struct Script {
    std::deque<Outcome> next;
    Outcome always = real;
  };
  mutable std::mutex mutex_;
  std::array<Script, kCalled> scripts_;
  std::vector<Record> records_;
  std::atomic<bool> fakes_rings_{false};
};

}  // namespace shm::nvm
