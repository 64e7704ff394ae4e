// SPDX-License-Identifier: BSD-3-Clause
// The measurements of bare_fabric.cpp through Network and NetOps: what transports/ofi adds to libfabric.
//
//   net_ops [poll|agent]...
#include <poll.h>

#include <cstring>
#include <memory>
#include <span>

#include "fabric_bench.hpp"
#include "net.hpp"
#include "ofi/fabric.hpp"

namespace {

using namespace shm;

bench::Shared* shared_state = nullptr;
std::size_t lengths[2];

class Process {
 public:
  Process(bench::Shared& shared, int me) : pe_(1 - me) {
    Result<std::unique_ptr<Network>> net = open_fabric({.provider = "", .loopback_only = true});
    if (!net.ok()) {
      std::fprintf(stderr, "%s\n", net.status().text().c_str());
      _exit(1);
    }
    net_ = std::move(net.value());
    heap_ = static_cast<char*>(
        mmap(nullptr, bench::kHeap, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    check(net_->add_segment(SegmentId::heap, heap_, bench::kHeap));
    auto address = net_->address();
    check(address.status());
    std::memcpy(shared.address[me], address.value().data(), address.value().size());
    lengths[0] = lengths[1] = address.value().size();
    shared_state = &shared;
    shared.barrier();
    auto lookup = +[](int pe) { return std::as_bytes(std::span(shared_state->address[pe], lengths[pe])); };
    check(net_->connect(me, 2, lookup, [](int, std::uint16_t, const std::byte*, std::size_t) {}));
    channel_ = net_->open_channel();
  }

  // The benchmark's window: what was posted less what is complete is not known per operation, so the window
  // is kept by a ring of completions.
  void put(std::uint64_t offset, const void* source, std::size_t n) {
    channel_->ops->put(channel_, pe_, {SegmentId::heap, offset}, source, n, n <= 8, next());
  }
  void get(void* dest, std::uint64_t offset, std::size_t n) {
    channel_->ops->get(channel_, pe_, dest, {SegmentId::heap, offset}, n, next());
  }
  void add(std::uint64_t offset, const std::uint64_t* value, std::uint64_t* old) {
    channel_->ops->amo(channel_, pe_, {SegmentId::heap, offset}, AtomicOp::add, AtomicType::u64, value,
                       nullptr, old, next());
  }
  void poll_once() { net_->poll(); }
  std::uint64_t word(std::size_t offset) const {
    return __atomic_load_n(reinterpret_cast<std::uint64_t*>(heap_ + offset), __ATOMIC_ACQUIRE);
  }
  bool idle() const { return channel_->ops->idle(channel_); }
  int outstanding() {
    while (oldest_ != newest_ && ring_[oldest_ % kRing].done()) ++oldest_;
    return static_cast<int>(newest_ - oldest_);
  }

  void serve_until(const std::atomic<int>& stop) {
    auto last = bench::Clock::now();
    while (stop.load(std::memory_order_relaxed) == 0) {
      net_->poll();
      if (bench::Clock::now() - last < std::chrono::microseconds(50)) continue;
      if (net_->may_block()) {
        pollfd event{net_->wait_fd(), POLLIN, 0};
        ::poll(&event, 1, 10);
      }
      last = bench::Clock::now();
    }
  }

 private:
  static void check(const Status& status) {
    if (status.ok()) return;
    std::fprintf(stderr, "%s\n", status.text().c_str());
    _exit(1);
  }

  Completion* next() {
    Completion& completion = ring_[newest_++ % kRing];
    return new (&completion) Completion;
  }

  static constexpr std::size_t kRing = 1024;
  int pe_;
  std::unique_ptr<Network> net_;
  Channel* channel_ = nullptr;
  char* heap_ = nullptr;
  Completion ring_[kRing];
  std::size_t oldest_ = 0, newest_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  return bench::run(argc, argv, {"poll", "agent"},
                    [](bench::Shared& shared, int me, const std::string& mode) {
                      Process process(shared, me);
                      bench::play(shared, me, mode + "_", mode, process);
                    });
}
