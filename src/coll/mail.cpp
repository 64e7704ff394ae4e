// SPDX-License-Identifier: BSD-3-Clause
#include "coll/mail.hpp"

#include <algorithm>
#include <mutex>
#include <unordered_map>

#include "base/spin.hpp"
#include "coll/slots.hpp"
#include "core/wait.hpp"

namespace shm {
namespace {

constexpr std::size_t kEager = 32768;  // longer mail waits until the receiver says where it wants it

enum Kind : std::uint64_t { kData, kReady, kDone };

struct Key {
  std::uint64_t phase;
  std::uint64_t rest;  // slot, kind, step, sender: 12 + 2 + 26 + 24 bits
  bool operator==(const Key&) const = default;
};

Key key_of(const Parcel& parcel, Kind kind, int from) {
  const auto slot = static_cast<std::uint64_t>(parcel.slot);
  const auto step = static_cast<std::uint64_t>(parcel.step);
  return {parcel.phase,
          slot << 52 | static_cast<std::uint64_t>(kind) << 50 | step << 24 | static_cast<unsigned>(from)};
}

int slot_of(const Key& key) { return static_cast<int>(key.rest >> 52); }
int sender_of(const Key& key) { return static_cast<int>(key.rest & 0xffffff); }

struct Hash {
  std::size_t operator()(const Key& key) const {
    return (key.phase * 0x9e3779b97f4a7c15u) ^ (key.rest * 0xc2b2ae3d27d4eb4fu);
  }
};

/// What has arrived of one parcel.  Made by whoever comes first, the data or the one that expects them; the
/// latter takes it away.
struct Box {
  Key key;
  std::byte* into = nullptr;     // null: not yet expected
  std::vector<std::byte> early;  // arrived before that
  std::atomic<std::size_t> arrived{0};
};

SpinLock boxes_lock;
std::unordered_map<Key, Box, Hash> boxes;  // guarded by boxes_lock; boxes themselves do not move

Box& box_of(const Key& key) {
  Box& box = boxes[key];
  box.key = key;
  return box;
}

// Where the receiver wants long mail.
struct Ready {
  bool direct;
  RemoteAddress at;
};

// Fragments of one parcel arrive in the order in which they were sent.  The release makes the copy visible to
// the acquire in wait().
void arrive(void*, int, const std::byte* message, std::size_t n) {
  Key key;
  std::memcpy(&key, message, sizeof key);
  const std::byte* data = message + sizeof key;
  n -= sizeof key;
  const std::lock_guard lock(boxes_lock);
  Box& box = box_of(key);
  const std::size_t before = box.arrived.load(std::memory_order_relaxed);
  if (box.into != nullptr) {
    std::memcpy(box.into + before, data, n);
  } else {
    box.early.insert(box.early.end(), data, data + n);
  }
  box.arrived.store(before + n, std::memory_order_release);
}

Box& open_box(const Key& key, void* into) {
  const std::lock_guard lock(boxes_lock);
  Box& box = box_of(key);
  box.into = static_cast<std::byte*>(into);
  if (!box.early.empty()) std::memcpy(into, box.early.data(), box.early.size());
  return box;
}

void close_box(Box& box, std::size_t n) {
  wait_for([&] { return box.arrived.load(std::memory_order_acquire) >= n; },
           [&](WaitRecord& record) {
             const int pe = sender_of(box.key);
             describe_wait(record, slot_call(slot_of(box.key)), pe, "for PE %d, which has not come as far",
                           pe);
           });
  const std::lock_guard lock(boxes_lock);
  boxes.erase(Key(box.key));
}

void post(const Key& key, int pe, const void* data, std::size_t n) {
  constexpr std::size_t kFragment = kMaxMessage - sizeof(Key);
  alignas(16) std::byte message[kMaxMessage];
  std::memcpy(message, &key, sizeof key);
  const auto* from = static_cast<const std::byte*>(data);
  for (std::size_t sent = 0; sent < n;) {
    const std::size_t part = std::min(n - sent, kFragment);
    std::memcpy(message + sizeof key, from + sent, part);
    rt.progress->send(pe, static_cast<std::uint16_t>(MessageId::collective), message, sizeof key + part);
    sent += part;
  }
}

Ready place_of(const void* into, std::size_t n) {
  const auto a = reinterpret_cast<std::uintptr_t>(into);
  if (rt.heap.holds(a, n)) return {true, {SegmentId::heap, a - rt.heap.origin}};
  if (rt.statics.holds(a, n)) return {true, {SegmentId::statics, a - rt.statics.origin}};
  return {false, {}};
}

void take_small(const Key& key, void* into, std::size_t n) { close_box(open_box(key, into), n); }

}  // namespace

void Expected::expect(const Parcel& parcel, int pe, void* into, std::size_t n) {
  n_ = n;
  direct_ = false;
  box_ = nullptr;
  if (n == 0) return;
  Ready ready{};
  if (n > kEager) ready = place_of(into, n);
  direct_ = ready.direct;
  static std::byte nothing;  // where the one byte of kDone goes
  box_ = &open_box(key_of(parcel, direct_ ? kDone : kData, pe), direct_ ? &nothing : into);
  if (n > kEager) post(key_of(parcel, kReady, rt.me), pe, &ready, sizeof ready);
}

void Expected::wait() {
  if (box_ != nullptr) close_box(*static_cast<Box*>(box_), direct_ ? 1 : n_);
}

void send_mail(const Parcel& parcel, int pe, const void* data, std::size_t n) {
  if (n <= kEager) return post(key_of(parcel, kData, rt.me), pe, data, n);
  Ready ready;
  take_small(key_of(parcel, kReady, pe), &ready, sizeof ready);
  if (!ready.direct) return post(key_of(parcel, kData, rt.me), pe, data, n);
  Channel* channel = rt.world_context.channel;
  Completion completion;
  channel->ops->put(channel, pe, ready.at, data, n, false, &completion);
  channel->ops->flush(channel);
  wait_for([&] { return completion.done(); },
           [&](WaitRecord& record) {
             describe_wait(record, slot_call(parcel.slot), pe, "for PE %d to take %zu bytes", pe, n);
           });
  const std::byte done{1};
  post(key_of(parcel, kDone, rt.me), pe, &done, sizeof done);
}

void receive_mail(const Parcel& parcel, int pe, void* into, std::size_t n) {
  Expected expected;
  expected.expect(parcel, pe, into, n);
  expected.wait();
}

void set_mail_handler() {
  Progress::set_handler(static_cast<std::uint16_t>(MessageId::collective), arrive, nullptr);
}

}  // namespace shm
