// SPDX-License-Identifier: BSD-3-Clause
// Messages of collective operations: parcels from PE 1 to PE 0, expected or not, and where PE 1 says that it
// wants a long one.
#include <cstdlib>
#include <map>

#include "coll/choose.hpp"
#include "coll/parcel_message.hpp"
#include "coll/rendezvous.hpp"
#include "core/progress.hpp"
#include "core/runtime.hpp"
#include "setup/internal_layout.hpp"
#include "sink_network.hpp"

namespace shm::fuzz {
namespace {

constexpr int kFrom = 1;
constexpr std::size_t kHeap = 4096;
constexpr std::size_t kLongest = std::size_t{40} << 10;

// A runtime of two PEs, without a job, for all inputs.
class CollJob {
 public:
  CollJob() : memory_(static_cast<std::byte*>(std::aligned_alloc(4096, kInternalBytes + kHeap))) {
    std::memset(memory_, 0, kInternalBytes + kHeap);
    rt.heap = SymmetricSegment(reinterpret_cast<std::uintptr_t>(memory_), kInternalBytes + kHeap, deltas_,
                               kInternalBytes);
    be_one_of_two(network, progress_);
    open_parcels();
  }
  SinkNetwork network;

 private:
  static constexpr std::ptrdiff_t deltas_[2] = {0, kNoMapping};
  std::byte* memory_;
  Progress progress_{network, &network.channel, 0};
};

CollJob& job() {
  static CollJob& only = *new CollJob;
  return only;
}

// Phases of inputs before are never used again.
std::uint64_t phases = 0;

class Parcels {
 public:
  explicit Parcels(Input& input) : input_(input), first_phase_(phases) { phases += 16; }

  void run() {
    while (!input_.empty()) {
      switch (input_.below(4)) {
        case 0: expect(); break;
        case 1: arrive(input_.bytes(input_.below(200))); break;
        case 2: send_long(); break;
        default: arrive(parcel());
      }
    }
  }

  // What is there, or was said to come, goes: nothing of this input is left for the next one.
  void clean_up() {
    for (auto& [phase, expected] : expected_) {
      complete(phase, expected->room.size());
      expected->parcel.wait();
    }
    for (const auto& [which, n] : arrived_) {
      const auto& [phase, rest] = which;
      if (n == 0 || (rest == key(phase, kData).rest && expected_.contains(phase))) continue;
      Bytes room(n);
      receive_parcel(
          {static_cast<int>(rest >> 52), phase, static_cast<int>(rest >> 24 & (Parcel::kSteps - 1))}, kFrom,
          room.data(), n);
    }
  }

 private:
  struct Awaited {
    explicit Awaited(std::size_t n) : room(n) {}
    Bytes room;
    Expected parcel;
  };

  std::uint64_t phase() { return first_phase_ + input_.below(8); }
  static ParcelKey key(std::uint64_t phase, ParcelKind kind) {
    return {phase, std::uint64_t{1} << 52 | static_cast<std::uint64_t>(kind) << 50 | unsigned{kFrom}};
  }

  void arrive(const Bytes& message) {
    ParcelKey key{};
    if (!message.empty()) std::memcpy(&key, message.data(), std::min(message.size(), sizeof key));
    const bool ours = key.phase >= first_phase_ && key.phase < first_phase_ + 8;
    if (!ours && key.phase >> 63 == 0) return;  // of an earlier input, or a later one
    Progress::deliver(kFrom, static_cast<std::uint16_t>(MessageId::collective), message.data(),
                      message.size());
    if (ours && kind_of(key) == kData) arrived_[{key.phase, key.rest}] += message.size() - sizeof key;
  }

  Bytes parcel() {
    ParcelKey made = key(phase(), kData);
    made.rest = input_.near(made.rest);
    Bytes message;
    append(message, made);
    message.resize(message.size() + input_.near(input_.below(300)) % 9000);
    return message;
  }

  void expect() {
    const std::uint64_t wanted = phase();
    if (expected_.contains(wanted)) return;
    const std::size_t n = 1 + input_.below(kLongest);
    auto& made = expected_[wanted] = std::make_unique<Awaited>(n);
    try {
      made->parcel.expect({1, wanted, 0}, kFrom, made->room.data(), n);
    } catch (const Refused&) {  // more of it was there
      expected_.erase(wanted);
      throw;
    }
  }
  void complete(std::uint64_t phase, std::size_t n) {
    const auto there = [&] { return arrived_[{phase, key(phase, kData).rest}]; };
    while (there() < n) {
      Bytes message;
      append(message, key(phase, kData));
      message.resize(message.size() + std::min<std::size_t>(n - there(), 8000));
      arrive(message);
    }
  }

  // Its receiver says where it wants it.
  void send_long() {
    const std::uint64_t phase = first_phase_ + 8 + input_.below(8);
    const InternalArea& area = internal_area();
    const std::uint64_t marks = reinterpret_cast<std::uintptr_t>(area.parcel_marks) - rt.heap.origin;
    const Ready made{input_.near(1),
                     {static_cast<SegmentId>(input_.near(0) % kSegments), input_.near(kInternalBytes)},
                     {static_cast<SegmentId>(input_.near(0) % kSegments), input_.near(marks + 8)}};
    Bytes message;
    append(message, key(phase, kReady));
    append(message, made);
    message.resize(std::min<std::size_t>(message.size(), input_.near(message.size())));
    if (message.size() != sizeof(ParcelKey) + sizeof(Ready)) return;  // the sender would wait for the rest
    job().network.on_poll = nullptr;
    Progress::deliver(kFrom, static_cast<std::uint16_t>(MessageId::collective), message.data(),
                      message.size());
    const Bytes data(eager_limit() + 1 + input_.below(64));
    send_parcel({1, phase, 0}, kFrom, data.data(), data.size());
  }

  Input& input_;
  const std::uint64_t first_phase_;
  std::map<std::uint64_t, std::unique_ptr<Awaited>> expected_;
  std::map<std::pair<std::uint64_t, std::uint64_t>, std::size_t>
      arrived_;  // bytes, by phase and rest of a key
};

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  job();
  Input input(data, n);
  Parcels parcels(input);
  refuses([&] { parcels.run(); });
  if (refuses([&] { parcels.clean_up(); })) std::abort();  // what was expected has come
}

}  // namespace shm::fuzz
