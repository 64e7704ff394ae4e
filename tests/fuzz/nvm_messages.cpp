// SPDX-License-Identifier: BSD-3-Clause
// Messages of the NVM heap: operations and packets of pagers, to the pager of PE 0, alone on node 0; answers
// to its threads.  PE 1, on node 1, is the input, and so are threads of PE 0 that want pages.  Nothing runs
// in a thread of its own.
#include <sys/mman.h>

#include <deque>
#include <memory>
#include <optional>

#include "ending_device.hpp"
#include "fuzz.hpp"
#include "nvm/coherence/awaited_answers.hpp"
#include "nvm/pager.hpp"
#include "pages/requests.hpp"

namespace shm::fuzz {
namespace {

using namespace nvm;

constexpr std::size_t kPage = 4096, kFrames = 16;
constexpr std::uint64_t kPages = 8;  // of a PE

// Pages in memory; each transfer ends when the device is asked.
class MemoryDevice final : public EndingDevice {
 public:
  std::string describe() const override { return "memory"; }
  Status reserve(std::uint64_t, std::uint64_t) override { return {}; }
  Status release(std::uint64_t, std::uint64_t) override { return {}; }
  Status persist() override { return {}; }
  bool never_blocks() const override { return true; }
  void start(Transfer& transfer) override {
    std::byte* at = bytes_.data() + transfer.offset;
    if (transfer.offset > bytes_.size() || transfer.n > bytes_.size() - transfer.offset) std::abort();
    if (transfer.kind == Transfer::Kind::read) {
      std::memcpy(transfer.data, at, transfer.n);
    } else {
      std::memcpy(at, transfer.data, transfer.n);
    }
    transfer.error = 0;
    end(transfer);
  }

 private:
  std::vector<std::byte> bytes_ = std::vector<std::byte>(kPages * kPage);
};

// What PE 1 gets, of which the last message may be answered.
class Node final : public Host {
 public:
  bool map(std::byte*, std::size_t, std::size_t, bool) override { return true; }
  bool protect(std::byte*, std::size_t, bool) override { return true; }
  bool unmap(std::byte*, std::size_t) override { return true; }
  bool give_up_spares() override { return false; }
  void make_spares() override {}
  void answer(int, const std::byte*, std::size_t) override {}
  void send(int pe, const std::byte* packet, std::size_t n) override {
    if (pe != 1 || n < sizeof(PageMessage) || n > kMaxMessage) std::abort();
    std::memcpy(&last, packet, sizeof last);
  }
  void put(int, std::uint64_t, const std::byte*, std::size_t n, Completion& done) override {
    if (n != kPage) std::abort();
    done.set_done();
  }
  bool messages_follow_puts() const override { return true; }
  void get(int, std::uint64_t, std::byte* bytes, std::size_t n, Completion& done) override {
    std::memset(bytes, 1, n);
    done.set_done();
  }
  void drive() override {}
  bool will_answer_calls() const override { return true; }

  PageMessage last{};
};

class PoolMemory {
 public:
  explicit PoolMemory(const pages::PoolShape& shape)
      : bytes_(shape.bytes()),
        base_(mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1,
                   0)),
        pool(static_cast<std::byte*>(base_), shape) {
    pool.prepare();
  }
  ~PoolMemory() { munmap(base_, bytes_); }
  PoolMemory(const PoolMemory&) = delete;
  PoolMemory& operator=(const PoolMemory&) = delete;

 private:
  const std::size_t bytes_;
  void* const base_;

 public:
  const pages::Pool pool;
};

class Messages {
 public:
  explicit Messages(Input& input) : input_(input) {
    nodes_.members.resize(2);
    nodes_.add(0);
    nodes_.add(1);
    auto* segment = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40);  // nothing is mapped
    pager_.emplace(host_, memory_.pool, nodes_, std::make_unique<MemoryDevice>(),
                   Pager::Settings{0, segment, false, true, 0, pages::ReplacementKind::two_queues});
    pager_->share_rounds();
  }

  void run() {
    while (!input_.empty()) {
      step();
      for (int rounds = 0; rounds < 4; ++rounds) pager_->answer_calls();
    }
  }

 private:
  void step() {
    switch (input_.below(10)) {
      case 0: return receive(input_.bytes(input_.below(400)));
      case 1: return hand(input_.bytes(input_.below(400)));
      case 2: return want();
      case 3: return hand(operations());
      case 4: return answer_last();
      case 5: return await_answer();
      case 6: return take_answer();
      default: return receive(message());
    }
  }

  // As nvm/heap has it.
  void receive(const Bytes& packet) {
    if (wrong_with_page_messages(packet.data(), packet.size(), 1, limits_) != nullptr) return;
    pager_->receive(packet.data(), packet.size());
  }
  void hand(const Bytes& bytes) {
    if (wrong_with_operations(bytes.data(), bytes.size(), 1, limits_) != nullptr) return;
    for (std::size_t at = 0; at < bytes.size();) {
      Operation operation;
      std::memcpy(&operation, bytes.data() + at, sizeof operation);
      pager_->hand(bytes.data() + at, operation_bytes(operation));
      at += record_bytes(operation);
    }
  }
  Bytes operations() {
    Bytes bytes;
    for (unsigned n = 1 + input_.below(4); n != 0; --n) {
      const Bytes one = operation(input_.near(input_.below(kPages)), 1);
      bytes.insert(bytes.end(), one.begin(), one.end());
      bytes.resize(input_.near(padded_to_words(bytes.size())) % 65536);
    }
    return bytes;
  }

