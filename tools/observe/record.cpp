// SPDX-License-Identifier: BSD-3-Clause
#include "record.hpp"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <bit>

#include "ticks.hpp"

namespace observe {

std::atomic<unsigned> mode{kNothing};

namespace {

using Word = std::atomic<std::uint64_t>;
constexpr std::size_t kWords = sizeof(Event) / sizeof(Word);

struct alignas(64) Ring {
  Word next{0};  // events that there were
  std::atomic<Word*> words{nullptr};
  std::atomic<bool> taken{false};
};
constinit Ring rings[kLanes];
constinit Word lost{0};
std::uint64_t capacity = 1;  // a power of two

// In the block that is there before any thread runs: to come to it takes neither memory nor a call.
[[gnu::tls_model("initial-exec")]] thread_local Ring* mine = nullptr;
pthread_key_t at_end;
bool has_key = false;

Word* pe_counts = nullptr;  // operations, then bytes, of each PE
int pes = 0;

void leave(void* ring) {
  mine = nullptr;
  static_cast<Ring*>(ring)->taken.store(false, std::memory_order_release);
}

bool has_memory(Ring& ring) {
  if (ring.words.load(std::memory_order_relaxed) != nullptr) return true;
  void* memory = mmap(nullptr, capacity * sizeof(Event), PROT_READ | PROT_WRITE,
                      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) return false;
  ring.words.store(static_cast<Word*>(memory), std::memory_order_release);
  return true;
}

[[gnu::cold, gnu::noinline]] Ring* take_ring() {
  for (Ring& ring : rings) {
    bool taken = false;
    if (!ring.taken.compare_exchange_strong(taken, true, std::memory_order_acquire)) continue;
    if (!has_memory(ring)) {
      ring.taken.store(false, std::memory_order_relaxed);
      return nullptr;
    }
    mine = &ring;
    pthread_setspecific(at_end, &ring);
    return &ring;
  }
  return nullptr;
}

void append(std::uint32_t function, Span span, std::uint64_t bytes, int pe) {
  Ring* ring = mine;
  if (ring == nullptr) [[unlikely]] {
    ring = take_ring();
    if (ring == nullptr) {
      lost.fetch_add(1, std::memory_order_relaxed);
      return;
    }
  }
  const std::uint64_t at = ring->next.load(std::memory_order_relaxed);
  Word* word = ring->words.load(std::memory_order_relaxed) + (at & (capacity - 1)) * kWords;
  word[0].store(span.begin, std::memory_order_relaxed);
  word[1].store(span.end - span.begin, std::memory_order_relaxed);
  word[2].store(bytes, std::memory_order_relaxed);
  word[3].store(std::uint64_t{static_cast<std::uint32_t>(pe)} << 32 | function, std::memory_order_relaxed);
  ring->next.store(at + 1, std::memory_order_release);  // after what it has written
}

// -1 for what the library would not have accepted.
int of_world(int pe, shmem_ctx_t ctx) {
  if (ctx == SHMEM_CTX_DEFAULT) return pe;
  shmem_team_t team = SHMEM_TEAM_INVALID;
  if (pshmem_ctx_get_team(ctx, &team) != 0) return -1;
  return pshmem_team_translate_pe(team, pe, SHMEM_TEAM_WORLD);
}

}  // namespace

void prepare_records(std::size_t events, int npes) {
  if (!has_key) has_key = pthread_key_create(&at_end, leave) == 0;
  if (rings[0].words == nullptr) capacity = std::bit_ceil(std::clamp<std::size_t>(events, 16, 1U << 26));
  if (pes != npes) pe_counts = new Word[2 * static_cast<std::size_t>(npes)]();  // as long as the process
  pes = npes;
}

void record(Span span, std::uint32_t function, std::uint64_t bytes, int pe, shmem_ctx_t ctx) {
  const unsigned now = mode.load(std::memory_order_relaxed);
  if (pe >= 0) pe = of_world(pe, ctx);
  if ((now & kEvents) != 0) append(function, span, bytes, pe);
  if ((now & kPairs) == 0 || pe < 0 || pe >= pes) return;
  Word* const counts = pe_counts + 2 * static_cast<std::size_t>(pe);
  counts[0].fetch_add(1, std::memory_order_relaxed);
  counts[1].fetch_add(bytes, std::memory_order_relaxed);
}

void record_fault(const void* at, bool store, std::uint64_t begin) {
  if ((mode.load(std::memory_order_relaxed) & kEvents) == 0) return;
  append(number_of_fault(store), {begin, ticks()}, reinterpret_cast<std::uintptr_t>(at), -1);
}

std::size_t lanes() {
  std::size_t used = 0;
  for (std::size_t i = 0; i < kLanes; ++i) {
    if (rings[i].next.load(std::memory_order_relaxed) > 0) used = i + 1;
  }
  return used;
}

Lane lane(std::size_t number) {
  const std::uint64_t all = rings[number].next.load(std::memory_order_acquire);
  return {number, all, std::min(all, capacity)};
}

Event event_of(const Lane& lane, std::uint64_t index) {
  const std::uint64_t at = (lane.all - lane.kept + index) & (capacity - 1);
  const Word* word = rings[lane.number].words.load(std::memory_order_acquire) + at * kWords;
  const std::uint64_t last = word[3].load(std::memory_order_relaxed);
  return {word[0].load(std::memory_order_relaxed), word[1].load(std::memory_order_relaxed),
          word[2].load(std::memory_order_relaxed), static_cast<std::int32_t>(last >> 32),
          static_cast<std::uint32_t>(last)};
}

std::uint64_t lost_events() { return lost.load(std::memory_order_relaxed); }

void clear_records() {
  for (Ring& ring : rings) ring.next.store(0, std::memory_order_relaxed);
  lost.store(0, std::memory_order_relaxed);
  for (int i = 0; i < 2 * pes; ++i) pe_counts[i].store(0, std::memory_order_relaxed);
}

Talk talk_to(int pe) {
  const Word* const counts = pe_counts + 2 * static_cast<std::size_t>(pe);
  return {counts[0].load(std::memory_order_relaxed), counts[1].load(std::memory_order_relaxed)};
}

}  // namespace observe
