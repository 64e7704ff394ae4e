// SPDX-License-Identifier: BSD-3-Clause
#include "kv/lean.hpp"

#include <algorithm>
#include <array>
#include <cstring>

#include "kv/hash.hpp"
#include "kv/shard.hpp"
#include "kv/stages.hpp"
#include "kv/wire.hpp"

namespace shm::kv {
namespace {

// Looks at what others may be changing: the version tells afterwards.  Loads keep their order; where those of
// the processor do, plain ones take fewer instructions, and the compiler needs to know only where the version
// is read.
#if defined(__x86_64__) && !defined(__SANITIZE_THREAD__)
template <class T>
[[gnu::always_inline]] inline T look(const std::byte* at) {
  T word;
  std::memcpy(&word, at, sizeof word);
  return word;
}
[[gnu::always_inline]] inline void in_order() { asm volatile("" : : : "memory"); }
#else
template <class T>
[[gnu::always_inline]] inline T look(const std::byte* at) {
  return __atomic_load_n(reinterpret_cast<const T*>(at), __ATOMIC_ACQUIRE);
}
inline void in_order() {}
#endif

// Bit i: tag i is this.
[[gnu::always_inline]] inline unsigned matches(const std::byte* tags, std::uint8_t tag) {
#if defined(__SSE2__) && !defined(__SANITIZE_THREAD__)
  const __m128i all = _mm_load_si128(reinterpret_cast<const __m128i*>(tags));
  const __m128i wanted = _mm_set1_epi32(static_cast<int>(tag * 0x01010101U));
  return static_cast<unsigned>(_mm_movemask_epi8(_mm_cmpeq_epi8(all, wanted)));
#else
  return Bytes16{look<std::uint64_t>(tags), look<std::uint64_t>(tags + 8)}.matches(tag);
#endif
}

// What is looked at instead of a group that is not mapped here: somebody is changing it, for ever.
alignas(64) SlotGroup nowhere{.version = 1};

// A look at a group.
struct Look {
  std::byte* group;
  std::uint32_t version;
  std::uint32_t slots;  // with the key's tag

  // While it is being changed the version is taken for the one before.
  [[gnu::always_inline]] void look_for(std::uint8_t tag) {
    version = look<std::uint32_t>(group) & ~1U;
    in_order();
    slots = matches(group + offsetof(SlotGroup, tags), tag);
  }
  // Whether nothing has changed since.
  [[gnu::always_inline]] bool is_whole() const {
    in_order();
    return look<std::uint32_t>(group) == version;
  }
};

// A look at a key's home.
struct Home : Look {
  std::uint64_t hash;

  std::uint8_t tag() const { return tag_of(hash); }
  [[gnu::always_inline]] void look_at_tags() { look_for(tag()); }
  // Whether no element of the home has the tag.  REQUIRES: none here does.
  [[gnu::always_inline]] bool is_absent() const {
    const auto away = look<std::uint64_t>(group + offsetof(SlotGroup, away));
    return (away >> (4 * alternate_of(tag()))) % 16 == 0 && is_whole();
  }
};

template <std::size_t kKey, std::size_t kValue>
struct Lean {
  static constexpr std::size_t kSlot = kKey + kValue;
  static constexpr std::size_t kGroup = (sizeof(SlotGroup) + kSlots * kSlot + 63) / 64 * 64;
  static constexpr std::uint16_t kLengths = lengths_of(kKey, kValue);
  template <std::size_t n>
  using Words = std::array<std::uint64_t, n / 8>;