  // A thread's operation has been sent: what it brings has exactly so much memory.
  void await_answer() {
    Asked& asked = asked_.emplace_back();
    const std::uint32_t n = input_.below(3) * 8;
    asked.results = std::make_unique<std::byte[]>(n);
    asked.unanswered = 1;
    asked.page = input_.below(2 * kPages);
    asked.n = n;
    asked.token = answers_.add({&asked.unanswered, asked.results.get(), n, asked.page});
  }
  // As nvm/heap has it.
  void take_answer() {
    Bytes message;
    if (asked_.empty() || input_.below(8) == 0) {
      message = input_.bytes(input_.below(64));
    } else {
      const Asked& asked = asked_[input_.below(static_cast<unsigned>(asked_.size()))];
      const Answer answer{input_.near(asked.token), input_.near(asked.page),
                          static_cast<std::uint32_t>(input_.near(asked.n)), input_.byte()};
      append(message, answer);
      message.resize(message.size() + input_.near(answer.n) % 64);
    }
    const int from = input_.byte() < 240 ? 1 : 0;
    answers_.take(from, message.data(), message.size(), limits_,
                  [](const AwaitedAnswers::Taken& taken, const std::byte* brought) {
                    const auto& [asked, answer] = taken;
                    if (asked.unanswered->fetch_sub(1) != 1) std::abort();
                    if (answer.n != 0) std::memcpy(asked.results, brought, answer.n);
                  });
  }

  PageNumber page() { return input_.near(input_.below(2 * kPages)); }
  std::uint64_t frame() { return input_.near(shape_.frames_at() + input_.below(kFrames) * kPage); }

  // A thread of this node wants a page: nobody waits for it.
  void want() {
    pages::PeRequests& requests = memory_.pool.requests_of(0);
    requests.queue.post_hint(
        {input_.below(2 * kPages), static_cast<pages::RequestQueue::What>(input_.below(4)), 1, 1});
    pager_->hand(reinterpret_cast<const std::byte*>(&nudge_), sizeof nudge_);
  }

  Bytes operation(PageNumber page, int pe) {
    Operation operation{};
    operation.page = page;
    operation.pe = static_cast<int>(input_.near(static_cast<std::uint64_t>(pe)));
    operation.kind = static_cast<Operation::Kind>(input_.below(4));
    operation.op = static_cast<AtomicOp>(input_.below(kAtomicOps + 1));
    operation.type = static_cast<AtomicType>(input_.below(kAtomicTypes + 1));
    const bool amo = operation.kind == Operation::Kind::amo;
    operation.n =
        static_cast<std::uint32_t>(input_.near(amo ? atomic_size(operation.type) : input_.below(64)));
    operation.offset = static_cast<std::uint32_t>(input_.near(input_.below(kPage / 8) * std::uint64_t{8}));
    operation.brings = input_.below(2) != 0;
    operation.value = input_.byte();
    Bytes bytes;
    append(bytes, operation);
    if (operation.kind == Operation::Kind::put) bytes.resize(bytes.size() + std::min(operation.n, 9000U));
    return bytes;
  }

  Bytes message() {
    PageMessage head{};
    head.page = page();
    Message& message = head.message;
    message.kind = static_cast<Event>(input_.below(kEvents));
    const unsigned flags = input_.byte();
    message.data = (flags & 1) != 0;
    message.dirty = (flags & 2) != 0;
    message.ahead = (flags & 4) != 0;
    message.whole = (flags & 8) != 0;
    message.absent = (flags & 16) != 0;
    message.from = 1;
    message.to = 0;
    message.requester = (flags & 32) != 0 ? 1 : 0;
    message.version = input_.near(host_.last.message.version);
    message.tag = (flags & 64) != 0 ? host_.last.message.tag : frame();
    head.frame = input_.near(std::uint64_t{2} << 20);
    head.given_up = flags >> 7;
    Bytes carried;
    if (message.kind == Event::get || message.kind == Event::put || (flags & 3) == 3)
      carried = operation(head.page, 1);
    head.n = static_cast<std::uint32_t>(input_.near(carried.size()));
    Bytes bytes;
    append(bytes, head);
    bytes.insert(bytes.end(), carried.begin(), carried.end());
    return bytes;
  }

  // As the protocol wants it, or nearly: deep states are reached by this.
  void answer_last() {
    PageMessage head = host_.last;
    Message& message = head.message;
    const unsigned how = input_.byte();
    message.kind = how < 200 ? Event::done : static_cast<Event>(how - 200 < kEvents ? how - 200 : 0);
    message.data = input_.below(4) == 1;
    message.absent = input_.below(4) == 1;
    message.dirty = input_.below(4) == 1;
    message.from = 1;
    message.to = 0;
    head.frame = std::uint64_t{2} << 20;
    head.given_up = message.data ? input_.below(2) : 0;
    head.n = 0;
    Bytes bytes;
    append(bytes, head);
    receive(bytes);
  }

  struct Asked {
    std::atomic<std::uint64_t> unanswered;
    std::unique_ptr<std::byte[]> results;
    std::uint32_t n;
    PageNumber page;
    std::uint64_t token;
  };

  Input& input_;
  AwaitedAnswers answers_;
  std::deque<Asked> asked_;
  const pages::PoolShape shape_{kPage, kFrames, kPages, 2, 1};
  const PoolMemory memory_{shape_};
  Nodes nodes_;
  const MessageLimits limits_{shape_, nodes_, 0};
  Node host_;
  Operation nudge_{.token = 0, .page = 0, .offset = 0, .n = 0, .pe = 1, .kind = Operation::Kind::get};
  std::optional<Pager> pager_;
};

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  Input input(data, n);
  refuses([&] { Messages(input).run(); });
}

}  // namespace shm::fuzz
