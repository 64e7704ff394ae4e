// SPDX-License-Identifier: BSD-3-Clause
// Pagers of several nodes, each node with a pool of its own and fewer frames than pages, that take pages from
// each other, against a model.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

#include "pager_fixture.hpp"

namespace shm::nvm {
namespace {

constexpr std::uint64_t kPages = 24;  // of each PE
constexpr std::size_t kFrames = 16;
constexpr std::size_t kBytes = 32768;  // of a page: two pieces

// Carries messages between the PEs of the job, one after the other for each pair, and those of different
// pairs in any order.
class Carrier {
 public:
  using Sink = std::function<void(int to, const std::vector<std::byte>&)>;

  // Calls `carried` behind each.
  Carrier(std::uint64_t seed, Sink sink, std::function<void()> carried)
      : random_(seed), sink_(std::move(sink)), carried_(std::move(carried)), thread_([this] { run(); }) {}
  ~Carrier() { stop(); }
  void stop() {
    {
      const std::scoped_lock guard(mutex_);
      stop_ = true;
    }
    changed_.notify_one();
    if (thread_.joinable()) thread_.join();
  }

  void carry(int from, int to, const std::byte* message, std::size_t n) {
    const std::scoped_lock guard(mutex_);
    ++messages_;
    links_[{from, to}].push_back({{message, message + n}, {}});
    changed_.notify_one();
  }
  int messages() const { return messages_; }  // so far
  // Puts have links of their own: they overtake messages.
  void put(int from, int to, std::function<void()> put) {
    const std::scoped_lock guard(mutex_);
    links_[{from, -1 - to}].push_back({{}, std::move(put)});
    changed_.notify_one();
  }

 private:
  struct Load {
    std::vector<std::byte> message;
    std::function<void()> put;
  };
  using Links = std::map<std::pair<int, int>, std::deque<Load>>;

  void run() {
    std::unique_lock guard(mutex_);
    for (;;) {
      changed_.wait(guard, [this] { return stop_ || !links_.empty(); });
      if (links_.empty()) return;
      auto link = std::next(links_.begin(), static_cast<std::ptrdiff_t>(random_() % links_.size()));
      const int to = link->first.second;
      const Load load = std::move(link->second.front());
      link->second.pop_front();
      if (link->second.empty()) links_.erase(link);
      guard.unlock();
      load.put ? load.put() : sink_(to, load.message);
      carried_();
      guard.lock();
    }
  }

  std::mt19937_64 random_;
  const Sink sink_;
  const std::function<void()> carried_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Links links_;
  std::atomic<int> messages_{0};
  bool stop_ = false;
  std::thread thread_;
};

// Whether the thread is the network's.
thread_local bool drives_network = false;

// What a thread waits for whose operation went elsewhere.
struct Awaited {
  std::atomic<bool> done{false};
  std::uint64_t got = 0;
};

class Member final : public Host {
 public:
  using Find = std::function<const Pool&(int pe)>;

  // `shares`: rounds of the pager.
  Member(Carrier& carrier, Find find, const Nodes& nodes, int me, std::uint64_t seed, bool cooperative,
         bool shares)
      : carrier_(carrier), find_(std::move(find)), me_(me), ordered_(seed % 3 != 0) {
    const Pool& pool = find_(me);
    auto device = std::make_unique<TestDevice>(TestDeviceOptions{.size = kPages * kBytes,
                                                                 .seed = seed,
                                                                 .lazy_percent = 30,
                                                                 .never_blocks = shares,
                                                                 .lets_take = seed % 2 == 0});
    pager = std::make_unique<Pager>(
        *this, pool, nodes, std::move(device),
        Pager::Settings{me, reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40), seed % 4 < 2, cooperative,
                        3, seed % 2 == 0 ? ReplacementKind::vgasnet : ReplacementKind::two_queues});
    pager->start();
    pager->share_rounds();
  }

