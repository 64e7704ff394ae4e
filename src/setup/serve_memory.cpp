// SPDX-License-Identifier: BSD-3-Clause
#include "setup/serve_memory.hpp"

#include <poll.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <utility>

#include "base/fatal.hpp"
#include "base/human.hpp"
#include "remote/lender.hpp"
#include "setup/announcement.hpp"
#include "setup/memory_link.hpp"
#include "setup/process_state.hpp"

namespace shm {
namespace {

using Clock = std::chrono::steady_clock;

// After a request the next one is not far, and a core that is given away comes back late; but a program may
// need this core.
constexpr std::chrono::microseconds kSpinTime{200};
// What is read and written here is no event of the network's.  But a poll that moves a page takes longer than
// one that finds nothing: 1 to 2 us, and more with many connections.
constexpr std::chrono::microseconds kServed{5};
constexpr int kTimesEmpty = 3;
constexpr int kLongestSleep = 100;  // ms: where something is announced to nobody

Boot* joined = nullptr;

[[noreturn]] void end_job(int code, const char* suspicion) {
  joined->abort(code, suspicion);
  _exit(code);
}

// Drives the network: it is by that that PEs read and write.
class Loop {
 public:
  explicit Loop(Network& network) : network_(network) {}

  void turn() {
    const Clock::time_point before = Clock::now();
    const bool worked = network_.poll();
    const Clock::time_point now = Clock::now();
    if (worked || served(now - before)) since_ = now;
    if (worked) return;
    if (now - since_ < kSpinTime) {
      sched_yield();
    } else if (network_.may_block()) {
      sleep();
    }
  }

 private:
  // Whether a poll of this length has moved something.
  bool served(Clock::duration length) {
    empty_ = std::min(length, empty_ + empty_ / 64 + std::chrono::nanoseconds(1));
    return length > kServed && length > kTimesEmpty * empty_;
  }

  void sleep() {
    const long longest = network_.max_block_us();
    pollfd event{network_.wait_fd(), POLLIN, 0};
    network_.begin_sleep();
    if (::poll(&event, 1,
               longest < 0 ? kLongestSleep
                           : std::min<int>(kLongestSleep, static_cast<int>(longest / 1000) + 1)) > 0)
      since_ = Clock::now();
    network_.end_sleep();
  }

  Network& network_;
  Clock::time_point since_ = Clock::now();
  Clock::duration empty_ = kServed;  // about what a poll takes that finds nothing
};

Status serve(Boot& boot, const Env& env) {
  const Job& job = boot.job();
  Result<remote::LentMemory> memory = remote::LentMemory::create(bytes_per_server(env, job.servers));
  if (!memory.ok()) return memory.status();
  // Both stay until the process ends: peers may still be connected.
  auto& lender = *new remote::Lender(std::move(memory.value()), job.size);
  Result<MemoryLink> link = MemoryLink::open(env, job, &lender.memory());
  if (!link.ok()) return link.status();
  if (Status status = boot.exchange(Announcement{link.value().address(), {}}.pack()); !status.ok())
    return status;
  Result<std::unique_ptr<Network>> connected =
      link.value().connect(boot, [&lender](int from, std::uint16_t id, const std::byte* message,
                                           std::size_t n) { lender.receive(from, id, message, n); });
  if (!connected.ok()) return connected.status();
  Network& network = *connected.value().release();
  lender.open(network.open_channel(), network.pins_segments());
  debug("lends %s over %s", human_bytes(lender.memory().bytes()).c_str(), network.describe().c_str());
  Loop loop(network);
  do {
    while (!lender.take_finish()) loop.turn();
    // PEs hear that they were heard while this process is still there.
    const Channel* channel = lender.channel();
    while (!channel->ops->idle(channel)) loop.turn();
    // It fails where another has died, of which the launcher has more to say.
    if (const Status status = boot.barrier(); !status.ok()) lost_peer("%s", status.text().c_str());
  } while (boot.comes_back());
  return {};
}

}  // namespace

int serve_memory(Boot& boot, const Env& env) {
  const Job& job = boot.job();
  joined = &boot;
  set_identity(job.rank, job.size, job.host);
  set_debug(env.debug);
  set_abort_hook(end_job);
  if (Status status = serve(boot, env); !status.ok()) fatal("%s", status.text().c_str());
  boot.leave();
  boot.end();
  return 0;
}

int serve_memory() {
  Result<Env> env = Env::read();
  if (!env.ok()) {
    warn("shmem_memory: %s", env.status().text().c_str());
    return kErrorExit;
  }
  Result<std::unique_ptr<Boot>> boot = make_boot();
  Status status = boot.ok() ? boot.value()->join(env.value()) : boot.status();
  if (status.ok() && !boot.value()->job().is_server()) {
    status = Status::error(
        "this process is no memory server of a job: oshrun --memory-servers starts them, or "
        "SHMEM_MEMORY_SERVERS=<n>, with which the last n processes of a job are servers");
  }
  if (!status.ok()) {
    warn("shmem_memory: %s", status.text().c_str());
    return kErrorExit;
  }
  return serve_memory(*boot.value().release(), env.value());
}

}  // namespace shm
