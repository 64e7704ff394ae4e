// SPDX-License-Identifier: BSD-3-Clause
// Each field of each message of the NVM heap, at its limit and beyond it.
#include "nvm/coherence/message_check.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <string>
#include <vector>

#include "pager_fixture.hpp"

namespace shm::nvm {
namespace {

using Bytes = std::vector<std::byte>;

const char* const kCutShort = "that is cut off";
const char* const kUnknownOperation = "with an unknown operation";
const char* const kNotItsPage = "about a page that it has not";
const char* const kNoFrameAt = "with a place that is no frame";
const char* const kNotForIt = "that is not for this PE, or not its own";

template <class Head>
Bytes bytes_of(const Head& head, std::size_t more = 0) {
  Bytes bytes(sizeof head + more);
  std::memcpy(bytes.data(), &head, sizeof head);
  return bytes;
}

// PE 1 of two nodes: PEs 0 and 1 are on node 0, 2 and 3 on node 1.
struct HeapMessages : ::testing::Test {
  HeapMessages() {
    nodes.members.resize(2);
    for (const int node : {0, 0, 1, 1}) nodes.add(node);
    nodes.here = 0;
  }
  Nodes nodes;
  const PoolShape shape{65536, 16, 64, 4, 2};
  const MessageLimits limits{shape, nodes, 1};
  /// Of PE 2.
  static Operation operation_of(Operation::Kind kind, PageNumber page, std::uint32_t offset,
                                std::uint32_t n) {
    return {.token = 1,
            .page = page,
            .offset = offset,
            .n = n,
            .pe = 2,
            .kind = kind,
            .op = AtomicOp::add,
            .type = AtomicType::u64,
            .stays_behind = false,
            .brings = false,
            .value = 0,
            .compare = 0};
  }
  const PageNumber mine = 64 + 3, theirs = 3 * 64;  // PE 1's, and one of PE 3 that PE 1 caches on its node
};

struct OperationMessage : HeapMessages {
  Operation operation = operation_of(Operation::Kind::put, mine, 16, 8);

