// SPDX-License-Identifier: BSD-3-Clause
// Packets of table requests, from PE 1 and PE 2: through the server, to a small shard, with locks that others
// hold meanwhile, and requests by match list.  Another table has ended.
#include "kv/match_requests.hpp"
#include "kv/tables.hpp"
#include "kv_job.hpp"

namespace shm::fuzz {
namespace {

using namespace kv;

constexpr std::pair<std::uint64_t, std::uint64_t> kShapes[] = {{8, 8}, {16, 24}, {12, 300}, {40, 20000}};

class Requests {
 public:
  Requests(Input& input, const std::pair<std::uint64_t, std::uint64_t>& shape)
      : input_(input), job_(shape.first, shape.second) {
    tables_.push_back(std::move(job_.table));
    tables_.push_back(std::make_unique<Table>(1, nullptr, false));
    tables_.back()->end();
  }

  void run() {
    while (!input_.empty()) step();
  }

 private:
  void step() {
    switch (input_.below(8)) {
      case 0: return take(input_.bytes(input_.below(1024)));  // as it is
      case 1: return lock(input_.below(2) != 0);
      case 2: static_cast<void>(tables_.front()->server().resume(job_.shard)); return;
      case 3: return take_match();
      case 4: return take_pieces();
      case 5: return take_run();
      case 6: return fill_block();
      default: return take_requests();
    }
  }

  // As kv/tables has it.  Now and then of the table that has ended, or of one that is not there.
  void take(Bytes message) {
    const unsigned number = input_.byte();
    const int from = 1 + static_cast<int>(number % 2);
    const std::uint32_t asked = number >= 250 ? number - 250 : 0;
    if (message.size() >= sizeof(KvPacketHead))
      std::memcpy(message.data() + offsetof(KvPacketHead, table), &asked, sizeof asked);
    check_message(
        from, kTableRequests,
        wrong_with_packet(message.data(), message.size(), KvPacketHead::requests, KvPacketHead::run));
    Table& table = table_for(tables_, from, message.data());
    if (&table != tables_.front().get()) std::abort();
    table.server().take(job_.shard, from, message.data(), message.size());
  }

  // The lock of the keys' home, of all keys.
  void lock(bool locked) const {
    const std::uint64_t first = job_.layout.groups_at + offsetof(SlotGroup, home);
    for (std::uint64_t group = 0; group < job_.layout.groups; ++group)
      Mapped(tables_.front()->memory()).store(first + group * job_.layout.group_bytes, std::uint32_t{locked});
  }

  RequestHead head() {
    const ShardLayout& layout = job_.layout;
    RequestHead head{};
    head.token = input_.byte();
    head.op = static_cast<KvOp>(input_.below(static_cast<unsigned>(KvOp::confirm) + 2));
    const bool keyless = head.op == KvOp::count || head.op == KvOp::confirm;
    head.key_bytes =
        static_cast<std::uint32_t>(input_.near(keyless ? 0 : std::min<std::uint64_t>(8, layout.key_bytes)));
    head.n = input_.near(head.op == KvOp::reserve ? layout.largest_block
                                                  : input_.below(8) * layout.value_bytes / 7);
    head.offset = input_.near(input_.below(2) * std::uint64_t{8});
    const unsigned block = input_.byte();
    if (block >= 200) head.block = input_.near(layout.blocks_at + (block - 200) * layout.largest_block);
    head.atomic = static_cast<AtomicOp>(input_.below(kAtomicOps + 1));
    head.type = static_cast<AtomicType>(input_.below(kAtomicTypes + 1));
    head.wants = static_cast<std::uint8_t>(input_.below(9));
    return head;
  }
  // Keys are few, so that they meet.
  void append_body(Bytes& packet, const RequestHead& head) {
    const std::size_t n = std::min<std::size_t>(body_bytes(head), 3 * kMaxMessage);
    const auto key = static_cast<std::byte>(input_.below(6));
    packet.resize(packet.size() + n);
    if (n != 0) packet[packet.size() - n] = key;
  }
  void append_request(Bytes& packet) {
    RequestHead made = head();
    made.hash = std::uint64_t{input_.below(3)} << 30 | std::uint64_t{input_.byte()} << 32;
    append(packet, made);
    append_body(packet, made);
  }

  // As a PE that has reserved the block writes it.
  void fill_block() {
    const ShardLayout& layout = job_.layout;
    if (layout.inlined) return;
    const Block block{static_cast<std::uint32_t>(input_.near(std::min<std::uint64_t>(8, layout.key_bytes))),
                      0, input_.below(8) * layout.value_bytes / 7};
    const std::uint64_t at = layout.blocks_at + input_.below(16) * layout.largest_block;
    if (at + sizeof block <= layout.bytes) std::memcpy(tables_.front()->memory() + at, &block, sizeof block);
  }

  void take_requests() {
    Bytes packet;
    append(packet, KvPacketHead{0, KvPacketHead::requests});
    for (unsigned count = 1 + input_.below(4); count > 0; --count) append_request(packet);
    packet.resize(std::min<std::size_t>(packet.size(), kMaxMessage));
    take(packet);
  }
  void take_pieces() {
    Bytes whole;
    append_request(whole);
    for (std::size_t at = 0; at < whole.size();) {
      const std::size_t n = std::min<std::size_t>(whole.size() - at, 1 + input_.below(8) * kPieceBytes / 7);
      Bytes packet;
      append(packet, KvPacketHead{0, KvPacketHead::request_piece});
      append(packet, PieceHead{input_.near(at), input_.near(whole.size())});
      const auto first = whole.begin() + static_cast<std::ptrdiff_t>(at);
      packet.insert(packet.end(), first, first + static_cast<std::ptrdiff_t>(n));
      take(packet);
      at += n;
    }
  }
  void take_run() {
    Bytes packet;
    append(packet, KvPacketHead{0, KvPacketHead::run});
    const std::uint32_t count = 1 + input_.below(6);
    const RunHead run{head(), input_.byte(), static_cast<std::uint32_t>(input_.near(count))};
    append(packet, run);
    for (std::uint32_t i = 0; i < count; ++i) append_body(packet, run.like);
    packet.resize(std::min<std::size_t>(packet.size(), kMaxMessage));
    take(packet);
  }
  // As kv/matched has it, without its lists.
  void take_match() {
    Bytes message;
    if (input_.below(8) == 0) {
      message = input_.bytes(input_.below(256));
    } else {
      const MatchHead entry{head(), static_cast<std::int32_t>(input_.near(1)), 0};
      append(message, entry);
      append_body(message, entry.request);
      message.resize(std::min<std::size_t>(input_.near(message.size()), kMaxMessage));
    }
    MatchAnswer answer;
    const Code status =
        carry_out_match(job_.shard, message.data(), message.size(), input_.below(2) != 0, answer);
    if (status != kBusy && answer.n > sizeof answer.bytes) std::abort();
  }

  Input& input_;
  KvJob job_;
  Tables tables_;  // the first one is the job's
};

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  Input input(data, n);
  Requests requests(input, kShapes[input.below(std::size(kShapes))]);
  refuses([&] { requests.run(); });
}

}  // namespace shm::fuzz
