// SPDX-License-Identifier: BSD-3-Clause
// The engine where the provider has no room, refuses, or reports errors.
#include "ofi/engine.hpp"

#include <gtest/gtest.h>
#include <rdma/fabric.h>
#include <rdma/fi_errno.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "../core/wait_line.hpp"
#include "../sleeps.hpp"
#include "base/fatal.hpp"
#include "fabric_faults.hpp"
#include "fabric_job.hpp"

namespace shm::test {
namespace {

constexpr std::size_t kHeapWords = 4096;
constexpr std::uint16_t kRequest = 1, kAnswer = 2;

// Handlers of all PEs of the job.  A request carries what its receiver is to send, and to whom.
struct Answer {
  int to;
  std::uint64_t text;
};
LoopPe* answering = nullptr;
std::vector<std::uint64_t> answers;  // in order of arrival
std::size_t answer_bytes = 8;

void handle(int, std::uint16_t id, const std::byte* message, std::size_t n) {
  if (id == kAnswer) {
    std::uint64_t text = 0;
    std::memcpy(&text, message, sizeof text);
    answers.push_back(text);
    return;
  }
  for (std::size_t at = 0; at < n; at += sizeof(Answer)) {
    Answer answer;
    std::memcpy(&answer, message + at, sizeof answer);
    std::vector<std::byte> bytes(answer_bytes);
    std::memcpy(bytes.data(), &answer.text, sizeof answer.text);
    answering->ops().send(answering->channel, answer.to, kAnswer, bytes.data(), bytes.size());
  }
}

class OfiEngine : public ::testing::Test {
 protected:
  void SetUp() override {
    answers.clear();
    answering = nullptr;
    answer_bytes = 2000;  // too long for the inbox
  }

  void open(int npes, const FabricOptions& options = loopback()) {
    job.emplace(npes, kHeapWords, handle, options);
    job->meet();
  }
  LoopPe& pe(std::size_t number) { return job->pes[number]; }

  // PE 1 asks PE 0, whose handler answers; PE 0 polls once the request has come.
  void ask(const std::vector<Answer>& wanted) {
    answering = &pe(0);
    pe(1).ops().send(pe(1).channel, 0, kRequest, wanted.data(), wanted.size() * sizeof(Answer));
  }
  // From the program, not from a handler.
  void answer(int to, std::uint64_t text) {
    std::vector<std::byte> bytes(answer_bytes);
    std::memcpy(bytes.data(), &text, sizeof text);
    pe(0).ops().send(pe(0).channel, to, kAnswer, bytes.data(), bytes.size());
  }
  // Lets PE 0 take the request and answer it, without room for that.
  void answer_without_room() {
    faults.fail_always(FabricCall::send, -FI_EAGAIN);
    faults.fail_always(FabricCall::inject_write, -FI_EAGAIN);
    const long before = faults.count(FabricCall::send);
    while (faults.count(FabricCall::send) == before) pe(0).net->poll();
    faults.pass(FabricCall::send);
    faults.pass(FabricCall::inject_write);
  }
  void await_answers(std::size_t n) {
    while (answers.size() < n) job->poll_all();
  }
  void put_one(int to = 1) {
    static const std::uint64_t value = 5;
    pe(0).ops().put(pe(0).channel, to, LoopPe::word(1), &value, 8, true, nullptr);
  }

