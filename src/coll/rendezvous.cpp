// SPDX-License-Identifier: BSD-3-Clause
#include "coll/rendezvous.hpp"

#include <algorithm>
#include <unordered_map>

#include "base/copy_bytes.hpp"
#include "base/fatal.hpp"
#include "base/mutex.hpp"
#include "base/spin.hpp"
#include "coll/choose.hpp"
#include "coll/internal.hpp"
#include "coll/parcel_message.hpp"
#include "coll/slots.hpp"
#include "core/wait.hpp"

namespace shm {
namespace {

constexpr std::size_t kPiece = std::size_t{128} << 10;  // at least; what a PE passes on at a time

ParcelKey key_of(const Parcel& parcel, ParcelKind kind, int from) {
  const auto slot = static_cast<std::uint64_t>(parcel.slot);
  const auto step = static_cast<std::uint64_t>(parcel.step);
  return {parcel.phase,
          slot << 52 | static_cast<std::uint64_t>(kind) << 50 | step << 24 | static_cast<unsigned>(from)};
}

struct Hash {
  std::size_t operator()(const ParcelKey& key) const {
    return (key.phase * 0x9e3779b97f4a7c15u) ^ (key.rest * 0xc2b2ae3d27d4eb4fu);
  }
};

/// What has arrived of one parcel.  Made by whoever comes first, the data or the one that expects them; the
/// latter takes it away.
struct Box {
  explicit Box(const ParcelKey& of) : key(of) {}

  const ParcelKey key;           // who waits reads it without the lock
  std::byte* into = nullptr;     // null: not yet expected
  std::size_t room = 0;          // there, once it is
  std::vector<std::byte> early;  // arrived before that
  std::atomic<std::size_t> arrived{0};
};

// Boxes themselves do not move.  Never destroyed: parcels may arrive while a thread runs exit().
using Boxes = std::unordered_map<ParcelKey, Box, Hash>;
SpinLock boxes_lock;
Boxes& boxes GUARDED_BY(boxes_lock) = *new Boxes;

Box& box_of(const ParcelKey& key) REQUIRES(boxes_lock) { return boxes.try_emplace(key, key).first->second; }

// Marks that are in use, as many as parcels are expected as puts; who gets none is sent messages.
class Marks {
 public:
  std::atomic<std::uint64_t>* take() {
    const LockGuard lock(lock_);
    if (used_ < kParcelMarks) free_.push_back(used_++);
    if (free_.empty()) return nullptr;
    std::atomic<std::uint64_t>* mark = &internal_area().parcel_marks[free_.back()];
    free_.pop_back();
    mark->store(0, std::memory_order_relaxed);
    return mark;
  }
  void give_back(const std::atomic<std::uint64_t>* mark) {
    const LockGuard lock(lock_);
    free_.push_back(static_cast<int>(mark - internal_area().parcel_marks));
  }

