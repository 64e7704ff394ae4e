// SPDX-License-Identifier: BSD-3-Clause
// A table whose shard is on "another node": this process is both ends, and what they send each other goes
// through a queue, one message a poll.  So a test says when a message comes, and sees what is under way.
#pragma once

#include <gtest/gtest.h>

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/progress.hpp"
#include "kv/batch.hpp"
#include "kv/matched.hpp"
#include "kv/table.hpp"
#include "shard_fixture.hpp"
#include "tests/one_channel_network.hpp"

namespace shm::kv {

/// Remote memory is this process's, at its own addresses.  Only what Progress and kv use does anything.
class QueueNetwork final : public OneChannelNetwork {
 public:
  struct Message {
    std::uint16_t id;
    std::vector<std::byte> bytes;
    int from, to;
    KvPacketHead head() const {
      KvPacketHead head;
      std::memcpy(&head, bytes.data(), sizeof head);
      return head;
    }
  };

  bool poll() override {
    if (on_poll) on_poll();
    if (silent) return false;
    for (Completion* late : std::exchange(under_way, {})) late->set_done();
    if (queue.empty()) return false;
    const Message message = std::move(queue.front());
    queue.pop_front();
    const int before = std::exchange(at_, message.to);
    Progress::deliver(message.from, message.id, message.bytes.data(), message.bytes.size());
    at_ = before;
    return true;
  }

  bool reads_alone() const override { return alone; }
  /// Reads and writes that have not ended.
  std::size_t ends_later() const { return under_way.size(); }

  std::deque<Message> queue;
  std::function<void()> on_poll;
  std::function<void()> in_get;  // when half of the bytes have been read
  bool silent = false;           // nothing comes, and nothing ends
  bool alone = false;            // what reads_alone() says
  bool slow = false;             // reads and writes end when it is no longer silent, which they make it

 private:
  void end(Completion* completion) {
    if (completion == nullptr) return;
    if (!slow) return completion->set_done();
    silent = true;
    under_way.push_back(completion);
  }
  std::vector<Completion*> under_way;
  int at_ = 1;  // who answers
  void put(RemoteAddress to, const void* source, std::size_t n, Completion* completion) override {
    std::memcpy(reinterpret_cast<void*>(to.offset), source, n);
    end(completion);
  }
  void get(void* dest, RemoteAddress from, std::size_t n, Completion* completion) override {
    const auto* source = reinterpret_cast<const std::byte*>(from.offset);
    std::memcpy(dest, source, n / 2);
    if (in_get) in_get();
    std::memcpy(static_cast<std::byte*>(dest) + n / 2, source + n / 2, n - n / 2);
    end(completion);
  }
  void send(int pe, std::uint16_t id, std::vector<std::byte> message) override {
    const bool asks = id == static_cast<std::uint16_t>(MessageId::kv_request);
    queue.push_back({id, std::move(message), asks ? 0 : at_, pe});
  }
};

/// Keys that are PE 1's; this is PE 0, and PE 1's shard is here, too.
class FarTable : public ::testing::Test {
 protected:
  static constexpr Call kCall{"a test"};

  void SetUp() override {
    be_one_of_two(network, progress);
    Progress::set_handler(static_cast<std::uint16_t>(MessageId::kv_request), on_request, this);
    Progress::set_handler(static_cast<std::uint16_t>(MessageId::kv_reply), on_reply, this);
    Progress::add_poller(resume, this);
  }
  void TearDown() override {
    Progress::remove_poller(resume, this);
    table.reset();
    be_no_pe();
  }

  void begin(std::uint64_t key_bytes, std::uint64_t value_bytes, std::uint64_t capacity = 1000) {
    layout = make_layout(key_bytes, value_bytes, capacity, 1, false);
    memory = zeros(layout.bytes);
    shard = std::make_unique<Shard<Mapped>>(Mapped(memory.get()), layout);
    shard->prepare(0);
    table = std::make_unique<Table>(0, nullptr, false);
    table->use(layout, memory.get());
  }

  /// The n-th key of some length, at least 8.
  static std::string key(int n, std::size_t bytes = 8) {
    for (int tries = 0;; ++tries) {
      std::string text = std::to_string(n) + " ";
      text += std::string(bytes - text.size(), static_cast<char>('a' + tries));
      if (pe_of(hash_of(nullptr, text.data(), text.size()), 2) == 1) return text;
    }
  }

  KvRequest request(KvOp op, const std::string& key, const std::string& value = "") const {
    return {.op = op, .key = table->key(key.data(), key.size()), .value = value.data(), .n = value.size()};
  }
  void put_nbi(const std::string& key, const std::string& value, int* status = nullptr) const {
    table->issue(kCall, request(KvOp::put, key, value), nullptr, {.status = status});
  }
  Code execute(KvOp op, const std::string& key, const std::string& value = "") const {
    shm::kv::ValueRoom result;
    return table->execute(kCall, request(op, key, value), result);
  }
  /// By a call; "": it is not there.
  std::string get(const std::string& key) const {
    std::string room(layout.value_bytes, '\0');
    std::uint64_t n = 0;
    const Code status = table->get(kCall, table->key(key.data(), key.size()), room.data(), room.size(), n);
    return status == SHMEMX_KV_OK ? room.substr(0, n) : "";
  }
  /// What the shard has, without a message.
  std::string stored(const std::string& key) const {
    std::string room(layout.value_bytes, '\0');
    std::uint64_t n = 0;
    const Key k = table->key(key.data(), key.size());
    const Code status = shard->get(k, room.data(), room.size(), n, kUnlimited);
    return status == SHMEMX_KV_OK ? room.substr(0, n) : "";
  }

  std::uint64_t home(const std::string& key) const {
    return group_of(hash_of(nullptr, key.data(), key.size()), layout.groups);
  }
  /// Somebody else holds, or not, the lock of the key's home, or has begun to change its group.
  void lock_home(const std::string& key, bool locked) const {
    *word(key, offsetof(SlotGroup, home)) = locked ? 1 : 0;
  }
  void begin_change(const std::string& key) const { *word(key, offsetof(SlotGroup, version)) += 1; }
  void end_change(const std::string& key) const { *word(key, offsetof(SlotGroup, version)) += 1; }

  /// Until no message is left.
  void deliver_all() {
    while (!network.queue.empty()) progress.poll();
  }

  QueueNetwork network;
  Progress progress{network, &network.channel, 0};
  ShardLayout layout{};
  Lines memory;
  std::unique_ptr<Shard<Mapped>> shard;
  std::unique_ptr<Table> table;

 private:
  std::uint32_t* word(const std::string& key, std::size_t member) const {
    return reinterpret_cast<std::uint32_t*>(memory.get() + layout.group_at(home(key)) + member);
  }
  static void on_request(void* self, int from, const std::byte* message, std::size_t n) {
    const auto& test = *static_cast<FarTable*>(self);
    test.table->server().take(*test.shard, from, message, n);
  }
  static void on_reply(void*, int from, const std::byte* message, std::size_t n) {
    take_replies(from, message, n);
  }
  static bool resume(void* self) {
    const auto& test = *static_cast<FarTable*>(self);
    return test.table->server().resume(*test.shard);
  }
};

}  // namespace shm::kv
