// SPDX-License-Identifier: BSD-3-Clause
#include "kv/matched.hpp"

#include <algorithm>
#include <cstring>

#include "base/fatal.hpp"
#include "base/stats.hpp"
#include "boot/boot.hpp"
#include "coll/barrier.hpp"
#include "coll/memory.hpp"
#include "core/progress.hpp"
#include "core/rma.hpp"
#include "core/wait.hpp"
#include "kv/match_requests.hpp"
#include "transports/registry.hpp"

namespace shm::kv {
struct MatchedEngine::ListAddresses {
  struct Address {
    std::uint64_t n;
    std::byte bytes[kMaxMatcherAddress];
  };
  Address active, pending;
};

// ---- set-up ---------------------------------------------------------------------------------------------

std::size_t MatchedEngine::shared_bytes(const ShardLayout& layout) {
  return sizeof(ListAddresses) + Changes::bytes(layout);
}

Changes MatchedEngine::changes_at(ListAddresses* addresses, const ShardLayout& layout) {
  return {reinterpret_cast<std::byte*>(addresses + 1), layout};
}

MatchedEngine::MatchedEngine(const Of& table, ListAddresses* addresses)
    : table_(table),
      shard_(Mapped(table.memory), table.layout),
      room_(std::min(PendingList::kMostRoom, sizeof(MatchHead) + padded(table.layout.key_bytes) +
                                                 2 * padded(table.layout.value_bytes))),
      addresses_(addresses),
      changes_(changes_at(addresses, table.layout)) {
  changes_.tell_all();
}

MatchedEngine::~MatchedEngine() {
  if (rt.progress != nullptr) {
    Progress::remove_poller(poll_one, this);
    rt.progress->remove_source(active_.get());
  }
  if (pending_ == nullptr) return;
  pending_->remove(table_.number);
  pending_->close();
}

bool MatchedEngine::poll_one(void* engine) { return static_cast<MatchedEngine*>(engine)->poll(); }

// Opens both lists, and writes how they are reached.
shm::Status MatchedEngine::open_lists() {
  const MatcherOptions options{.provider = rt.env.provider,
                               .interface = rt.env.interface,
                               .one_host = rt.boot->job().one_host,
                               .receives = table_.layout.groups * kSlots,
                               .sends = false};
  shm::Result<std::unique_ptr<Matcher>> active = make_matcher(options);
  if (!active.ok()) return active.status();
  shm::Result<PendingList*> pending = PendingList::open();
  if (!pending.ok()) return pending.status();
  active_ = std::move(active.value());
  pending_ = pending.value();
  const auto show = [](auto& list, ListAddresses::Address& address) -> shm::Status {
    shm::Result<std::vector<std::byte>> bytes = list.address();
    if (!bytes.ok()) return bytes.status();
    address.n = bytes.value().size();
    if (address.n > sizeof address.bytes) return shm::Status::error("an address is too long");
    std::memcpy(address.bytes, bytes.value().data(), address.n);
    return {};
  };
  if (shm::Status status = show(*active_, addresses_->active); !status.ok()) return status;
  return show(*pending_, addresses_->pending);
}

// After all PEs have opened theirs.  From then on others may send what is new.
shm::Status MatchedEngine::connect(Call call) {
  std::vector<ListAddresses> boards(rt.npes);
  for (unsigned pe = 0; pe < rt.npes; ++pe)
    get_bytes(call, SHMEM_CTX_DEFAULT, &boards[pe], addresses_, sizeof(ListAddresses), static_cast<int>(pe),
              Blocking::yes);
  const auto at = [&](ListAddresses::Address ListAddresses::*which) {
    return [&boards, which](int pe) {
      const ListAddresses::Address& address = boards[static_cast<std::size_t>(pe)].*which;
      return std::span<const std::byte>(address.bytes, address.n);
    };
  };
  pending_->add(table_.number, *this);
  if (shm::Status status = pending_->connect(at(&ListAddresses::pending)); !status.ok()) return status;
  shm::Result<int> first = pending_->connect_to(at(&ListAddresses::active));
  if (!first.ok()) return first.status();
  first_list_ = first.value();
  return {};
}

void MatchedEngine::start() {
  {
    const LockGuard guard(mutex_);
    list_ = std::make_unique<MatchList>(*active_, table_.memory, table_.layout, table_.hash, room_);
  }
  Progress::add_poller(poll_one, this);
  const auto may_block = [](void* matcher) { return static_cast<Matcher*>(matcher)->may_block(); };
  rt.progress->add_source({active_->wait_fd(), may_block, active_.get(), kLongestMatchSleep});
}

std::unique_ptr<MatchedEngine> MatchedEngine::open(Call call, const Of& table) {
  const std::size_t bytes = shared_bytes(table.layout);
  auto* addresses = static_cast<ListAddresses*>(allocate(call, bytes, 64, false));
  if (addresses == nullptr) {
    if (rt.me == 0)
      warn("%s: the symmetric heap has no %zu bytes left for SHMEM_KV_MATCH=entry; using bucket", call.name,
           bytes);
    return nullptr;
  }
  std::memset(static_cast<void*>(addresses), 0, bytes);
  std::unique_ptr<MatchedEngine> engine(new MatchedEngine(table, addresses));
  shm::Status status = engine->open_lists();
  bool all = all_succeeded(call, !status.ok());
  if (all) {
    status = engine->connect(call);
    all = all_succeeded(call, !status.ok());
  }
  if (!status.ok())
    warn("%s: SHMEM_KV_MATCH=entry is not available here; using bucket: %s", call.name,
         status.text().c_str());
  if (all) {
    engine->start();
    return engine;
  }
  engine.reset();
  release(call, addresses);
  return nullptr;
}

void MatchedEngine::close(Call call, std::unique_ptr<MatchedEngine> engine) {
  ListAddresses* addresses = engine->addresses_;
  sync_world(call);
  engine.reset();
  release(call, addresses);
}

// ---- who asks -------------------------------------------------------------------------------------------

bool MatchedEngine::takes(const RequestHead& head) const {
  return is_of_a_key(head.op) && head.op != KvOp::apply && (head.wants & kWantsLocation) == 0 &&
         head.block == 0 && message_bytes(head) <= room_ &&
         sizeof(KvReplyHead) + reply_bytes(table_.layout, head) <= kMostMatched;
}

bool MatchedEngine::execute(Call call, int pe, const KvRequest& request, void* value, std::uint64_t* n,
                            Code& status) {
  RequestHead head = head_of(request, 0, value != nullptr);
  if (!takes(head)) return false;
  AwaitedReply awaited;
  const std::uint64_t number = pending_->next_reply();
  head.token = number;
  awaited.tag = kReply | number;
  awaited.room = awaited.bytes;
  awaited.room_bytes = sizeof awaited.bytes;
  const std::uint64_t room = value == nullptr ? 0 : reply_bytes(table_.layout, head);
  awaited.reply = {pe, number, {room, gives_value(request.op), false}, static_cast<std::byte*>(value)};
  if (!pending_->await(awaited)) return false;
  std::byte message[PendingList::kMostRoom];
  write_message(message, head, request, {rt.me, table_.number});
  const int list = may_add(request.op) ? pe : first_list_ + pe;
  messages_.fetch_add(1, std::memory_order_relaxed);
  pending_->send(list, tag_of(request.op, request.key.hash), message, message_bytes(head));
  wait_for([&] { return awaited.left.load(std::memory_order_acquire) == 0; },
           [&](WaitRecord& record) { describe_wait(record, call.name, pe, "for its answer"); });
  pending_->end_await();  // the matcher has its place back since poll()
  if (n != nullptr) *n = awaited.reply.n;
  status = awaited.reply.status;
  return true;
}

void MatchedEngine::changed(int pe, KvOp op, std::uint64_t hash) const {
  if (!changes_elements(op)) return;
  auto* addresses =
      reinterpret_cast<ListAddresses*>(at_peer(rt.heap, reinterpret_cast<std::uintptr_t>(addresses_), pe));
  changes_at(addresses, table_.layout).tell(group_of(hash, table_.layout.groups));
}

// ---- who is asked ---------------------------------------------------------------------------------------

// What a lock holds up is kept, and kBusy returned.
Code MatchedEngine::serve(const std::byte* message, std::size_t n, bool again) {
  MatchAnswer answer;
  const Code status = carry_out_match(shard_, message, n, again, answer);
  if (status == kBusy) {
    waiting_.emplace_back(message, message + n);
    return status;
  }
  if (is_done(status) && may_add(answer.op)) changes_.tell(group_of(answer.hash, table_.layout.groups));
  pending_->send(answer.to, kReply | answer.number, answer.bytes, answer.n);
  return status;
}

// Of a remove that waits the entry may go later, by Changes.
bool MatchedEngine::retry() {
  if (waiting_.empty()) return false;
  std::deque<std::vector<std::byte>> again = std::move(waiting_);
  waiting_.clear();
  for (const auto& message : again) {
    MatchHead entry;
    const KvRequest request = read_message(message.data(), entry);
    if (is_done(serve(message.data(), message.size(), true))) changed(rt.me, request.op, request.key.hash);
  }
  return true;
}

void MatchedEngine::take_active(const Arrival& arrival) {
  if (arrival.kind == Arrival::cancelled) return list_->cancelled(*arrival.receive);
  const bool matched = arrival.kind == Arrival::matched;
  count(matched ? Stat::kv_matched : Stat::kv_unmatched);
  const Code status = serve(arrival.bytes, arrival.n);
  MatchHead entry;
  const KvOp op = read_message(arrival.bytes, entry).op;
  const bool removed = may_remove(op) && status == SHMEMX_KV_OK;
  if (matched) return list_->matched(*arrival.receive, removed);
  if (removed) changed(rt.me, op, entry.request.hash);  // it may have an entry by now
}

void MatchedEngine::take_new(const std::byte* message, std::size_t n) {
  const LockGuard guard(mutex_);
  serve(message, n);
}

bool MatchedEngine::poll() {
  if (!mutex_.try_lock()) return false;
  const LockGuard guard(mutex_, std::adopt_lock);
  const auto follow = [list = list_.get()](std::uint64_t home) { list->follow(home); };
  bool worked = changes_.take(follow);
  worked |= retry();
  worked |= active_->poll([this](const Arrival& arrival) REQUIRES(mutex_) { take_active(arrival); });
  worked |= changes_.take(follow);
  worked |= list_->catch_up();
  return worked;
}

}  // namespace shm::kv
