// SPDX-License-Identifier: BSD-3-Clause
// What a thread does in a round of linear.cpp: calls of all kinds on the keys that are judged, and others
// beside them.
//
// Judged is each call on one key, in all its forms: by itself, nonblocking, in a batch; a function of the
// program that keeps, stores or erases the element; get_wait. Of those that go over many elements what they
// say of a key: that it had this value or was removed, and where a scan or remove_if has gone over all and
// the key has not come, that it was absent at some instant meanwhile; between two times that it comes it was,
// too. clear says nothing, but each key of its PE was absent once.
//
// Not judged:
//   count, count_local, stats, report   say something of many keys at no one instant
//   next_local, export   go over elements as scan and remove_if do, by the same code (Shard::next)
//   import               is a put for each element
//   resize, persist, create, destroy, leave   need that nobody else is in a call on the table, or has one
//   later watch, hot_keys      count calls pe                   depends on the key alone
#pragma once

#include <array>
#include <chrono>
#include <thread>
#include <vector>

#include "linear_values.hpp"

namespace kv_linear {

/// Many keys that stay, so that the table grows in the midst of all this.
inline void crowd(Random& dice) {
  unsigned char own[kCrowd][kKeyBytes];
  for (auto& key : own) {
    fill_random(&dice, key, kKeyBytes);
    key[0] = 0xdd;
  }
  const std::uint64_t values[kCrowd] = {};
  CHECK_EQ(shmemx_kv_insert_batch(kv, kCrowd, own, kKeyBytes, values, 8, nullptr), SHMEMX_KV_OK);
}

class Worker {
 public:
  Worker(int number, std::uint64_t seed)
      : dice_{seed}, thread_(static_cast<std::uint32_t>(me * kThreads + number)), journal_(journals[number]) {
    journal_.count = 0;
    for (auto& bytes : buffers_) bytes.resize(std::max(value_bytes, std::size_t{16}) * kKeys);
  }

  /// `number` 0 never waits for a key: see wake().
  void run() {
    while (journal_.count + kMostBurst <= kOperations) {
      if (is_cleared && is_first() && !has_cleared_ && journal_.count > kOperations / 2) clear();
      switch (random_below(&dice_, 9)) {
        case 8: mixed(); break;
        case 0: decoy(); break;
        case 1: batch(); break;
        case 2: burst(); break;
        case 7: all_of_some(); break;
        default: one();
      }
    }
    if (is_cleared && is_first() && !has_cleared_) clear();
  }

  /// Of the first thread, after run(): has those that wait for a key get it, while others are at work.
  void wake(const std::atomic<int>& at_work) {
    while (at_work != 0) {
      for (int key = 0; key < kKeys; ++key)
        if (awaited[key] != 0) insert_for_others(key);
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    }
  }

 private:
  bool is_first() const { return thread_ % kThreads == 0; }

  Operation& begin(int key, Kind kind) {
    CHECK_CMP(journal_.count, <, std::size(journal_.records));
    Record& record = journal_.records[journal_.count++];
    record.key = key;
    record.operation = {};
    record.operation.kind = kind;
    record.operation.thread = thread_;
    const std::uint64_t unique = (std::uint64_t{thread_} + 1) << 48 | ++numbers_ << 16;
    if (shm::linear::stores(kind))
      record.operation.argument = {unique, unique << 8 | random_below(&dice_, 256)};
    switch (kind) {
      case Kind::add:
      case Kind::upsert: record.operation.argument.word = 1 + random_below(&dice_, 100); break;
      case Kind::compare_swap:
        record.operation.argument.word = unique;
        record.operation.expected = last_[key];
        break;
      default: break;
    }
    return record.operation;
  }