 private:
  SpinLock lock_;
  std::vector<int> free_ GUARDED_BY(lock_);
  int used_ GUARDED_BY(lock_) = 0;  // those from here on have never been used
} marks;

ParcelCount count;

// Apart from the program's operations, which are packed: what is put here follows long data, and its fences
// are no business of theirs.
Channel* parcel_channel = nullptr;

void check_parcel(int from, const char* wrong) { check_message(from, "a parcel", wrong); }

// Of `n` bytes more, which the call expects in `room`.
void check_expected(const ParcelKey& key, std::size_t before, std::size_t n, std::size_t room) {
  if (wrong_with_more(before, n, room) == nullptr) return;
  fatal(
      "%s: PE %d has sent more than this PE expects of it: it has called another collective operation of the "
      "same team, or the same with another number of elements",
      last_call(slot_of(key)), sender_of(key));
}

// Of what its receiver does not expect yet.
std::size_t most_early(const ParcelKey& key) {
  return kind_of(key) == kReady ? sizeof(Ready) : eager_limit();
}

// Fragments of one parcel arrive in the order in which they were sent.  The release makes the copy visible to
// the acquire in wait().
void arrive(void*, int from, const std::byte* message, std::size_t n) {
  check_parcel(from, wrong_with_parcel(message, n, from, kSlots));
  ParcelKey key;
  std::memcpy(&key, message, sizeof key);
  const std::byte* data = message + sizeof key;
  n -= sizeof key;
  const LockGuard lock(boxes_lock);
  Box& box = box_of(key);
  const std::size_t before = box.arrived.load(std::memory_order_relaxed);
  if (box.into != nullptr) {
    check_expected(key, before, n, box.room);
    copy_bytes(box.into + before, data, n);
  } else {
    check_parcel(from, wrong_with_more(before, n, most_early(key)));
    box.early.insert(box.early.end(), data, data + n);
  }
  box.arrived.store(before + n, std::memory_order_release);
}

Box& open_box(const ParcelKey& key, void* into, std::size_t n) {
  const LockGuard lock(boxes_lock);
  Box& box = box_of(key);
  check_expected(key, 0, box.early.size(), n);
  box.into = static_cast<std::byte*>(into);
  box.room = n;
  if (!box.early.empty()) copy_bytes(into, box.early.data(), box.early.size());
  return box;
}

void describe_sender(WaitRecord& record, const Box& box) {
  describe_behind(record, slot_of(box.key), sender_of(box.key));
}

void close_box(Box& box, std::size_t n) {
  wait_for([&] { return box.arrived.load(std::memory_order_acquire) >= n; },
           [&](WaitRecord& record) { describe_sender(record, box); });
  const LockGuard lock(boxes_lock);
  boxes.erase(ParcelKey(box.key));
}

void post(const ParcelKey& key, int pe, const void* data, std::size_t n) {
  constexpr std::size_t kFragment = kMaxMessage - sizeof(ParcelKey);
  alignas(16) std::byte message[kMaxMessage];
  std::memcpy(message, &key, sizeof key);
  const auto* from = static_cast<const std::byte*>(data);
  for (std::size_t sent = 0; sent < n;) {
    const std::size_t part = std::min(n - sent, kFragment);
    count.messages.fetch_add(1, std::memory_order_relaxed);
    std::memcpy(message + sizeof key, from + sent, part);
    rt.progress->send(pe, static_cast<std::uint16_t>(MessageId::collective), message, sizeof key + part);
    sent += part;
  }
}

std::uint64_t mark_of(std::size_t part, std::size_t n) {
  const std::size_t pieces = (part + piece_of(n) - 1) / piece_of(n);
  return pieces >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << pieces) - 1;
}

// The hidden beginning of a segment, where scratch memory is, included.
std::size_t bytes_of(const SymmetricSegment& segment) {
  return segment.size == 0 ? 0 : segment.base - segment.origin + segment.size;
}

bool is_in(const SymmetricSegment& segment, std::uintptr_t address, std::size_t n) {
  const std::size_t size = bytes_of(segment);
  const std::uintptr_t offset = address - segment.origin;
  return offset < size && n <= size - offset;
}

bool find_place(const void* object, std::size_t n, RemoteAddress& at) {
  const auto a = reinterpret_cast<std::uintptr_t>(object);
  if (is_in(rt.heap, a, n)) {
    at = {SegmentId::heap, a - rt.heap.origin};
  } else if (is_in(rt.statics, a, n)) {
    at = {SegmentId::statics, a - rt.statics.origin};
  } else {
    return false;
  }
  return true;
}

void take_small(const ParcelKey& key, void* into, std::size_t n) { close_box(open_box(key, into, n), n); }

// Marks lie in the segment of the heap, below it.
std::uint64_t offset_of(const std::atomic<std::uint64_t>* mark) {
  return reinterpret_cast<std::uintptr_t>(mark) - rt.heap.origin;
}

ReadyLimits ready_limits() {
  return {bytes_of(rt.heap), bytes_of(rt.statics), offset_of(internal_area().parcel_marks), kParcelMarks};
}

}  // namespace

std::size_t piece_of(std::size_t n) {
  constexpr std::size_t kPieces = 64;
  return std::max(kPiece, round_up((n + kPieces - 1) / kPieces, kCacheLine));
}

void Expected::expect(const Parcel& parcel, int pe, void* into, std::size_t n) {
  n_ = n;
  slot_ = parcel.slot;
  pe_ = pe;
  box_ = nullptr;
  mark_ = nullptr;
  if (n == 0) return;
  Ready ready{};
  if (n > eager_limit() && find_place(into, n, ready.at)) mark_ = marks.take();
  if (mark_ == nullptr) box_ = &open_box(key_of(parcel, kData, pe), into, n);
  if (n <= eager_limit()) return;
  ready.direct = mark_ != nullptr ? 1 : 0;
  if (ready.direct != 0) ready.mark = {SegmentId::heap, offset_of(mark_)};
  post(key_of(parcel, kReady, rt.me), pe, &ready, sizeof ready);
}