  [[gnu::always_inline]] static Words<kKey> key_at(const void* key) {
    Words<kKey> words;
    std::memcpy(&words, key, kKey);
    return words;
  }
  // Where to look; returns whether that is mapped here, and not nowhere.
  [[gnu::always_inline]] static bool go_home(const LeanTable& table, const Words<kKey>& key, Home& home) {
    home.hash = hash_of_bytes(key.data(), kKey);
    const int pe = pe_of(home.hash, static_cast<unsigned>(table.npes));
    std::byte* directory = table.directories[static_cast<unsigned>(pe)];
    if (directory == nullptr) [[unlikely]] {
      home.group = reinterpret_cast<std::byte*>(&nowhere);
      return false;
    }
    home.group = group_in(directory, table.groups, home.hash);
    return true;
  }
  [[gnu::always_inline]] static std::byte* group_in(std::byte* directory, std::uint64_t groups,
                                                    std::uint64_t hash) {
    const std::uint64_t bits = hash & look<std::uint64_t>(directory);
    const auto segment = look<std::uint64_t>(directory + (1 + bits) * sizeof(std::uint64_t));
    return directory + (segment + group_of(hash, groups)) * kGroup;
  }
  // Whether that is its home now.
  [[gnu::always_inline]] static bool is_home(const LeanTable& table, const Words<kKey>& key,
                                             const std::byte* group) {
    Home now;
    in_order();
    return go_home(table, key, now) && now.group == group;
  }
  static std::byte* slot_at(const Look& seen, unsigned slot) {
    return seen.group + sizeof(SlotGroup) + slot * kSlot;
  }
  [[gnu::always_inline]] static bool has_key(const std::byte* slot, const Words<kKey>& key) {
    for (std::size_t i = 0; i < key.size(); ++i)
      if (look<std::uint64_t>(slot + 8 * i) != key[i]) return false;
    return true;
  }

  // Whether the slot has the key, whose value it reads, and nothing has changed.
  [[gnu::always_inline]] static bool read(const Look& seen, unsigned slot, const void* key,
                                          Words<kValue>& value) {
    const std::byte* at = slot_at(seen, slot);
    if (look<std::uint16_t>(seen.group + lengths_at(slot)) != kLengths || !has_key(at, key_at(key)))
      return false;
    for (std::size_t i = 0; i < value.size(); ++i) value[i] = look<std::uint64_t>(at + kKey + 8 * i);
    return seen.is_whole();
  }
  // Mostly the first slot with the tag has it.  By itself, so that this needs few registers.
  [[gnu::always_inline]] static bool read_first(Look seen, const void* key, Words<kValue>& value) {
    return seen.slots != 0 && read(seen, static_cast<unsigned>(__builtin_ctz(seen.slots)), key, value);
  }
  // OK; NOT_FOUND; kBusy: not by this look.
  [[gnu::noinline]] static Code read_any(const LeanTable& table, const Home& home, const void* key,
                                         Words<kValue>& value) {
    return read_any_of(home, key, value, [&] { return is_home(table, key_at(key), home.group); });
  }
  // `is_home`: whether it is the key's home afterwards.
  template <class IsHome>
  [[gnu::always_inline]] static Code read_any_of(const Home& home, const void* key, Words<kValue>& value,
                                                 IsHome is_home_now) {
    for (unsigned slots = home.slots; slots != 0; slots &= slots - 1)
      if (read(home, static_cast<unsigned>(__builtin_ctz(slots)), key, value)) return SHMEMX_KV_OK;
    return home.slots == 0 && home.is_absent() && is_home_now() ? SHMEMX_KV_NOT_FOUND : kBusy;
  }

  // All of the key has been read before the value is stored, which may be where the key was.  No lock is
  // held, so neither holds up anybody by a fault.
  static Code get(LeanTable& table, const void* key, std::size_t key_bytes, void* value, std::size_t room,
                  std::size_t* n) {
    if (key_bytes != kKey || room < kValue) [[unlikely]]
      return table.others.get(table, key, key_bytes, value, room, n);
    if (key == nullptr || value == nullptr) [[unlikely]]
      return table.others.get(table, key, kKey, value, kValue, n);
    Home home;
    if (!go_home(table, key_at(key), home)) [[unlikely]]
      return table.others.get(table, key, kKey, value, kValue, n);  // no value has more
    home.look_at_tags();
    Words<kValue> found;
    if (!read_first(home, key, found) || !ThreadCounter::has_line()) [[unlikely]]
      return get_further(table, key, home.group, value, home.version, n);
    table.counter->add_in_line(1);
    std::memcpy(value, found.data(), kValue);
    if (n != nullptr) *n = kValue;
    return SHMEMX_KV_OK;
  }
  // After a look at the first slot.  Arguments are where those of get() are.
  [[gnu::noinline]] static Code get_further(LeanTable& table, const void* key, std::byte* group, void* value,
                                            std::uint32_t version, std::size_t* n) {
    Home home{{group, version, 0}, hash_of_bytes(key_at(key).data(), kKey)};
    home.slots = matches(group + offsetof(SlotGroup, tags), home.tag());
    Words<kValue> found;
    const Code status = read_any(table, home, key, found);
    if (status == kBusy || !ThreadCounter::has_line()) [[unlikely]]
      return table.others.get(table, key, kKey, value, kValue, n);
    table.counter->add_in_line(1);
    if (status != SHMEMX_KV_OK) return status;
    std::memcpy(value, found.data(), kValue);
    if (n != nullptr) *n = kValue;
    return SHMEMX_KV_OK;
  }

