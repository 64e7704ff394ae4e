// SPDX-License-Identifier: BSD-3-Clause
// Packets of the software NIC: through the executor, to this PE's memory and that of two of its node.
#include <memory>

#include "fuzz.hpp"
#include "nic/executor.hpp"

namespace shm::fuzz {
namespace {

constexpr std::size_t kSegment = 256;

// Each segment ends where its allocation does.
struct Segment {
  Segment() : bytes(new std::byte[kSegment]()) {}
  std::unique_ptr<std::byte[]> bytes;
  nic::Executor& give_to(nic::Executor& executor, SegmentId id) const {
    executor.add_segment(id, bytes.get(), kSegment);
    return executor;
  }
  operator NodeMap::Segment() const { return {bytes.get(), kSegment}; }
};

void add_record(Input& input, Bytes& packet) {
  const unsigned op = input.below(kAtomicOps + 6);
  const nic::Record record{
      .offset = input.near(input.below(kSegment / 8) * std::uint64_t{8}) & ~std::uint64_t{3},
      .node_rank = input.byte() < 128 ? nic::kReceiver : input.below(4),
      .segment = static_cast<SegmentId>(input.below(2)),
      .type = static_cast<AtomicType>(input.below(kAtomicTypes + 1)),
      .code = static_cast<std::uint8_t>(op),
      .result = input.below(2) != 0,
      .ordered = input.below(2) != 0};
  append(packet, nic::encode(record));
  if (op == nic::kPutCode) {
    const std::uint64_t n = input.below(64);
    append(packet, input.near(n) | std::uint64_t{input.below(4)} << 32);
    packet.resize(packet.size() + (n + 7) / 8 * 8);
  } else if (op == nic::kPutStridedCode || op == nic::kGetStridedCode) {
    const nic::Shape shape{input.near(input.below(32)), input.below(8), input.below(20), input.below(4)};
    append(packet, input.near(nic::encode(shape)));
    if (op == nic::kPutStridedCode) packet.resize(packet.size() + nic::padded(shape.bytes()));
  } else if (op == nic::kPutWordCode) {
    append(packet, input.word<std::uint64_t>());
  } else {
    for (unsigned operands = input.below(3); operands > 0; --operands)
      append(packet, input.word<std::uint64_t>());
  }
}

Bytes built(Input& input) {
  Bytes records;
  const unsigned count = input.below(40);
  for (unsigned i = 0; i < count; ++i) add_record(input, records);
  const nic::PacketHead head{input.word<std::uint64_t>(), static_cast<std::uint32_t>(input.near(count)),
                             static_cast<std::uint32_t>(input.near(count))};
  Bytes packet;
  append(packet, head);
  packet.insert(packet.end(), records.begin(), records.end());
  return packet;
}

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  Input input(data, n);
  nic::Executor executor({1 + input.below(4), 1 + input.below(4)});
  const Segment own_heap, own_statics, heap, statics;
  own_heap.give_to(executor, SegmentId::heap);
  own_statics.give_to(executor, SegmentId::statics);
  executor.add_node({NodeMap::Segments{own_heap, own_statics}, NodeMap::Segments{heap, statics}});
  const bool as_they_are = input.below(2) != 0;
  do {
    const Bytes packet = as_they_are ? input.bytes(input.below(2048)) : built(input);
    if (refuses([&] { executor.execute(1, packet.data(), packet.size()); })) return;
  } while (!input.empty());
}

}  // namespace shm::fuzz
