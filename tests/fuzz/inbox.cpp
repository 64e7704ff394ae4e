// SPDX-License-Identifier: BSD-3-Clause
// Rings of an inbox, into which their PEs write what they like: while entries are looked for, and while they
// are delivered.
#include "ofi/inbox.hpp"

#include <array>

#include "fuzz.hpp"

namespace shm::fuzz {
namespace {

using namespace ofi;

constexpr int kPes = 3, kRings = 2;

class Rings {
 public:
  explicit Rings(Input& input) : input_(input) {
    if (!inbox_.open(kRings)) std::abort();
  }

  void run() {
    while (!input_.empty()) step();
  }

 private:
  void step() {
    switch (input_.below(8)) {
      case 0: static_cast<void>(inbox_.welcome(static_cast<int>(input_.below(kPes)))); return;
      case 1: return tell();
      case 2: static_cast<void>(inbox_.survey()); return;
      case 3: inbox_.take(); return;
      case 4: return deliver();
      case 5: return scribble();
      default: return write();
    }
  }

  void tell() {
    const bool room = input_.below(4) != 0;
    static_cast<void>(inbox_.tell([&](int pe, const Grant& grant) {
      if (grant.ring == 0 || grant.ring > kRings || pe < 0 || pe >= kPes) std::abort();
      return room;
    }));
  }

  std::byte* ring() {
    return static_cast<std::byte*>(inbox_.base()) + Inbox::ring_offset(1 + input_.below(kRings));
  }

  // An entry where its PE writes next, or elsewhere.
  void write() {
    const unsigned which = input_.below(kPes);
    RingCursor& cursor = cursors_[which];
    const std::size_t n = input_.below(4) == 0 ? input_.below(900) : input_.below(32);
    const std::size_t size = InboxEntry::size(sizeof(MessageHeader) + n);
    const std::size_t at =
        input_.near(cursor.offset()) % (RingCursor::kBytes + RingCursor::kLargestEntry - size + 1);
    std::byte* to = ring() + at;
    const MessageHeader header{static_cast<std::int32_t>(input_.near(which)), 7,
                               static_cast<std::uint16_t>(input_.near(sent_[which]++))};
    InboxEntry::write(to, header, Bytes(n).data(), n);
    if (input_.below(8) == 0) to[input_.below(8)] = static_cast<std::byte>(input_.byte());  // its length
    cursor.advance(size);
  }
  void scribble() {
    const Bytes bytes = input_.bytes(input_.below(64));
    const std::size_t at =
        input_.word<std::uint16_t>() % (RingCursor::kBytes + RingCursor::kLargestEntry - bytes.size());
    if (!bytes.empty()) std::memcpy(ring() + at, bytes.data(), bytes.size());
  }

  // A handler may have messages written meanwhile, also over its own: it has a copy.
  void deliver() {
    const auto handle = [&](const MessageHeader& header, const std::byte* payload, std::size_t n) {
      unsigned sum = 0;
      for (std::size_t i = 0; i < n; ++i) sum += static_cast<unsigned>(payload[i]);
      if (header.from_pe < 0 || header.from_pe >= kPes || n > InboxEntry::kLargestMessage) std::abort();
      const Bytes before(payload, payload + n);
      if (sum % 8 == 1) scribble();
      if (!std::equal(before.begin(), before.end(), payload)) std::abort();
    };
    static_cast<void>(inbox_.deliver_all(
        [this](int pe) -> std::uint16_t& { return due_[static_cast<std::size_t>(pe)]; }, handle));
  }

  Input& input_;
  Inbox inbox_;
  std::array<RingCursor, kPes> cursors_;
  std::array<std::uint16_t, kPes> sent_{}, due_{};
};

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  Input input(data, n);
  Rings rings(input);
  refuses([&] { rings.run(); });
}

}  // namespace shm::fuzz