  // With the lock of the home: the element stays where it is; others in the group may not.
  [[gnu::always_inline]] static bool overwrite(Home home, const Words<kKey>& key,
                                               const Words<kValue>& value) {
    const Mapped group(home.group);
    home.look_at_tags();
    for (unsigned slots = home.slots; slots != 0; slots &= slots - 1) {
      const auto slot = static_cast<unsigned>(__builtin_ctz(slots));
      std::byte* at = slot_at(home, slot);
      if (look<std::uint16_t>(home.group + lengths_at(slot)) % 256 != kKey || !has_key(at, key)) [[unlikely]]
        continue;
      if (!group.compare_swap(0, home.version, home.version + 1)) return false;
      Mapped(at).write(kKey, value.data(), kValue);
      group.store(lengths_at(slot), kLengths);
      group.store(0, home.version + 2);
      return true;
    }
    return false;
  }

  // A value over another one.  Both arguments have been read before the lock is taken.
  static Code put(LeanTable& table, const void* key, std::size_t key_bytes, const void* value,
                  std::size_t n) {
    if (key_bytes != kKey || n != kValue) [[unlikely]]
      return table.others.put(table, key, key_bytes, value, n);
    if (key == nullptr || value == nullptr || !ThreadCounter::has_line()) [[unlikely]]
      return table.others.put(table, key, kKey, value, kValue);
    const Words<kKey> words = key_at(key);
    Words<kValue> stored;
    std::memcpy(&stored, value, kValue);
    Home home;
    if (!go_home(table, words, home)) [[unlikely]]
      return table.others.put(table, key, kKey, value, kValue);
    const Mapped group(home.group);
    if (!group.compare_swap(offsetof(SlotGroup, home), std::uint32_t{0}, std::uint32_t{1})) [[unlikely]]
      return table.others.put(table, key, kKey, value, kValue);
    const bool done = is_home(table, words, home.group) && overwrite(home, words, stored);
    group.store(offsetof(SlotGroup, home), std::uint32_t{0});
    if (!done) return table.others.put(table, key, kKey, value, kValue);
    table.counter->add_in_line(1);
    return SHMEMX_KV_OK;
  }

  // Statuses and lengths are those of elements that are there, but where they are told to be otherwise.
  static LeanGot get_many(LeanTable& table, const LeanGets& all, std::size_t n) {
    const LeanGets gets = all;  // which nobody else has
    std::size_t busy = 0, absent = 0, far = 0;
    std::fill_n(gets.status, n, int{SHMEMX_KV_OK});
    const auto ask_home = [&](std::size_t i, Home & home) __attribute__((always_inline)) {
      if (go_home(table, key_at(gets.keys + i * kKey), home)) __builtin_prefetch(home.group);
    };
    const auto ask_slot = [](std::size_t, Home & home) __attribute__((always_inline)) {
      Look seen = home;
      seen.look_for(home.tag());
      home.version = seen.version;
      home.slots = seen.slots;
      if (seen.slots != 0) [[likely]]
        __builtin_prefetch(slot_at(seen, static_cast<unsigned>(__builtin_ctz(seen.slots))));
    };
    const auto use = [&](std::size_t i, const Home& home) __attribute__((always_inline)) {
      Words<kValue> value;
      if (read_first(home, gets.keys + i * kKey, value)) [[likely]] {
        std::memcpy(gets.values + i * kValue, value.data(), kValue);
        return true;
      }
      if (home.group == reinterpret_cast<const std::byte*>(&nowhere)) {
        gets.far[far++] = {static_cast<std::uint32_t>(i),
                           static_cast<std::uint32_t>(pe_of(home.hash, static_cast<unsigned>(table.npes)))};
        gets.status[i] = SHMEMX_KV_PENDING;
        return true;
      }
      const Code status = use_further(table, home, all, i);
      busy += status == kBusy ? 1 : 0;
      absent += status == SHMEMX_KV_NOT_FOUND ? 1 : 0;
      return true;
    };
    in_stages<Home>(n, ask_home, ask_slot, use);
    const std::size_t done = n - busy - far;
    table.counter->add(done);
    const LeanGot got{done, done - absent, far};
    if (gets.lengths != nullptr) note_lengths(gets, n, got.found == n);
    return got;
  }
  [[gnu::noinline]] static Code use_further(const LeanTable& table, const Home& home, const LeanGets& gets,
                                            std::size_t i) {
    Words<kValue> value;
    const Code status = read_any(table, home, gets.keys + i * kKey, value);
    if (status == SHMEMX_KV_OK) std::memcpy(gets.values + i * kValue, value.data(), kValue);
    gets.status[i] = status;
    return status;
  }
  static void note_lengths(const LeanGets& gets, std::size_t n, bool all_found) {
    if (all_found) {
#pragma GCC unroll 8
      for (std::size_t i = 0; i < n; ++i) gets.lengths[i] = kValue;
      return;
    }
    for (std::size_t i = 0; i < n; ++i)
      if (gets.status[i] == SHMEMX_KV_OK) gets.lengths[i] = kValue;
  }