  std::string check(std::size_t more, int from = 2) const {
    const Bytes bytes = bytes_of(operation, more);
    const char* wrong = wrong_with_operation(bytes.data(), bytes.size(), from, limits);
    return wrong == nullptr ? "" : wrong;
  }
};

TEST_F(OperationMessage, Length) {
  EXPECT_EQ(check(8), "");
  EXPECT_EQ(check(7), kCutShort);
  EXPECT_EQ(check(9), kCutShort);
  const Bytes bytes = bytes_of(operation);
  EXPECT_STREQ(wrong_with_operation(bytes.data(), sizeof operation - 1, 2, limits), kCutShort);
  operation.kind = Operation::Kind::get;
  EXPECT_EQ(check(0), "");
  EXPECT_EQ(check(1), kCutShort);
}

TEST_F(OperationMessage, Page) {
  for (const PageNumber page : {PageNumber{64}, PageNumber{127}}) {
    operation.page = page;
    EXPECT_EQ(check(8), "");
  }
  for (const PageNumber page : {PageNumber{63}, PageNumber{128}, PageNumber{256}, ~PageNumber{0}}) {
    operation.page = page;
    EXPECT_EQ(check(8), kNotItsPage) << page;
  }
}

TEST_F(OperationMessage, LiesWithinAPage) {
  operation.kind = Operation::Kind::get;
  operation.n = kLargestOperation;
  operation.offset = 65536 - kLargestOperation;
  EXPECT_EQ(check(0), "");
  operation.offset += 1;
  EXPECT_EQ(check(0), "that does not lie within a page");
  operation.offset = ~0U;
  EXPECT_EQ(check(0), "that does not lie within a page");
  operation.offset = 0;
  operation.n = kLargestOperation + 1;
  EXPECT_EQ(check(0), "that does not lie within a page");
}

TEST_F(OperationMessage, WhoseItIs) {
  EXPECT_EQ(check(8, 3), "in the name of another PE");
  for (const int pe : {-1, 4}) {
    operation.pe = pe;
    EXPECT_EQ(check(8, 2), "in the name of a PE that is not there");
  }
}

TEST_F(OperationMessage, Atomics) {
  operation.kind = Operation::Kind::amo;
  EXPECT_EQ(check(0), "");
  EXPECT_EQ(check(8), kCutShort);
  operation.offset = 20;
  EXPECT_EQ(check(0), "with an atomic that is not aligned");
  operation.type = AtomicType::i32;
  EXPECT_EQ(check(0), "with an atomic that is not aligned") << "8 bytes";
  operation.n = 4;
  EXPECT_EQ(check(0), "");
  operation.type = AtomicType::f32;
  operation.op = AtomicOp::bit_xor;
  EXPECT_EQ(check(0), kUnknownOperation);
  operation.op = static_cast<AtomicOp>(kAtomicOps);
  EXPECT_EQ(check(0), kUnknownOperation);
  operation.op = AtomicOp::add;
  operation.type = static_cast<AtomicType>(kAtomicTypes);
  EXPECT_EQ(check(0), kUnknownOperation);
}

TEST_F(OperationMessage, KindAndFlag) {
  operation.kind = static_cast<Operation::Kind>(3);
  EXPECT_EQ(check(8), kUnknownOperation);
  operation.kind = Operation::Kind::put;
  Bytes bytes = bytes_of(operation, 8);
  bytes[offsetof(Operation, stays_behind)] = std::byte{1};
  EXPECT_EQ(wrong_with_operation(bytes.data(), bytes.size(), 2, limits), nullptr);
  bytes[offsetof(Operation, stays_behind)] = std::byte{2};
  EXPECT_STREQ(wrong_with_operation(bytes.data(), bytes.size(), 2, limits), kUnknownOperation);
}

// Several in a message: each is looked at, and each is padded.
TEST_F(OperationMessage, Several) {
  const auto check_all = [&](const Bytes& bytes) {
    const char* wrong = wrong_with_operations(bytes.data(), bytes.size(), 2, limits);
    return std::string(wrong == nullptr ? "" : wrong);
  };
  const auto add = [](Bytes& to, const Operation& one, std::size_t more) {
    const Bytes bytes = bytes_of(one, more);
    to.insert(to.end(), bytes.begin(), bytes.end());
  };
  EXPECT_EQ(check_all({}), kCutShort);
  Bytes bytes;
  operation.n = 5;
  add(bytes, operation, 8);
  EXPECT_EQ(check_all(bytes), "");
  operation.kind = Operation::Kind::amo;
  operation.n = 8;
  operation.brings = true;
  add(bytes, operation, 0);
  operation.kind = Operation::Kind::get;
  operation.n = kLargestOperation;
  add(bytes, operation, 0);
  EXPECT_EQ(check_all(bytes), "");
  for (std::size_t cut = 1; cut < sizeof operation; ++cut)
    EXPECT_EQ(check_all({bytes.begin(), bytes.end() - static_cast<std::ptrdiff_t>(cut)}), kCutShort) << cut;
  Bytes wrong = bytes;
  wrong[sizeof operation + 8 + offsetof(Operation, brings)] = std::byte{2};
  EXPECT_EQ(check_all(wrong), kUnknownOperation);
  operation.page = 0;
  add(bytes, operation, 0);
  EXPECT_EQ(check_all(bytes), kNotItsPage) << "the last of them";
  operation.kind = Operation::Kind::put;
  operation.n = ~0U;
  bytes.clear();
  add(bytes, operation, 8);
  EXPECT_EQ(check_all(bytes), kCutShort);
}

TEST_F(HeapMessages, AnswersHaveTheLengthThatTheySay) {
  const Answer answer{1, mine, 8, 0};
  const Bytes bytes = bytes_of(answer, 8);
  EXPECT_EQ(wrong_with_answers(bytes.data(), bytes.size()), nullptr);
  EXPECT_STREQ(wrong_with_answers(bytes.data(), bytes.size() - 1), kCutShort);
  EXPECT_STREQ(wrong_with_answers(bytes.data(), sizeof answer - 1), kCutShort);
  EXPECT_STREQ(wrong_with_answers(bytes.data(), 0), kCutShort);
  Bytes two = bytes_of(Answer{1, mine, 4, 0}, 8);  // padded
  two.insert(two.end(), bytes.begin(), bytes.end());
  EXPECT_EQ(wrong_with_answers(two.data(), two.size()), nullptr);
  EXPECT_STREQ(wrong_with_answers(two.data(), two.size() - 1), kCutShort);
  EXPECT_STREQ(wrong_with_answers(two.data(), sizeof answer + 8 + 1), kCutShort);
  EXPECT_STREQ(wrong_with_answers(two.data(), sizeof answer + 4), kCutShort) << "not padded";
}

// PE 1 has asked for 8 bytes.
TEST_F(HeapMessages, AnswersAreOfWhoMayExecute) {
  const auto check = [&](PageNumber page, const Answer& answer, int from) {
    const char* wrong = wrong_with_answer_to(page, 8, answer, from, limits);
    return std::string(wrong == nullptr ? "" : wrong);
  };
  const PageNumber of_2 = 2 * 64;  // which PE 0 caches on its node
  EXPECT_EQ(check(of_2, {1, of_2, 8, 0}, 2), "") << "its home";
  EXPECT_EQ(check(of_2, {1, of_2, 8, 0}, 0), "");
  for (const int from : {1, 3})
    EXPECT_EQ(check(of_2, {1, of_2, 8, 0}, from), "to an operation on a page that it does not cache") << from;
  EXPECT_EQ(check(of_2, {1, of_2 + 1, 8, 0}, 2), "to another operation than was sent");
  EXPECT_EQ(check(of_2, {1, of_2, 0, 0}, 2), "to another operation than was sent");
  EXPECT_EQ(check(theirs, {1, theirs, 8, 0}, 1), "") << "this node's pager";
}

struct PagerMessage : HeapMessages {
  // To the home: PE 1's page is in use on node 1, whose caching agent is PE 3.
  PageMessage request(Event kind) const {
    PageMessage head{mine, {.kind = kind, .from = 1, .to = 0, .requester = 1}, 0, 0, 0};
    head.message.tag = std::uint64_t{4} << 20;
    return head;
  }
  // From the home PE 3 to PE 1, which has its page on node 0.
  PageMessage order(Event kind) const {
    PageMessage head{theirs, {.kind = kind, .from = 1, .to = 0, .requester = 0}, 0, 0, 0};
    head.message.tag = shape.frames_at() + 65536;
    return head;
  }
  std::string check(const Bytes& bytes, int from = 3) const {
    const char* wrong = wrong_with_page_messages(bytes.data(), bytes.size(), from, limits);
    return wrong == nullptr ? "" : wrong;
  }
  std::string check(const PageMessage& head, std::size_t more = 0, int from = 3) const {
    return check(bytes_of(head, more), from);
  }
  static Bytes with_operation(PageMessage head, Operation::Kind kind, PageNumber page) {
    const Operation operation = operation_of(kind, page, 0, 0);
    head.message.requester = 1;
    head.n = sizeof operation;
    Bytes bytes = bytes_of(head, sizeof operation);
    std::memcpy(bytes.data() + sizeof head, &operation, sizeof operation);
    return bytes;
  }
};

TEST_F(PagerMessage, KindsThatTravel) {
  int to_home = 0, to_cache = 0;
  for (std::size_t kind = 0; kind < 256; ++kind) {
    const auto event = static_cast<Event>(kind);
    // Who has forwarded a page of PE 1's to PE 1 grants it, too.
    const bool grants = event >= Event::grant_shared && event <= Event::grant_modified;
    EXPECT_TRUE(!grants || check(request(event)) == "");
    const bool home = !grants && check(request(event)) == "";
    const bool cache = check(order(event)) == "";
    EXPECT_FALSE(home && cache) << kind;
    EXPECT_TRUE(kind < kEvents || !(home || cache)) << kind;
    to_home += home ? 1 : 0;
    to_cache += cache ? 1 : 0;
  }
  EXPECT_EQ(to_home, 6) << "ask_read, ask_write, ask_evict, done, dropped, absent";
  EXPECT_EQ(to_cache, 12)
      << "three grants, two forwards, invalidate, two recalls, leave, refuse, last_copy, fetched";
  EXPECT_EQ(check(order(Event::get)), kCutShort) << "without its operation";
}

TEST_F(PagerMessage, Lengths) {
  const PageMessage head = request(Event::ask_read);
  Bytes bytes = bytes_of(head);
  EXPECT_EQ(check(bytes), "");
  bytes.resize(sizeof head - 1);
  EXPECT_EQ(check(bytes), kCutShort);
  Bytes two = bytes_of(head);
  two.insert(two.end(), two.begin(), two.end());
  EXPECT_EQ(check(two), "");
  two.pop_back();
  EXPECT_EQ(check(two), kCutShort) << "the second one";
  PageMessage longer = head;
  longer.n = 8;
  EXPECT_EQ(check(longer), kCutShort);
  EXPECT_EQ(check(longer, 8), kUnknownOperation) << "a request for a page has none";
  longer.n = ~0U;
  EXPECT_EQ(check(longer, 8), kCutShort);
}

TEST_F(PagerMessage, Flags) {
  for (const std::size_t at : {offsetof(Message, data), offsetof(Message, dirty), offsetof(Message, ahead),
                               offsetof(Message, whole), offsetof(Message, absent)}) {
    Bytes bytes = bytes_of(request(Event::ask_read));
    bytes[offsetof(PageMessage, message) + at] = std::byte{2};
    EXPECT_EQ(check(bytes), "with an unknown flag") << at;
  }
  PageMessage done = request(Event::done);
  done.given_up = 2;
  EXPECT_EQ(check(done), "with an unknown flag");
}

TEST_F(PagerMessage, WhoseItIs) {
  const PageMessage ask = request(Event::ask_read);
  EXPECT_EQ(check(ask, 0, 2), kNotForIt) << "not the caching agent";
  EXPECT_EQ(check(ask, 0, 0), "that its node needs no network for");
  PageMessage other = ask;
  other.message.from = 0;
  EXPECT_EQ(check(other), kNotForIt);
  other = ask;
  other.message.to = 1;
  EXPECT_EQ(check(other), kNotForIt);
  other = ask;
  other.message.requester = 0;
  EXPECT_EQ(check(other), "in the name of another node");
  for (const NodeId node : {-1, 2}) {
    other.message.requester = node;
    EXPECT_EQ(check(other), "in the name of a node that is not there");
  }
  other = ask;
  other.page = 3;  // PE 0's
  EXPECT_EQ(check(other), kNotForIt);
  other.page = 256;
  EXPECT_EQ(check(other), kNotItsPage);
  EXPECT_EQ(check(order(Event::invalidate), 0, 2), kNotForIt) << "not the home";
}

TEST_F(PagerMessage, Places) {
  PageMessage ask = request(Event::ask_read);
  for (const std::uint64_t tag : {std::uint64_t{0}, (std::uint64_t{4} << 20) + 8}) {
    ask.message.tag = tag;
    EXPECT_EQ(check(ask), kNoFrameAt) << tag;
  }
  for (const Event kind : {Event::forward_read, Event::fetched}) {
    PageMessage here = order(kind);
    here.message.tag = shape.frames_at() + 15 * std::uint64_t{65536};
    EXPECT_EQ(check(here), "");
    for (const std::uint64_t tag : {shape.frames_at() + 16 * std::uint64_t{65536}, shape.frames_at() - 65536,
                                    shape.frames_at() + 1, ~std::uint64_t{0}}) {
      here.message.tag = tag;
      EXPECT_EQ(check(here), kNoFrameAt) << tag;
    }
  }
  PageMessage done = request(Event::done);
  done.message.data = true;
  EXPECT_EQ(check(done), kNoFrameAt);
  done.frame = 1 << 20;
  EXPECT_EQ(check(done), "");
}

TEST_F(PagerMessage, Data) {
  PageMessage grant = order(Event::grant_shared);
  grant.message.data = true;
  EXPECT_EQ(check(grant), "");
  for (const Event kind : {Event::invalidate, Event::leave, Event::last_copy}) {
    PageMessage none = order(kind);
    none.message.data = true;
    EXPECT_EQ(check(none), "with a page that it does not carry");
  }
  PageMessage ask = request(Event::ask_read);
  ask.message.data = true;
  EXPECT_EQ(check(ask), "with a page that it does not carry");
}

TEST_F(PagerMessage, Operations) {
  EXPECT_EQ(check(with_operation(order(Event::put), Operation::Kind::put, theirs)), "");
  EXPECT_EQ(check(with_operation(order(Event::get), Operation::Kind::get, theirs)), "");
  EXPECT_EQ(check(with_operation(order(Event::get), Operation::Kind::put, theirs)), kUnknownOperation);
  EXPECT_EQ(check(with_operation(order(Event::put), Operation::Kind::get, theirs)), kUnknownOperation);
  EXPECT_EQ(check(with_operation(order(Event::put), Operation::Kind::put, theirs + 1)), kNotItsPage);
  EXPECT_EQ(check(with_operation(order(Event::invalidate), Operation::Kind::put, theirs)), kUnknownOperation);
  EXPECT_EQ(check(with_operation(request(Event::absent), Operation::Kind::get, mine)), "") << "it comes back";
  Bytes bytes = with_operation(order(Event::put), Operation::Kind::put, theirs);
  bytes[sizeof(PageMessage) + offsetof(Operation, pe)] = std::byte{4};
  EXPECT_EQ(check(bytes), "in the name of a PE that is not there");
  bytes[sizeof(PageMessage) + offsetof(Operation, pe)] = std::byte{3};
  EXPECT_EQ(check(bytes), "") << "of the same node as the requester";
  bytes[sizeof(PageMessage) + offsetof(Operation, pe)] = std::byte{1};
  EXPECT_EQ(check(bytes), "in the name of another node");
}

}  // namespace
}  // namespace shm::nvm
