// SPDX-License-Identifier: BSD-3-Clause
#include "kv/server.hpp"

#include <algorithm>
#include <cstring>
#include <type_traits>

#include "base/stats.hpp"
#include "core/progress.hpp"
#include "core/runtime.hpp"
#include "kv/functions.hpp"
#include "kv/layout.hpp"
#include "kv/matched.hpp"
#include "kv/message_check.hpp"
#include "kv/stages.hpp"

namespace shm::kv {
namespace {

constexpr unsigned kPatience = 50;  // looks at a lock, before the first yield
// While a get waits for its key.
constexpr long kNoLimit = 0, kShortestSleepUs = 200, kLongestSleepUs = 25'000;
constexpr std::uint64_t kShortReply = 1024;  // so much is kept free for it, whatever comes

// In looks at a lock.  Who only reads and has been put off once may take the lock of the group.
template <class Memory>
unsigned patience_of(KvOp op, bool again) {
  if constexpr (std::is_same_v<Memory, Paged>) return kUnlimited;
  const bool only_reads = op == KvOp::get || op == KvOp::contains || op == KvOp::reserve;
  return again && only_reads ? kFairLooks + kPatience : kPatience;
}
constexpr auto kReplies = static_cast<std::uint16_t>(MessageId::kv_reply);

}  // namespace

namespace {

RequestHead head_of(const std::byte* request) { return head_at<RequestHead>(request); }

}  // namespace

// A request that refers to its head and its body.
struct Server::Record {
  Record(const RequestHead& of, const std::byte* body) : head(of), request(request_at(body, of)) {}
  const RequestHead& head;
  const KvRequest request;
};

// Replies to one PE, in packets; sent when the server's lock is free again.
class Server::Replies {
 public:
  Replies(std::uint32_t table, int to) : table_(table), to_(to) {}
  int to() const { return to_; }

  /// Where the result of the next request goes, if it is of at most n bytes.
  void* room(std::uint64_t n) {
    if (sizeof(KvPacketHead) + sizeof(KvReplyHead) + padded(n) > kPacketBytes) {
      long_value_.resize(n);
      return long_value_.data();
    }
    long_value_.clear();
    if (used_ + sizeof(KvReplyHead) + padded(n) > kPacketBytes) close();
    return packet_ + used_ + sizeof(KvReplyHead);
  }

  /// With the `bytes` bytes that are in room(n).
  void add(const RequestHead& head, Code status, std::uint64_t n, std::uint64_t bytes) {
    const KvReplyHead reply{head.token, n, status, static_cast<std::uint32_t>(bytes)};
    if (!long_value_.empty() && sizeof(KvPacketHead) + sizeof reply + padded(bytes) > kPacketBytes)
      return add_pieces(reply, bytes);
    if (used_ + sizeof reply + padded(bytes) > kPacketBytes) close();
    if (!long_value_.empty()) std::memcpy(packet_ + used_ + sizeof reply, long_value_.data(), bytes);
    long_value_.clear();
    std::memcpy(packet_ + used_, &reply, sizeof reply);
    used_ += sizeof reply + padded(bytes);
  }

  void send() {
    for (const Bytes& packet : closed_) rt.progress->send(to_, kReplies, packet.data(), packet.size());
    if (used_ == sizeof(KvPacketHead)) return;
    begin();
    rt.progress->send(to_, kReplies, packet_, used_);
  }

 private:
  void begin() {
    const KvPacketHead head{table_, KvPacketHead::replies};
    std::memcpy(packet_, &head, sizeof head);
  }
  void close() {
    begin();
    closed_.emplace_back(packet_, packet_ + used_);
    used_ = sizeof(KvPacketHead);
  }
  void add_pieces(KvReplyHead reply, std::uint64_t total) {
    for (std::uint64_t offset = 0; offset < total; offset += kPieceBytes) {
      const std::uint64_t now = std::min<std::uint64_t>(kPieceBytes, total - offset);
      const KvPacketHead head{table_, KvPacketHead::reply_piece};
      const PieceHead piece{offset, total};
      reply.bytes = static_cast<std::uint32_t>(now);
      Bytes packet(sizeof head + sizeof piece + sizeof reply + padded(now));
      std::memcpy(packet.data(), &head, sizeof head);
      std::memcpy(packet.data() + sizeof head, &piece, sizeof piece);
      std::memcpy(packet.data() + sizeof head + sizeof piece, &reply, sizeof reply);
      std::memcpy(packet.data() + sizeof head + sizeof piece + sizeof reply, long_value_.data() + offset,
                  now);
      closed_.push_back(std::move(packet));
    }
    long_value_.clear();
  }

