// SPDX-License-Identifier: BSD-3-Clause
#include "heap/node_memory.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <functional>
#include <thread>

#include "base/env.hpp"
#include "base/huge_pages.hpp"
#include "base/limits.hpp"
#include "heap/checkers.hpp"
#include "heap/core_file.hpp"

namespace shm {
namespace {

using Clock = std::chrono::steady_clock;
// A PE that cannot set up its memory says why and ends the job.  One that fails because of it gives it time
// to do so: the job would end before, without that line.
constexpr std::chrono::seconds kFirstOneSpeaks{1};
constexpr std::size_t kPage = 4096;
constexpr std::size_t kSmallStatics = std::size_t{16}
                                      << 20;  // always in a core file, also of who writes one unasked

Status failed(const char* what) {
  const int why = errno;
  return Status::error(std::string(what) + ": " + std::strerror(why) + limit_behind(why));
}

// For want of room for heaps: with the variable that most of it follows from.
Status no_room(const char* what, const NodeShape& shape) {
  const int why = errno;
  const bool mostly_own = shape.own_bytes > shape.heap_stride / 2;
  return Status::error(std::string(what) + " (lower " +
                       variable_in_use(mostly_own ? "KV_TEAM_SIZE" : "SYMMETRIC_SIZE") +
                       "?): " + std::strerror(why) + limit_behind(why));
}

// Polls with growing pauses; set-up is no place to burn a core that another PE may need to get here.
bool wait_until(double seconds, const std::function<bool()>& condition) {
  const auto deadline = Clock::now() + std::chrono::duration<double>(seconds);
  auto pause = std::chrono::microseconds(20);
  for (int polls = 0; !condition(); ++polls) {
    if (polls < 50) {
      std::this_thread::yield();
      continue;
    }
    if (Clock::now() > deadline) return false;
    std::this_thread::sleep_for(pause);
    pause = std::min(pause * 2, std::chrono::microseconds(1000));
  }
  return true;
}

std::byte* map_shared(int file, std::size_t size, std::size_t offset) {
  void* at = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file,
                  static_cast<off_t>(offset));
  return at == MAP_FAILED ? nullptr : static_cast<std::byte*>(at);
}

// The same at a multiple of kLargestAlignment: takes more address space, and gives back what is around.
std::byte* map_shared_aligned(int file, std::size_t size, std::size_t offset) {
  const std::size_t room = size + kLargestAlignment;
  void* start = mmap(nullptr, room, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (start == MAP_FAILED) return nullptr;
  auto* first = static_cast<std::byte*>(start);
  auto* at =
      reinterpret_cast<std::byte*>(round_up(reinterpret_cast<std::uintptr_t>(start), kLargestAlignment));
  const std::size_t before = static_cast<std::size_t>(at - first);
  if (before > 0) munmap(first, before);
  munmap(at + size, kLargestAlignment - before);
  if (mmap(at, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE | MAP_FIXED, file,
           static_cast<off_t>(offset)) == MAP_FAILED) {
    return nullptr;
  }
  return at;
}

}  // namespace

std::size_t NodeMemory::control_bytes() const {
  const std::size_t controls = sizeof(PeControl) * static_cast<std::size_t>(shape_.node_size);
  const std::size_t records = sizeof(PeRecord) * static_cast<std::size_t>(shape_.job_size);
  return round_up(sizeof(NodeBlock) + controls + records, kHugePage);
}

PeRecord& NodeMemory::record(int rank) const {
  std::byte* records =
      control_ + sizeof(NodeBlock) + sizeof(PeControl) * static_cast<std::size_t>(shape_.node_size);
  return reinterpret_cast<PeRecord*>(records)[rank];
}

Placement NodeMemory::placement(std::span<const int> leaders) const {
  Placement placement;
  placement.members.resize(leaders.size());
  for (int rank = 0; rank < shape_.job_size; ++rank) {
    const auto node = std::ranges::lower_bound(leaders, record(rank).leader - 1) - leaders.begin();
    placement.add(static_cast<int>(node));
  }
  return placement;
}

Result<std::unique_ptr<NodeMemory>> NodeMemory::create(Mapper& mapper, const NodeMember& member,
                                                       const NodeShape& shape) {
  std::unique_ptr<NodeMemory> memory(new NodeMemory(member, shape));
  if (Status status = memory->map_control(mapper); !status.ok()) return status;
  Status status = memory->map_heaps_and_statics();
  if (!status.ok()) {
    memory->block().failed.store(1, std::memory_order_release);
    return status;
  }
  return memory;
}

Status NodeMemory::map_control(Mapper& mapper) {
  Result<int> file = mapper.open(member_);
  if (!file.ok()) return file.status();
  file_ = file.value();
  const std::size_t size = control_bytes();
  if (member_.node_rank == 0 && set_file_size(file_, size) != 0)
    return failed("cannot size the node's memory");
  const bool sized = wait_until(member_.timeout, [&] {
    struct stat info {};
    return fstat(file_, &info) == 0 && static_cast<std::size_t>(info.st_size) >= size;
  });
  if (!sized)
    return Status::error("the first PE of this node did not size its memory within SHMEM_INIT_TIMEOUT");
  control_ = map_shared(file_, size, 0);
  if (control_ == nullptr) return failed("cannot map the node's control block");
  own_statics_ = find_statics();
  PeControl& mine = control(member_.node_rank);
  mine.pid = getpid();
  struct stat space {};
  mine.pid_space = stat("/proc/self/ns/pid", &space) == 0 ? space.st_ino : 0;
  mine.requested_heap = shape_.heap_stride;
  mine.requested_user = shape_.user_bytes;
  mine.requested_pool = shape_.pool_bytes;
  mine.record.static_size = own_statics_.size;
  mine.record.static_layout = own_statics_.layout;
  mine.record.heap_size = shape_.heap_stride - shape_.own_bytes;
  mine.record.checked = runs_under_checker() || shape_.checked ? 1 : 0;
  if (Status status = wait_for_all(); !status.ok()) return status;
  mapper.all_attached();
  return {};
}

Status NodeMemory::map_heaps_and_statics() {
  std::size_t statics_total = 0;
  for (int i = 0; i < member_.node_size; ++i) {
    // What PEs give out by themselves follows from the heap's size where it is not set.
    const std::uint64_t own_bytes = control(i).requested_heap - control(i).record.heap_size;
    const bool user_differs = control(i).requested_user != shape_.user_bytes;
    const bool heaps_differ = user_differs || own_bytes == shape_.own_bytes;
    if (user_differs || control(i).requested_heap != shape_.heap_stride || own_bytes != shape_.own_bytes) {
      return Status::error(variable_in_use(heaps_differ ? "SYMMETRIC_SIZE" : "KV_TEAM_SIZE") +
                           " differs between PEs of this node; it must be the same for all PEs");
    }
    if (control(i).requested_pool != shape_.pool_bytes) {
      return Status::error(
          "the variables of the NVM heap differ between PEs of this node; they must be the same for all PEs");
    }
    static_offsets_.push_back(statics_total);
    statics_total += round_up(control(i).record.static_size, kPage);
  }
  const std::size_t heaps_at = control_bytes();
  const std::size_t heaps_total = shape_.heap_stride * static_cast<std::size_t>(member_.node_size);
  const std::size_t statics_at = heaps_at + heaps_total;
  statics_at_ = statics_at;
  statics_total_ = statics_total;
  pool_at_ = round_up(statics_at + statics_total, kHugePage);
  if (member_.node_rank == 0 && set_file_size(file_, pool_at_ + shape_.pool_bytes) != 0) {
    return no_room("cannot size the symmetric heap", shape_);
  }
  if (Status status = wait_for_all(); !status.ok()) return status;
  heaps_ = map_shared_aligned(file_, heaps_total, heaps_at);
  if (heaps_ == nullptr) return no_room("cannot map the symmetric heaps of this node", shape_);
  if (statics_total > 0) {
    statics_ = map_shared(file_, statics_total, statics_at);
    if (statics_ == nullptr) return failed("cannot map the peers' variables");
  }
  if (shape_.pool_bytes > 0) {
    pool_ = map_shared_aligned(file_, shape_.pool_bytes, pool_at_);
    if (pool_ == nullptr) return failed("cannot map the pool of the NVM heap (lower SHMEM_NVM_CACHE?)");
  }
  // Without peers nobody else reads them, and a program whose threads run already must not lose a store
  // meanwhile.
  if (shape_.job_size == 1) return {};
  return share_statics(own_statics_, file_,
                       statics_at + static_offsets_[static_cast<std::size_t>(member_.node_rank)]);
}

void NodeMemory::limit_core(bool with_own) const {
  leave_out_of_core(heaps_, shape_.heap_stride * static_cast<std::size_t>(member_.node_size));
  leave_out_of_core(statics_, statics_total_);
  leave_out_of_core(pool_, shape_.pool_bytes);
  const auto rank = static_cast<std::size_t>(member_.node_rank);
  const OwnMemory statics{reinterpret_cast<std::byte*>(own_statics_.base), own_statics_.size, file_,
                          statics_at_ + static_offsets_[rank]};
  // In a job of one PE they are where the program has them, and the kernel knows what is touched.
  const bool large = shape_.job_size > 1 && statics.size > kSmallStatics;
  if (large) leave_out_of_core(statics.at, statics.size);
  if (!with_own) return;
  if (large) add_touched_to_core(statics);
  add_touched_to_core({heap(member_.node_rank), shape_.heap_stride, file_, heap_at(member_.node_rank)});
}

Status NodeMemory::wait_for_all() {
  ++steps_;
  // The release pairs with the others' acquire below: they see what this PE wrote before it came here.
  control(member_.node_rank).set_up.store(steps_, std::memory_order_release);
  int missing = -1;
  const bool all = wait_until(member_.timeout, [&] {
    missing = -1;
    for (int i = 0; i < member_.node_size && missing < 0; ++i) {
      if (control(i).set_up.load(std::memory_order_acquire) < steps_) missing = i;
    }
    return missing < 0 || block().failed.load(std::memory_order_acquire) != 0;
  });
  if (missing < 0) return {};
  if (all) {
    std::this_thread::sleep_for(kFirstOneSpeaks);
    return Status::error("another PE of this node could not set up its memory");
  }
  return Status::error("PE " + std::to_string(missing) + " of this node did not come to set-up step " +
                       std::to_string(steps_) + " within SHMEM_INIT_TIMEOUT");
}

std::size_t NodeMemory::heap_at(int node_rank) const {
  return control_bytes() + shape_.heap_stride * static_cast<std::size_t>(node_rank);
}

std::size_t NodeMemory::map_touched(std::size_t offset, std::size_t size, std::size_t limit) const {
  std::size_t mapped = 0;
  for (int i = 0; i < member_.node_size; ++i) {
    if (i == member_.node_rank) continue;
    const std::size_t heap = heap_at(i);
    const std::size_t end = heap + offset + size;
    std::size_t at = heap + offset;
    while (at < end && mapped < limit) {
      const off_t data = lseek(file_, static_cast<off_t>(at), SEEK_DATA);
      if (data < 0 || static_cast<std::size_t>(data) >= end) break;
      const off_t hole = lseek(file_, data, SEEK_HOLE);
      if (hole < 0) break;
      at = std::min(static_cast<std::size_t>(hole), end);
      const std::size_t from = static_cast<std::size_t>(data) / kPage * kPage;
      const std::size_t bytes = std::min(at - from, limit - mapped);
      // To read: the kernel maps several pages for one fault then, and writable, as the mapping is.
      if (madvise(heaps_ + (from - control_bytes()), bytes, MADV_POPULATE_READ) != 0) return mapped;
      mapped += bytes;
    }
  }
  return mapped;
}

bool NodeMemory::map_pool_also(std::size_t offset, std::size_t n, std::byte* at, bool writable) const {
  const int protection = writable ? PROT_READ | PROT_WRITE : PROT_READ;
  // Not mmap(), which ThreadSanitizer takes for a write of the range: other threads may be about to access
  // it.
  return syscall(SYS_mmap, at, n, protection, MAP_SHARED | MAP_FIXED, file_, pool_at_ + offset) != -1;
}

// `at`: where in the file.  Of pages that are kept, only those that the file has are touched.
void NodeMemory::empty(std::byte* mapped, std::size_t at, std::size_t size, Pages pages) const {
  if (pages == Pages::given_back) {
    fallocate(file_, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, static_cast<off_t>(at),
              static_cast<off_t>(size));
    return;
  }
  for (std::size_t next = at; next < at + size;) {
    const off_t data = lseek(file_, static_cast<off_t>(next), SEEK_DATA);
    if (data < 0 || static_cast<std::size_t>(data) >= at + size) return;
    const off_t hole = lseek(file_, data, SEEK_HOLE);
    const std::size_t begin = static_cast<std::size_t>(data);
    next = hole < 0 ? at + size : std::min(static_cast<std::size_t>(hole), at + size);
    std::memset(mapped + (begin - at), 0, next - begin);
  }
}

void NodeMemory::empty_pool(Pages pages) const {
  if (pool_ != nullptr) empty(pool_, pool_at_, shape_.pool_bytes, pages);
}

void NodeMemory::empty_heap(std::size_t from, Pages pages) const {
  empty(heap(member_.node_rank) + from, heap_at(member_.node_rank) + from, shape_.heap_stride - from, pages);
}

}  // namespace shm