  // What it has seen, once it is complete.
  void end(Operation& operation, int key, int status, const unsigned char* bytes, std::size_t n) {
    const bool is_applied = operation.kind == Kind::upsert && status == SHMEMX_KV_INSERTED;
    operation.outcome = is_applied ? Outcome::done : outcome_of(status);
    const bool done = operation.outcome == Outcome::done;
    if (shm::linear::gives(operation.kind) && done) operation.seen = decode(bytes, n);
    const bool tells_old =
        operation.kind == Kind::add || operation.kind == Kind::upsert || operation.kind == Kind::compare_swap;
    if (tells_old && operation.outcome != Outcome::not_found) std::memcpy(&operation.seen.word, bytes, 8);
    if (operation.kind == Kind::get || operation.kind == Kind::compare_swap) last_[key] = operation.seen.word;
    if (operation.kind == Kind::add) last_[key] = operation.seen.word + operation.argument.word;
  }

  int random_key() { return static_cast<int>(random_below(&dice_, kKeys)); }
  Kind random_kind() { return static_cast<Kind>(random_below(&dice_, shm::linear::kKinds)); }

  // For which there are other forms, beside single calls.
  static Kind without_telling(Kind kind) {
    if (kind == Kind::take) return Kind::remove;
    return kind <= Kind::exchange && kind > Kind::update ? Kind::put : kind;
  }

  // What a function of the program does as well: keep the element, erase it, add to its word.  Negative: none
  // does.
  static int function_for(Kind kind) {
    switch (kind) {
      case Kind::get:
      case Kind::contains: return functions.keep;
      case Kind::take:
      case Kind::remove: return functions.erase;
      case Kind::upsert: return functions.add_word;
      default: return -1;
    }
  }
  // Whether the call for it gives what was there.
  static bool wants_old(Kind kind) { return kind != Kind::contains && kind != Kind::remove; }

  void one() {
    const int key = random_key();
    Operation& operation = begin(key, random_kind());
    unsigned char* const bytes = buffers_[0].data();
    std::size_t n = shm::linear::stores(operation.kind) ? encode(operation.argument, bytes) : 0;
    const bool by_function = function_for(operation.kind) >= 0 && random_below(&dice_, 2) == 0;
    const bool waits = operation.kind == Kind::get && !is_first() && random_below(&dice_, 3) == 0;
    operation.called = now();
    const int status = waits         ? get_wait(key, bytes, n)
                       : by_function ? apply(operation, keys[key], bytes, n)
                                     : call(operation, keys[key], bytes, n);
    operation.returned = now();
    end(operation, key, status, bytes, n);
  }

  static int apply(const Operation& operation, const void* key, unsigned char* bytes, std::size_t& n) {
    const std::uint64_t word = operation.argument.word;
    const bool wants = wants_old(operation.kind);
    std::memset(bytes, 0, 8);  // of an upsert that inserts
    return shmemx_kv_apply(kv, key, kKeyBytes, function_for(operation.kind), &word, sizeof word,
                           wants ? bytes : nullptr, wants ? value_bytes : 0, &n);
  }

  static int get_wait(int key, unsigned char* bytes, std::size_t& n) {
    ++awaited[key];
    const int status = shmemx_kv_get_wait(kv, keys[key], kKeyBytes, bytes, value_bytes, &n);
    --awaited[key];
    return status;
  }

  // Where it is there already that says nothing new.
  void insert_for_others(int key) {
    Operation& operation = begin(key, Kind::insert);
    unsigned char* const bytes = buffers_[0].data();
    const std::size_t n = encode(operation.argument, bytes);
    operation.called = now();
    const int status = shmemx_kv_insert(kv, keys[key], kKeyBytes, bytes, n);
    operation.returned = now();
    if (status == SHMEMX_KV_EXISTS) {
      --journal_.count;
      return;
    }
    end(operation, key, status, bytes, n);
  }

  // Collective, by the first threads; the keys of each PE are cleared by itself.
  void clear() {
    has_cleared_ = true;
    const std::uint64_t called = now();
    shmemx_kv_clear(kv);
    const std::uint64_t returned = now();
    for (int key = 0; key < kKeys; ++key) {
      if (shmemx_kv_pe(kv, keys[key], kKeyBytes) != me) continue;
      Operation& operation = begin(key, Kind::clear);
      operation.called = called, operation.returned = returned;
    }
  }