void Expected::wait(std::size_t part) {
  if (mark_ != nullptr) {
    // What was put before the mark is visible after it.
    const std::uint64_t pieces = mark_of(part, n_);
    wait_for([&] { return (mark_->load(std::memory_order_acquire) & pieces) == pieces; },
             [&](WaitRecord& record) {
               describe_wait(record, last_call(slot_), pe_, "for PE %d, which has not sent all", pe_);
             });
    if (part == n_) marks.give_back(mark_);
  } else if (box_ != nullptr) {
    Box& box = *static_cast<Box*>(box_);
    if (part == n_) return close_box(box, n_);
    wait_for([&] { return box.arrived.load(std::memory_order_acquire) >= part; },
             [&](WaitRecord& record) { describe_sender(record, box); });
  }
}

Outgoing::Outgoing(const Parcel& parcel, int pe, const void* data, std::size_t n)
    : parcel_(parcel), pe_(pe), data_(static_cast<const std::byte*>(data)), n_(n) {
  if (n > 0) count.parcels.fetch_add(1, std::memory_order_relaxed);
}

void Outgoing::send(std::size_t part) {
  if (n_ > eager_limit() && !placed_) {
    Ready ready;
    take_small(key_of(parcel_, kReady, pe_), &ready, sizeof ready);
    check_parcel(pe_, wrong_with_ready(ready, n_, ready_limits()));
    placed_ = true;
    direct_ = ready.direct != 0;
    at_ = ready.at;
    mark_ = ready.mark;
  }
  if (part > sent_) {
    if (direct_) {
      put(part);
    } else {
      post(key_of(parcel_, kData, rt.me), pe_, data_ + sent_, part - sent_);
    }
  }
  sent_ = part;
}

// The mark must not overtake the data, nor the mark before it, which the next parcel of that mark would take
// for its own: where the network does not order them it waits for their completion.
void Outgoing::put(std::size_t part) {
  Channel* channel = parcel_channel;
  const auto completion = [this] { return puts_.emplace_back(std::make_unique<Completion>()).get(); };
  const RemoteAddress to{at_.segment, at_.offset + sent_};
  channel->ops->put(channel, pe_, to, data_ + sent_, part - sent_, false, completion());
  const bool ordered = channel->ops->fence(channel);
  if (!ordered) {
    channel->ops->flush(channel);
    finish();
  }
  const std::uint64_t there = mark_of(part, n_);
  channel->ops->put(channel, pe_, mark_, &there, sizeof there, true, ordered ? nullptr : completion());
  channel->ops->flush(channel);
  count.puts.fetch_add(2, std::memory_order_relaxed);
}

void Outgoing::wait_to_take(const Completion& completion) const {
  wait_for([&] { return completion.done(); },
           [&](WaitRecord& record) {
             describe_wait(record, last_call(parcel_.slot), pe_, "for PE %d to take %zu bytes", pe_, n_);
           });
}

void Outgoing::finish() {
  for (const auto& completion : puts_) wait_to_take(*completion);
  puts_.clear();
}

void send_parcel(const Parcel& parcel, int pe, const void* data, std::size_t n) {
  Outgoing outgoing(parcel, pe, data, n);
  outgoing.send();
  outgoing.finish();
}

void receive_parcel(const Parcel& parcel, int pe, void* into, std::size_t n) {
  Expected expected;
  expected.expect(parcel, pe, into, n);
  expected.wait();
}

ParcelCount& parcel_count() { return count; }

void open_parcels() {
  Progress::set_handler(static_cast<std::uint16_t>(MessageId::collective), arrive, nullptr);
  parcel_channel = rt.network->open_channel(ChannelUse::library);
}

void finish_parcels(Call call) {
  wait_for([] { return parcel_channel->ops->idle(parcel_channel); },
           [&](WaitRecord& record) {
             describe_wait(record, call.name, WaitRecord::kNobody,
                           "for other PEs to take what was sent to them");
           });
}

void close_parcels() {
  rt.network->close_channel(parcel_channel);
  parcel_channel = nullptr;
}

}  // namespace shm
