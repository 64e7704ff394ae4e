// SPDX-License-Identifier: BSD-3-Clause
#include "kv/table.hpp"

#include <cstring>

#include "base/copy_bytes.hpp"
#include "core/wait.hpp"
#include "heap/checkers.hpp"
#include "kv/matched.hpp"
#include "kv/message_check.hpp"

namespace shm::kv {

Table::Table(std::uint32_t number, KeyHash hash, bool named)
    : hash_(hash),
      named_(named),
      number_(number),
      shards_(rt.npes, nullptr),
      client_(number, rt.npes),
      server_(number, hash) {}

Table::Table(std::uint32_t number, KeyHash hash, const Members& members, const std::vector<MemberShard>& told)
    : hash_(hash),
      named_(false),
      members_(members),
      number_(0),
      shards_(told.size(), nullptr),
      client_(members, told),
      server_(number, hash) {}

Table::~Table() { self = nullptr; }

void Table::end() {
  self = nullptr;
  has_ended_.store(true, std::memory_order_release);
  local_calls_.reset();
  layout_.events = nullptr;
  events_.reset();
  grown_.reset();
  looks_at_segments_.reset();
  watch(0);
  {
    const LockGuard guard(watch_mutex_);
    hot_keys_.reset();
  }
  lean.store(&no_lean_calls(), std::memory_order_relaxed);
  client_.end();
  one_sided_.reset();
  std::vector<std::uint64_t>().swap(places_);
  std::vector<std::byte*>().swap(shards_);
  std::vector<std::byte*>().swap(directories_);
}

void Table::set_matched(std::unique_ptr<MatchedEngine> engine) {
  matched_ = std::move(engine);
  server_.set_matched(matched_.get());
}

std::uint64_t Table::packets() const {
  return client_.packets() + (matched_ != nullptr ? matched_->messages() : 0);
}

std::unique_ptr<MatchedEngine> Table::take_matched() {
  server_.set_matched(nullptr);
  return std::move(matched_);
}

void Table::use(const ShardLayout& layout, std::byte* memory) {
  const std::uint64_t here = reinterpret_cast<std::uintptr_t>(memory) - rt.heap.origin;
  use(layout, memory, std::vector<MemberShard>(shards_.size(), {here, 0}));
}

void Table::use(const ShardLayout& layout, std::byte* memory, const std::vector<MemberShard>& told) {
  layout_ = layout;
  layout_.events = events_.get();
  memory_ = memory;
  region_ = find_region(memory, 1);
  if (is_paged()) {
    grown_ = std::make_unique<FarShards>(layout_, static_cast<unsigned>(shards_.size()));
    looks_at_segments_.reset(new std::atomic<unsigned>[shards_.size()]());
  }
  lean.store(&no_lean_calls(), std::memory_order_relaxed);
  one_sided_.reset();
  if (is_paged()) return;
  server_.set_lean(*this);
  places_.resize(told.size());
  std::ranges::transform(told, places_.begin(), &MemberShard::at);
  directories_.assign(told.size(), nullptr);
  for (const int pe : rt.node_pes) {
    const int member = members_.member(pe);
    if (member < 0) continue;
    const auto i = static_cast<std::size_t>(member);
    shards_[i] = at_peer(rt.heap, rt.heap.origin + places_[i], pe);
    directories_[i] = shards_[i] + layout.directory_at;
    if (is_of_team()) permit_beside_blocks(shards_[i], layout.bytes);
  }
  if (OneSidedGets::are_wanted())
    one_sided_ = std::make_unique<OneSidedGets>(layout_, client_, members_, places_);
  directories = directories_.data();
  npes = told.size();
  groups = layout.segment_groups;
  counter = local_calls_.get();
  has_others_ = std::ranges::count(directories_, nullptr) != 0;
  choose_lean();
}

// What is watched goes the other ways, all of it.
void Table::choose_lean() {
  const bool is_lean =
      !is_paged() && hash_.user == nullptr && watched_.load(std::memory_order_relaxed) == nullptr;
  lean.store(is_lean ? &lean_calls(layout_) : &no_lean_calls(), std::memory_order_release);
}

void Table::watch(std::uint32_t one_of) {
  const LockGuard guard(watch_mutex_);
  if (one_of != 0) {
    if (hot_keys_ == nullptr) hot_keys_ = std::make_unique<HotKeys>();
    hot_keys_->begin(one_of);
  }
  HotKeys* const keys = one_of == 0 ? nullptr : hot_keys_.get();
  watched_.store(keys, std::memory_order_release);
  server_.watch(keys);
  choose_lean();
}

std::vector<HotKeys::Counted> Table::hot_keys(std::size_t most) {
  const LockGuard guard(watch_mutex_);
  return hot_keys_ == nullptr ? std::vector<HotKeys::Counted>() : hot_keys_->most(most);
}

void describe_wait_for_key(WaitRecord& record, Call call, int pe, const Key& key) {
  describe_wait(record, call.name, pe, "for a key of %zu bytes to be inserted on PE %d",
                static_cast<std::size_t>(key.n), pe);
}

// Whether an argument of the program lies where a page may have to come first (may_fault).
static bool any_may_fault(const KvRequest& request, const ValueRoom& result) {
  const std::uint64_t room = gives_value(request.op) ? room_of(request) : 0;
  const std::size_t n = std::max<std::size_t>({request.n, room, kLargestElement});
  return rt.regions.size != 0 &&
         (may_fault(request.key.bytes, request.key.n) || may_fault(request.value, n) ||
          may_fault(request.expected, n) || may_fault(result.value, n));
}

// `execute(request, result)`, with copies of what lies there.
template <class Execute>
Code Table::with_copies(const KvRequest& request, ValueRoom& result, Execute execute) const {
  const auto safe = [](std::vector<std::byte>& own, const void* bytes, std::size_t n) {
    if (!may_fault(bytes, n)) return bytes;
    own.resize(n);
    copy_bytes(own.data(), bytes, n);
    return static_cast<const void*>(own.data());
  };
  const RequestHead head = head_of(request, 0, true);
  std::vector<std::byte> key, value, expected, found;
  KvRequest safe_request = request;
  safe_request.key.bytes = safe(key, request.key.bytes, request.key.n);
  safe_request.value = safe(value, request.value, value_bytes(head));
  safe_request.expected = safe(expected, request.expected, expected_bytes(head));
  const std::uint64_t most = kv::reply_bytes(layout_, head);
  const bool outside = result.value != nullptr && may_fault(result.value, most);
  if (outside) found.resize(most);
  ValueRoom safe_result{outside ? found.data() : result.value, 0};
  const Code status = execute(safe_request, safe_result);
  result.n = safe_result.n;
  if (outside) copy_bytes(result.value, found.data(), bytes_given(head, status, result.n, most));
  return status;
}

// How many segments the shard has, or had a while ago: to ask it each time takes as long as a request.
std::uint64_t Table::segments_about(int pe) const {
  constexpr unsigned kTimes = 64;
  if (layout_.has_segments() &&
      looks_at_segments_[pe].fetch_add(1, std::memory_order_relaxed) % kTimes == 0) {
    const std::uint64_t now = Shard<Paged>(Paged(memory_, pe), layout_).segments();
    grown_->note_segments(pe, std::min(now, layout_.most_segments));
  }
  return grown_->segments(pe);
}

// Whether PE `pe`, whose shard is on NVM, is to carry it out: so that pages in which several nodes change
// elements stay where they are.  Not with long values: these are most of what would travel.
bool Table::better_there(int pe, const KvRequest& request) const {
  if (rt.heap.delta[pe] != kNoMapping) return false;
  if (!client_.is_quiet()) return true;  // not past what this PE has issued before
  if (request.op == KvOp::count) return false;
  if (request.op == KvOp::scan) return true;  // not all of its pages here
  const std::uint64_t given = gives_value(request.op) ? std::min(room_of(request), layout_.value_bytes) : 0;
  const std::uint64_t brought = request.op == KvOp::get || request.op == KvOp::take ? 0 : request.n;
  if (std::max(given, brought) > kLongestInPackets) return false;
  const std::uint64_t group = layout_.group_at(grown_->home_of(request.key, segments_about(pe)));
  return region_->better_there(reinterpret_cast<std::uintptr_t>(memory_) + group, pe, may_change(request.op));
}

bool Table::try_local(int pe, const KvRequest& request, ValueRoom& result, Code& status) {
  if (std::byte* there = shard(pe); there != nullptr) {
    sample(request.op, request.key);  // before, as its key may lie where the result goes
    const auto execute = [&](const KvRequest& safe, ValueRoom& found) {
      return Shard<Mapped>(Mapped(there), layout_).execute(safe, found, kUnlimited);
    };
    status =
        any_may_fault(request, result) ? with_copies(request, result, execute) : execute(request, result);
    if (matched_ != nullptr && is_done(status)) matched_->changed(pe, request.op, request.key.hash);
  } else if (is_paged()) {
    if (better_there(pe, request)) return false;
    sample(request.op, request.key);
    status = Shard<Paged>(Paged(memory_, pe), layout_).execute(request, result, kUnlimited);
  } else {
    return false;
  }
  count_local();
  return true;
}

Code Table::get_slow(Call call, const Key& key, void* value, std::size_t room, std::uint64_t& n) {
  ValueRoom result{value, 0};
  const Code status = execute(call, {.op = KvOp::get, .key = key, .n = room}, result);
  n = result.n;
  return status;
}

Code Table::get_when_there(Call call, const Key& key, void* value, std::size_t room, std::uint64_t& n) {
  ValueRoom result{value, 0};
  KvRequest request{.op = KvOp::get, .key = key, .n = room};
  request.waits = true;
  const Code status = execute(call, request, result);
  n = result.n;
  return status;
}

// Long values.  A put: `reserve` a block; write key and value into it; have it take the old one's place. A
// get: the server says where the value is; read it; `confirm` that it was there all the time.  Each step
// begins when the one before is complete: networks promise no order between a message and what is written or
// read beside it.

bool Table::travels_by_rma(const KvRequest& request) const {
  if (is_paged()) return false;
  switch (request.op) {
    case KvOp::put:
    case KvOp::insert:
    case KvOp::update: return request.n > kLongestInPackets;
    default: return false;
  }
}

RemoteAddress Table::remote_at(int pe, std::uint64_t offset) const {
  return {SegmentId::heap, places_[static_cast<std::size_t>(pe)] + offset};
}

Code Table::store_by_rma(Call call, int pe, const KvRequest& request) {
  const std::uint64_t key_bytes = sizeof(Block) + padded(request.key.n);
  std::uint64_t block = 0;
  const KvRequest reserve{.op = KvOp::reserve,
                          .key = request.key,
                          .n = key_bytes + padded(request.n),
                          .offset = static_cast<std::uint64_t>(request.op)};
  if (const Code status = round_trip(call, pe, reserve, nullptr, &block); status != SHMEMX_KV_OK) {
    // One that is there may have room in its own block: in pieces, as only its PE can tell.
    const bool may_fit = status == SHMEMX_KV_EXISTS && request.op != KvOp::insert;
    return may_fit ? round_trip(call, pe, request, nullptr, nullptr) : status;
  }
  if (block < layout_.blocks_at || block > layout_.bytes || reserve.n > layout_.bytes - block) [[unlikely]]
    refuse_message(world_pe(pe), kTableReplies, "with a block that is not in the table");
  const Block head{request.key.n, 0, request.n};
  std::vector<std::byte> front(key_bytes);
  std::memcpy(front.data(), &head, sizeof head);
  std::memcpy(front.data() + sizeof head, request.key.bytes, request.key.n);
  Channel* channel = rt.world_context.channel;
  Completion key_there, value_there;
  const int there = world_pe(pe);
  channel->ops->put(channel, there, remote_at(pe, block), front.data(), front.size(), false, &key_there);
  channel->ops->put(channel, there, remote_at(pe, block + key_bytes), request.value, request.n, false,
                    &value_there);
  wait_for([&] { return key_there.done() && value_there.done(); },
           [&](WaitRecord& record) {
             describe_wait(record, call.name, there, "for PE %d to have a value of %zu bytes", there,
                           static_cast<std::size_t>(request.n));
           });
  KvRequest with_block = request;
  with_block.block = block;
  return round_trip(call, pe, with_block, nullptr, nullptr);
}

Code Table::get_by_rma(Call call, int pe, KvRequest request, void* value, std::uint64_t* n) {
  constexpr int kTries = 8;  // then the server copies it
  for (int tries = 0;; ++tries) {
    std::uint64_t bytes = 0;
    request.by_rma = tries < kTries;
    const Code status = round_trip(call, pe, request, value, &bytes);
    if (n != nullptr) *n = bytes;
    if (status != kByRma) return status;
    Location location;
    std::memcpy(&location, value, sizeof location);
    const int there = world_pe(pe);
    check_message(there, kTableReplies, wrong_with_location(location, bytes, request.n, layout_));
    Channel* channel = rt.world_context.channel;
    Completion here;
    channel->ops->get(channel, there, value, remote_at(pe, location.at), bytes, &here);
    wait_for([&] { return here.done(); },
             [&](WaitRecord& record) {
               describe_wait(record, call.name, there, "for a value of %zu bytes of PE %d",
                             static_cast<std::size_t>(bytes), there);
             });
    const KvRequest confirm{.op = KvOp::confirm, .key = {}, .n = location.version, .offset = location.group};
    if (round_trip(call, pe, confirm, nullptr, nullptr) == SHMEMX_KV_OK) return SHMEMX_KV_OK;
  }
}

// Without that node's help.
bool Table::try_read(Call call, int pe, const KvRequest& request, void* value, std::uint64_t* n,
                     Code& status) {
  OneSidedGets* const gets = reads(request);
  if (gets == nullptr) return false;
  const bool is_get = request.op == KvOp::get;
  OneSidedGets::Wanted wanted{request.key, pe, value, is_get ? request.n : 0, !is_get};
  gets->get(call, wanted);
  if (!wanted.is_answered) return false;
  status = wanted.status;
  if (n != nullptr && has_length(wanted.status)) *n = wanted.n;
  count_read(request.op, request.key);
  return true;
}

// One operation on another node, there and back.
Code Table::call_remote(Call call, int pe, const KvRequest& request, void* value, std::uint64_t* n) {
  if (Code status; try_read(call, pe, request, value, n, status)) return status;
  count_remote();
  if (travels_by_rma(request)) return store_by_rma(call, pe, request);
  const bool long_get =
      !is_paged() && request.op == KvOp::get && std::min(request.n, layout_.value_bytes) > kLongestInPackets;
  return long_get ? get_by_rma(call, pe, request, value, n) : round_trip(call, pe, request, value, n);
}

Code Table::round_trip(Call call, int pe, const KvRequest& request, void* value, std::uint64_t* n) {
  Code status = SHMEMX_KV_PENDING;
  // Not past what this PE has issued before: that takes the other way.
  if (matched_ != nullptr && !request.waits && client_.is_quiet() &&
      matched_->execute(call, pe, request, value, n, status))
    return status;
  std::atomic<std::uint64_t> left{1};
  Outstanding pending;
  pending.status = &status;
  pending.value = value;
  pending.n = n;
  pending.left = &left;
  client_.issue(call, pe, request, reply_bytes(request), pending);
  client_.flush(pe);
  if (!request.waits) {
    Client::wait(call, left, world_pe(pe));
    return status;
  }
  wait_for([&] { return left.load(std::memory_order_acquire) == 0; },
           [&](WaitRecord& record) { describe_wait_for_key(record, call, world_pe(pe), request.key); });
  return status;
}

Code Table::execute(Call call, const KvRequest& request, ValueRoom& result) {
  const int pe = pe_of_key(request.key);
  Code status;
  if (try_local(pe, request, result, status)) return status;
  const auto remotely = [&](const KvRequest& safe, ValueRoom& found) {
    return call_remote(call, pe, safe, found.value, &found.n);
  };
  return any_may_fault(request, result) ? with_copies(request, result, remotely) : remotely(request, result);
}

void Table::issue(Call call, const KvRequest& request, void* value, ResultsTo later) {
  const int pe = pe_of_key(request.key);
  ValueRoom result{value, 0};
  Code status;
  bool done = try_local(pe, request, result, status);
  const bool waits = travels_by_rma(request) || may_fault(later.status, sizeof *later.status) ||
                     may_fault(later.n, sizeof *later.n) || may_fault(value, reply_bytes(request) + 1);
  if (!done && waits) {
    status = execute(call, request, result);
    done = true;
  }
  if (done) {
    if (later.n != nullptr && has_length(status)) *later.n = result.n;
    if (later.status != nullptr) *later.status = status;
    return;
  }
  count_remote();
  auto* pending = new Outstanding;
  pending->status = later.status;
  pending->value = value;
  pending->n = later.n;
  pending->mine = true;
  if (later.handle != nullptr) pending->handle = Handle::one_more(later.handle, *this);
  if (later.status != nullptr) *later.status = SHMEMX_KV_PENDING;
  client_.issue(call, pe, request, reply_bytes(request), *pending);
}

Code Table::scan_some(Call call, int pe, std::uint64_t cursor, std::vector<std::byte>& bytes,
                      std::uint64_t& n) {
  for (bytes.resize(kScanRoom);;) {
    const KvRequest request{.op = KvOp::scan, .key = {}, .n = bytes.size(), .offset = cursor};
    ValueRoom result{bytes.data(), 0};
    Code status;
    if (!try_local(pe, request, result, status))
      status = call_remote(call, pe, request, result.value, &result.n);
    n = result.n;
    if (status != SHMEMX_KV_TOO_LARGE) {
      if (status == SHMEMX_KV_OK && n < sizeof(std::uint64_t)) [[unlikely]]
        refuse_scan(pe);
      return status;
    }
    if (n <= bytes.size() || n > most_scan_bytes(layout_)) [[unlikely]]
      refuse_scan(pe);
    bytes.resize(n);
  }
}

bool Table::is_whole(const std::vector<std::byte>& bytes, std::uint64_t at, std::uint64_t n, ScanHead& head) {
  if (n - at < sizeof head) return false;
  std::memcpy(&head, bytes.data() + at, sizeof head);
  return head.key_bytes <= n && head.value_bytes <= n &&
         scan_bytes(head.key_bytes, head.value_bytes) <= n - at;
}

void Table::refuse_scan(int pe) const {
  refuse_message(world_pe(pe), kTableReplies, "with elements that are cut off");
}

// First without a lock: what it does not hold for stays.
std::uint64_t Table::remove_mine_if(const Predicate& predicate) {
  std::vector<std::byte> key_bytes(padded(layout_.key_bytes)), value(padded(layout_.value_bytes) + 1);
  Element element{key_bytes.data(), key_bytes.size(), 0, value.data(), value.size(), 0};
  std::uint64_t removed = 0;
  with_mine([&](const auto& shard) {
    for (std::uint64_t cursor = 0; shard.next(cursor, element) == SHMEMX_KV_OK;) {
      if (predicate.holds(element.key, element.key_bytes, element.value, element.value_bytes,
                          predicate.context) == 0)
        continue;
      const Key wanted = key(element.key, element.key_bytes);
      ValueRoom nothing;
      const KvRequest request{.op = KvOp::remove_if, .key = wanted, .expected = &predicate};
      if (shard.execute(request, nothing, kUnlimited) != SHMEMX_KV_OK) continue;
      if (matched_ != nullptr) matched_->changed(rt.me, KvOp::remove_if, wanted.hash);
      ++removed;
    }
  });
  count_local(removed);
  return removed;
}

std::uint64_t Table::count(Call call) { return ask_all(call, KvOp::count); }

// Each PE for one of those operations that are on no key; returns the sum of what they give.
std::uint64_t Table::ask_all(Call call, KvOp op) {
  std::uint64_t total = 0;
  const auto pes = static_cast<std::size_t>(members_.size());
  std::vector<std::uint64_t> others(pes, 0);
  std::vector<Outstanding> pending(pes);
  std::atomic<std::uint64_t> left{0};
  for (std::size_t pe = 0; pe < pes; ++pe) {
    ValueRoom result;
    Code status;
    if (try_local(static_cast<int>(pe), {.op = op, .key = {}}, result, status)) {
      total += result.n;
      continue;
    }
    pending[pe].n = &others[pe];
    pending[pe].left = &left;
    left.fetch_add(1, std::memory_order_relaxed);
    client_.issue(call, static_cast<int>(pe), {.op = op, .key = {}}, 0, pending[pe]);
    client_.flush(static_cast<int>(pe));
  }
  Client::wait(call, left, WaitRecord::kNobody);
  for (const std::uint64_t elements : others) total += elements;
  return total;
}

}  // namespace shm::kv
