// SPDX-License-Identifier: BSD-3-Clause
// Table replies: packets, to single requests and to those of a batch, which PE 1 is to answer; by match list.
#include <deque>

#include "kv/batch.hpp"
#include "kv/match_requests.hpp"
#include "kv_job.hpp"

namespace shm::fuzz {
namespace {

using namespace kv;

constexpr std::uint64_t kValue = 40;
constexpr Call kCall{"a target"};

// A request that waits, and memory for its value that ends there.
struct Asked {
  explicit Asked(std::uint64_t room) : value(new std::byte[room]) {}
  std::unique_ptr<std::byte[]> value;
  std::atomic<std::uint64_t> left{1};
  int status = 0;
  std::size_t n = 0;
  std::uint64_t token = 0;
  Outstanding pending;
};

struct NothingLeft {};

class Replies {
 public:
  explicit Replies(Input& input) : input_(input), job_(8, kValue) {
    job_.network.on_send = [this](int, std::uint16_t, const Bytes& message) { sent_ = message; };
    job_.network.on_poll = [this] { return poll(); };
  }

  // No name is left of what is gone.
  void clean_up() {
    for (const Asked& asked : asked_) {
      if (asked.left.load() == 0) continue;
      Bytes packet;
      append(packet, KvPacketHead{0, KvPacketHead::replies});
      append(packet, KvReplyHead{asked.token, 0, SHMEMX_KV_OK, 0});
      // Its name may have been taken by a reply that was refused.
      refuses([&] { take_replies(1, packet.data(), packet.size()); });
    }
  }

  void run() {
    const unsigned what = input_.below(5);
    if (what == 4) return take_match();
    if (what >= 2) return run_batch();
    for (unsigned count = 1 + input_.below(4); count > 0; --count) ask();
    while (!input_.empty()) take(input_.below(4) == 0 ? input_.bytes(input_.below(256)) : replies());
  }

 private:
  // Mostly of PE 1.
  void take(const Bytes& message) {
    const int from = input_.byte() < 240 ? 1 : 0;
    take_replies(from, message.data(), message.size());
  }

  static Key key_there() {
    static const std::string bytes = [] {
      for (std::uint64_t n = 0;; ++n) {
        std::string key(8, '\0');
        std::memcpy(key.data(), &n, sizeof n);
        if (pe_of(hash_of(nullptr, key.data(), key.size()), 2) == 1) return key;
      }
    }();
    return {hash_of(nullptr, bytes.data(), bytes.size()), bytes.data(), 8};
  }

  void ask() {
    const std::uint64_t room = input_.below(2) != 0 ? kValue : 8;
    Asked& asked = asked_.emplace_back(room);
    asked.pending.status = &asked.status;
    asked.pending.value = asked.value.get();
    asked.pending.n = &asked.n;
    asked.pending.left = &asked.left;
    KvRequest request{.op = KvOp::get, .key = key_there(), .n = room};
    request.by_rma = input_.below(4) == 0;
    job_.table->client().issue(kCall, 1, request, room, asked.pending);
    job_.table->client().flush(1);
    asked.token = head_at<RequestHead>(sent_.data() + sizeof(KvPacketHead)).token;
  }

  // Of who waits; nobody is answered twice.
  std::uint64_t token() {
    if (asked_tokens_.empty() || input_.byte() >= 240) return input_.word<std::uint64_t>();
    const std::size_t which = input_.below(static_cast<unsigned>(asked_tokens_.size()));
    const std::uint64_t token = asked_[asked_tokens_[which]].token;
    asked_tokens_.erase(asked_tokens_.begin() + static_cast<std::ptrdiff_t>(which));
    return token;
  }

