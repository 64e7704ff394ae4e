// SPDX-License-Identifier: BSD-3-Clause
#include "system_calls.hpp"

#include <fcntl.h>
#include <liburing.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <cstdarg>
#include <cstdlib>
#include <filesystem>

namespace shm::nvm {
namespace {

std::atomic<SystemCalls*> watching = nullptr;

std::string path_of(int fd) {
  std::error_code ignored;
  return std::filesystem::read_symlink("/proc/self/fd/" + std::to_string(fd), ignored);
}

// What the script says of a call with these arguments; without one: that it is the system's.
template <class... Arguments>
SystemCalls::Outcome outcome_of(Called call, const Arguments&... arguments) {
  SystemCalls* calls = watching.load();
  return calls == nullptr ? SystemCalls::real : calls->take(call, arguments...);
}

SystemCalls::Outcome outcome_of_file(Called call, int fd, std::int64_t offset = 0, std::int64_t n = 0) {
  return watching.load() == nullptr ? SystemCalls::real : outcome_of(call, path_of(fd), offset, n);
}

// Whether the call fails instead of being made, with errno set.
bool fails(SystemCalls::Outcome outcome) {
  if (outcome > 0) errno = static_cast<int>(outcome);
  return outcome > 0;
}

// Of what has not been submitted yet.
void change_transfers(io_uring& ring) {
  for (unsigned at = ring.sq.sqe_head; at != ring.sq.sqe_tail; ++at) {
    io_uring_sqe& entry = ring.sq.sqes[at & ring.sq.ring_mask];
    const auto outcome =
        outcome_of_file(Called::uring_transfer, entry.fd, static_cast<std::int64_t>(entry.off), entry.len);
    if (outcome > 0) entry.fd = -1;
    if (outcome < 0) entry.len = std::min(entry.len, static_cast<unsigned>(-outcome));
  }
}

// A ring that the system knows nothing of.
struct FakeRing {
  unsigned taken = 0, given = 0;  // of the transfers to make
  unsigned seen = 0, ended = 0;   // of those that have ended
  unsigned no_flags = 0;
  std::vector<io_uring_sqe> transfers;
  std::vector<io_uring_cqe> ends;
};
constexpr int kFake = -1;  // io_uring::ring_fd

// What it can do: everything.
io_uring_probe* fake_probe() {
  alignas(io_uring_probe) static std::byte
      bytes[sizeof(io_uring_probe) + (IORING_OP_LAST + 1) * sizeof(io_uring_probe_op)];
  auto* probe = reinterpret_cast<io_uring_probe*>(bytes);
  probe->last_op = IORING_OP_LAST;
  probe->ops_len = IORING_OP_LAST + 1;
  for (int i = 0; i <= IORING_OP_LAST; ++i) probe->ops[i].flags = IO_URING_OP_SUPPORTED;
  return probe;
}

FakeRing& fake_of(const io_uring& ring) { return *static_cast<FakeRing*>(ring.sq.ring_ptr); }

// What liburing's inline functions use of a ring.
void make_fake(io_uring& ring, unsigned entries) {
  entries = std::bit_ceil(entries);
  auto* fake = new FakeRing;
  fake->transfers.resize(entries);
  fake->ends.resize(std::size_t{2} * entries);
  ring = {};
  ring.ring_fd = kFake;
  ring.sq.ring_ptr = fake;
  ring.sq.khead = &fake->taken;
  ring.sq.ktail = &fake->given;
  ring.sq.kflags = &fake->no_flags;
  ring.sq.sqes = fake->transfers.data();
  ring.sq.ring_entries = entries;
  ring.sq.ring_mask = entries - 1;
  ring.cq.khead = &fake->seen;
  ring.cq.ktail = &fake->ended;
  ring.cq.cqes = fake->ends.data();
  ring.cq.ring_entries = 2 * entries;
  ring.cq.ring_mask = 2 * entries - 1;
}

// Makes the transfers that have not been submitted yet; returns how many.
template <class Make>
int submit_fake(io_uring& ring, Make make) {
  FakeRing& fake = fake_of(ring);
  int n = 0;
  for (; ring.sq.sqe_head != ring.sq.sqe_tail; ++ring.sq.sqe_head, ++n) {
    const io_uring_sqe& entry = fake.transfers[ring.sq.sqe_head & ring.sq.ring_mask];
    const ssize_t moved = make(entry);
    io_uring_cqe& end = fake.ends[fake.ended & ring.cq.ring_mask];
    end.user_data = entry.user_data;
    end.res = moved < 0 ? -errno : static_cast<int>(moved);
    ++fake.ended;
  }
  fake.taken = fake.given = ring.sq.sqe_tail;
  return n;
}

}  // namespace

SystemCalls::SystemCalls() { watching = this; }

SystemCalls::~SystemCalls() { watching = nullptr; }

void SystemCalls::next(Called call, std::initializer_list<Outcome> outcomes) {
  const std::scoped_lock guard(mutex_);
  std::deque<Outcome>& next = scripts_.at(static_cast<std::size_t>(call)).next;
  next.insert(next.end(), outcomes);
}

void SystemCalls::always(Called call, Outcome outcome) {
  const std::scoped_lock guard(mutex_);
  scripts_.at(static_cast<std::size_t>(call)).always = outcome;
}

std::vector<SystemCalls::Record> SystemCalls::records() const {
  const std::scoped_lock guard(mutex_);
  return records_;
}

std::vector<SystemCalls::Record> SystemCalls::records(Called call) const {
  std::vector<Record> some = records();
  std::erase_if(some, [&](const Record& record) { return record.call != call; });
  return some;
}

void SystemCalls::clear() {
  const std::scoped_lock guard(mutex_);
  records_.clear();
}

SystemCalls::Outcome SystemCalls::take(Called call, const std::string& path, std::int64_t offset,
                                       std::int64_t n) {
  const std::scoped_lock guard(mutex_);
  Script& script = scripts_.at(static_cast<std::size_t>(call));
  Outcome outcome = script.always;
  if (!script.next.empty()) {
    outcome = script.next.front();
    script.next.pop_front();
  }
  records_.push_back({call, path, offset, n, outcome > 0 ? static_cast<int>(outcome) : 0});
  return outcome;
}

}  // namespace shm::nvm