  FabricFaults faults;
  std::optional<FabricJob> job;
};

TEST_F(OfiEngine, BounceBuffersComeBack) {
  open(2);
  std::vector<std::byte> bytes(kMaxMessage, std::byte{1});
  for (const std::size_t n : {65, 1000, 4096})
    pe(0).ops().put(pe(0).channel, 1, LoopPe::word(0), bytes.data(), n, true, nullptr);
  EXPECT_EQ(job->engine(0).buffers_in_use(), 3u);
  for (const std::size_t n : {2000, 5000, 16000})
    pe(0).ops().send(pe(0).channel, 1, kAnswer, bytes.data(), n);
  EXPECT_EQ(job->engine(0).buffers_in_use(), 6u);
  job->quiet(pe(0));
  EXPECT_EQ(job->engine(0).buffers_in_use(), 0u);
  EXPECT_FALSE(job->engine(0).in_flight());
}

// What is nothing, or stays here, is complete on return, and no business of the provider's.
TEST_F(OfiEngine, NothingAndWhatIsItsOwnAreCompleteAtOnce) {
  open(2);
  const long writes = faults.count(FabricCall::write), reads = faults.count(FabricCall::read);
  for (const auto& [to, n] : {std::pair(1, 0), {0, 8}, {0, 0}}) {
    const std::uint64_t value = 7;
    std::uint64_t got = 5;
    Completion stored, fetched;
    pe(0).ops().put(pe(0).channel, to, LoopPe::word(2), &value, n, false, &stored);
    EXPECT_TRUE(stored.done()) << n << " bytes to PE " << to;
    pe(0).ops().get(pe(0).channel, to, &got, LoopPe::word(2), n, &fetched);
    EXPECT_TRUE(fetched.done()) << n << " bytes from PE " << to;
    EXPECT_EQ(got, n == 0 ? 5u : 7u);
  }
  EXPECT_EQ(faults.count(FabricCall::write), writes);
  EXPECT_EQ(faults.count(FabricCall::read), reads);
  EXPECT_EQ(pe(0).heap[2], 7u);
  EXPECT_EQ(pe(1).heap[2], 0u);
}

// Messages that no descriptor tells of: to this PE itself, and those that could not be sent.
TEST_F(OfiEngine, DoesNotSleepOverMessagesThatWaitForAPoll) {
  open(2);
  answer(0, 3);
  EXPECT_FALSE(pe(0).net->may_block());
  await_answers(1);
  ask({{1, 10}});
  faults.fail_always(FabricCall::send, -FI_EAGAIN);
  const long before = faults.count(FabricCall::send);
  while (faults.count(FabricCall::send) == before) pe(0).net->poll();
  for (int i = 0; i < 100; ++i) pe(0).net->poll();  // nothing else is left to do
  EXPECT_FALSE(pe(0).net->may_block());
  faults.pass(FabricCall::send);
  await_answers(2);
  job->quiet(pe(0));
}

// With operations in flight a sleeper looks for lost connections now and then.
TEST_F(OfiEngine, SleepsForLongOnlyIfNothingIsInFlight) {
  open(2);
  pe(0).net->may_block();
  EXPECT_EQ(pe(0).net->max_block_us(), -1);
  put_one();
  pe(0).net->may_block();
  EXPECT_EQ(pe(0).net->max_block_us(), 100000);
  job->quiet(pe(0));
  pe(0).net->may_block();
  EXPECT_EQ(pe(0).net->max_block_us(), -1);
}

TEST_F(OfiEngine, SupportsTheAtomicsThatAreDefinedIfTheProviderHasAny) {
  const auto expect = [](bool any) {
    const std::unique_ptr<Network> net = std::move(open_fabric(loopback()).value());
    for (int o = 0; o < kAtomicOps; ++o) {
      for (int t = 0; t < kAtomicTypes; ++t) {
        const auto op = static_cast<AtomicOp>(o);
        const auto type = static_cast<AtomicType>(t);
        for (const bool fetching : {true, false})
          EXPECT_EQ(net->supports(op, type, fetching), any && is_defined(op, type)) << o << " " << t;
      }
    }
  };
  expect(true);
  faults.edit_infos = [](fi_info*& list) {
    for (fi_info* info = list; info != nullptr; info = info->next) info->caps &= ~std::uint64_t{FI_ATOMIC};
  };
  expect(false);
}

// Entries of an inbox are single writes, which the provider stores when this PE polls.
TEST_F(OfiEngine, HasNoInboxWhereTheProviderIsNotAsItsRowSays) {
  const auto inbox_bytes = [] {
    const std::unique_ptr<Network> net = std::move(open_fabric(loopback()).value());
    const std::vector<std::byte> address = net->address().value();
    return ofi::decode_address(address).value().inbox.size;
  };
  const auto edit = [&](const std::function<void(fi_info&)>& one) {
    faults.edit_infos = [one](fi_info*& list) {
      for (fi_info* info = list; info != nullptr; info = info->next) one(*info);
    };
  };
  EXPECT_EQ(inbox_bytes(), ofi::Inbox::bytes());
  edit([](fi_info& info) { info.tx_attr->inject_size = ofi::RingCursor::kLargestEntry - 1; });
  EXPECT_EQ(inbox_bytes(), 0u);
}

TEST_F(OfiEngine, WaitsForRoomAtTheProvider) {
  open(2);
  for (const FabricCall call : {FabricCall::write, FabricCall::read, FabricCall::atomic, FabricCall::send}) {
    faults.fail(call, -FI_EAGAIN, 40);
    const long before = faults.count(call);
    const std::uint64_t value = 7;
    std::uint64_t got = 0;
    if (call == FabricCall::write)
      pe(0).ops().put(pe(0).channel, 1, LoopPe::word(2), &value, 8, true, nullptr);
    if (call == FabricCall::read) pe(0).ops().get(pe(0).channel, 1, &got, LoopPe::word(2), 8, nullptr);
    if (call == FabricCall::atomic)
      pe(0).ops().amo(pe(0).channel, 1, LoopPe::word(2), AtomicOp::add, AtomicType::u64, &value, nullptr,
                      nullptr, nullptr);
    if (call == FabricCall::send) answer(1, 9);
    EXPECT_EQ(faults.count(call) - before, 41);
    job->quiet(pe(0));
    EXPECT_EQ(got, call == FabricCall::read ? 7u : 0u);
  }
  await_answers(1);
  EXPECT_EQ(pe(1).heap[2], 14u);
  EXPECT_EQ(answers, std::vector<std::uint64_t>{9});
}

TEST_F(OfiEngine, AWaitForRoomNamesThePe) {
  open(3);
  rt.me = 0;
  rt.npes = 3;
  expect_wait_line(
      "an operation waits for room to send to PE 2; since",
      [&] {
        faults.fail_always(FabricCall::write, -FI_EAGAIN);
        put_one(2);
      },
      [&] { faults.pass(FabricCall::write); });
  rt.me = -1;
  rt.npes = 0;
}

TEST_F(OfiEngine, WhoWaitsForRoomAsksWhoWatches) {
  open(3);
  int waited_for = -1;
  pe(0).net->watch_room([&](int pe, std::chrono::steady_clock::time_point since, WaitWatch&) {
    EXPECT_LE(since, std::chrono::steady_clock::now());
    waited_for = pe;
    faults.pass(FabricCall::write);
  });
  faults.fail_always(FabricCall::write, -FI_EAGAIN);
  put_one(2);
  EXPECT_EQ(waited_for, 2);
}

// A PE that does not answer is owed no more than its credits: others shall have records, too.
TEST_F(OfiEngine, PostsNoMoreToOnePeThanItsCredits) {
  open(2);
  const auto outstanding = [&] { return static_cast<ofi::OfiChannel*>(pe(0).channel)->outstanding.count(); };
  const std::uint64_t credits = ofi::find_quirk("tcp;ofi_rxm").credits;
  std::uint64_t seen = 0;
  std::thread other([&] {
    while (outstanding() < credits) std::this_thread::yield();
    // PE 0 waits for room by now, or posts ever more.
    const long reads = faults.count(FabricCall::cq_read);
    while (faults.count(FabricCall::cq_read) < reads + 50) std::this_thread::yield();
    seen = outstanding();
    while (outstanding() != 0) pe(1).net->poll();
  });
  for (std::uint64_t i = 0; i < credits + 40; ++i) put_one();
  while (outstanding() != 0) pe(0).net->poll();
  other.join();
  EXPECT_EQ(seen, credits);
}

// Another thread goes on putting, so that something is always outstanding.
TEST_F(OfiEngine, AWaitForWhatWasIssuedEndsThoughOthersGoOn) {
  open(2);
  Channel* channel = pe(0).channel;
  const std::uint64_t value = 7;
  pe(0).ops().put(channel, 1, LoopPe::word(0), &value, 8, true, nullptr);
  Drain wait;
  EXPECT_FALSE(drained(channel, wait));
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  do {
    put_one();
    EXPECT_FALSE(pe(0).ops().idle(channel));
    pe(1).net->poll();
    if (faults.count(FabricCall::write) % 2 == 0) pe(0).net->poll();
  } while (!drained(channel, wait) && std::chrono::steady_clock::now() < limit);
  EXPECT_TRUE(drained(channel, wait));
  EXPECT_EQ(pe(1).heap[0], value);
}

// Who waits for a peer to make room gives its core away.
TEST_F(OfiEngine, WhoWaitsForRoomSleeps) {
  open(2);
  faults.fail_always(FabricCall::write, -FI_EAGAIN);
  std::thread other([&, waiting = gettid()] {
    EXPECT_TRUE(has_slept(waiting, 5));
    faults.pass(FabricCall::write);
  });
  put_one();
  other.join();
}

// And fewer messages than other operations, so that they leave buffers for messages to others.
TEST_F(OfiEngine, SendsNoMoreMessagesToOnePeThanTheirCredits) {
  constexpr std::uint64_t kCredits = 32, kMessages = kCredits + 10;
  open(2);
  const auto outstanding = [&] { return static_cast<ofi::OfiChannel*>(pe(0).channel)->outstanding.count(); };
  faults.fail_always(FabricCall::cq_read, -FI_EAGAIN);  // none of them seems to be complete
  std::atomic<bool> all_sent{false};
  std::uint64_t seen = 0;
  std::thread other([&] {
    while (outstanding() < kCredits) std::this_thread::yield();
    // PE 0 waits for room by now, or sends ever more.
    const long reads = faults.count(FabricCall::cq_read);
    while (faults.count(FabricCall::cq_read) < reads + 50 && !all_sent.load()) std::this_thread::yield();
    seen = outstanding();
    faults.pass(FabricCall::cq_read);
  });
  for (std::uint64_t i = 0; i < kMessages; ++i) answer(1, i);
  all_sent.store(true);
  other.join();
  EXPECT_EQ(seen, kCredits);
  await_answers(kMessages);
  job->quiet(pe(0));
}

// Each message is a post, whichever way it takes, and so is the grant that opens the second one.
TEST_F(OfiEngine, CountsWhatItPosts) {
  open(2);
  answer_bytes = 100;
  take_stats();
  const auto calls = [&] { return faults.count(FabricCall::send) + faults.count(FabricCall::inject_write); };
  const long before = calls();
  StatValues stats{};
  const auto of = [&](Stat stat) { return stats[static_cast<std::size_t>(stat)]; };
  std::uint64_t sent = 0;
  for (; of(Stat::written_messages) < 3; stats = read_stats()) {
    answer(1, sent);
    await_answers(++sent);
  }
  EXPECT_EQ(of(Stat::posts), sent + 1);
  EXPECT_EQ(of(Stat::posts), static_cast<std::uint64_t>(calls() - before));
}

TEST_F(OfiEngine, AMessageStaysBehindThoseThatAHandlerCouldNotSend) {
  open(2);
  ask({{1, 10}, {1, 11}});
  answer_without_room();
  EXPECT_TRUE(pe(0).net->needs_poll());
  EXPECT_FALSE(pe(0).ops().idle(pe(0).channel));
  EXPECT_FALSE(pe(0).ops().idle_to(pe(0).channel, 1));
  answer(1, 12);
  await_answers(3);
  EXPECT_EQ(answers, (std::vector<std::uint64_t>{10, 11, 12}));
  job->quiet(pe(0));
}

TEST_F(OfiEngine, MessagesThatAHandlerCouldNotSendKeepTheirOrder) {
  open(2);
  ask({{1, 10}, {1, 11}, {1, 12}});
  answer_without_room();
  faults.fail(FabricCall::send, -FI_EAGAIN);  // the first of them, once more
  await_answers(3);
  EXPECT_EQ(answers, (std::vector<std::uint64_t>{10, 11, 12}));
  job->quiet(pe(0));
}

TEST_F(OfiEngine, APeWithoutRoomHoldsUpNoOther) {
  open(3);
  ask({{1, 10}, {2, 20}, {1, 11}});
  answer_without_room();
  faults.fail(FabricCall::send, -FI_EAGAIN);
  pe(0).net->poll();  // refused for PE 1, sent to PE 2
  EXPECT_TRUE(pe(0).net->needs_poll());
  faults.fail_always(FabricCall::send, -FI_EAGAIN);
  while (answers.empty()) job->poll_all();
  EXPECT_EQ(answers, std::vector<std::uint64_t>{20});
  faults.pass(FabricCall::send);
  await_answers(3);
  EXPECT_EQ(answers, (std::vector<std::uint64_t>{20, 10, 11}));
  job->quiet(pe(0));
  pe(0).net->poll();
  EXPECT_FALSE(pe(0).net->needs_poll());
}

// What goes by the inbox and what does not, from a handler without room, and from the program.
TEST_F(OfiEngine, ShortMessagesKeepTheirOrderWhenTheInboxCannotBeWritten) {
  open(2);
  answer_bytes = 100;
  for (std::uint64_t i = 0; i < 10; ++i) {
    answer(1, i);
    await_answers(i + 1);
  }
  faults.fail(FabricCall::inject_write, -FI_EAGAIN);
  answer(1, 10);  // goes the ordinary way
  EXPECT_TRUE(pe(0).net->needs_poll()) << "the provider has looked for room, and may have stored something";
  answer(1, 11);
  await_answers(12);
  for (std::uint64_t i = 0; i < 12; ++i) EXPECT_EQ(answers[i], i);
}

TEST_F(OfiEngine, GrantsAreToldLaterIfThereIsNoRoom) {
  open(2);
  answer_bytes = 100;
  faults.fail(FabricCall::inject_write, -FI_EAGAIN);
  answer(1, 0);  // PE 1 gives PE 0 a ring, and cannot say so
  await_answers(1);
  EXPECT_EQ(faults.count(FabricCall::inject_write), 1);
  for (int i = 0; i < 100000 && faults.count(FabricCall::inject_write) < 2; ++i) job->poll_all();
  for (int i = 0; i < 100; ++i) job->poll_all();
  EXPECT_EQ(faults.count(FabricCall::inject_write), 2) << "once is enough";
  while (job->engine(0).in_flight()) job->poll_all();
  const long sends = faults.count(FabricCall::send);
  for (std::uint64_t i = 1; i < 200 && faults.count(FabricCall::inject_write) < 10; ++i) {
    answer(1, i);
    await_answers(i + 1);
  }
  EXPECT_LT(faults.count(FabricCall::send) - sends, 100) << "the grant has arrived";
}

TEST_F(OfiEngine, ReceivesArePostedAgainWhenThereIsRoom) {
  open(2);
  const long before = faults.count(FabricCall::recv);
  faults.fail(FabricCall::recv, -FI_EAGAIN, 3);
  answer(1, 1);
  await_answers(1);
  EXPECT_TRUE(pe(1).net->needs_poll());
  EXPECT_FALSE(pe(1).net->may_block());
  while (pe(1).net->needs_poll()) pe(1).net->poll();
  EXPECT_EQ(faults.count(FabricCall::recv) - before, 4);
  job->quiet(pe(0));
}

TEST_F(OfiEngine, SetUpThatFailsIsAnError) {
  const auto error_of = [&](FabricCall call, long code, int pass) {
    Result<std::unique_ptr<Network>> net = open_fabric(loopback());
    EXPECT_TRUE(net.ok()) << net.status().text();
    static std::vector<std::byte> address;
    address = net.value()->address().value();
    faults.fail(call, code, 1, pass);
    const auto lookup = +[](int) { return std::span<const std::byte>(address); };
    return net.value()->connect(0, 2, lookup, handle).text();
  };
  EXPECT_EQ(error_of(FabricCall::av_insert, 0, 0), "libfabric: the address of PE 1 was refused");
  EXPECT_EQ(error_of(FabricCall::recv, -FI_ENOMEM, 3), "libfabric: fi_recv: Cannot allocate memory");
  Result<std::unique_ptr<Network>> net = open_fabric(loopback());
  faults.fail(FabricCall::getname, -FI_ENOMEM);
  EXPECT_EQ(net.value()->address().status().text(), "libfabric: fi_getname: Cannot allocate memory");
  static const std::byte strange[8] = {};
  const auto lookup = +[](int) { return std::span<const std::byte>(strange); };
  EXPECT_EQ(net.value()->connect(0, 2, lookup, handle).text(),
            "PE 0: libfabric: the peer's address is too short");
}

// Errors end the process.  It is a copy that ends, which shares its connections with the test: they are of no
// use after the copy has sent something.
class OfiEngineDeath : public OfiEngine {
 protected:
  static auto error() { return ::testing::ExitedWithCode(kErrorExit); }

