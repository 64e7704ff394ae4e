// SPDX-License-Identifier: BSD-3-Clause
#include "coll/memory.hpp"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

#include "base/call_checks.hpp"
#include "base/fatal.hpp"
#include "boot/boot.hpp"
#include "coll/barrier.hpp"
#include "coll/internal.hpp"
#include "core/order.hpp"
#include "core/region.hpp"
#include "core/remote.hpp"
#include "heap/checkers.hpp"
#include "heap/heap.hpp"
#include "heap/node_memory.hpp"

namespace shm {
namespace {

constexpr std::size_t kNaturalAlignment = 16;  // of max_align_t

// What PE 0's allocator has decided in one collective call.
struct Allocation {
  std::uint64_t argument;  // size that PE 0 was asked for; every PE must have been asked for the same
  std::uint64_t terms;     // what else it was asked for, likewise
  std::uint64_t offset;    // from the heap's base; kNoBlock: exhausted
  std::uint64_t moved;     // realloc: the block is new, the contents must be copied
  char call[32];           // that PE 0 is in
};
static_assert(sizeof(Allocation) <= Cell::kPayload);
constexpr std::uint64_t kNoBlock = ~std::uint64_t{0};

struct NewBlock {
  std::size_t offset, size;  // in a PE's segment
  int barriers_left;
};
std::vector<NewBlock> new_blocks;
constexpr int kBarriersToFill = 4;  // a block that is not filled after as many barriers is left alone
constexpr std::size_t kSmallestAhead = std::size_t{64} << 10;
constexpr std::size_t kLargestAhead = std::size_t{256} << 20;  // bytes for a block: 0.5 MiB of page tables

// One of the heaps.  Offsets count from `start`, which is at the same distance from every block on all PEs.
struct Arena {
  std::byte* start;
  HeapAllocator* allocator;  // PE 0 only
  Region* region;            // null: plain memory
};
Arena memory_arena() { return {reinterpret_cast<std::byte*>(rt.heap.base), rt.allocator, nullptr}; }
Arena paged_arena() { return {reinterpret_cast<std::byte*>(rt.paged->base()), rt.paged_allocator, rt.paged}; }

Arena arena_for(Call call, Where where) {
  if (where == Where::nvm && rt.paged == nullptr && rt.me == 0) {
    static bool told = false;
    if (!told)
      warn("%s: there is no NVM heap, the block is in memory; set SHMEM_NVM_DIR to a folder for it",
           call.name);
    told = true;
  }
  const bool paged =
      rt.paged != nullptr && (where == Where::nvm || (where == Where::usual && rt.paged_by_default));
  return paged ? paged_arena() : memory_arena();
}

// So that all PEs do the same, it is the job that is checked; who is not tells nobody.
constinit Checkers checkers;
std::size_t red_zone = 0;  // bytes behind each block in memory
constexpr std::size_t kRoomForRedZones = std::size_t{4} << 20;

std::size_t zone_of(const Arena& arena) { return arena.region == nullptr ? red_zone : 0; }

// With its zone; what is larger than any block stays so.
std::size_t with_zone(const Arena& arena, std::size_t size) {
  return size + std::min(zone_of(arena), ~std::size_t{0} - size);
}

// Before anybody can use the block: this PE's network may write to it as soon as another PE goes on.
void show_block(Call call, const Arena& arena, std::uint64_t offset, std::size_t size, bool all_wait) {
  if (zone_of(arena) == 0) [[likely]]
    return;
  checkers.add(offset, size, red_zone);
  if (all_wait) sync_world(call);
}

struct Decision {
  std::uint64_t offset, moved;  // of Allocation
};

// What PEs must agree on beside a number: which kind of call it is, and what decides where the block goes.
enum Kind : std::uint64_t { kAllocate, kAllocateAddresses, kReallocate, kRelease };
std::uint64_t terms_of(Kind kind, std::size_t alignment = 0, bool zero = false, Where where = Where::usual) {
  return kind | std::uint64_t{zero} << 8 | static_cast<std::uint64_t>(where) << 16 | alignment << 24;
}

// PE 0 decides, everybody enters the barrier, which brings what PE 0 has decided: nobody asks PE 0 for it.
template <class Decide>
Allocation decide_together(Call call, std::uint64_t argument, std::uint64_t terms, Decide decide) {
  Allocation decided{};
  if (rt.me == 0) {
    const Decision decision = decide();
    decided = {argument, terms, decision.offset, decision.moved, {}};
    std::strncpy(decided.call, call.name, sizeof decided.call - 1);
  }
  quiet(rt.world_context, call);
  sync_world_with(call, &decided, sizeof decided);
  if (decided.terms != terms) {
    fatal(
        "%s: PE 0 is in %s, or passes another alignment, other hints, or NULL where this PE does not; all "
        "PEs must make the same call with the same arguments",
        call.name, decided.call);
  }
  if (decided.argument != argument) {
    fatal("%s: this PE passes %zu, PE 0 passes %zu; all PEs must pass the same", call.name,
          static_cast<std::size_t>(argument), static_cast<std::size_t>(decided.argument));
  }
  return decided;
}

// Makes sure that every PE can hold its block.  If one cannot, nobody has it.
bool make_room(Call call, const Arena& arena, std::uint64_t offset, std::size_t size) {
  if (arena.region == nullptr) return true;
  const auto address = reinterpret_cast<std::uintptr_t>(arena.start + offset);
  if (all_succeeded(call, !arena.region->reserve(address, size))) return true;
  arena.region->discard(call, address, size);
  sync_world(call);
  if (rt.me == 0) arena.allocator->release(offset);
  return false;
}

void* block_at(const Arena& arena, std::uint64_t offset) {
  return offset == kNoBlock ? nullptr : arena.start + offset;
}

// The heap that a block is in.
Arena arena_of(Call call, const void* block) {
  const auto address = reinterpret_cast<std::uintptr_t>(block);
  if (rt.heap.holds(address, 1)) return memory_arena();
  if (rt.paged != nullptr && rt.paged->holds(address, 1)) return paged_arena();
  fatal(
      "%s: ptr %p is not in the symmetric heap; allowed are pointers that shmem_malloc and the like "
      "returned",
      call.name, block);
}

std::size_t offset_in(const Arena& arena, const void* block) {
  return static_cast<std::size_t>(static_cast<const std::byte*>(block) - arena.start);
}

void* no_room(Call call, const Arena& arena, std::size_t size) {
  if (const CallChecks* checks = call_checks.load())
    checks->no_room(call.name, size, arena.region != nullptr);
  return nullptr;
}

void note_new_block(const std::byte* block, std::size_t size) {
  if (rt.node_pes.size() < 2 || size < kSmallestAhead) return;
  const auto offset = static_cast<std::size_t>(block - rt.memory->heap(rt.node_rank));
  new_blocks.push_back({offset, size, kBarriersToFill});
  have_new_blocks = true;
}

// What is freed, or has another size, is not filled for anybody.
void forget_new_block(const void* block) {
  const auto offset =
      static_cast<std::size_t>(static_cast<const std::byte*>(block) - rt.memory->heap(rt.node_rank));
  std::erase_if(new_blocks, [offset](const NewBlock& noted) { return noted.offset == offset; });
  have_new_blocks = !new_blocks.empty();
}

constexpr const char* kNotABlock =
    "%s: ptr %p is not the start of an allocated block; has it been freed before?";

const char* keeps_size(const Arena& arena, const void* block) {
  return arena.region != nullptr ? arena.region->keeps_size(reinterpret_cast<std::uintptr_t>(block))
                                 : nullptr;
}

// PE 0: an offset for a block, aligned as its heap likes it best if there is room for that.
std::optional<std::size_t> find_room(const Arena& arena, std::size_t size, std::size_t alignment) {
  const std::size_t best = arena.region != nullptr ? arena.region->alignment_for(size) : 1;
  const std::size_t whole = with_zone(arena, size);
  if (best > alignment) {
    if (const auto offset = arena.allocator->allocate(whole, best)) return offset;
  }
  return arena.allocator->allocate(whole, alignment);
}

// After all have come: nobody uses the block any more.
void give_up(Call call, const Arena& arena, void* block, std::size_t size) {
  if (have_new_blocks && arena.region == nullptr) forget_new_block(block);
  if (arena.region != nullptr) arena.region->discard(call, reinterpret_cast<std::uintptr_t>(block), size);
  if (zone_of(arena) != 0) checkers.remove(offset_in(arena, block));
  if (const CallChecks* checks = call_checks.load()) checks->ended(call.name, block);
  if (rt.me == 0) arena.allocator->release(offset_in(arena, block));
}

}  // namespace

void* allocate(Call call, std::size_t size, std::size_t alignment, bool zero, Where where) {
  check_started(call);
  if (size == 0) return nullptr;
  alignment = std::max(alignment, kNaturalAlignment);
  const Arena arena = arena_for(call, where);
  const Allocation decided = decide_together(call, size, terms_of(kAllocate, alignment, zero, where), [&] {
    // What is aligned more than the heaps are would be so on PE 0 only.
    if (alignment > kLargestAlignment) {
      warn("%s: alignment is %zu; allowed are powers of two up to %zu", call.name, alignment,
           kLargestAlignment);
      return Decision{kNoBlock, 0};
    }
    return Decision{find_room(arena, size, alignment).value_or(kNoBlock), 0};
  });
  void* block = block_at(arena, decided.offset);
  if (alignment > kLargestAlignment) return nullptr;
  if (block == nullptr || !make_room(call, arena, decided.offset, size)) return no_room(call, arena, size);
  if (arena.region == nullptr) note_new_block(static_cast<std::byte*>(block), size);
  show_block(call, arena, decided.offset, size, !zero);
  if (zero) {
    std::memset(block, 0, size);
    sync_world(call);  // a peer may write as soon as its own call has returned
  }
  tell_of_block(call, block, size);
  return block;
}

void tell_of_block(Call call, const void* block, std::size_t size) {
  if (const CallChecks* checks = call_checks.load()) checks->made(call.name, block, size);
}

std::size_t free_bytes(Call call) {
  std::uint64_t left = 0;
  if (rt.me == 0) left = rt.user_heap - std::min(rt.user_heap, rt.allocator->bytes_in_use());
  sync_world_with(call, &left, sizeof left);
  return left;
}

void* allocate_addresses(Call call, std::size_t size, std::size_t alignment) {
  const Arena arena = paged_arena();
  const Allocation decided = decide_together(call, size, terms_of(kAllocateAddresses, alignment), [&] {
    return Decision{arena.allocator->allocate(size, alignment).value_or(kNoBlock), 0};
  });
  return block_at(arena, decided.offset);
}

bool all_succeeded(Call call, bool failed) {
  // In turn: nobody can add to the next one before PE 0 has cleared it.
  static std::size_t turn_of_failures = 0;
  std::uint64_t& sum = internal_area().failures[turn_of_failures++ % 2];
  std::uint64_t& next = internal_area().failures[turn_of_failures % 2];
  if (rt.me == 0) next = 0;
  if (failed) add_internal(call, &sum, 1, 0);
  sync_world(call);
  std::uint64_t failures = sum;  // of PE 0
  sync_world_with(call, &failures, sizeof failures);
  return failures == 0;
}

void* reallocate(Call call, void* block, std::size_t size) {
  check_started(call);
  if (block == nullptr) return allocate(call, size, 0, false);
  if (size == 0) {
    release(call, block);
    return nullptr;
  }
  const Arena arena = arena_of(call, block);
  const std::size_t old_offset = offset_in(arena, block);
  // The block may still be written to by peers that have not come here; only PE 0 looks at it, and only at
  // its size.
  const Allocation decided = decide_together(call, size, terms_of(kReallocate), [&] {
    // A failure has a return value, which programs test for.
    const auto old_size = arena.allocator->size_at(old_offset);
    const char* why = keeps_size(arena, block);
    if (!old_size) warn(kNotABlock, call.name, block);
    if (old_size && why != nullptr) warn("%s: ptr %p %s", call.name, block, why);
    if (!old_size || why != nullptr) return Decision{kNoBlock, 0};
    const std::size_t zone = zone_of(arena);
    if (arena.region == nullptr && arena.allocator->resize(old_offset, with_zone(arena, size)))
      return Decision{old_offset, 0};
    return Decision{find_room(arena, size, kNaturalAlignment).value_or(kNoBlock), *old_size - zone};
  });
  void* moved = block_at(arena, decided.offset);
  if (moved == block && have_new_blocks) forget_new_block(block);
  if (moved == nullptr) return decided.moved == 0 ? nullptr : no_room(call, arena, size);
  if (decided.moved == 0) {
    show_block(call, arena, decided.offset, size, true);
    tell_of_block(call, moved, size);
    return moved;
  }
  if (!make_room(call, arena, decided.offset, size)) return no_room(call, arena, size);
  show_block(call, arena, decided.offset, size, false);
  std::memcpy(moved, block, std::min<std::size_t>(decided.moved, size));
  sync_world(call);  // all have copied
  give_up(call, arena, block, decided.moved);
  tell_of_block(call, moved, size);
  return moved;
}

void release(Call call, void* block) {
  check_started(call);
  if (block == nullptr) return;
  const Arena arena = arena_of(call, block);
  const std::size_t offset = offset_in(arena, block);
  const Allocation decided = decide_together(call, offset, terms_of(kRelease), [&] {
    const auto size = arena.allocator->size_at(offset);
    if (!size) fatal(kNotABlock, call.name, block);
    return Decision{offset, *size};
  });
  give_up(call, arena, block, decided.moved);
}

std::size_t begin_checks() {
  red_zone = 0;
  for (int pe = 0; pe < rt.boot->job().size; ++pe)
    if (rt.memory->record(pe).checked != 0) red_zone = kRedZone;
  if (red_zone == 0) return 0;
  const std::ptrdiff_t blocks_at = reinterpret_cast<std::byte*>(rt.heap.base) - rt.memory->heap(rt.node_rank);
  std::vector<std::byte*> heaps{rt.memory->heap(rt.node_rank) + blocks_at};
  for (int i = 0; i < static_cast<int>(rt.node_pes.size()); ++i)
    if (i != rt.node_rank) heaps.push_back(rt.memory->heap(i) + blocks_at);
  // With what each PE gives out by itself, behind the heap.
  checkers.begin(std::move(heaps), rt.own_memory.base + rt.own_memory.size - rt.heap.base);
  return kRoomForRedZones;
}

void end_checks() { checkers.end(); }

void take_over_heap(std::size_t n) { checkers.add(0, n, 0); }

bool have_new_blocks = false;

void map_filled_blocks() {
  const std::size_t peers = rt.node_pes.size() - 1;
  std::erase_if(new_blocks, [peers](NewBlock& block) {
    return rt.memory->map_touched(block.offset, block.size, kLargestAhead) >=
               std::min(block.size * peers, kLargestAhead) ||
           --block.barriers_left == 0;
  });
  have_new_blocks = !new_blocks.empty();
}

}  // namespace shm
