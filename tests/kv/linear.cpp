// SPDX-License-Identifier: BSD-3-Clause
// All PEs, with several threads each, do all kinds of operations on a few keys at once; PE 0 judges whether
// what each of them has seen can be explained by operations that took effect at one instant each
// (tests/model/linear.hpp).
//
// Calls and returns are timed by CLOCK_MONOTONIC: all PEs are on one host, where it is one clock for all
// cores. A counter of PE 0 would order them, too, but its round trips would keep apart what is meant to
// collide.
//
// A value begins with a word that arithmetic works on and a tag, from which its length and all other bytes
// follow; one that an upsert has made has the word alone.
//
// `linear teams`: two teams, of the PEs with even and with odd numbers, do so at once, each on tables of its
// own, and its first PE judges.
//
// ATOLL_STRESS_SECONDS says how long to go on; ATOLL_TEST_SEED repeats what the threads do, not how they
// interleave.
#include "linear.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <thread>
#include <vector>

#include "kv_check.h"

extern "C" {
#include "duration.h"
}

namespace {

using shm::linear::Kind;
using shm::linear::Operation;
using shm::linear::Outcome;
using shm::linear::State;
using shm::linear::Value;

constexpr int kKeys = 3, kDecoys = 8, kThreads = 3, kMostBurst = 6, kCrowd = 64;
constexpr std::size_t kKeyBytes = 20, kOperations = 64, kMostValue = 40000;

struct Record {
  int key;
  Operation operation;
};

struct Journal {  // of a thread, in symmetric memory
  std::size_t count;
  Record records[kOperations];
};

struct Shape {
  std::size_t value_bytes;
  std::uint64_t (*hash)(const void*, std::size_t);
};

int me, npes;  // in the team
shmem_team_t team = SHMEM_TEAM_WORLD;
shmemx_kv_t kv;
std::size_t value_bytes;
bool crowded;                          // the table grows
unsigned char keys[kKeys][kKeyBytes];  // the same on all PEs
Journal* journals;                     // [kThreads]
std::uint64_t grown;                   // slots that this PE's tables have got
bool may_grow;                         // tables do

std::uint64_t constant(const void*, std::size_t) { return 5; }

// Adds the operand to the first word of what is there, or makes it that.
int add_word;
int add_word_function(const void*, std::size_t, const void* old, std::size_t old_bytes, const void* operand,
                      std::size_t, void* value, std::size_t* n) {
  std::uint64_t word = 0, more;
  std::memcpy(&more, operand, sizeof more);
  if (old != nullptr) {
    std::memcpy(&word, old, sizeof word);
    std::memcpy(value, old, old_bytes);
  }
  word += more;
  std::memcpy(value, &word, sizeof word);
  *n = old != nullptr ? old_bytes : sizeof word;
  return SHMEMX_KV_STORE;
}

std::uint64_t now() {
  timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return static_cast<std::uint64_t>(time.tv_sec) * 1000000000 + static_cast<std::uint64_t>(time.tv_nsec);
}

// ---- Values and their bytes

std::size_t length_of(std::uint64_t tag) {
  if (tag == shm::linear::kUpserted) return 8;
  const std::size_t most = value_bytes - 16;
  return 16 + (tag >> 8) % ((tag & 3) == 0 ? most + 1 : std::min<std::size_t>(most, 64) + 1);
}

std::size_t encode(const Value& value, unsigned char* bytes) {
  const std::size_t n = length_of(value.tag);
  std::memcpy(bytes, &value.word, 8);
  if (n > 8) std::memcpy(bytes + 8, &value.tag, 8);
  if (n > 16) make_bytes(bytes + 16, n - 16, value.tag);
  return n;
}

// That all but the first 16 bytes belong to one value, which they name.
Value decode(const unsigned char* bytes, std::size_t n) {
  Value value;
  CHECK(n == 8 || n >= 16);
  std::memcpy(&value.word, bytes, 8);
  if (n > 8) std::memcpy(&value.tag, bytes + 8, 8);
  CHECK_EQ(n, length_of(value.tag));
  if (n > 16) CHECK_MADE(bytes + 16, n - 16, value.tag);
  return value;
}

Outcome outcome_of(int status) {
  switch (status) {
    case SHMEMX_KV_OK: return Outcome::done;
    case SHMEMX_KV_NOT_FOUND: return Outcome::not_found;
    case SHMEMX_KV_EXISTS: return Outcome::exists;
    case SHMEMX_KV_MISMATCH: return Outcome::mismatch;
    case SHMEMX_KV_INSERTED: return Outcome::inserted;
    default: CHECK_EQ(status, SHMEMX_KV_OK); std::abort();
  }
}

// ---- What a thread does

class Worker {
 public:
  Worker(int number, std::uint64_t seed)
      : dice_{seed}, thread_(static_cast<std::uint32_t>(me * kThreads + number)), journal_(journals[number]) {
    journal_.count = 0;
    for (auto& bytes : buffers_) bytes.resize(std::max(value_bytes, std::size_t{16}) * kKeys);
  }