  void poll_on() {
    for (int i = 0; i < 100000; ++i) job->poll_all();
  }
  void start(FabricCall call) {
    static std::uint64_t word = 0;
    const std::uint64_t one = 1;
    switch (call) {
      case FabricCall::write: return put_one();
      case FabricCall::read: return pe(0).ops().get(pe(0).channel, 1, &word, LoopPe::word(0), 8, nullptr);
      case FabricCall::send: return answer(1, 1);
      default:
        pe(0).ops().amo(pe(0).channel, 1, LoopPe::word(0), AtomicOp::add, AtomicType::u64, &one, &one,
                        call == FabricCall::atomic ? nullptr : &word, nullptr);
    }
  }
};

struct NamedCall {
  FabricCall call;
  const char* name;
};
constexpr NamedCall kOperations[] = {{FabricCall::write, "put to"},
                                     {FabricCall::read, "get from"},
                                     {FabricCall::atomic, "atomic on"},
                                     {FabricCall::fetch_atomic, "atomic on"},
                                     {FabricCall::send, "message to"}};

TEST_F(OfiEngineDeath, AnOperationThatIsRefusedIsNamed) {
  open(2);
  for (const auto& [call, name] : kOperations) {
    EXPECT_EXIT(faults.fail(call, -FI_ENOMEM);
                start(call), error(),
                std::string(name) + " PE 1 failed: libfabric tcp;ofi_rxm: Cannot allocate memory");
  }
}

TEST_F(OfiEngineDeath, AnOperationThatEndsWithAnErrorIsNamed) {
  open(2);
  for (const auto& [call, name] : kOperations) {
    EXPECT_EXIT(faults.complete_with_error(call, FI_EIO); start(call);
                job->quiet(pe(0)), error(),
                std::string(name) + " PE 1 failed: Input/output error \\(libfabric tcp;ofi_rxm: .*died");
  }
}

TEST_F(OfiEngineDeath, AnOperationOutsideASegmentIsNamed) {
  open(2);
  std::uint64_t word = 0;
  const RemoteAddress end = LoopPe::word(kHeapWords), variable{SegmentId::statics, 16},
                      page{SegmentId::pool, 0};
  EXPECT_EXIT(pe(0).ops().put(pe(0).channel, 1, end, &word, 8, true, nullptr), error(),
              "put to PE 1: 8 bytes at offset 0x8000 are outside its symmetric heap of 0x8000 bytes\n");
  EXPECT_EXIT(pe(0).ops().get(pe(0).channel, 1, &word, variable, 4, nullptr), error(),
              "get from PE 1: 4 bytes at offset 0x10 are outside its static data of 0 bytes\n");
  EXPECT_EXIT(pe(0).ops().put(pe(0).channel, 0, page, &word, 8, true, nullptr), error(),
              "put to PE 0: 8 bytes at offset 0 are outside its pool of pages of 0 bytes\n");
  EXPECT_EXIT(pe(0).ops().amo(pe(0).channel, 1, variable, AtomicOp::add, AtomicType::u32, &word, nullptr,
                              nullptr, nullptr),
              error(), "atomic on PE 1: 4 bytes at offset 0x10 are outside its static data of 0 bytes\n");
}

// rxm does not say which atomics a broken connection took along.
TEST_F(OfiEngineDeath, AnErrorWithoutAnOperationNamesThePesThatOweSomething) {
  open(4);
  fi_cq_err_entry lost{};
  lost.err = FI_ECONNRESET;
  faults.report(lost);  // a peer that had nothing of ours has left
  EXPECT_TRUE(pe(0).net->poll());
  put_one();
  job->quiet(pe(0));
  EXPECT_EXIT(put_one(1); put_one(3); faults.report(lost);
              pe(0).net->poll(), error(), "an operation on PE 1, PE 3 failed: Connection reset by peer");
}

TEST_F(OfiEngineDeath, AnErrorThatCannotBeReadIsOneItself) {
  open(2);
  faults.fail(FabricCall::cq_read, -FI_EAVAIL);
  faults.fail(FabricCall::cq_readerr, -FI_EAGAIN);
  pe(0).net->poll();  // another thread has taken it
  EXPECT_EXIT(faults.fail(FabricCall::cq_read, -FI_EAVAIL); faults.fail(FabricCall::cq_readerr, -FI_EINVAL);
              pe(0).net->poll(), error(), "fi_cq_readerr: Invalid argument");
}

TEST_F(OfiEngineDeath, AReceiveThatIsRefused) {
  open(2);
  EXPECT_EXIT(faults.fail(FabricCall::recv, -FI_ENOMEM); answer(1, 1);
              await_answers(1), error(), "fi_recv: Cannot allocate memory");
}

TEST_F(OfiEngineDeath, AGrantThatIsRefused) {
  open(2);
  EXPECT_EXIT(faults.fail(FabricCall::inject_write, -FI_ENOMEM); answer(1, 1);
              await_answers(100), error(),
              "message to PE 0 failed: libfabric tcp;ofi_rxm: Cannot allocate memory");
}

TEST_F(OfiEngineDeath, AMessageThatOvertakesAnother) {
  open(2);
  const ofi::Envelope late{job->engine(1).cookie(), {0, kAnswer, 5}};
  EXPECT_EXIT(job->send_raw(&late, sizeof late);
              poll_on(), error(),
              "messages from PE 0 were lost .*: number 5 came before 0\\): the connection");
  EXPECT_EXIT(setenv("FI_OFI_RXM_BUFFER_SIZE", "4096", 1); job->send_raw(&late, sizeof late);
              poll_on(), error(),
              "message 5 from PE 0 came before message 0: FI_OFI_RXM_BUFFER_SIZE must be at least 16640\n");
}

TEST_F(OfiEngineDeath, AChannelThatIsClosedTooEarly) {
  open(2);
  Channel* channel = pe(0).net->open_channel();
  const std::uint64_t value = 1;
  EXPECT_EXIT(channel->ops->put(channel, 1, LoopPe::word(0), &value, 8, true, nullptr);
              pe(0).net->close_channel(channel), error(), "closed with operations outstanding");
  pe(0).net->close_channel(channel);
}

}  // namespace
}  // namespace shm::test