  // A key that has not come: at some instant from `called` to `returned` it was absent.
  void note_absent(int key, Kind kind, std::uint64_t called, std::uint64_t returned) {
    Operation& operation = begin(key, kind);
    operation.called = called, operation.returned = returned;
    end(operation, key, SHMEMX_KV_NOT_FOUND, nullptr, 0);
  }

  static int call(const Operation& operation, const void* key, unsigned char* bytes, std::size_t& n) {
    const std::uint64_t word = operation.argument.word;
    switch (operation.kind) {
      case Kind::put: return shmemx_kv_put(kv, key, kKeyBytes, bytes, n);
      case Kind::insert: return shmemx_kv_insert(kv, key, kKeyBytes, bytes, n);
      case Kind::update: return shmemx_kv_update(kv, key, kKeyBytes, bytes, n);
      case Kind::insert_or_update: return shmemx_kv_insert_or_update(kv, key, kKeyBytes, bytes, n);
      case Kind::get_or_insert:
        return shmemx_kv_get_or_insert(kv, key, kKeyBytes, bytes, n, bytes, value_bytes, &n);
      case Kind::exchange: return shmemx_kv_exchange(kv, key, kKeyBytes, bytes, n, bytes, value_bytes, &n);
      case Kind::take: return shmemx_kv_take(kv, key, kKeyBytes, bytes, value_bytes, &n);
      case Kind::get: return shmemx_kv_get(kv, key, kKeyBytes, bytes, value_bytes, &n);
      case Kind::contains: return shmemx_kv_contains(kv, key, kKeyBytes);
      case Kind::remove: return shmemx_kv_remove(kv, key, kKeyBytes);
      case Kind::add:
        return shmemx_kv_accumulate(kv, key, kKeyBytes, 0, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &word, bytes);
      case Kind::upsert:
        return shmemx_kv_upsert(kv, key, kKeyBytes, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, &word, bytes);
      default: return shmemx_kv_compare_swap(kv, key, kKeyBytes, 0, 8, &operation.expected, &word, bytes);
    }
  }

  // Nonblocking ones, which return when all of them are complete, with a fence here and there.
  void burst() {
    const std::size_t count = 1 + random_below(&dice_, kMostBurst), first = journal_.count;
    int status[kMostBurst];
    std::size_t lengths[kMostBurst];
    shmemx_kv_request_t requests[kMostBurst];
    const bool by_request = random_below(&dice_, 2) == 0;
    for (std::size_t i = 0; i < count; ++i) {
      Kind kind = random_kind();
      if (kind == Kind::contains || kind == Kind::compare_swap) kind = Kind::get;
      kind = without_telling(kind);
      const int key = random_key();
      Operation& operation = begin(key, kind);
      unsigned char* const bytes = buffers_[i].data();
      lengths[i] = shm::linear::stores(kind) ? encode(operation.argument, bytes) : 0;
      if (random_below(&dice_, 6) == 0) shmemx_kv_fence(kv);
      operation.called = now();
      requests[i] = nullptr;
      issue(operation, keys[key], bytes, lengths[i], status[i], by_request ? &requests[i] : nullptr);
    }
    if (!by_request) shmemx_kv_quiet(kv);
    for (std::size_t i = 0; i < count; ++i) {
      Record& record = journal_.records[first + i];
      if (by_request) shmemx_kv_request_wait(&requests[i]);
      record.operation.returned = now();
      end(record.operation, record.key, status[i], buffers_[i].data(), lengths[i]);
    }
  }

  // What goes over elements: an element that was there all the time comes, and comes once.
  void all_of_some() { random_below(&dice_, 2) == 0 ? remove_one() : scan(); }

