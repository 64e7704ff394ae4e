// SPDX-License-Identifier: BSD-3-Clause
// Messages that come to an engine the ordinary way, of PEs and of others, in turn with rings of the inbox
// that the PEs write into.  What is delivered is a PE's, and each PE's messages come in their order.
#include <array>

#include "fuzz.hpp"
#include "ofi/reception.hpp"

namespace shm::fuzz {
namespace {

using namespace ofi;

constexpr int kPes = 4, kMe = 0, kRings = 2;
constexpr std::uint64_t kCookie = 0x6b8b4567327b23c6;

class Engine {
 public:
  explicit Engine(Input& input) : input_(input) {
    if (!inbox_.open(kRings)) std::abort();
    reception_.open(kMe, kPes);
  }

  void run() {
    while (!input_.empty()) step();
  }

 private:
  // As the engine's own.
  auto handler() {
    return [this](const MessageHeader& header, const std::byte* payload, std::size_t n) {
      ++handled_;
      if (header.from_pe <= kMe || header.from_pe >= kPes) std::abort();
      if (header.sequence != due_[static_cast<std::size_t>(header.from_pe)]++) std::abort();
      const Bytes all(payload, payload + n);  // it is there
      if (header.id == kReturned) inbox_.returned(header.from_pe);
      if (header.id == kRecall) inbox_.forget(header.from_pe);
    };
  }

  void step() {
    switch (input_.below(8)) {
      case 0: return take(input_.bytes(input_.below(64)));
      case 1: return tell();
      case 2: return deliver_written();
      case 3: return give_back();
      case 4:
      case 5: return write();
      default: return send();
    }
  }

  unsigned some_pe() { return 1 + input_.below(kPes - 1); }

  MessageHeader header(unsigned pe, std::uint16_t id) {
    return {static_cast<std::int32_t>(input_.near(pe)), id,
            static_cast<std::uint16_t>(input_.near(sent_[pe]++))};
  }
  std::uint16_t number() {
    return input_.below(8) == 0 ? static_cast<std::uint16_t>(kFirstOfEngine + input_.below(4))
                                : static_cast<std::uint16_t>(input_.below(8));
  }

  void send() { send(some_pe(), number(), input_.below(4)); }
  void send(unsigned pe, std::uint16_t id, unsigned again) {
    for (unsigned i = 0; i <= again * again * 2; ++i) {  // up to as many as it takes to be given a ring
      Bytes message;
      append(message, Envelope{input_.near(kCookie), header(pe, id)});
      message.resize(static_cast<std::size_t>(input_.near(message.size() + i % 3)) % 300);
      take(message);
    }
  }
  // Who is asked for its ring has mostly emptied it; others have not been asked.
  void give_back() {
    deliver_written();
    const unsigned pe = asked_ != Inbox::kNobody ? static_cast<unsigned>(asked_) : some_pe();
    asked_ = Inbox::kNobody;
    cursors_[pe] = {};
    rings_[pe] = 0;
    send(pe, kReturned, 0);
  }

  void take(const Bytes& message) {
    const std::size_t before = handled_;
    std::uint64_t cookie = 0;
    if (message.size() >= sizeof(Envelope)) std::memcpy(&cookie, message.data(), sizeof cookie);
    const auto missing = [](const MessageHeader&, std::uint16_t) { throw Refused(); };
    const auto taken = reception_.take(message.data(), message.size(), handler(), missing);
    if (taken.has_value() != (cookie == kCookie)) std::abort();
    if (!taken.has_value()) {
      if (handled_ != before) std::abort();
      return;
    }
    if (taken->id < kFirstOfEngine) {
      const int asked = inbox_.welcome(taken->from_pe);
      if (asked != Inbox::kNobody) asked_ = asked;
    }
  }

  void tell() {
    const bool room = input_.below(4) != 0;
    static_cast<void>(inbox_.tell([&](int pe, const Grant& grant) {
      if (grant.ring == 0 || grant.ring > kRings || pe <= kMe || pe >= kPes) std::abort();
      if (room) rings_[static_cast<std::size_t>(pe)] = static_cast<unsigned>(grant.ring);
      return room;
    }));
  }

  // By who has been told of a ring, where it writes next.
  void write() {
    const unsigned pe = some_pe();
    if (rings_[pe] == 0) return;
    RingCursor& cursor = cursors_[pe];
    const std::size_t n = input_.below(8) == 0 ? input_.below(900) : input_.below(32);
    const std::size_t size = InboxEntry::size(sizeof(MessageHeader) + n);
    std::byte* to = static_cast<std::byte*>(inbox_.base()) + Inbox::ring_offset(rings_[pe]) + cursor.offset();
    InboxEntry::write(to, header(pe, number()), Bytes(n).data(), n);
    if (input_.below(16) == 0) to[input_.below(8)] = static_cast<std::byte>(input_.byte());  // its length
    cursor.advance(size);
  }
  void deliver_written() {
    static_cast<void>(inbox_.survey());
    inbox_.take();
    static_cast<void>(reception_.take_written(handler()));
  }

  Input& input_;
  Inbox inbox_;
  Reception reception_{inbox_, kCookie};
  std::array<RingCursor, kPes> cursors_;
  std::array<unsigned, kPes> rings_{};  // that they have been told of
  std::array<std::uint16_t, kPes> sent_{}, due_{};
  int asked_ = Inbox::kNobody;
  std::size_t handled_ = 0;
};

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  Input input(data, n);
  Engine engine(input);
  refuses([&] { engine.run(); });
}

}  // namespace shm::fuzz