  const std::uint32_t table_;
  const int to_;
  std::size_t used_ = sizeof(KvPacketHead);
  std::vector<Bytes> closed_;
  Bytes long_value_;
  alignas(8) std::byte packet_[kPacketBytes];
};

// Replies to runs of one PE, in packets; sent when the server's lock is free again.
class Server::RunReplies {
 public:
  RunReplies(std::uint32_t table, int to) : to_(to) {
    const KvPacketHead packet{table, KvPacketHead::run_replies};
    std::memcpy(bytes_, &packet, sizeof packet);
  }

  /// Those that follow are to this run, each of which has a value of at most `most` bytes.
  void begin(const RunHead& run, std::uint64_t most) {
    end_run();
    if (used_ + sizeof head_ + run.count * (sizeof(RunReply) + padded(most)) > kPacketBytes) {
      closed_.emplace_back(bytes_, bytes_ + used_);
      used_ = sizeof(KvPacketHead);
    }
    head_ = {run.like.token, run.first, 0};
    head_at_ = used_;
    used_ += sizeof head_;
  }
  /// Where the result of the next request goes.
  void* room() { return bytes_ + used_ + sizeof(RunReply); }
  /// With the value that is in room().
  void add(const RunReply& reply, KvOp op) {
    std::memcpy(bytes_ + used_, &reply, sizeof reply);
    used_ += sizeof reply + padded(bytes_of(reply, op));
    ++head_.count;
  }
  /// Where replies go, so many of which end where one more would go.
  std::byte* next() { return bytes_ + used_; }
  void add_all(std::uint32_t count, const std::byte* end) {
    used_ = static_cast<std::size_t>(end - bytes_);
    head_.count += count;
  }

  void send() {
    end_run();
    for (const Bytes& packet : closed_) rt.progress->send(to_, kReplies, packet.data(), packet.size());
    if (used_ != sizeof(KvPacketHead)) rt.progress->send(to_, kReplies, bytes_, used_);
  }

 private:
  // Of a run that has no reply yet there is nothing.
  void end_run() {
    if (head_at_ == 0) return;
    if (head_.count == 0) used_ = head_at_;
    std::memcpy(bytes_ + head_at_, &head_, sizeof head_);
    head_at_ = 0;
  }

