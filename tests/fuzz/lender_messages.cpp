// SPDX-License-Identifier: BSD-3-Clause
// Requests to a memory server, and its answers to a PE.
#include <sys/mman.h>

#include "fuzz.hpp"
#include "remote/lender.hpp"
#include "remote/servers.hpp"
#include "sink_network.hpp"

namespace shm::fuzz {
namespace {

using namespace remote;

constexpr int kPes = 2;
constexpr std::size_t kLent = std::size_t{2} << 20;

template <class Message>
Bytes packed(Input& input, const Message& message) {
  Bytes bytes;
  append(bytes, message);
  bytes.resize(input.near(bytes.size()) % 64);
  return bytes;
}

// ---- at a server

Bytes request(Input& input, LendMessage kind) {
  const std::uint64_t offset = input.near(input.below(8) * kLeaseGrain);
  const std::uint64_t bytes = input.near((1 + input.below(8)) * kLeaseGrain);
  switch (kind) {
    case LendMessage::lease: return packed(input, LeaseRequest{1, bytes});
    case LendMessage::give_back: return packed(input, GiveBack{offset, bytes});
    case LendMessage::finish: return packed(input, FinishRequest{1});
    default: return packed(input, PageRequest{1, offset, bytes});
  }
}

void ask_a_server(Input& input) {
  SinkNetwork network;
  static Lender& lender = *new Lender(std::move(LentMemory::create(kLent).value()), kPes);
  lender.open(&network.channel, false);
  const auto receive = [&](int from, LendMessage kind, const Bytes& message) {
    lender.receive(from, static_cast<std::uint16_t>(kind), message.data(), message.size());
  };
  const auto ask = [&] {
    while (!input.empty()) {
      const auto kind = static_cast<LendMessage>(input.below(7));
      const int from = static_cast<int>(input.near(input.below(kPes)));
      receive(from, kind, input.below(4) == 0 ? input.bytes(input.below(64)) : request(input, kind));
    }
  };
  refuses(ask);
  // It has all back: the next input begins as this one did.
  for (int pe = 0; pe < kPes; ++pe) {
    Bytes finish;
    append(finish, FinishRequest{1});
    receive(pe, LendMessage::finish, finish);
  }
  static_cast<void>(lender.take_finish());
}

// ---- at a PE

struct PagesAsked final : ReadyPages {
  bool page_is_ready(int, std::uint64_t) override { return true; }
};

void answer_a_pe(Input& input) {
  Servers servers({kPes, 2, 10});
  const MessageSink sink = Servers::sink(servers);
  PagesAsked asked;
  auto network = std::make_unique<SinkNetwork>();
  std::uint64_t number = 0;
  int asked_server = kPes;
  const auto answer = [&](const Bytes& message, LendMessage kind, int from) {
    sink(from, static_cast<std::uint16_t>(kind), message.data(), message.size());
    return true;
  };
  network->on_send = [&](int server, std::uint16_t, const Bytes& message) {
    asked_server = server;
    if (message.size() >= sizeof number) std::memcpy(&number, message.data(), sizeof number);
  };
  network->on_poll = [&] {
    Bytes right;
    append(right, LendAnswer{number, 0, 0, 1});
    if (input.empty()) return answer(right, LendMessage::answer, asked_server);
    const auto kind = input.byte() < 160 ? LendMessage::answer : static_cast<LendMessage>(input.below(7));
    const int from = static_cast<int>(input.near(static_cast<std::uint64_t>(asked_server)));
    if (input.below(4) == 0) return answer(input.bytes(input.below(64)), kind, from);
    if (kind == LendMessage::ready) return answer(packed(input, PageReady{input.byte()}), kind, from);
    const LendAnswer made{input.near(number), input.near(input.below(8) * kLeaseGrain), input.byte(),
                          input.near(input.below(2))};
    return answer(packed(input, made), kind, from);
  };
  servers.open(std::move(network));
  servers.tell_ready(&asked);
  refuses([&] {
    for (int leases = 0; leases < 4 || !input.empty(); ++leases)
      static_cast<void>(servers.lease(static_cast<int>(input.below(2)), kLeaseGrain));
  });
  servers.tell_ready(nullptr);
}

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  Input input(data, n);
  if (input.below(2) == 0) return ask_a_server(input);
  answer_a_pe(input);
}

}  // namespace shm::fuzz