  bool map(std::byte*, std::size_t, std::size_t, bool) override { return true; }
  bool protect(std::byte*, std::size_t, bool) override { return true; }
  bool unmap(std::byte*, std::size_t) override { return true; }
  bool give_up_spares() override { return false; }
  void make_spares() override {}
  void answer(int, const std::byte* message, std::size_t n) override {
    for_answers(message, n, [](const Answer& answer, const std::byte* brought) {
      auto& awaited = *reinterpret_cast<Awaited*>(answer.token);
      if (answer.n != 0) std::memcpy(&awaited.got, brought, sizeof awaited.got);
      awaited.done.store(true, std::memory_order_release);
    });
  }
  void send(int pe, const std::byte* message, std::size_t n) override { carrier_.carry(me_, pe, message, n); }
  void put(int pe, std::uint64_t offset, const std::byte* bytes, std::size_t n, Completion& done) override {
    std::byte* to = find_(pe).bytes(0) - find_(pe).offset(0) + offset;
    if (ordered_) {
      std::memcpy(to, bytes, n);
      return carrier_.put(me_, pe, [&done] { done.set_done(); });
    }
    carrier_.put(me_, pe, [=, &done] {
      std::memcpy(to, bytes, n);
      done.set_done();
    });
  }
  bool messages_follow_puts() const override { return ordered_; }
  void get(int pe, std::uint64_t offset, std::byte* bytes, std::size_t n, Completion& done) override {
    const std::byte* from = find_(pe).bytes(0) - find_(pe).offset(0) + offset;
    carrier_.put(pe, me_, [=, &done] {
      std::memcpy(bytes, from, n);
      done.set_done();
    });
  }
  void drive() override {}
  bool will_answer_calls() const override { return drives_network; }

  std::unique_ptr<Pager> pager;

 private:
  Carrier& carrier_;
  const Find find_;
  const int me_;
  const bool ordered_;  // the network stores a page before it delivers a message that was sent behind it
};

class Cluster {
 public:
  Cluster(int nodes, int pes_a_node, bool cooperative, bool shares_rounds = false)
      : seed_(seed_of_run()),
        shares_rounds_(shares_rounds),
        carrier_(
            seed_,
            [this](int to, const std::vector<std::byte>& message) {
              drives_network = true;
              members_[static_cast<std::size_t>(to)]->pager->receive(message.data(), message.size());
            },
            [this] {
              for (const auto& member : members_) member->pager->answer_calls();
            }) {
    const int pes = nodes * pes_a_node;
    layouts_.resize(static_cast<std::size_t>(nodes));
    for (int node = 0; node < nodes; ++node) {
      memories_.push_back(std::make_unique<PoolMemory>(PoolShape{kBytes, kFrames, kPages, pes, pes_a_node}));
      Nodes& layout = layouts_[static_cast<std::size_t>(node)];
      layout.here = node;
      layout.members.resize(static_cast<std::size_t>(nodes));
      for (int pe = 0; pe < pes; ++pe) layout.add(pe / pes_a_node);
    }
    members_.reserve(static_cast<std::size_t>(pes));
    for (int pe = 0; pe < pes; ++pe) {
      members_.push_back(std::make_unique<Member>(
          carrier_, [this](int to) -> const Pool& { return pool_of(to); }, nodes_of(pe), pe,
          seed_ + static_cast<unsigned>(pe), cooperative, shares_rounds));
    }
  }
  ~Cluster() {
    rest();
    carrier_.stop();
    for (int pe = 0; pe < pes(); ++pe) members_[static_cast<std::size_t>(pe)]->pager->stop();
  }

  int pes() const { return static_cast<int>(layouts_[0].peers.size()); }
  std::uint64_t seed() const { return seed_; }
  int messages() const { return carrier_.messages(); }
  const Nodes& nodes_of(int pe) const { return layouts_[static_cast<std::size_t>(layouts_[0].node_of(pe))]; }
  const Pool& pool_of(int pe) const {
    return memories_[static_cast<std::size_t>(layouts_[0].node_of(pe))]->pool;
  }
  int node_rank(int pe) const { return layouts_[0].node_rank_of(pe); }

  // Until no pager has anything under way; no page leaves any more.
  void rest() const {
    for (int pe = 0; pe < pes(); ++pe)
      Asked(pool_of(pe), node_rank(pe), node_rank(pe), PageRequest::Kind::rest, Access::read, 0).wait();
  }