  void scan() {
    constexpr std::size_t kMost = 64, kMostTimes = kMoreOperations / 4;
    unsigned char found[kMost][kKeyBytes];
    std::vector<unsigned char> values(kMost * value_bytes);
    std::size_t key_bytes[kMost], lengths[kMost], n = 0, times = 0;
    std::array<std::uint64_t, kKeys> came{};  // the last time: when that call began
    std::uint64_t cursor = 0;
    const int pe = static_cast<int>(random_below(&dice_, static_cast<std::uint64_t>(npes)));
    const std::uint64_t begun = now();
    for (;;) {
      const std::uint64_t called = now();
      const int status = shmemx_kv_scan(kv, pe, &cursor, kMost, found, kKeyBytes, key_bytes, values.data(),
                                        value_bytes, lengths, &n);
      const std::uint64_t returned = now();
      if (status == SHMEMX_KV_NOT_FOUND) break;
      CHECK_EQ(status, SHMEMX_KV_OK);
      for (std::size_t i = 0; i < n; ++i) {
        const auto* const key = std::find_if(std::begin(keys), std::end(keys), [&](const auto& each) {
          return key_bytes[i] == kKeyBytes && std::memcmp(each, found[i], kKeyBytes) == 0;
        });
        if (key == std::end(keys)) continue;
        const int number = static_cast<int>(key - keys);
        std::uint64_t& before = came[static_cast<std::size_t>(number)];
        if (before != 0) note_absent(number, Kind::contains, before, returned);
        before = called;
        Operation& operation = begin(number, Kind::get);
        operation.called = called, operation.returned = returned;
        end(operation, number, SHMEMX_KV_OK, values.data() + i * value_bytes, lengths[i]);
        if (++times == kMostTimes) return;
      }
    }
    const std::uint64_t ended = now();
    for (int key = 0; key < kKeys; ++key)
      if (came[static_cast<std::size_t>(key)] == 0 && shmemx_kv_pe(kv, keys[key], kKeyBytes) == pe)
        note_absent(key, Kind::contains, begun, ended);
  }

  void remove_one() {
    const int key = random_key();
    const auto is_it = [](const void* at, std::size_t n, const void*, std::size_t, void* wanted) -> int {
      return n == kKeyBytes && std::memcmp(at, wanted, kKeyBytes) == 0 ? 1 : 0;
    };
    const std::uint64_t called = now(), removed = shmemx_kv_remove_if(kv, is_it, keys[key]), returned = now();
    CHECK_CMP(removed, <=, kMostBurst);
    for (std::uint64_t i = 0; i < removed; ++i) {
      Operation& operation = begin(key, Kind::remove);
      operation.called = called, operation.returned = returned;
      end(operation, key, SHMEMX_KV_OK, nullptr, 0);
    }
    if (removed == 0 && shmemx_kv_pe(kv, keys[key], kKeyBytes) == me)
      note_absent(key, Kind::remove, called, returned);
  }

  // A batch in which each has its own, which other threads see while it is under way, or a nonblocking one.
  void mixed() {
    const std::size_t count = 1 + random_below(&dice_, kMostBurst), first = journal_.count;
    shmemx_kv_call_t calls[kMostBurst] = {};
    std::vector<unsigned char> old[kMostBurst];
    for (std::size_t i = 0; i < count; ++i) {
      const int key = random_key();
      Operation& operation = begin(key, random_kind());
      old[i].resize(std::max(value_bytes, std::size_t{8}));
      calls[i] = call_for(operation, keys[key], buffers_[i].data(), old[i]);
      if (function_for(operation.kind) >= 0 && random_below(&dice_, 2) == 0)
        apply_instead(calls[i], operation.kind);
    }
    const std::uint64_t called = now();
    for (std::size_t i = 0; i < count; ++i) journal_.records[first + i].operation.called = called;
    if (random_below(&dice_, 2) == 0) {
      shmemx_kv_batch(kv, count, calls);
    } else {
      shmemx_kv_request_t request;
      shmemx_kv_batch_nbi(kv, count, calls, &request);
      if (random_below(&dice_, 2) == 0) shmemx_kv_fence(kv);
      shmemx_kv_request_wait(&request);
    }
    const std::uint64_t returned = now();
    for (std::size_t i = 0; i < count; ++i) {
      Record& record = journal_.records[first + i];
      record.operation.returned = returned;
      end(record.operation, record.key, calls[i].status, old[i].data(), calls[i].old_bytes);
    }
  }

