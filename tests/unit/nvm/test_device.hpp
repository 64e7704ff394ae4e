// SPDX-License-Identifier: BSD-3-Clause
// A device in memory that does as a test tells it: transfers that fail, or end late and in any order, and no
// room.
//
// It is strict where a file is not: overlapping transfers, and reserve() or release() of what is being moved,
// end the program with a message.  A transfer moves its bytes when it ends, not when it starts.
//
// Thread safety: the Device part as everywhere; what a test calls may come from any thread.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <map>
#include <random>
#include <thread>
#include <vector>

#include "base/mutex.hpp"
#include "nvm/storage/open_device.hpp"

namespace shm::nvm {

struct TestDeviceOptions {
  std::uint64_t size = 0;
  std::uint64_t seed = 1;  // of the order in which transfers end
  int lazy_percent = 0;  // of the calls of finished() that return null though something has ended; below 100
  bool hold = false;     // transfers end only by end()
  bool never_blocks =
      false;  // as io_uring: transfers end only once they were submitted, by the thread that listens
  bool lets_take = false;  // reads, to be carried out by others; these wait as long as transfers are held
  std::function<void()> close;  // what its end takes
};

class TestDevice final : public Device {
 public:
  /// A transfer that has ended.
  struct Record {
    Transfer::Kind kind;
    std::uint64_t offset;
    std::size_t n;
    int error;
    bool taken = false;  // and carried out by another thread
  };

  explicit TestDevice(const TestDeviceOptions& options);
  ~TestDevice() override {
    if (options_.close) options_.close();
  }

  std::string describe() const override { return "memory, for tests"; }
  Status reserve(std::uint64_t offset, std::uint64_t n) override;
  Status release(std::uint64_t offset, std::uint64_t n) override;
  bool never_blocks() const override { return options_.never_blocks; }
  void start(Transfer& transfer) override;
  void submit() override;
  bool to_be_submitted() const override;
  bool listen(int eventfd) override;
  Transfer* take_read(Transfer& transfer) override;
  void carry_out(Transfer& taken) override;
  Transfer* finished() override;
  std::size_t under_way() const override;
  Status persist() override;

  // The script.

  /// The k-th transfer of this kind to be started from now on (1: the next) ends with `error`, after `moved`
  /// bytes of it, which may end within a block: a read or write that was cut short.
  void fail(Transfer::Kind kind, std::uint64_t k, int error, std::size_t moved = 0);

  /// At most `bytes` can be occupied, by reserve() or by writing: what goes beyond it gets ENOSPC.
  void limit_room(std::uint64_t bytes);

  /// persist() fails from now on.
  void fail_persist();

  /// true: what is started from now on ends only by end(); false: all ends by itself again, what was held
  /// included.
  void hold(bool held);

  /// true: reserve(), release() and persist() wait until it is false again.
  void hold_calls(bool held);
  /// They take so long.
  void slow_down_calls(std::chrono::nanoseconds by) { slow_calls_ = by; }
  /// How many of them wait.
  int calls_held() const { return calls_waiting_; }

  /// Reads that were taken and have not ended.
  std::size_t taken() const;

  /// Lets up to n transfers end, in an order that the seed decides; returns how many there were.
  std::size_t end(std::size_t n = SIZE_MAX);

  // What happened.

  /// Transfers in the order in which they ended, since the last clear_records().
  std::vector<Record> records() const;
  void clear_records();
  std::uint64_t bytes_occupied() const;
  std::uint64_t persists() const;

 private:
  using Block = std::array<std::byte, kBlock>;
  struct Fault {
    int error = 0;
    std::size_t moved = 0;
  };
  struct Started {
    Transfer* transfer;
    Fault fault;
  };

  bool occupy(std::uint64_t offset, std::uint64_t n) REQUIRES(mutex_);
  void check_idle(const char* who, std::uint64_t offset, std::uint64_t n, bool reads) const REQUIRES(mutex_);
  void end_one() REQUIRES(mutex_);
  void end(const Started& started, bool taken) REQUIRES(mutex_);
  void move(Transfer& transfer, std::size_t n) REQUIRES(mutex_);
  std::size_t pick(std::size_t n) REQUIRES(mutex_) { return static_cast<std::size_t>(random_() % n); }

  void await_call();

  const TestDeviceOptions options_;
  std::atomic<bool> hold_calls_{false};
  std::atomic<std::chrono::nanoseconds> slow_calls_{};
  std::atomic<int> calls_waiting_{0};
  mutable Mutex mutex_;  // guards all that follows
  std::mt19937_64 random_ GUARDED_BY(mutex_);
  bool hold_ GUARDED_BY(mutex_);
  bool persist_fails_ GUARDED_BY(mutex_) = false;
  std::uint64_t room_ GUARDED_BY(mutex_) = UINT64_MAX;
  std::uint64_t persists_ GUARDED_BY(mutex_) = 0;
  std::map<std::uint64_t, Block> blocks_ GUARDED_BY(mutex_);                 // those with room, by offset
  std::array<std::uint64_t, 2> counts_ GUARDED_BY(mutex_){};                 // started, of each kind
  std::array<std::map<std::uint64_t, Fault>, 2> faults_ GUARDED_BY(mutex_);  // of each kind, by count
  std::vector<Started> started_ GUARDED_BY(mutex_);  // the first `submitted_` of these may end
  std::size_t submitted_ GUARDED_BY(mutex_) = 0;
  std::vector<Started> taken_ GUARDED_BY(mutex_);
  std::thread::id listener_ GUARDED_BY(mutex_);  // none: nobody has listened yet
  std::vector<Transfer*> ended_ GUARDED_BY(mutex_);
  std::vector<Record> records_ GUARDED_BY(mutex_);
};

}  // namespace shm::nvm