  const int to_;
  RunReplyHead head_{};
  std::size_t head_at_ = 0;  // 0: of no run
  std::size_t used_ = sizeof(KvPacketHead);
  std::vector<Bytes> closed_;
  alignas(8) std::byte bytes_[kPacketBytes];
};

// A get whose caller has much room: the value, or where it is.
template <class Memory>
Code Server::get_long(const Shard<Memory>& shard, const Record& record, unsigned patience, Replies& replies) {
  Location location{};
  std::uint64_t n = 0;
  Code status = shard.locate(record.request.key, location, n, patience);
  if (status == SHMEMX_KV_OK && n > record.head.n) status = SHMEMX_KV_TOO_LARGE;
  if (status == SHMEMX_KV_OK && n > kLongestInPackets && (record.head.wants & kWantsLocation) != 0) {
    std::memcpy(replies.room(sizeof location), &location, sizeof location);
    replies.add(record.head, kByRma, n, sizeof location);
    return kByRma;
  }
  if (status == SHMEMX_KV_OK) status = shard.get(record.request.key, replies.room(n), n, n, patience);
  // It may have become longer meanwhile.
  if (status == SHMEMX_KV_TOO_LARGE && n <= record.head.n)
    return patience == kUnlimited ? get_long(shard, record, patience, replies) : kBusy;
  if (status != kBusy) replies.add(record.head, status, n, status == SHMEMX_KV_OK ? n : 0);
  return status;
}

// A change whose caller has much room for what was there: as much is used as that takes.
template <class Memory>
Code Server::change_long(const Shard<Memory>& shard, const Record& record, unsigned patience,
                         Replies& replies) {
  const std::uint64_t room = room_of(record.head);
  Location location{};
  std::uint64_t n = 0;
  if (shard.locate(record.request.key, location, n, patience) == kBusy) return kBusy;
  for (;;) {
    KvRequest request = record.request;
    n = std::max<std::uint64_t>(std::min(n, room), 1);  // 0 may mean that it is not wanted
    set_room(request, n);
    ValueRoom result{replies.room(n), 0};
    const Code status = shard.execute(request, result, patience);
    const bool grew = status == SHMEMX_KV_TOO_LARGE && result.n > n && result.n <= room;
    if (!grew && status != kBusy)
      replies.add(record.head, status, result.n, bytes_given(record.head, status, result.n, n));
    if (!grew || patience != kUnlimited) return grew ? kBusy : status;
    n = result.n;
  }
}

template <class Memory>
Code Server::execute(const Shard<Memory>& shard, const Record& record, bool again, Replies& replies) {
  const RequestHead& head = record.head;
  const unsigned patience = patience_of<Memory>(head.op, again);
  const std::uint64_t most = reply_bytes(shard.layout(), head);
  if (head.op == KvOp::get && most > kShortReply) return get_long(shard, record, patience, replies);
  if (is_of_a_key(head.op) && gives_value(head.op) && most > kShortReply)
    return change_long(shard, record, patience, replies);
  void* value = replies.room(most);
  ValueRoom result{most == 0 ? nullptr : value, 0};
  const Code status = shard.execute(record.request, result, patience);
  if (status == kBusy) return status;
  if (head.op == KvOp::reserve && status == SHMEMX_KV_OK) reserved_[result.n] = {replies.to(), head.n};
  if (head.block != 0) reserved_.erase(head.block);
  replies.add(head, status, result.n, bytes_given(head, status, result.n, most));
  return status;
}

// What is wrong with the request, behind whose head are `left` bytes; null: nothing.
template <class Memory>
const char* Server::wrong_with(const Shard<Memory>& shard, int from, const RequestHead& head,
                               std::size_t body, std::size_t left) const {
  if (is_plain(head, body, left, shard.layout())) [[likely]]
    return nullptr;
  if (const char* wrong = wrong_with_request(head, body, left, shard.layout())) return wrong;
  if (head.op == KvOp::apply && registered(function_of(head.offset)) == nullptr)
    return "of a function that is not registered";
  if constexpr (std::is_same_v<Memory, Paged>) return wrong_with_paged_request(head);
  return head.block == 0 ? nullptr : wrong_with_block(shard, from, head);
}

// Where key and value are to be already.
template <class Memory>
const char* Server::wrong_with_block(const Shard<Memory>& shard, int from, const RequestHead& head) const {
  const auto reserved = reserved_.find(head.block);
  if (reserved == reserved_.end() || reserved->second.pe != from)
    return "with a block that it has not reserved";
  if (sizeof(Block) + padded(head.key_bytes) + padded(head.n) > reserved->second.bytes)
    return "with a block that is too short for it";
  return shard.is_filled(head.block, head.key_bytes, head.n) ? nullptr
                                                             : "with a block that has something else";
}

// Returns how many bytes of the requests have been executed: all, or up to one that finds a lock taken.
template <class Memory>
std::size_t Server::execute_all(const Shard<Memory>& shard, const std::byte* requests, std::size_t n,
                                bool again, Replies& replies) {
  std::size_t at = 0;
  while (at < n) {
    if (n - at < sizeof(RequestHead)) [[unlikely]]
      refuse_message(replies.to(), kTableRequests, kCutOff);
    const RequestHead head = head_of(requests + at);
    const std::size_t body = body_bytes(head);
    check_message(replies.to(), kTableRequests,
                  wrong_with(shard, replies.to(), head, body, n - at - sizeof head));
    const Record record(head, requests + at + sizeof head);
    const std::size_t bytes = sizeof head + body;
    Code status = is_awaited(shard, record, again);
    if (status == SHMEMX_KV_NOT_FOUND) {
      park(replies.to(), requests + at, bytes);
    } else if (status == SHMEMX_KV_OK) {
      status = execute(shard, record, again, replies);
      note(record.request, status);
      if (status != kBusy) sample(record.request);
    }
    if (status == kBusy) break;
    at += bytes;
  }
  return at;
}

// Whether the request can be answered: OK; NOT_FOUND: it waits for an element; kBusy: that cannot be told
// soon.
template <class Memory>
Code Server::is_awaited(const Shard<Memory>& shard, const Record& record, bool again) const {
  if ((record.head.wants & kWaits) == 0) return SHMEMX_KV_OK;
  ValueRoom nothing;
  return shard.execute({.op = KvOp::contains, .key = record.request.key}, nothing,
                       patience_of<Memory>(KvOp::contains, again));
}

// Nobody who inserts tells this PE, so whoever polls looks, and nobody sleeps for long meanwhile.
void Server::park(int from, const std::byte* request, std::size_t n) {
  parked_.push_back({from, Bytes(request, request + n)});
  parked_total_.fetch_add(1, std::memory_order_relaxed);
  count(Stat::kv_parked);
  parked_at_ = std::chrono::steady_clock::now();
  any_parked_.store(true, std::memory_order_relaxed);
  limit_sleeps(kShortestSleepUs);
}

void Server::limit_sleeps(long microseconds) {
  if (microseconds == sleep_limit_us_) return;
  if (sleep_limit_us_ != kNoLimit) rt.progress->remove_source(&parked_);
  if (microseconds != kNoLimit)
    rt.progress->add_source({-1, [](void*) { return true; }, &parked_, microseconds});
  sleep_limit_us_ = microseconds;
}

template <class Memory>
void Server::look_at_parked(const Shard<Memory>& shard, std::deque<Replies>& all) {
  if (!any_parked_.load(std::memory_order_relaxed)) return;
  std::erase_if(parked_, [&](const Parked& parked) REQUIRES(mutex_) {
    const std::byte* request = parked.request.data();
    const RequestHead head = head_of(request);
    const Record record(head, request + sizeof head);
    if (is_awaited(shard, record, true) != SHMEMX_KV_OK) return false;
    if (execute(shard, record, true, all.emplace_back(table_, parked.from)) == kBusy) return false;
    sample(record.request);
    return true;
  });
  if (parked_.empty()) {
    any_parked_.store(false, std::memory_order_relaxed);
    return limit_sleeps(kNoLimit);
  }
  // As other waits, those for keys are prolonged by 1/400 when they are long (core/wait).
  const auto waited = std::chrono::steady_clock::now() - parked_at_;
  const long enough = std::chrono::duration_cast<std::chrono::microseconds>(waited).count() / 400;
  if (enough >= 2 * sleep_limit_us_) limit_sleeps(std::min(enough, kLongestSleepUs));
}

void Server::sample(const KvRequest& request) const {
  if (HotKeys* keys = watched_.load(std::memory_order_acquire); keys != nullptr) [[unlikely]]
    keys->see(request.op, request.key);
}

// The other engine hears of what has changed.
void Server::note(const KvRequest& request, Code status) const {
  if (!is_done(status)) return;
  if (const MatchedEngine* engine = matched_.load(std::memory_order_acquire))
    engine->changed(rt.me, request.op, request.key.hash);
}

// Gets the lean way; returns whether the run is for that.
template <class Memory>
bool Server::get_lean(const Shard<Memory>& shard, const RunHead& run, const std::byte* bodies,
                      unsigned patience, RunReplies& replies, std::uint32_t& done) const {
  if constexpr (std::is_same_v<Memory, Mapped>) {
    if (run.like.op != KvOp::get || lean_ == nullptr) return false;
    const LeanCalls& calls = lean_->calls();
    if (calls.key_bytes != run.like.key_bytes || run.like.n < calls.value_bytes) return false;
    struct Given : LeanReplies {
      const Shard<Memory>& shard;
      std::size_t key_bytes;
      unsigned patience;
    };
    const auto other = [](LeanReplies& replies, const std::byte* key) {
      const auto& given = static_cast<const Given&>(replies);
      std::uint64_t n = 0;
      const Key wanted{hash_of_bytes(key, given.key_bytes), key, static_cast<std::uint32_t>(given.key_bytes)};
      const std::uint64_t room = given.shard.layout().value_bytes;
      const Code status = given.shard.get(wanted, replies.to + sizeof(RunReply), room, n, given.patience);
      if (status == kBusy) return false;
      const RunReply reply{status, static_cast<std::uint32_t>(n)};
      std::memcpy(replies.to, &reply, sizeof reply);
      replies.to += sizeof reply + padded(bytes_of(reply, KvOp::get));
      return true;
    };
    Given given{{replies.next(), other}, shard, calls.key_bytes, patience};
    const std::uint64_t groups = shard.layout().segment_groups;
    done = static_cast<std::uint32_t>(calls.serve(shard.directory(), groups, bodies, run.count, given));
    replies.add_all(done, given.to);
    return true;
  }
  return false;
}

// Returns how many of the run's requests have been executed: all, or up to one that finds a lock taken.
template <class Memory>
std::uint32_t Server::execute_run(const Shard<Memory>& shard, const RunHead& run, const std::byte* bodies,
                                  bool again, RunReplies& replies) const {
  const unsigned patience = patience_of<Memory>(run.like.op, again);
  const std::size_t body = body_bytes(run.like);
  const std::uint64_t most = reply_bytes(shard.layout(), run.like);
  const std::size_t value_at = padded(run.like.key_bytes);
  const std::size_t expected_at = value_at + padded(value_bytes(run.like));
  KvRequest request = request_at(bodies, run.like);
  replies.begin(run, most);
  std::uint32_t done = 0;
  if (get_lean(shard, run, bodies, patience, replies, done)) return done;
  in_stages<Key>(
      run.count,
      [&](std::size_t i, Key& key) {
        const std::byte* bytes = bodies + i * body;
        key = {hash_of(hash_, bytes, run.like.key_bytes), bytes, run.like.key_bytes};
        shard.prefetch_home(key);
      },
      [&](std::size_t, const Key& key) { shard.prefetch_slot(key); },
      [&](std::size_t, const Key& key) {
        request.key = key;
        request.value = static_cast<const std::byte*>(key.bytes) + value_at;
        request.expected = static_cast<const std::byte*>(key.bytes) + expected_at;
        ValueRoom result{most == 0 ? nullptr : replies.room(), 0};
        const Code status = shard.execute(request, result, patience);
        if (status == kBusy) return false;
        note(request, status);
        sample(request);
        const std::uint64_t n =
            gives_value(request.op) ? result.n : bytes_given(run.like, status, result.n, most);
        replies.add({status, static_cast<std::uint32_t>(n)}, request.op);
        ++done;
        return true;
      });
  return done;
}

// Runs of `n` bytes: what is left of them, or nothing.
template <class Memory>
Server::Bytes Server::go_on_with_runs(const Shard<Memory>& shard, const std::byte* runs, std::size_t n,
                                      bool again, RunReplies& replies) const {
  for (const std::byte* const end = runs + n; runs != end;) {
    RunHead head = run_at(runs);
    const std::uint32_t done = execute_run(shard, head, runs + sizeof head, again, replies);
    if (done == head.count) {
      runs += run_bytes(head);
      continue;
    }
    const std::byte* left = runs + sizeof head + done * body_bytes(head.like);
    head.first += done;
    head.count -= done;
    const auto* begin = reinterpret_cast<const std::byte*>(&head);
    Bytes rest(begin, begin + sizeof head);
    rest.insert(rest.end(), left, end);
    return rest;
  }
  return {};
}

// `whole` gets the request if this was its last piece.
void Server::take_piece(int from, const std::byte* piece, std::size_t n, const ShardLayout& layout,
                        Bytes& whole) {
  Bytes& arriving = arriving_[from];
  check_message(from, kTableRequests, wrong_with_piece(piece, n, arriving.size(), layout));
  PieceHead head;
  std::memcpy(&head, piece, sizeof head);
  if (head.offset == 0) arriving.reserve(head.total);
  arriving.insert(arriving.end(), piece + sizeof head, piece + n);
  if (arriving.size() < head.total) return;
  whole = std::move(arriving);
  arriving_.erase(from);
}

template <class Memory>
void Server::take(const Shard<Memory>& shard, int from, const std::byte* packet, std::size_t n) {
  const auto kind = head_at<KvPacketHead>(packet).kind;
  if (kind == KvPacketHead::run) return take_run(shard, from, packet, n);
  const std::byte* requests = packet + sizeof(KvPacketHead);
  std::size_t left = n - sizeof(KvPacketHead);
  Replies replies(table_, from);
  std::deque<Replies> to_others;
  {
    const LockGuard guard(mutex_);
    Bytes whole;
    if (kind == KvPacketHead::request_piece) {
      take_piece(from, requests, left, shard.layout(), whole);
      requests = whole.data();
      left = whole.size();
    }
    const std::size_t done = waiting_.contains(from) ? 0 : execute_all(shard, requests, left, false, replies);
    if (done < left) put_off(from, {false, Bytes(requests + done, requests + left)});
    look_at_parked(shard, to_others);
  }
  replies.send();
  for (Replies& each : to_others) each.send();
}

template <class Memory>
void Server::take_run(const Shard<Memory>& shard, int from, const std::byte* packet, std::size_t n) {
  const std::byte* runs = packet + sizeof(KvPacketHead);
  n -= sizeof(KvPacketHead);
  check_message(from, kTableRequests, wrong_with_runs(runs, n, shard.layout()));
  RunReplies replies(table_, from);
  std::deque<Replies> to_others;
  {
    const LockGuard guard(mutex_);
    Bytes rest =
        waiting_.contains(from) ? Bytes(runs, runs + n) : go_on_with_runs(shard, runs, n, false, replies);
    if (!rest.empty()) put_off(from, {true, std::move(rest)});
    look_at_parked(shard, to_others);
  }
  replies.send();
  for (Replies& each : to_others) each.send();
}

void Server::put_off(int from, Waiting requests) {
  waiting_[from].push_back(std::move(requests));
  put_off_total_.fetch_add(1, std::memory_order_relaxed);
  count(Stat::kv_put_off);
  any_waiting_.store(true, std::memory_order_release);
  rt.progress->wake();
}

bool Server::resume(const Shard<Mapped>& shard) {
  const bool any_waiting = any_waiting_.load(std::memory_order_acquire);
  if (!any_waiting && !any_parked_.load(std::memory_order_relaxed)) return false;
  std::deque<Replies> all;
  std::deque<RunReplies> all_of_runs;
  {
    if (!mutex_.try_lock()) return any_waiting;
    const LockGuard guard(mutex_, std::adopt_lock);
    for (auto queue = waiting_.begin(); queue != waiting_.end();) {
      Replies& replies = all.emplace_back(table_, queue->first);
      std::deque<Waiting>& packets = queue->second;
      for (; !packets.empty(); packets.pop_front()) {
        auto& [is_run, bytes] = packets.front();
        if (is_run) {
          RunReplies& run_replies = all_of_runs.emplace_back(table_, queue->first);
          bytes = go_on_with_runs(shard, bytes.data(), bytes.size(), true, run_replies);
        } else {
          const std::size_t done = execute_all(shard, bytes.data(), bytes.size(), true, replies);
          bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(done));
        }
        if (!bytes.empty()) break;
      }
      queue = packets.empty() ? waiting_.erase(queue) : std::next(queue);
    }
    any_waiting_.store(!waiting_.empty(), std::memory_order_release);
    look_at_parked(shard, all);
  }
  for (Replies& replies : all) replies.send();
  for (RunReplies& replies : all_of_runs) replies.send();
  return any_waiting || !all.empty();
}

template void Server::take(const Shard<Mapped>&, int, const std::byte*, std::size_t);
template void Server::take(const Shard<Paged>&, int, const std::byte*, std::size_t);

}  // namespace shm::kv