  Bytes replies() {
    const bool piece = input_.below(3) == 0;
    Bytes packet;
    append(packet, KvPacketHead{0, piece ? KvPacketHead::reply_piece : KvPacketHead::replies});
    asked_tokens_.clear();
    for (std::size_t i = 0; i < asked_.size(); ++i) {
      if (asked_[i].left.load() != 0) asked_tokens_.push_back(i);
    }
    const std::uint64_t offset = input_.below(6) * std::uint64_t{8};
    if (piece) append(packet, PieceHead{offset, input_.near(kValue)});
    for (unsigned count = piece ? 1 : 1 + input_.below(3); count > 0; --count) {
      const auto bytes = static_cast<std::uint32_t>(input_.near(input_.below(4) * std::uint64_t{8}));
      append(packet, KvReplyHead{token(), input_.near(piece ? kValue : bytes),
                                 static_cast<std::int32_t>(input_.byte() < 200 ? 0 : input_.below(11)) -
                                     2 * (input_.below(8) == 0),
                                 bytes});
      packet.resize(packet.size() + std::min<std::uint64_t>(padded(bytes), 64));
    }
    return packet;
  }

  // A reply by match list, into memory that ends where its value does.
  void take_match() {
    const std::uint64_t room = input_.below(2) * kValue;
    Asked asked(room);
    AwaitedMatch awaited{1, 7, {room, input_.below(2) != 0, false}, room == 0 ? nullptr : asked.value.get()};
    Bytes reply;
    if (input_.below(4) != 0) {
      const std::uint64_t bytes = input_.near(room);
      append(reply, KvReplyHead{input_.near(7), input_.near(bytes), static_cast<std::int32_t>(input_.near(0)),
                                static_cast<std::uint32_t>(bytes)});
      reply.resize(reply.size() + bytes % 128);
    }
    const Bytes more = input_.rest();
    reply.insert(reply.end(), more.begin(), more.end());
    const std::size_t n = reply.size();
    reply.resize(padded(n));
    take_match_reply(reply.data(), n, awaited);
    if (awaited.limits.gets && awaited.status == SHMEMX_KV_OK && awaited.n > room) std::abort();
  }

  // ---- a batch, which polls for its replies

  void run_batch() {
    constexpr std::size_t kCount = 5;
    std::vector<std::byte> keys;
    const Key key = key_there();
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto* first = static_cast<const std::byte*>(key.bytes);
      keys.insert(keys.end(), first, first + key.n);
    }
    const bool gets = input_.below(2) != 0;
    Many many{
        .like = {.op = gets ? KvOp::get : KvOp::accumulate, .atomic = AtomicOp::add, .key = {}, .n = 16},
        .keys = keys.data(),
        .key_bytes = 8};
    const auto results = std::make_unique<std::byte[]>(kCount * 16);
    const auto values = std::make_unique<std::byte[]>(kCount * 8);
    std::size_t lengths[kCount];
    int status[kCount];
    many.values = gets ? nullptr : values.get();
    many.value_bytes = gets ? 16 : 8;
    if (input_.below(2) != 0) many.results = results.get();
    if (gets) many.results = results.get(), many.lengths = lengths;
    many.status = status;
    try {
      static_cast<void>(execute_many(kCall, *job_.table, many, kCount));
    } catch (const NothingLeft&) {
    }
  }

  bool poll() {
    if (input_.empty()) throw NothingLeft();
    if (sent_.size() < sizeof(KvPacketHead) + sizeof(RunHead)) return false;
    RunHead run;
    std::memcpy(&run, sent_.data() + sizeof(KvPacketHead), sizeof run);
    Bytes packet;
    append(packet, KvPacketHead{0, KvPacketHead::run_replies});
    const auto count = static_cast<std::uint32_t>(input_.near(answered_ < run.count ? 1 : 0));
    append(packet, RunReplyHead{input_.near(run.like.token),
                                static_cast<std::uint32_t>(input_.near(answered_)), count});
    for (unsigned replies = std::min(count, 6U); replies > 0; --replies) {
      const auto bytes = static_cast<std::uint32_t>(input_.near(8));
      append(packet, RunReply{static_cast<std::int32_t>(input_.below(9)) - 1, bytes});
      packet.resize(packet.size() + std::min<std::uint64_t>(padded(bytes), 64));
    }
    answered_ += count;
    take(packet);
    return true;
  }

  Input& input_;
  KvJob job_;
  std::deque<Asked> asked_;
  std::vector<std::size_t> asked_tokens_;
  Bytes sent_;
  std::uint32_t answered_ = 0;
};

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  Input input(data, n);
  Replies replies(input);
  refuses([&] { replies.run(); });
  replies.clean_up();
}

}  // namespace shm::fuzz