  // A latch for a thread of PE `pe`.
  FrameNumber latch(int pe, PageNumber page, Access access) const {
    const Pool& pool = pool_of(pe);
    const FrameNumber frame = pool.word(page).latch(access);
    if (frame != kNoFrame) return frame;
    const int agent = nodes_of(pe).caching_pe(pool.pe_of(page), nodes_of(pe).here);
    const bool makes_rounds = shares_rounds_ && agent == pe;
    const Asked asked(pool, node_rank(pe), node_rank(agent), PageRequest::Kind::latch, access, page,
                      !makes_rounds);
    if (!makes_rounds) return asked.wait().frame;
    thread_local std::mt19937_64 random(seed_ + std::hash<std::thread::id>()(std::this_thread::get_id()));
    return asked.wait(*members_[static_cast<std::size_t>(pe)]->pager, random() % 50).frame;
  }

  // An operation of a thread of PE `pe` on a word of a page: executed where the page is.
  void operate(int pe, PageNumber page, Operation operation, Awaited& awaited) const {
    operation.token = reinterpret_cast<std::uintptr_t>(&awaited);
    operation.page = page;
    operation.pe = pe;
    members_[page / kPages]->pager->hand(reinterpret_cast<const std::byte*>(&operation), sizeof operation);
    await("an answer", [&] { return awaited.done.load(std::memory_order_acquire); });
  }

 private:
  const std::uint64_t seed_;
  const bool shares_rounds_;
  std::vector<Nodes> layouts_;
  std::vector<std::unique_ptr<PoolMemory>> memories_;
  std::vector<std::unique_ptr<Member>> members_;
  Carrier carrier_;
};

// A thread of a PE.  Of each page it alone writes one word; word 0 is added to by all.
class Worker {
 public:
  Worker(const Cluster& cluster, int pe, std::size_t word)
      : cluster_(cluster), pe_(pe), word_(word), random_(cluster.seed() * 100 + word) {
    expected_.resize(static_cast<std::size_t>(cluster.pes()) * kPages);
    added_ = expected_;
  }

  // Returns what was found that should not be there.
  int run(int accesses) {
    for (int i = 0; i < accesses && wrong_ == 0; ++i) {
      const PageNumber page = random_() % expected_.size();
      switch (random_() % 6) {
        case 0: read(page); break;
        case 1: write(page); break;
        case 2: add(page); break;
        case 3: fetch(page); break;
        default: map(page);
      }
    }
    return wrong_;
  }
  int read_all() {
    for (PageNumber page = 0; page < expected_.size(); ++page) read(page);
    return wrong_;
  }
  const std::vector<std::uint64_t>& added() const { return added_; }

 private:
  void check(PageNumber page, std::uint64_t value) { wrong_ += value != expected_[page]; }
  std::uint64_t& word(FrameNumber frame, std::size_t n) const {
    return word_in(cluster_.pool_of(pe_), frame, n);
  }
  void unlatch(PageNumber page) const { cluster_.pool_of(pe_).word(page).unlatch(); }

  void read(PageNumber page) {
    const FrameNumber frame = cluster_.latch(pe_, page, Access::read);
    check(page, word(frame, word_));
    unlatch(page);
  }
  void write(PageNumber page) {
    const FrameNumber frame = cluster_.latch(pe_, page, Access::write);
    check(page, word(frame, word_));
    word(frame, word_) = ++expected_[page];
    std::atomic_ref(word(frame, 0)).fetch_add(1);
    ++added_[page];
    unlatch(page);
  }
  // The owner's loads and stores by address need the page mapped.
  void map(PageNumber page) {
    if (static_cast<int>(page / kPages) != pe_) return;
    const Access access = random_() % 2 == 0 ? Access::read : Access::write;
    Asked(cluster_.pool_of(pe_), cluster_.node_rank(pe_), cluster_.node_rank(pe_), PageRequest::Kind::map,
          access, page)
        .wait();
  }
  void add(PageNumber page) {
    Operation add{};
    add.kind = Operation::Kind::amo;
    add.op = AtomicOp::add;
    add.type = AtomicType::u64;
    add.offset = static_cast<std::uint32_t>(8 * word_);
    add.value = 1 + random_() % 9;
    Awaited awaited;
    add.brings = true;
    cluster_.operate(pe_, page, add, awaited);
    check(page, awaited.got);
    expected_[page] += add.value;
  }
  void fetch(PageNumber page) {
    Operation get{};
    get.kind = Operation::Kind::get;
    get.offset = static_cast<std::uint32_t>(8 * word_);
    get.n = 8;
    Awaited awaited;
    cluster_.operate(pe_, page, get, awaited);
    check(page, awaited.got);
  }

