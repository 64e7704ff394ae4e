// SPDX-License-Identifier: BSD-3-Clause
// Messages of a table that come from the network: what is wrong with one ends the job, before anything of it
// is used.
#include <gtest/gtest.h>

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "far_table.hpp"
#include "kv/match_requests.hpp"
#include "kv/message_check.hpp"
#include "kv/tables.hpp"

namespace shm::kv {
namespace {

TEST(MatchReplyDeathTest, IsThatOfItsTagAndAsLongAsItSays) {
  std::byte value[16] = {};
  const auto take = [&](std::uint64_t token, std::uint32_t bytes, std::size_t behind) {
    alignas(8) std::byte reply[sizeof(KvReplyHead) + 24] = {};
    const KvReplyHead head{token, bytes, SHMEMX_KV_OK, bytes};
    std::memcpy(reply, &head, sizeof head);
    AwaitedMatch awaited{3, 7, {16, true, false}, value};
    take_match_reply(reply, sizeof head + behind, awaited);
    EXPECT_EQ(awaited.n, bytes);
    EXPECT_EQ(awaited.status, SHMEMX_KV_OK);
  };
  take(7, 8, 8);
  take(7, 5, 5);
  take(7, 0, 0);
  EXPECT_DEATH(take(8, 8, 8), "PE 3 sent a packet of table replies to another request than its tag says");
  EXPECT_DEATH(take(7, 8, 1), "PE 3 sent a packet of table replies that is not as long as it says");
  EXPECT_DEATH(take(7, 8, 16), "that is not as long as it says");
  EXPECT_DEATH(take(7, 17, 17), "with a value that nobody has asked for");
  KvReplyHead head{};
  AwaitedMatch awaited{3, 7, {16, true, false}, value};
  EXPECT_DEATH(take_match_reply(reinterpret_cast<std::byte*>(&head), sizeof head - 1, awaited),
               "that is cut off");
}

TEST(TableOfTeamDeathTest, IsForItsMembersOnly) {
  constexpr std::uint32_t kNumber = 1;
  const Members members(Team{2, 2, 3, 0, nullptr, 0}, SHMEM_TEAM_INVALID);  // PEs 2, 4, 6
  const std::vector<MemberShard> told(3, {0, kNumber | kOfTeam});
  Tables all;
  all.emplace_back();  // one that is being made
  all.push_back(std::make_unique<Table>(kNumber | kOfTeam, KeyHash(), members, told));
  const auto look = [&](int from, std::uint32_t number) {
    const KvPacketHead head{number | kOfTeam, KvPacketHead::requests};
    return &table_for(all, from, reinterpret_cast<const std::byte*>(&head));
  };
  for (const int from : {2, 4, 6}) EXPECT_EQ(look(from, kNumber), all[kNumber].get());
  for (const int from : {0, 1, 3, 8}) {
    EXPECT_DEATH(look(from, kNumber),
                 "sent a packet of table requests for a table of a team that it is not in");
  }
  EXPECT_DEATH(look(2, 0), "PE 2 sent a packet of table requests for a table that is not there");
  EXPECT_DEATH(look(2, 2), "for a table that is not there");
}

class MessageRefused : public FarTable {
 protected:
  /// Of a packet that PE 1 gets, and PE 0's answer.
  QueueNetwork::Message request_of(const std::string& value) {
    put_nbi(key(1), value);
    table->client().flush(1);
    return network.queue.front();
  }
  // Whole, it is answered.
  void TearDown() override {
    if (table != nullptr) table->quiet(kCall);
    FarTable::TearDown();
  }
  void take(const QueueNetwork::Message& message) {
    table->server().take(*shard, 3, message.bytes.data(), message.bytes.size());
  }
};
using MessageRefusedDeathTest = MessageRefused;

TEST_F(MessageRefusedDeathTest, NamesWhoSentIt) {
  begin(8, 8);
  QueueNetwork::Message message = request_of("value");
  message.bytes.resize(message.bytes.size() - 8);
  EXPECT_DEATH(take(message), "internal error: PE 3 sent a packet of table requests that is cut off");
  message.bytes.resize(sizeof(KvPacketHead) + 8);
  EXPECT_DEATH(take(message), "PE 3 sent a packet of table requests that is cut off");
}

TEST_F(MessageRefusedDeathTest, ABlockIsForWhoHasReservedIt) {
  begin(8, 20000);
  QueueNetwork::Message message = request_of(std::string(100, 'v'));
  RequestHead head;
  std::memcpy(&head, message.bytes.data() + sizeof(KvPacketHead), sizeof head);
  head.block = layout.blocks_at;
  std::memcpy(message.bytes.data() + sizeof(KvPacketHead), &head, sizeof head);
  EXPECT_DEATH(take(message), "with a block that it has not reserved");
}

// Puts by RMA, of PE 3.
TEST_F(MessageRefusedDeathTest, ABlockHasWhatIsSaidOfIt) {
  begin(8, 20000);
  const auto request_of_3 = [](const RequestHead& head, const std::string& body = "") {
    QueueNetwork::Message message{0, std::vector<std::byte>(sizeof(KvPacketHead) + sizeof head + body.size()),
                                  3, 1};
    const KvPacketHead packet{0, KvPacketHead::requests};
    std::memcpy(message.bytes.data(), &packet, sizeof packet);
    std::memcpy(message.bytes.data() + sizeof packet, &head, sizeof head);
    std::memcpy(message.bytes.data() + sizeof packet + sizeof head, body.data(), body.size());
    return message;
  };
  const std::string k = key(1);
  RequestHead head{};
  head.op = KvOp::reserve;
  head.n = sizeof(Block) + 8 + 9000;
  head.hash = table->key(k.data(), k.size()).hash;
  head.key_bytes = 8;
  take(request_of_3(head, k));
  KvReplyHead reply;
  std::memcpy(&reply, network.queue.front().bytes.data() + sizeof(KvPacketHead), sizeof reply);
  network.queue.clear();
  ASSERT_EQ(reply.status, SHMEMX_KV_OK);
  head.op = KvOp::put;
  head.block = reply.n;
  const auto put = [&](std::uint64_t n) {
    head.n = n;
    take(request_of_3(head, k));
  };
  EXPECT_DEATH(put(9001), "PE 3 sent a packet of table requests with a block that is too short for it");
  EXPECT_DEATH(put(9000), "PE 3 sent a packet of table requests with a block that has something else");
  const std::string value(9000, 'v');
  const auto fill = [&](std::uint32_t key_bytes, std::uint64_t value_bytes) {
    const Block front{key_bytes, 0, value_bytes};
    std::memcpy(memory.get() + reply.n, &front, sizeof front);
    std::memcpy(memory.get() + reply.n + sizeof front, k.data(), k.size());
    std::memcpy(memory.get() + reply.n + sizeof front + 8, value.data(), value.size());
  };
  fill(8, 20000);
  EXPECT_DEATH(put(9000), "with a block that has something else");
  fill(16, 9000);
  EXPECT_DEATH(put(9000), "with a block that has something else");
  fill(8, 9000);
  put(9000);
  EXPECT_EQ(stored(k), value);
  network.queue.clear();
}

TEST_F(MessageRefusedDeathTest, ATableOnNvmIsNotAskedForBlocks) {
  begin(8, 8);
  QueueNetwork::Message message = request_of("value");
  RequestHead head;
  std::memcpy(&head, message.bytes.data() + sizeof(KvPacketHead), sizeof head);
  head.op = KvOp::get;
  head.wants = kWaits;
  std::memcpy(message.bytes.data() + sizeof(KvPacketHead), &head, sizeof head);
  const auto take_paged = [&] {
    table->server().take(Shard<Paged>(Paged(memory.get(), 1), layout), 3, message.bytes.data(),
                         message.bytes.size());
  };
  EXPECT_DEATH(take_paged(), "PE 3 sent a packet of table requests with an unknown operation");
}

TEST_F(MessageRefusedDeathTest, RepliesAreToRequests) {
  begin(8, 8);
  struct {
    KvPacketHead packet{0, KvPacketHead::replies};
    KvReplyHead reply{0, 0, SHMEMX_KV_OK, 0};
  } message;
  const auto take_reply = [&](std::size_t n) {
    take_replies(1, reinterpret_cast<const std::byte*>(&message), n);
  };
  EXPECT_DEATH(take_reply(sizeof message), "PE 1 sent a packet of table replies to nobody's request");
  message.reply.token = reinterpret_cast<std::uintptr_t>(&message);
  EXPECT_DEATH(take_reply(sizeof message), "to nobody's request");
  EXPECT_DEATH(take_reply(sizeof message - 1), "that is cut off");
  // A request that waits, and an answer to it of another length than the packet has, or a second one.
  put_nbi(key(1), "value");
  table->client().flush(1);
  std::memcpy(&message.reply.token, network.queue.front().bytes.data() + sizeof(KvPacketHead), 8);
  message.reply.bytes = 8;
  EXPECT_DEATH(take_reply(sizeof message), "that is cut off");
  message.reply.bytes = 0;
  const auto answer_twice = [&] {
    take_reply(sizeof message);
    take_reply(sizeof message);
  };
  EXPECT_DEATH(answer_twice(), "to nobody's request");
  const auto take_run = [&](std::size_t n) {
    Batch::take_replies(1, reinterpret_cast<const std::byte*>(&message), n);
  };
  EXPECT_DEATH(take_run(sizeof message), "to nobody's request");
  EXPECT_DEATH(take_run(sizeof(KvPacketHead)), "to nobody's request");
}

TEST_F(MessageRefusedDeathTest, RepliesAreOfWhoWasAsked) {
  begin(8, 8);
  put_nbi(key(1), "value");
  table->client().flush(1);
  progress.poll();
  const std::vector<std::byte>& reply = network.queue.front().bytes;
  const auto take_from = [&](int pe) { take_replies(pe, reply.data(), reply.size()); };
  EXPECT_DEATH(take_from(0), "PE 0 sent a packet of table replies to a request that was sent to PE 1");
}

TEST_F(MessageRefusedDeathTest, PiecesOfAReplyFollowOneAnother) {
  begin(8, 60000);
  const std::string k = key(1), value(60000, 'v');
  std::string room(value.size(), '\0');
  shm::kv::ValueRoom none;
  ASSERT_EQ(shard->execute(request(KvOp::put, k, value), none, kUnlimited), SHMEMX_KV_OK);
  KvRequest wanted = request(KvOp::get, k);
  wanted.n = room.size();
  table->issue(kCall, wanted, room.data(), {});
  table->client().flush(1);
  progress.poll();
  ASSERT_GT(network.queue.size(), 2U);
  const auto take_piece = [&](std::size_t which) {
    const std::vector<std::byte>& piece = network.queue[which].bytes;
    take_replies(1, piece.data(), piece.size());
  };
  const char* const unordered =
      "PE 1 sent a packet of table replies with pieces that do not follow one another";
  EXPECT_DEATH(take_piece(1), unordered);
  EXPECT_DEATH(take_piece(network.queue.size() - 1), unordered) << "it would be whole";
  const auto take_first_twice = [&] {
    take_piece(0);
    take_piece(0);
  };
  EXPECT_DEATH(take_first_twice(), unordered);
  table->quiet(kCall);
  EXPECT_EQ(room, value);
}

TEST_F(MessageRefusedDeathTest, FunctionsAreRegistered) {
  begin(8, 8);
  QueueNetwork::Message message = request_of("value");
  RequestHead head;
  std::byte* at = message.bytes.data() + sizeof(KvPacketHead);
  std::memcpy(&head, at, sizeof head);
  head.op = KvOp::apply;
  head.offset = in_offset(0, 7);
  std::memcpy(at, &head, sizeof head);
  EXPECT_DEATH(take(message), "PE 3 sent a packet of table requests of a function that is not registered");
}

// A batch of two requests to PE 1, and what comes as answers.
class BatchRefused : public MessageRefused {
 protected:
  struct Answer {
    std::uint32_t first, count;
    int from = 1;
    std::size_t behind = 0;  // bytes
  };
  Code execute(std::vector<Answer> answers) {
    network.on_poll = [this, answers = std::move(answers)] {
      if (network.queue.empty() || network.queue.front().head().kind != KvPacketHead::run) return;
      const RunHead run = run_at(network.queue.front().bytes.data() + sizeof(KvPacketHead));
      network.queue.clear();
      for (const Answer& answer : answers) {
        std::vector<std::byte> packet(sizeof(KvPacketHead) + sizeof(RunReplyHead) +
                                      answer.count * sizeof(RunReply) + answer.behind);
        const KvPacketHead head{0, KvPacketHead::run_replies};
        const RunReplyHead replies{run.like.token, answer.first, answer.count};
        std::memcpy(packet.data(), &head, sizeof head);
        std::memcpy(packet.data() + sizeof head, &replies, sizeof replies);
        network.queue.push_back({static_cast<std::uint16_t>(MessageId::kv_reply), packet, answer.from, 0});
      }
    };
    const std::string keys = key(1) + key(2);
    Many many{.like = {.op = KvOp::contains, .key = {}},
              .keys = reinterpret_cast<const std::byte*>(keys.data()),
              .key_bytes = 8};
    const Code status = execute_many(kCall, *table, many, 2);
    network.on_poll = nullptr;
    deliver_all();
    return status;
  }
};
using BatchRefusedDeathTest = BatchRefused;

TEST_F(BatchRefusedDeathTest, RepliesComeInAnyOrder) {
  begin(8, 8);
  EXPECT_EQ(execute({{0, 2}}), SHMEMX_KV_OK);
  EXPECT_EQ(execute({{1, 1}, {0, 1}}), SHMEMX_KV_OK);
}

TEST_F(BatchRefusedDeathTest, RepliesAreOfWhoWasAsked) {
  begin(8, 8);
  EXPECT_DEATH(execute({{0, 1, 0}}),
               "PE 0 sent a packet of table replies to a request that was sent to PE 1");
  EXPECT_DEATH(execute({{0, 1}, {1, 1, 0}}), "PE 0 sent .* to a request that was sent to PE 1");
}

TEST_F(BatchRefusedDeathTest, EachRequestIsAnsweredOnce) {
  begin(8, 8);
  EXPECT_DEATH(execute({{1, 1}, {1, 1}}),
               "PE 1 sent a packet of table replies to a request that it has answered");
  EXPECT_DEATH(execute({{0, 2}, {0, 2}}), "to nobody's request");
}

TEST_F(BatchRefusedDeathTest, NothingIsBehindTheLastReply) {
  begin(8, 8);
  EXPECT_DEATH(execute({{0, 2, 1, 8}}),
               "PE 1 sent a packet of table replies with bytes behind its last reply");
}

}  // namespace
}  // namespace shm::kv