  static void apply_instead(shmemx_kv_call_t& call, Kind kind) {
    call.call = SHMEMX_KV_APPLY;
    call.function = function_for(kind);
    if (!wants_old(kind)) call.room = 0;
  }

  static shmemx_kv_call_t call_for(const Operation& operation, const void* key, unsigned char* bytes,
                                   std::vector<unsigned char>& old) {
    static constexpr int kCalls[] = {
        SHMEMX_KV_PUT,           SHMEMX_KV_INSERT,   SHMEMX_KV_UPDATE,     SHMEMX_KV_INSERT_OR_UPDATE,
        SHMEMX_KV_GET_OR_INSERT, SHMEMX_KV_EXCHANGE, SHMEMX_KV_GET,        SHMEMX_KV_CONTAINS,
        SHMEMX_KV_REMOVE,        SHMEMX_KV_TAKE,     SHMEMX_KV_ACCUMULATE, SHMEMX_KV_UPSERT,
        SHMEMX_KV_COMPARE_SWAP};
    static_assert(std::size(kCalls) == shm::linear::kKinds);
    shmemx_kv_call_t call{};
    call.call = kCalls[static_cast<int>(operation.kind)];
    call.key = key;
    call.key_bytes = kKeyBytes;
    const bool stores = shm::linear::stores(operation.kind);
    call.value_bytes = stores ? encode(operation.argument, bytes) : 8;
    call.val = stores ? bytes : reinterpret_cast<const unsigned char*>(&operation.argument.word);
    call.expected = &operation.expected;
    call.old = old.data();
    call.room = old.size();
    call.type = SHMEMX_KV_UINT64;
    call.op = SHMEMX_KV_ADD;
    return call;
  }

  // Each has a form with a request, and one without.
  static void issue(const Operation& operation, const void* key, unsigned char* bytes, std::size_t& n,
                    int& status, shmemx_kv_request_t* request) {
#define ISSUE(CALL, ...)                                                              \
  return request == nullptr ? shmemx_kv_##CALL##_nbi(kv, key, kKeyBytes, __VA_ARGS__) \
                            : shmemx_kv_##CALL##_nbr(kv, key, kKeyBytes, __VA_ARGS__, request)
    const void* const word = &operation.argument.word;
    switch (operation.kind) {
      case Kind::put: ISSUE(put, bytes, n, &status);
      case Kind::insert: ISSUE(insert, bytes, n, &status);
      case Kind::update: ISSUE(update, bytes, n, &status);
      case Kind::get: ISSUE(get, bytes, value_bytes, &n, &status);
      case Kind::remove: ISSUE(remove, &status);
      case Kind::add: ISSUE(accumulate, 0, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, word, bytes, &status);
      default: ISSUE(upsert, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, word, bytes, &status);
    }
#undef ISSUE
  }

  // All keys at once; what is stored has one tag, as it must have one length.
  void batch() {
    Kind kind = without_telling(random_kind());
    const std::size_t first = journal_.count;
    int status[kKeys];
    std::size_t lengths[kKeys] = {};
    unsigned char* const bytes = buffers_[0].data();
    std::uint64_t words[kKeys];
    std::size_t n = 0;
    std::memset(bytes, 0, buffers_[0].size());
    for (int key = 0; key < kKeys; ++key) {
      Operation& operation = begin(key, kind);
      operation.argument.tag = journal_.records[first].operation.argument.tag;
      words[key] = operation.argument.word;
      if (shm::linear::stores(kind))
        n = encode(operation.argument, bytes + static_cast<std::size_t>(key) * n);
    }
    const std::uint64_t called = now();
    if (kind == Kind::add || kind == Kind::compare_swap)
      word_batch(kind, first, bytes, words, status);
    else
      call_batch(kind, bytes, n, words, lengths, status);
    const std::uint64_t returned = now();
    const std::size_t step = kind == Kind::get ? value_bytes : 8;
    for (int key = 0; key < kKeys; ++key) {
      Operation& operation = journal_.records[first + static_cast<std::size_t>(key)].operation;
      operation.called = called, operation.returned = returned;
      const unsigned char* const result = bytes + static_cast<std::size_t>(key) * step;
      end(operation, key, status[key], result, lengths[key]);
    }
  }