  const Cluster& cluster_;
  const int pe_;
  const std::size_t word_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> expected_;  // in this worker's word of each page
  std::vector<std::uint64_t> added_;     // by it to word 0
  int wrong_ = 0;
};

struct Shape {
  int nodes, pes_a_node, threads_a_pe;
  bool cooperative, shares_rounds = false;
};

class PagerNodes : public ::testing::TestWithParam<Shape> {};

TEST_P(PagerNodes, SeeTheSamePages) {
  const Shape& shape = GetParam();
  const Cluster cluster(shape.nodes, shape.pes_a_node, shape.cooperative, shape.shares_rounds);
  std::deque<Worker> workers;
  for (int t = 0; t < cluster.pes() * shape.threads_a_pe; ++t)
    workers.emplace_back(cluster, t % cluster.pes(), static_cast<std::size_t>(t) + 1);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (Worker& worker : workers) threads.emplace_back([&] { wrong += worker.run(1500); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
  for (Worker& worker : workers) EXPECT_EQ(worker.read_all(), 0);
  for (PageNumber page = 0; page < workers.front().added().size(); ++page) {
    std::uint64_t sum = 0;
    for (const Worker& worker : workers) sum += worker.added()[page];
    const FrameNumber frame = cluster.latch(0, page, Access::read);
    EXPECT_EQ(word_in(cluster.pool_of(0), frame, 0), sum) << "page " << page;
    cluster.pool_of(0).word(page).unlatch();
  }
}

// Of each of its pages one thread writes all; what others see of it is what that has written, and never goes
// back.
class WholePages {
 public:
  static constexpr PageNumber kOfAThread = 4;

  WholePages(const Cluster& cluster, int pe, std::size_t number, std::size_t threads)
      : cluster_(cluster), pe_(pe), number_(number), random_(cluster.seed() * 77 + number) {
    seen_.resize(threads * kOfAThread);
  }

  int run(int accesses) {
    for (int i = 0; i < accesses && wrong_ == 0; ++i) {
      const PageNumber page = random_() % seen_.size();
      page / kOfAThread == number_&& random_() % 2 == 0 ? fill(page) : read(page);
    }
    return wrong_;
  }

 private:
  static constexpr std::uint64_t kMark = std::uint64_t{1} << 40;  // times the page plus one

  void fill(PageNumber page) {
    const Pool& pool = cluster_.pool_of(pe_);
    const int agent =
        cluster_.node_rank(cluster_.nodes_of(pe_).caching_pe(pool.pe_of(page), cluster_.nodes_of(pe_).here));
    const Asked asked(pool, cluster_.node_rank(pe_), agent, PageRequest::Kind::fill, Access::write, page);
    const PageRequest& got = asked.wait();
    ++seen_[page];
    for (std::size_t n = 0; n < kBytes / 8; ++n)
      std::atomic_ref(word_in(pool, got.frame, n)).store(kMark * (page + 1) + seen_[page]);
    if (!got.unfilled) return pool.word(page).unlatch();
    frame_left();
    pool.requests_of(agent).queue.post_hint({page, RequestQueue::What::filled});
  }
  void read(PageNumber page) {
    const FrameNumber frame = cluster_.latch(pe_, page, Access::read);
    const Pool& pool = cluster_.pool_of(pe_);
    const std::uint64_t now = std::atomic_ref(word_in(pool, frame, number_ % (kBytes / 8))).load();
    pool.word(page).unlatch();
    const bool mine = page / kOfAThread == number_;
    const std::uint64_t times = now == 0 ? 0 : now - kMark * (page + 1);
    if (times < seen_[page] || times >= kMark || (mine && times != seen_[page])) ++wrong_;
    seen_[page] = times;
  }

  const Cluster& cluster_;
  const int pe_;
  const std::size_t number_;
  std::mt19937_64 random_;
  std::vector<std::uint64_t> seen_;  // how often each page has been written, as far as this thread knows
  int wrong_ = 0;
};

TEST_P(PagerNodes, SeeWholePagesAsTheyWereFilled) {
  const Shape& shape = GetParam();
  const Cluster cluster(shape.nodes, shape.pes_a_node, shape.cooperative, shape.shares_rounds);
  const auto count = static_cast<std::size_t>(cluster.pes() * shape.threads_a_pe);
  std::deque<WholePages> workers;
  for (std::size_t t = 0; t < count; ++t)
    workers.emplace_back(cluster, static_cast<int>(t) % cluster.pes(), t, count);
  std::atomic<int> wrong{0};
  std::vector<std::thread> threads;
  for (WholePages& worker : workers) threads.emplace_back([&] { wrong += worker.run(1000); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0);
}

INSTANTIATE_TEST_SUITE_P(Jobs, PagerNodes,
                         ::testing::Values(Shape{2, 1, 2, true}, Shape{3, 1, 1, true}, Shape{2, 2, 1, true},
                                           Shape{4, 2, 1, true}, Shape{2, 1, 2, false}, Shape{3, 2, 1, false},
                                           Shape{2, 1, 2, true, true}, Shape{3, 2, 1, true, true},
                                           Shape{2, 2, 2, false, true}),
                         [](const auto& info) {
                           const Shape& shape = info.param;
                           return std::to_string(shape.nodes) + "nodes" + std::to_string(shape.pes_a_node) +
                                  "pes" + std::to_string(shape.threads_a_pe) + "threads" +
                                  (shape.cooperative ? "" : "_not_cooperative") +
                                  (shape.shares_rounds ? "_that_share_rounds" : "");
                         });

// Each takes system calls on both sides, and wakes a thread.
TEST(PagerMessages, AreAsFewAsTheProtocolNeeds) {
  const Cluster cluster(3, 1, true);
  int expected = 0;
  const auto expect_messages = [&](const char* what, int pe, Access access, int count) {
    cluster.latch(pe, 0, access);
    cluster.pool_of(pe).word(0).unlatch();
    expected += count;
    await(what, [&] { return cluster.messages() >= expected; });
    EXPECT_EQ(cluster.messages(), expected) << what;
  };
  expect_messages("read from its device: asked, sent, done", 1, Access::read, 3);
  expect_messages("from another node: asked, forwarded, sent, done", 2, Access::read, 4);
  expect_messages("read once more", 1, Access::read, 0);
  expect_messages("written to: asked, taken away, gone, granted, done", 2, Access::write, 5);
  expect_messages("read at home: forwarded, sent", 0, Access::read, 2);
  expect_messages("written to at home: taken away, gone", 0, Access::write, 2);
  cluster.rest();
  EXPECT_EQ(cluster.messages(), expected) << "and no more behind these";
}

// What waits, and what is reserved for it, on nodes of few frames.
class WaitingPages : public ::testing::Test {
 protected:
  int caching_pe(int pe, PageNumber page) const {
    return cluster.node_rank(
        cluster.nodes_of(pe).caching_pe(static_cast<int>(page / kPages), cluster.nodes_of(pe).here));
  }
  Asked ask(int pe, PageNumber page) const {
    return Asked(cluster.pool_of(pe), cluster.node_rank(pe), caching_pe(pe, page), PageRequest::Kind::latch,
                 Access::read, page);
  }
  void ask_also(std::deque<Asked>& asked, int pe, PageNumber page) const {
    asked.emplace_back(cluster.pool_of(pe), cluster.node_rank(pe), caching_pe(pe, page),
                       PageRequest::Kind::latch, Access::read, page);
  }
  void unlatch(int pe, PageNumber page) const { cluster.pool_of(pe).word(page).unlatch(); }
  PoolHead& head() const { return cluster.pool_of(0).head(); }
  std::uint64_t fetch(int pe, PageNumber page) const {
    Operation get{};
    get.kind = Operation::Kind::get;
    get.n = 8;
    Awaited awaited;
    cluster.operate(pe, page, get, awaited);
    return awaited.got;
  }
  void add(int pe, PageNumber page, std::uint64_t value) const {
    Operation add{};
    add.kind = Operation::Kind::amo;
    add.op = AtomicOp::add;
    add.type = AtomicType::u64;
    add.value = value;
    Awaited awaited;
    cluster.operate(pe, page, add, awaited);
  }
  // Every frame is in a queue, and nothing is reserved: all pages can be had one after the other.
  void expect_whole() const {
    for (PageNumber page = 0; page < kPages; ++page) {
      ask(0, page).wait();
      unlatch(0, page);
    }
    const Asked rested(cluster.pool_of(0), 0, 0, PageRequest::Kind::rest, Access::read, 0);
    rested.wait();
    EXPECT_EQ(head().expected.load(), 0U);
    EXPECT_EQ(head().frame_waiters.load(), 0U);
    EXPECT_EQ(head().lru.size + head().fifo.size + head().kept.size + head().free.size, kFrames);
  }

  const Cluster cluster{2, 2, true};
};

// A page that wants a frame comes for another node's operation meanwhile.
TEST_F(WaitingPages, GiveBackWhatTheyNeedNoMore) {
  constexpr PageNumber kFar = 2 * kPages;  // PE 2's, on the other node
  std::deque<Asked> far, near;
  for (PageNumber i = 0; i < kFrames / 2; ++i) cluster.latch(2, kFar + i, Access::write);
  for (PageNumber i = 0; i < kFrames / 2; ++i) ask_also(far, 0, kFar + i);
  await("half of the frames", [&] { return head().expected.load() == kFrames / 2; });
  for (PageNumber page = 0; page < 6; ++page) ask_also(near, 0, page);
  await("pages that wait for frames", [&] { return head().frame_waiters.load() >= 6; });
  for (PageNumber page = 0; page < 6; ++page) EXPECT_EQ(fetch(2, page), 0U);
  for (const Asked& asked : near) asked.wait();
  for (PageNumber page = 0; page < 6; ++page) {
    unlatch(0, page);
    cluster.latch(2, page, Access::write);  // it is taken away
    unlatch(2, page);
  }
  for (PageNumber i = 0; i < kFrames / 2; ++i) unlatch(2, kFar + i);
  for (const Asked& asked : far) asked.wait();
  for (PageNumber i = 0; i < kFrames / 2; ++i) unlatch(0, kFar + i);
  expect_whole();
}

// A hint to evict that comes when the page has gone and has been asked for again.
TEST_F(WaitingPages, AreNotSparedForThePageTheyHadBefore) {
  constexpr PageNumber kFar = 2 * kPages;
  cluster.latch(2, kFar, Access::write);
  const Asked asked = ask(0, kFar);
  await("the request", [&] { return head().expected.load() == 1; });
  cluster.pool_of(0).requests_of(caching_pe(0, kFar)).queue.post_hint({kFar, RequestQueue::What::evict});
  // Hints are taken before requests.
  Asked(cluster.pool_of(0), 0, caching_pe(0, kFar), RangeCommand::room, 0, 0).wait();
  unlatch(2, kFar);
  asked.wait();
  unlatch(0, kFar);
  expect_whole();
}

// What a program has pinned is not changed by another node's operations, nor seen while it is pinned to be
// written; its own node's are executed.
TEST_F(WaitingPages, MakeOperationsOfOtherNodesWaitWhileTheyArePinned) {
  constexpr PageNumber kPage = 5;
  for (const Access access : {Access::read, Access::write}) {
    const Pool& pool = cluster.pool_of(0);
    const std::uint64_t before = fetch(0, kPage);
    const FrameNumber frame = Asked(pool, 0, 0, PageRequest::Kind::pin, access, kPage).wait().frame;
    add(1, kPage, 1);
    if (access == Access::read) {
      EXPECT_EQ(fetch(2, kPage), before + 1);
    }
    std::uint64_t seen = 0;
    std::atomic<bool> done{false};
    std::thread other([&] {
      if (access == Access::write) seen = fetch(2, kPage);
      if (access == Access::read) add(2, kPage, 10);
      done = true;
    });
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    EXPECT_FALSE(done);
    EXPECT_EQ(word_in(pool, frame, 0), before + 1);
    pool.frame(frame).pins(access).fetch_sub(1);
    pool.requests_of(0).queue.ring();
    other.join();
    EXPECT_EQ(fetch(0, kPage), before + (access == Access::read ? 11 : 1));
    if (access == Access::write) {
      EXPECT_EQ(seen, before + 1);
    }
  }
  expect_whole();
}

}  // namespace
}  // namespace shm::nvm