  static std::size_t serve(std::byte* directory, std::uint64_t groups, const std::byte* keys, std::size_t n,
                           LeanReplies& given) {
    LeanReplies replies = given;  // which nobody else has
    std::size_t done = 0;
    const auto reply = [&](Code status, std::uint32_t bytes) __attribute__((always_inline)) {
      const RunReply head{status, bytes};
      std::memcpy(replies.to, &head, sizeof head);
      replies.to += sizeof head;
    };
    const auto ask_home = [&](std::size_t i, Home & home) __attribute__((always_inline)) {
      home.hash = hash_of_bytes(keys + i * kKey, kKey);
      home.group = group_in(directory, groups, home.hash);
      __builtin_prefetch(home.group);
    };
    const auto ask_slot = [](std::size_t, Home & home) __attribute__((always_inline)) {
      home.look_at_tags();
      if (home.slots != 0) [[likely]]
        __builtin_prefetch(slot_at(home, static_cast<unsigned>(__builtin_ctz(home.slots))));
    };
    const auto use = [&](std::size_t i, const Home& home) __attribute__((always_inline)) {
      const std::byte* key = keys + i * kKey;
      Words<kValue> value;
      Code status = SHMEMX_KV_OK;
      if (!read_first(home, key, value)) [[unlikely]] {
        status = read_any_of(home, key, value,
                             [&] { return group_in(directory, groups, home.hash) == home.group; });
      }
      if (status == kBusy) [[unlikely]] {
        if (!replies.other(given = replies, key)) return false;
        replies = given;
      } else {
        reply(status, status == SHMEMX_KV_OK ? kValue : 0);
        if (status == SHMEMX_KV_OK) {
          std::memcpy(replies.to, value.data(), kValue);
          replies.to += kValue;
        }
      }
      ++done;
      return true;
    };
    in_stages<Home>(n, ask_home, ask_slot, use);
    given = replies;
    return done;
  }

  static constexpr LeanCalls kCalls{kKey, kValue, {get, put}, get_many, serve};
};

constexpr LeanCalls kNone{
    0,
    0,
    {[](LeanTable& table, const void* key, std::size_t key_bytes, void* value, std::size_t room,
        std::size_t* n) { return table.others.get(table, key, key_bytes, value, room, n); },
     [](LeanTable& table, const void* key, std::size_t key_bytes, const void* value, std::size_t n) {
       return table.others.put(table, key, key_bytes, value, n);
     }},
    nullptr,
    nullptr};
constexpr const LeanCalls* kAll[] = {&Lean<8, 8>::kCalls,  &Lean<8, 16>::kCalls,  &Lean<8, 32>::kCalls,
                                     &Lean<16, 8>::kCalls, &Lean<16, 16>::kCalls, &Lean<16, 32>::kCalls,
                                     &Lean<32, 8>::kCalls, &Lean<32, 16>::kCalls, &Lean<32, 32>::kCalls};

}  // namespace

const LeanCalls& no_lean_calls() { return kNone; }

const LeanCalls& lean_calls(const ShardLayout& layout) {
  const auto fits = [&](const LeanCalls* calls) {
    return layout.inlined && layout.key_bytes == calls->key_bytes && layout.value_bytes == calls->value_bytes;
  };
  const auto* const found = std::ranges::find_if(kAll, fits);
  return found == std::end(kAll) ? kNone : **found;
}

}  // namespace shm::kv