  void word_batch(Kind kind, std::size_t first, unsigned char* bytes, const std::uint64_t* words,
                  int* status) const {
    if (kind == Kind::add) {
      shmemx_kv_accumulate_batch(kv, kKeys, keys, kKeyBytes, 0, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, words, bytes,
                                 status);
      return;
    }
    std::uint64_t expected[kKeys];
    for (std::size_t key = 0; key < kKeys; ++key)
      expected[key] = journal_.records[first + key].operation.expected;
    shmemx_kv_request_t request;
    shmemx_kv_compare_swap_batch_nbi(kv, kKeys, keys, kKeyBytes, 0, 8, expected, words, bytes, status,
                                     &request);
    shmemx_kv_request_wait(&request);
  }

  static void call_batch(Kind kind, unsigned char* bytes, std::size_t n, const std::uint64_t* words,
                         std::size_t* lengths, int* status) {
    switch (kind) {
      case Kind::put: shmemx_kv_put_batch(kv, kKeys, keys, kKeyBytes, bytes, n, status); break;
      case Kind::insert: shmemx_kv_insert_batch(kv, kKeys, keys, kKeyBytes, bytes, n, status); break;
      case Kind::update: shmemx_kv_update_batch(kv, kKeys, keys, kKeyBytes, bytes, n, status); break;
      case Kind::get:
        shmemx_kv_get_batch(kv, kKeys, keys, kKeyBytes, bytes, value_bytes, lengths, status);
        break;
      case Kind::contains: shmemx_kv_contains_batch(kv, kKeys, keys, kKeyBytes, status); break;
      case Kind::remove: shmemx_kv_remove_batch(kv, kKeys, keys, kKeyBytes, status); break;
      default:
        shmemx_kv_upsert_batch(kv, kKeys, keys, kKeyBytes, SHMEMX_KV_UINT64, SHMEMX_KV_ADD, words, bytes,
                               status);
    }
  }

  // Where another thread may have cleared the table it may have gone.
  static void check_decoy(int status, int expected, int cleared) {
    CHECK_EITHER(status, expected, is_cleared ? cleared : expected);
  }

  // Another key, of this thread alone: its neighbours in the table move.
  void decoy() {
    if (crowded) crowd(dice_);
    const std::size_t number = random_below(&dice_, kDecoys);
    unsigned char key[kKeyBytes] = {0xdc, static_cast<unsigned char>(thread_),
                                    static_cast<unsigned char>(number)};
    if (there_[number]) {
      check_decoy(shmemx_kv_remove(kv, key, sizeof key), SHMEMX_KV_OK, SHMEMX_KV_NOT_FOUND);
    } else {
      const std::size_t n = encode({1, next_random(&dice_) | 4}, buffers_[0].data());
      CHECK_EQ(shmemx_kv_insert(kv, key, sizeof key, buffers_[0].data(), n), SHMEMX_KV_OK);
    }
    there_[number] = !there_[number];
  }

 public:
  void remove_decoys() {
    for (std::size_t number = 0; number < kDecoys; ++number) {
      unsigned char key[kKeyBytes] = {0xdc, static_cast<unsigned char>(thread_),
                                      static_cast<unsigned char>(number)};
      check_decoy(shmemx_kv_remove(kv, key, sizeof key), there_[number] ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND,
                  SHMEMX_KV_NOT_FOUND);
    }
  }

 private:
  Random dice_;
  std::uint32_t thread_;
  Journal& journal_;
  std::uint64_t numbers_ = 0;
  std::uint64_t last_[kKeys] = {};  // words that were seen
  std::array<bool, kDecoys> there_ = {};
  bool has_cleared_ = false;
  std::array<std::vector<unsigned char>, kMostBurst> buffers_;
};

}  // namespace kv_linear