// What the linker makes of the names: __wrap_f is called for f, and __real_f is f.
// NOLINTBEGIN
extern "C" {

using shm::nvm::Called;
using shm::nvm::fails;
using shm::nvm::outcome_of;
using shm::nvm::outcome_of_file;

int __real_open(const char* path, int flags, ...);
int __real_flock(int fd, int operation);
int __real_ftruncate(int fd, off_t size);
int __real_fallocate(int fd, int mode, off_t offset, off_t n);
ssize_t __real_pread(int fd, void* to, size_t n, off_t offset);
ssize_t __real_pwrite(int fd, const void* from, size_t n, off_t offset);
int __real_fdatasync(int fd);
int __real_fsync(int fd);
int __real_unlink(const char* path);
void* __real_mmap(void* at, size_t n, int protection, int flags, int fd, off_t offset);
void* __real_aligned_alloc(size_t alignment, size_t n);
int __real_io_uring_queue_init(unsigned entries, io_uring* ring, unsigned flags);
void __real_io_uring_queue_exit(io_uring* ring);
io_uring_probe* __real_io_uring_get_probe_ring(io_uring* ring);
void __real_io_uring_free_probe(io_uring_probe* probe);
int __real_io_uring_submit_and_wait(io_uring* ring, unsigned wait_for);

int __wrap_open(const char* path, int flags, ...) {
  va_list rest;
  va_start(rest, flags);
  const mode_t mode = (flags & O_CREAT) != 0 ? va_arg(rest, mode_t) : 0;
  va_end(rest);
  return fails(outcome_of(Called::open, std::string(path), flags)) ? -1 : __real_open(path, flags, mode);
}
int __wrap_flock(int fd, int operation) {
  return fails(outcome_of_file(Called::flock, fd)) ? -1 : __real_flock(fd, operation);
}
int __wrap_ftruncate(int fd, off_t size) {
  return fails(outcome_of_file(Called::ftruncate, fd, 0, size)) ? -1 : __real_ftruncate(fd, size);
}
int __wrap_fallocate(int fd, int mode, off_t offset, off_t n) {
  return fails(outcome_of_file(Called::fallocate, fd, offset, n)) ? -1
                                                                  : __real_fallocate(fd, mode, offset, n);
}
ssize_t __wrap_pread(int fd, void* to, size_t n, off_t offset) {
  const auto outcome = outcome_of_file(Called::pread, fd, offset, static_cast<std::int64_t>(n));
  if (outcome < 0) n = std::min(n, static_cast<size_t>(-outcome));
  return fails(outcome) ? -1 : __real_pread(fd, to, n, offset);
}
ssize_t __wrap_pwrite(int fd, const void* from, size_t n, off_t offset) {
  const auto outcome = outcome_of_file(Called::pwrite, fd, offset, static_cast<std::int64_t>(n));
  if (outcome < 0) n = std::min(n, static_cast<size_t>(-outcome));
  return fails(outcome) ? -1 : __real_pwrite(fd, from, n, offset);
}
int __wrap_fdatasync(int fd) {
  return fails(outcome_of_file(Called::fdatasync, fd)) ? -1 : __real_fdatasync(fd);
}
int __wrap_fsync(int fd) { return fails(outcome_of_file(Called::fsync, fd)) ? -1 : __real_fsync(fd); }
int __wrap_unlink(const char* path) {
  return fails(outcome_of(Called::unlink, std::string(path))) ? -1 : __real_unlink(path);
}
void* __wrap_mmap(void* at, size_t n, int protection, int flags, int fd, off_t offset) {
  const auto outcome = outcome_of(Called::mmap, std::string(), offset, static_cast<std::int64_t>(n));
  return fails(outcome) ? MAP_FAILED : __real_mmap(at, n, protection, flags, fd, offset);
}
void* __wrap_aligned_alloc(size_t alignment, size_t n) {
  const auto outcome = outcome_of(Called::aligned_alloc, std::string(), 0, static_cast<std::int64_t>(n));
  return fails(outcome) ? nullptr : __real_aligned_alloc(alignment, n);
}
int __wrap_io_uring_queue_init(unsigned entries, io_uring* ring, unsigned flags) {
  const auto outcome = outcome_of(Called::uring_init, std::string());
  if (outcome > 0) return static_cast<int>(-outcome);
  const auto* calls = shm::nvm::watching.load();
  if (calls == nullptr || !calls->fakes_rings()) return __real_io_uring_queue_init(entries, ring, flags);
  shm::nvm::make_fake(*ring, entries);
  return 0;
}
void __wrap_io_uring_queue_exit(io_uring* ring) {
  if (ring->ring_fd != shm::nvm::kFake) return __real_io_uring_queue_exit(ring);
  delete &shm::nvm::fake_of(*ring);
}
io_uring_probe* __wrap_io_uring_get_probe_ring(io_uring* ring) {
  if (fails(outcome_of(Called::uring_probe, std::string()))) return nullptr;
  if (ring->ring_fd != shm::nvm::kFake) return __real_io_uring_get_probe_ring(ring);
  return shm::nvm::fake_probe();
}
void __wrap_io_uring_free_probe(io_uring_probe* probe) {
  if (probe != shm::nvm::fake_probe()) __real_io_uring_free_probe(probe);
}
int __wrap_io_uring_submit_and_wait(io_uring* ring, unsigned wait_for) {
  const auto outcome = outcome_of(Called::uring_submit, std::string(), 0, wait_for);
  if (outcome > 0) return static_cast<int>(-outcome);
  shm::nvm::change_transfers(*ring);
  if (ring->ring_fd != shm::nvm::kFake) return __real_io_uring_submit_and_wait(ring, wait_for);
  return shm::nvm::submit_fake(*ring, [](const io_uring_sqe& entry) {
    auto* memory = reinterpret_cast<void*>(entry.addr);
    const auto at = static_cast<off_t>(entry.off);
    return entry.opcode == IORING_OP_READ ? __real_pread(entry.fd, memory, entry.len, at)
                                          : __real_pwrite(entry.fd, memory, entry.len, at);
  });
}
}
// NOLINTEND
