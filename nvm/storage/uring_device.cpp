// SPDX-License-Identifier: BSD-3-Clause
// Transfers by io_uring.  At most kDepth are in the ring at a time; the others wait in a queue of ours.
#include <liburing.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <deque>
#include <vector>

#include "base/fatal.hpp"
#include "nvm/storage/file_device.hpp"

namespace shm::nvm {
namespace {

constexpr unsigned kDepth = 64;

class UringDevice final : public FileDevice {
 public:
  UringDevice(OpenFile file, const io_uring& ring) : FileDevice(std::move(file), "io_uring"), ring_(ring) {}

  ~UringDevice() override {
    // The system writes to the memory of a read until that has ended.
    while (in_ring_ > 0) {
      enter(1);
      drain(false);
    }
    io_uring_queue_exit(&ring_);
  }

  // A transfer is handed over by submit() alone: the system interrupts the thread that does so when the
  // transfer ends.
  bool never_blocks() const override { return true; }

  void start(Transfer& transfer) override {
    ++under_way_;
    if (begin(transfer, file().size())) {
      waiting_.push_back(&transfer);
    } else {
      ended_.push_back(&transfer);
    }
  }

  // Moves from the queue to the ring what finds room there, and tells the system of it.
  void submit() override {
    while (!waiting_.empty() && in_ring_ < kDepth) {
      io_uring_sqe* entry = io_uring_get_sqe(&ring_);
      if (entry == nullptr) break;
      prepare(entry, *waiting_.front());
      waiting_.pop_front();
      ++in_ring_;
    }
    if (io_uring_sq_ready(&ring_) > 0) enter(0);
  }

  bool to_be_submitted() const override {
    return io_uring_sq_ready(&ring_) > 0 || (!waiting_.empty() && in_ring_ < kDepth);
  }

  Transfer* take_read(Transfer& transfer) override {
    const auto found = std::ranges::find(waiting_, &transfer);
    if (found == waiting_.end() || transfer.kind != Transfer::Kind::read) return nullptr;
    waiting_.erase(found);
    transfer.carried_out = false;
    taken_.push_back(&transfer);
    return &transfer;
  }

  void carry_out(Transfer& taken) override {
    move_bytes(file().fd(), taken);
    // The last access, to the device too.
    std::atomic_ref(taken.carried_out).store(true, std::memory_order_release);
  }

  Transfer* finished() override {
    if (under_way_ == 0) return nullptr;
    drain(true);
    std::erase_if(taken_, [this](Transfer* taken) {
      if (!is_carried_out(taken)) return false;
      ended_.push_back(taken);
      return true;
    });
    if (ended_.empty()) return nullptr;
    Transfer* first = ended_.front();
    ended_.pop_front();
    --under_way_;
    return first;
  }

  void await() override {
    // Else for who carries out a read that was taken, or until the system has memory again.
    if (in_ring_ == 0 || !enter(1)) sched_yield();
  }

  std::size_t under_way() const override { return under_way_; }

  bool listen(int eventfd) override {
    if (under_way_ == 0) return true;
    if (!registered_) {
      registered_ = eventfd >= 0 && io_uring_register_eventfd(&ring_, eventfd) == 0;
      return false;  // something may be ending right now, untold
    }
    return !to_be_submitted() && ended_.empty() && std::ranges::none_of(taken_, is_carried_out) &&
           io_uring_cq_ready(&ring_) == 0;
  }

 private:
  static bool is_carried_out(Transfer* taken) {
    return std::atomic_ref(taken->carried_out).load(std::memory_order_acquire);
  }

  void prepare(io_uring_sqe* entry, Transfer& transfer) const {
    std::byte* at = transfer.data + transfer.done;
    const std::uint64_t offset = transfer.offset + transfer.done;
    const auto n = static_cast<unsigned>(next_piece(transfer));
    if (transfer.kind == Transfer::Kind::read)
      io_uring_prep_read(entry, file().fd(), at, n, offset);
    else
      io_uring_prep_write(entry, file().fd(), at, n, offset);
    io_uring_sqe_set_data(entry, &transfer);
  }

  // Returns false if the system could not, for now: the entries stay in the ring and go with the next call.
  bool enter(unsigned wait_for) {
    const int result = io_uring_submit_and_wait(&ring_, wait_for);
    if (result >= 0) return true;
    if (result == -EAGAIN || result == -EBUSY || result == -EINTR || result == -ENOMEM) return false;
    fatal("io_uring_enter for %s (NVM heap): %s", file().path().c_str(), std::strerror(-result));
  }

  // Takes what the system is done with out of the ring.  What has not ended goes to the head of the queue,
  // for submit().
  void drain(bool retry) {
    io_uring_cqe* entry = nullptr;
    while (in_ring_ > 0 && io_uring_peek_cqe(&ring_, &entry) == 0) {
      auto* transfer = static_cast<Transfer*>(io_uring_cqe_get_data(entry));
      const long result = entry->res;
      io_uring_cqe_seen(&ring_, entry);
      --in_ring_;
      if (!retry) continue;
      if (account(*transfer, result))
        ended_.push_back(transfer);
      else
        waiting_.push_front(transfer);
    }
  }

  io_uring ring_;
  // An eventfd, from the first listen() on.  It is not switched off while nobody sleeps: the system looks at
  // that switch with no barrier behind the end of a transfer, so that a sleeper might not be woken.
  bool registered_ = false;
  unsigned in_ring_ = 0;
  std::size_t under_way_ = 0;
  std::deque<Transfer*> waiting_;  // for room in the ring
  std::vector<Transfer*> taken_;   // reads that others carry out
  std::deque<Transfer*> ended_;
};

// Rings are older than transfers without a vector (Linux 5.1 and 5.6).
bool can_transfer(io_uring& ring) {
  io_uring_probe* probe = io_uring_get_probe_ring(&ring);
  if (probe == nullptr) return false;
  const bool can = io_uring_opcode_supported(probe, IORING_OP_READ) != 0 &&
                   io_uring_opcode_supported(probe, IORING_OP_WRITE) != 0;
  io_uring_free_probe(probe);
  return can;
}

}  // namespace

Result<std::unique_ptr<Device>> make_uring_device(OpenFile& file) {
  io_uring ring{};
  int result = io_uring_queue_init(kDepth, &ring, 0);
  if (result == 0 && !can_transfer(ring)) {
    io_uring_queue_exit(&ring);
    result = -ENOSYS;
  }
  if (result != 0) return Status::error(std::string("no io_uring here: ") + std::strerror(-result));
  return std::unique_ptr<Device>(std::make_unique<UringDevice>(std::move(file), ring));
}

}  // namespace shm::nvm
