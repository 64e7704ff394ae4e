// SPDX-License-Identifier: BSD-3-Clause
// What libfabric alone does between two processes over loopback (tcp;ofi_rxm): the yardstick for
// transports/ofi. No code of Atoll is used, and libfabric is linked.  net_ops.cpp does the same through
// Network and NetOps.
//
//   bare_fabric [poll|agent|auto]...     who serves the target: its main thread, a thread that polls for 50
//   us
//                                        after each wake-up and then sleeps, or libfabric (FI_PROGRESS_AUTO)
//   bare_fabric pages                    its main thread; whole pages of memory, for compare_paging.py
//
// Output: lines "name value unit".  Latencies are medians, rates and bandwidths the best, of kRepeats.
#include <poll.h>
#include <rdma/fi_atomic.h>
#include <rdma/fi_rma.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#include "../bare_endpoint.hpp"
#include "fabric_bench.hpp"

namespace {

using bench::Clock;

using bare::check;

struct Peer {
  char name[64];
  std::size_t length;
  std::uint64_t key;
};

// One process.  An operation's context points to its counter of outstanding operations.
class Process {
 public:
  Process(bench::Shared& shared, int me, bool automatic) {
    endpoint_.open(FI_MSG | FI_RMA | FI_ATOMIC, automatic);
    check(fi_control(&endpoint_.cq->fid, FI_GETWAIT, &fd_), "FI_GETWAIT");
    heap_ = static_cast<char*>(
        mmap(nullptr, bench::kHeap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    madvise(heap_, bench::kHeap, MADV_HUGEPAGE);
    check(fi_mr_reg(endpoint_.domain, heap_, bench::kHeap, FI_REMOTE_READ | FI_REMOTE_WRITE, 0, 1, 0, &mr_,
                    nullptr),
          "reg");
    Peer own{};
    own.length = sizeof own.name;
    check(fi_getname(&endpoint_.ep->fid, own.name, &own.length), "fi_getname");
    own.key = fi_mr_key(mr_);
    std::memcpy(shared.address[me], &own, sizeof own);
    shared.barrier();
    std::memcpy(&peer_, shared.address[1 - me], sizeof peer_);
    check(fi_av_insert(endpoint_.av, peer_.name, 1, &address_, 0, nullptr) - 1, "fi_av_insert");
  }

  void poll_once() {
    fi_cq_tagged_entry entries[32];
    const ssize_t n = fi_cq_read(endpoint_.cq, entries, 32);
    for (ssize_t i = 0; i < n; ++i) --outstanding_;
    if (n < 0 && n != -FI_EAGAIN) check(n, "fi_cq_read");
  }
  std::uint64_t word(std::size_t offset) const {
    return __atomic_load_n(reinterpret_cast<std::uint64_t*>(heap_ + offset), __ATOMIC_ACQUIRE);
  }
  bool idle() const { return outstanding_ == 0; }
  int outstanding() const { return outstanding_; }

  void put(std::uint64_t offset, const void* source, std::size_t n) {
    rma(offset, const_cast<void*>(source), n, true);
  }
  void get(void* dest, std::uint64_t offset, std::size_t n) { rma(offset, dest, n, false); }

  void add(std::uint64_t offset, const std::uint64_t* value, std::uint64_t* old) {
    fi_ioc operand{const_cast<std::uint64_t*>(value), 1}, result{old, 1};
    fi_rma_ioc there{offset, 1, peer_.key};
    void* descriptor = nullptr;
    fi_msg_atomic message{};
    message.msg_iov = &operand;
    message.desc = &descriptor;
    message.iov_count = 1;
    message.addr = address_;
    message.rma_iov = &there;
    message.rma_iov_count = 1;
    message.datatype = FI_UINT64;
    message.op = FI_SUM;
    message.context = context();
    post([&] {
      return old != nullptr
                 ? fi_fetch_atomicmsg(endpoint_.ep, &message, &result, &descriptor, 1, FI_COMPLETION)
                 : fi_atomicmsg(endpoint_.ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE);
    });
  }

  // The agent of the target: see the head of the file.
  void serve_until(const std::atomic<int>& stop) {
    auto last = Clock::now();
    while (stop.load(std::memory_order_relaxed) == 0) {
      fi_cq_tagged_entry entry;
      fi_cq_read(endpoint_.cq, &entry, 1);
      if (Clock::now() - last < std::chrono::microseconds(50)) continue;
      fid* queue = &endpoint_.cq->fid;
      if (fi_trywait(endpoint_.fabric, &queue, 1) == 0) {
        pollfd event{fd_, POLLIN, 0};
        poll(&event, 1, 10);
      }
      last = Clock::now();
    }
  }

 private:
  void rma(std::uint64_t offset, void* local, std::size_t n, bool write) {
    iovec here{local, n};
    fi_rma_iov there{offset, n, peer_.key};
    void* descriptor = nullptr;
    fi_msg_rma message{};
    message.msg_iov = &here;
    message.desc = &descriptor;
    message.iov_count = 1;
    message.addr = address_;
    message.rma_iov = &there;
    message.rma_iov_count = 1;
    message.context = context();
    post([&] {
      return write ? fi_writemsg(endpoint_.ep, &message, FI_COMPLETION | FI_DELIVERY_COMPLETE)
                   : fi_readmsg(endpoint_.ep, &message, FI_COMPLETION);
    });
  }

  // The cheapest that FI_CONTEXT allows: a ring longer than any window.
  fi_context* context() { return &contexts_[next_++ % kContexts]; }

  template <class Attempt>
  void post(Attempt attempt) {
    long code;
    while ((code = attempt()) == -FI_EAGAIN) poll_once();
    check(code, "post");
    ++outstanding_;
  }

  static constexpr std::size_t kContexts = 1024;
  bare::Endpoint endpoint_;
  fid_mr* mr_ = nullptr;
  int fd_ = -1;
  char* heap_ = nullptr;
  Peer peer_{};
  fi_addr_t address_ = FI_ADDR_UNSPEC;
  fi_context contexts_[kContexts];
  std::size_t next_ = 0;
  int outstanding_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  setenv("FI_OFI_RXM_MSG_RX_SIZE", "256", 0);
  setenv("FI_OFI_RXM_BUFFER_SIZE", "16384", 0);
  setenv("FI_OFI_RXM_CM_PROGRESS_INTERVAL", "100", 0);
  return bench::run(argc, argv, {"poll", "agent", "auto"},
                    [](bench::Shared& shared, int me, const std::string& mode) {
                      Process process(shared, me, mode == "auto");
                      bench::play(shared, me, mode + "_", mode, process);
                    });
}