  void run() {
    while (journal_.count + kMostBurst <= kOperations) {
      switch (random_below(&dice_, 9)) {
        case 8: mixed(); break;
        case 0: decoy(); break;
        case 1: batch(); break;
        case 2: burst(); break;
        case 7: all_of_some(); break;
        default: one();
      }
    }
  }

 private:
  Operation& begin(int key, Kind kind) {
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
    operation.outcome = outcome_of(status);
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

  void one() {
    const int key = random_key();
    Operation& operation = begin(key, random_kind());
    unsigned char* const bytes = buffers_[0].data();
    std::size_t n = shm::linear::stores(operation.kind) ? encode(operation.argument, bytes) : 0;
    operation.called = now();
    const int status = call(operation, keys[key], bytes, n);
    operation.returned = now();
    end(operation, key, status, bytes, n);
  }

  // As upsert.
  static int apply_word(const void* key, std::uint64_t word, unsigned char* bytes) {
    std::memset(bytes, 0, 8);
    const int status =
        shmemx_kv_apply(kv, key, kKeyBytes, add_word, &word, sizeof word, bytes, value_bytes, nullptr);
    return status == SHMEMX_KV_INSERTED ? SHMEMX_KV_OK : status;
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
        if (operation.argument.word % 2 == 0) return apply_word(key, word, bytes);
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

  // What goes over elements.  One that a scan gives was there at some instant meanwhile; one that it does not
  // give may have been there, behind the cursor.  One that remove_if has removed was removed.
  void all_of_some() {
    constexpr std::size_t kMost = 4;
    if (random_below(&dice_, 2) == 0) return remove_one();
    unsigned char found[kMost][kKeyBytes];
    std::vector<unsigned char> values(kMost * value_bytes);
    std::size_t key_bytes[kMost], lengths[kMost], n = 0;
    std::uint64_t cursor = 0;
    const int pe = static_cast<int>(random_below(&dice_, static_cast<std::uint64_t>(npes)));
    for (int calls = 0; calls < 12 && journal_.count + kMost <= kOperations; ++calls) {
      const std::uint64_t called = now();
      const int status = shmemx_kv_scan(kv, pe, &cursor, kMost, found, kKeyBytes, key_bytes, values.data(),
                                        value_bytes, lengths, &n);
      const std::uint64_t returned = now();
      if (status == SHMEMX_KV_NOT_FOUND) return;
      CHECK_EQ(status, SHMEMX_KV_OK);
      for (std::size_t i = 0; i < n; ++i) {
        const auto* const key = std::find_if(std::begin(keys), std::end(keys), [&](const auto& each) {
          return key_bytes[i] == kKeyBytes && std::memcmp(each, found[i], kKeyBytes) == 0;
        });
        if (key == std::end(keys)) continue;
        const int number = static_cast<int>(key - keys);
        Operation& operation = begin(number, Kind::get);
        operation.called = called, operation.returned = returned;
        end(operation, number, SHMEMX_KV_OK, values.data() + i * value_bytes, lengths[i]);
      }
    }
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

  // Many keys that stay, so that the table grows in the midst of all this.
  void crowd() {
    unsigned char own[kCrowd][kKeyBytes] = {};
    for (auto& key : own) {
      const std::uint64_t number = ++crowd_ << 16 | thread_;
      key[0] = 0xdd;
      std::memcpy(key + 1, &number, sizeof number);
      const std::uint64_t more = next_random(&dice_);  // of each round others
      std::memcpy(key + 9, &more, sizeof more);
    }
    const std::uint64_t values[kCrowd] = {};
    CHECK_EQ(shmemx_kv_insert_batch(kv, kCrowd, own, kKeyBytes, values, 8, nullptr), SHMEMX_KV_OK);
  }

  // Another key, of this thread alone: its neighbours in the table move.
  void decoy() {
    if (crowded) crowd();
    const std::size_t number = random_below(&dice_, kDecoys);
    unsigned char key[kKeyBytes] = {0xdc, static_cast<unsigned char>(thread_),
                                    static_cast<unsigned char>(number)};
    if (there_[number]) {
      CHECK_EQ(shmemx_kv_remove(kv, key, sizeof key), SHMEMX_KV_OK);
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
      CHECK_EQ(shmemx_kv_remove(kv, key, sizeof key), there_[number] ? SHMEMX_KV_OK : SHMEMX_KV_NOT_FOUND);
    }
  }

 private:
  Random dice_;
  std::uint32_t thread_;
  Journal& journal_;
  std::uint64_t numbers_ = 0, crowd_ = 0;
  std::uint64_t last_[kKeys] = {};  // words that were seen
  std::array<bool, kDecoys> there_ = {};
  std::array<std::vector<unsigned char>, kMostBurst> buffers_;
};

// ---- The judgement

State state_of(int key) {
  std::vector<unsigned char> bytes(value_bytes);
  std::size_t n = 0;
  const int status = shmemx_kv_get(kv, keys[key], kKeyBytes, bytes.data(), bytes.size(), &n);
  if (status == SHMEMX_KV_NOT_FOUND) return {};
  CHECK_EQ(status, SHMEMX_KV_OK);
  return {true, decode(bytes.data(), n)};
}

void judge(const State* before, std::size_t& judged) {
  std::vector<Operation> histories[kKeys];
  std::vector<Journal> all(kThreads);
  for (int pe = 0; pe < npes; ++pe) {
    shmem_getmem(all.data(), journals, kThreads * sizeof(Journal),
                 shmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD));
    for (const Journal& journal : all)
      for (std::size_t i = 0; i < journal.count; ++i)
        histories[journal.records[i].key].push_back(journal.records[i].operation);
  }
  for (int key = 0; key < kKeys; ++key) {
    const shm::linear::Verdict verdict = shm::linear::check(histories[key], before[key]);
    judged += histories[key].size();
    if (verdict.linearizable) continue;
    std::fprintf(stderr, "key %d on PE %d: %s", key, shmemx_kv_pe(kv, keys[key], kKeyBytes),
                 shm::linear::describe(histories[key], verdict).c_str());
    CHECK(verdict.linearizable);
  }
}

void round_of_operations(Random& dice, std::size_t& judged) {
  State before[kKeys];
  for (int key = 0; me == 0 && key < kKeys; ++key) before[key] = state_of(key);
  std::vector<Worker> workers;
  for (int i = 0; i < kThreads; ++i) workers.emplace_back(i, next_random(&dice));
  shmem_barrier_all();
  std::vector<std::thread> threads;
  for (int i = 1; i < kThreads; ++i)
    threads.emplace_back(&Worker::run, &workers[static_cast<std::size_t>(i)]);
  workers[0].run();
  for (std::thread& thread : threads) thread.join();
  shmem_barrier_all();
  if (me == 0) judge(before, judged);
  for (Worker& worker : workers) worker.remove_decoys();
  shmem_barrier_all();
}

// A table of its own for some rounds; `common` is the same on all PEs.
void life(const Shape& shape, Random& dice, Random& common, std::size_t& judged) {
  const auto elements = static_cast<std::uint64_t>(kKeys + kDecoys * kThreads * npes + 8);
  shmemx_kv_options_t options{};
  options.key_bytes = kKeyBytes;
  options.value_bytes = value_bytes = shape.value_bytes;
  options.hash = shape.hash;
  options.capacity = elements * static_cast<std::uint64_t>(shape.hash != nullptr ? npes : 1);
  crowded = may_grow && shape.hash == nullptr && next_random(&common) % 2 == 0;
  if (crowded) options.memory_bytes = std::size_t{8} << 20;
  CHECK_EQ(shmemx_kv_team_create(team, &options, &kv), SHMEMX_KV_OK);
  fill_random(&common, keys, sizeof keys);
  shmemx_kv_stats_t stats;
  shmemx_kv_stats(kv, &stats);
  const std::uint64_t slots = stats.slots;
  for (int i = 0; i < 3; ++i) round_of_operations(dice, judged);
  shmemx_kv_stats(kv, &stats);
  grown += stats.slots - slots;
  shmemx_kv_destroy(kv);
}

}  // namespace

int main(int argc, char** argv) {
  int provided = 0;
  CHECK_EQ(shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided), 0);
  const int world_me = shmem_my_pe(), world = shmem_n_pes();
  if (argc > 1 && std::strcmp(argv[1], "teams") == 0) {
    shmem_team_t both[2];
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 0, 2, (world + 1) / 2, nullptr, 0, &both[0]);
    shmem_team_split_strided(SHMEM_TEAM_WORLD, 1, 2, world / 2, nullptr, 0, &both[1]);
    team = both[world_me % 2];
  }
  me = shmem_team_my_pe(team), npes = shmem_team_n_pes(team);
  journals = static_cast<Journal*>(shmem_calloc(kThreads, sizeof(Journal)));
  CHECK(journals != nullptr);
  add_word = shmemx_kv_register(add_word_function);
  Random dice;
  seed_dice(&dice);
  Random common{dice.state - static_cast<std::uint64_t>(world_me)};
  // In the slot of a group, in a block, and longer than a message.
  static constexpr Shape kShapes[] = {{16, nullptr},   {48, nullptr},   {48, constant},       {200, nullptr},
                                      {200, constant}, {5000, nullptr}, {kMostValue, nullptr}};
  // Not those of the other engine; those on NVM have little more memory than they need.
  may_grow = std::getenv("SHMEM_KV_MATCH") == nullptr && std::getenv("SHMEM_HEAP") == nullptr;
  const double end = end_of_run(2);
  std::size_t judged = 0, lives = 0;
  do {
    life(kShapes[lives++ % std::size(kShapes)], dice, common, judged);
  } while (go_on(end));
  if (me == 0) std::printf("%zu tables, %zu operations judged, %zu slots more\n", lives, judged, grown);
  shmem_free(journals);
  shmem_finalize();
  return 0;
}
