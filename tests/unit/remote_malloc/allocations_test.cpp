// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>
#include <vector>

#include "inside.hpp"
#include "patterns.hpp"

namespace remote_malloc {
namespace {

class Allocations : public Enabled {
 protected:
  void SetUp() override { blocks_ = paged::counts().blocks; }
  void TearDown() override {
    paged::set_room(paged::kPages);
    EXPECT_EQ(paged::counts().blocks, blocks_) << "blocks are left";
  }
  std::size_t live() const { return paged::counts().blocks - blocks_; }

 private:
  std::size_t blocks_ = 0;
};

// The compiler must not know sizes that are too large.
std::size_t hidden(std::size_t n) {
  volatile std::size_t value = n;
  return value;
}

// Nor what becomes of a block.
void* (*volatile reallocate_hidden)(void*, std::size_t) = std::realloc;

bool all_zero(const void* at, std::size_t n) {
  const auto* bytes = static_cast<const std::uint8_t*>(at);
  return std::all_of(bytes, bytes + n, [](std::uint8_t byte) { return byte == 0; });
}

TEST_F(Allocations, FromTheLimitOnAreRemote) {
  void* small = std::malloc(kLimit - 1);
  EXPECT_FALSE(is_remote(small));
  EXPECT_EQ(live(), 0u);
  void* large = std::malloc(kLimit);
  EXPECT_TRUE(is_remote(large));
  EXPECT_EQ(live(), 1u);
  EXPECT_EQ(malloc_usable_size(large), kLimit);
  EXPECT_GE(malloc_usable_size(small), kLimit - 1);
  EXPECT_EQ(malloc_usable_size(nullptr), 0u);
  std::free(small);
  std::free(large);
  std::free(nullptr);
}

TEST_F(Allocations, TheAddressesOfOthersAreNotRemote) {
  Block block(kLimit);
  EXPECT_TRUE(blocks::touches(block.at() + kLimit - 1, 1));
  EXPECT_TRUE(blocks::touches(block.at() - 1, 2));
  EXPECT_FALSE(blocks::touches(block.at(), 0));
  EXPECT_FALSE(blocks::touches(nullptr, 1));
  EXPECT_TRUE(blocks::touches(nullptr, SIZE_MAX));
  EXPECT_FALSE(is_remote(&block));
}

TEST_F(Allocations, ZerosAreZerosThoughTheMemoryWasUsed) {
  for (int i = 0; i < 3; ++i) {
    void* block = std::calloc(3, kLimit / 3 + 1);
    ASSERT_TRUE(is_remote(block));
    EXPECT_TRUE(all_zero(block, 3 * (kLimit / 3 + 1)));
    fill(block, kLimit, 1);
    std::free(block);
  }
  void* small = std::calloc(7, 100);
  EXPECT_FALSE(is_remote(small));
  EXPECT_TRUE(all_zero(small, 700));
  std::free(small);
}

TEST_F(Allocations, SizesThatDoNotFitANumberAreRefused) {
  for (const auto& [count, bytes] : {std::pair{hidden(SIZE_MAX / 2), hidden(3)},
                                     {hidden(SIZE_MAX), hidden(SIZE_MAX)},
                                     {hidden(kLimit), hidden(SIZE_MAX / kLimit + 1)},
                                     {hidden((std::size_t{1} << 42) + 1), hidden(std::size_t{1} << 22)}}) {
    errno = 0;
    EXPECT_EQ(std::calloc(count, bytes), nullptr);
    EXPECT_EQ(errno, ENOMEM);
    errno = 0;
    EXPECT_EQ(reallocarray(nullptr, count, bytes), nullptr);
    EXPECT_EQ(errno, ENOMEM);
  }
  errno = 0;
  EXPECT_EQ(std::malloc(hidden(SIZE_MAX)), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(pvalloc(hidden(SIZE_MAX - 1)), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  void* block = nullptr;
  EXPECT_EQ(posix_memalign(&block, 64, hidden(SIZE_MAX - 2)), ENOMEM);
  EXPECT_EQ(block, nullptr);
}

TEST_F(Allocations, ReallocCrossesTheLimitBothWaysAndKeepsContents) {
  const std::size_t sizes[] = {100,        kLimit - 1, kLimit, 3 * kLimit + 5, 2 * kLimit, kLimit + 1,
                               kLimit - 1, 5 * kLimit, 10,     kLimit};
  std::size_t old = 100;
  void* block = std::realloc(nullptr, old);
  fill(block, old, 3);
  for (const std::size_t size : sizes) {
    block = std::realloc(block, size);
    ASSERT_NE(block, nullptr);
    EXPECT_EQ(is_remote(block), size >= kLimit) << size;
    EXPECT_GE(malloc_usable_size(block), size);
    EXPECT_EQ(first_other(block, std::min(old, size), 3), std::min(old, size)) << size;
    EXPECT_EQ(live(), size >= kLimit ? 1u : 0u);
    fill(block, size, 3);
    old = size;
  }
  EXPECT_EQ(std::realloc(block, hidden(0)), nullptr);
  EXPECT_EQ(live(), 0u);
}

TEST_F(Allocations, ReallocKeepsABlockThatShrinksALittle) {
  void* block = std::malloc(4 * kLimit);
  EXPECT_EQ(reallocate_hidden(block, 3 * kLimit), block);
  void* smaller = reallocate_hidden(block, kLimit);
  EXPECT_NE(smaller, block) << "or three quarters of it would never be free";
  std::free(smaller);
}

TEST_F(Allocations, ReallocOfNothingAllocates) {
  void* block = std::realloc(nullptr, kLimit);
  EXPECT_TRUE(is_remote(block));
  std::free(block);
  block = reallocarray(nullptr, 16, kLimit / 16);
  EXPECT_TRUE(is_remote(block));
  std::free(block);
}

TEST_F(Allocations, WhereThereIsNoRoomThereIsNoLocalMemoryInstead) {
  paged::set_room(2 * kLimit / paged::kPage);
  void* block = std::malloc(kLimit);
  ASSERT_NE(block, nullptr);
  fill(block, kLimit, 4);
  errno = 0;
  EXPECT_EQ(std::malloc(hidden(2 * kLimit)), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  errno = 0;
  EXPECT_EQ(reallocate_hidden(block, 2 * kLimit), nullptr);
  EXPECT_EQ(errno, ENOMEM);
  EXPECT_EQ(first_other(block, kLimit, 4), kLimit) << "the block is as it was";
  void* aligned = nullptr;
  EXPECT_EQ(posix_memalign(&aligned, 4096, 2 * kLimit), ENOMEM);
  EXPECT_EQ(aligned, nullptr);
  std::free(block);
}

TEST_F(Allocations, ErrnoStaysWhereAllIsWell) {
  errno = 77;
  void* block = std::malloc(kLimit);
  block = std::realloc(block, 3 * kLimit);
  std::free(block);
  EXPECT_EQ(errno, 77);
}

void* by_posix_memalign(std::size_t alignment, std::size_t bytes) {
  void* block = nullptr;
  return posix_memalign(&block, alignment, bytes) == 0 ? block : nullptr;
}

TEST_F(Allocations, AlignmentIsKept) {
  using Allocate = void* (*)(std::size_t, std::size_t);
  for (const Allocate allocate :
       {Allocate{by_posix_memalign}, Allocate{std::aligned_alloc}, Allocate{memalign}}) {
    for (std::size_t alignment = 8; alignment <= 4 << 20; alignment *= 2) {
      for (const std::size_t bytes : {std::size_t{4096}, kLimit, kLimit + 12345}) {
        void* first = allocate(alignment, bytes);  // the second one begins elsewhere
        void* second = allocate(alignment, bytes);
        for (void* block : {first, second}) {
          ASSERT_NE(block, nullptr);
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % alignment, 0u);
          EXPECT_EQ(is_remote(block), bytes >= kLimit);
          EXPECT_GE(malloc_usable_size(block), bytes);
          fill(block, bytes, alignment);
        }
        first = std::realloc(first, bytes + 2 * kLimit);
        EXPECT_EQ(first_other(first, bytes, alignment), bytes);
        EXPECT_EQ(first_other(second, bytes, alignment), bytes);
        std::free(first);
        std::free(second);
        EXPECT_EQ(live(), 0u);
      }
    }
  }
}

TEST_F(Allocations, PagesAreAligned) {
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  for (void* block : {valloc(kLimit), pvalloc(kLimit - 1), valloc(1), pvalloc(1)}) {
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(block) % page, 0u);
    std::free(block);
  }
  void* whole = pvalloc(kLimit - 1);
  EXPECT_TRUE(is_remote(whole)) << "pvalloc rounds up to the limit";
  EXPECT_EQ(malloc_usable_size(whole), kLimit);
  std::free(whole);
}

TEST_F(Allocations, AlignmentsThatAreNoneAreRefused) {
  void* block = nullptr;
  for (const std::size_t alignment : {hidden(0), hidden(3), hidden(4), hidden(24)})
    EXPECT_EQ(posix_memalign(&block, alignment, kLimit), EINVAL) << alignment;
  EXPECT_EQ(block, nullptr);
}

bool allocates_remotely() {
  void* block = std::malloc(kLimit);
  const bool remote = is_remote(block);
  std::free(block);
  return remote;
}

TEST_F(Allocations, InsideAtollAndInItsThreadsTheyAreLocal) {
  bool in_thread = true, in_threads_thread = true, in_own_thread = false;
  {
    const Inside inside;
    EXPECT_FALSE(allocates_remotely());
    void* block = std::malloc(kLimit);
    block = std::realloc(block, 2 * kLimit);
    EXPECT_FALSE(is_remote(block));
    std::free(block);
    std::thread thread([&] {
      in_thread = allocates_remotely();
      std::thread([&] { in_threads_thread = allocates_remotely(); }).join();
    });
    thread.join();
  }
  EXPECT_FALSE(in_thread);
  EXPECT_FALSE(in_threads_thread);
  EXPECT_TRUE(allocates_remotely());
  std::thread([&] { in_own_thread = allocates_remotely(); }).join();
  EXPECT_TRUE(in_own_thread);
}

// 0, or which of these is wrong.
int use_memory_in_child(void* remote) {
  void* large = std::malloc(3 * kLimit);
  if (large == nullptr || is_remote(large)) return 1;
  std::memset(large, 1, 3 * kLimit);
  large = std::realloc(large, 5 * kLimit);
  if (large == nullptr || is_remote(large)) return 2;
  std::free(large);
  if (malloc_usable_size(remote) != 0) return 3;
  errno = 0;
  if (std::realloc(remote, 2 * kLimit) != nullptr || errno != ENOMEM) return 4;
  std::free(remote);
  return 0;
}

TEST_F(Allocations, AForkedChildHasLocalMemory) {
  void* remote = std::malloc(kLimit);
  const pid_t child = fork();
  if (child == 0) _exit(use_memory_in_child(remote));
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0) << "number " << WEXITSTATUS(status);
  EXPECT_TRUE(allocates_remotely());
  std::free(remote);
}

// ---- Random calls by several threads, against a model of what each block holds

struct Held {
  void* at = nullptr;
  std::size_t bytes = 0, seed = 0;
};

class RandomCaller {
 public:
  explicit RandomCaller(unsigned seed) : random_(seed) {}

  // Returns what went wrong; empty: nothing.
  std::string call(int times) {
    for (int i = 0; i < times; ++i) {
      Held& held = held_[random_() % held_.size()];
      if (std::string fault = step(held); !fault.empty()) return fault + " in call " + std::to_string(i);
    }
    for (Held& held : held_) {
      if (std::string fault = check(held); !fault.empty()) return fault + " at the end";
      std::free(held.at);
    }
    return {};
  }

 private:
  std::size_t any_size() {
    switch (random_() % 4) {
      case 0: return random_() % 2000;
      case 1: return kLimit - 2 + random_() % 4;
      case 2: return kLimit + random_() % (2 * kLimit);
      default: return random_() % 20000;
    }
  }

  std::string step(Held& held) {
    if (std::string fault = check(held); !fault.empty()) return fault;
    const std::size_t bytes = any_size();
    if (held.at != nullptr && random_() % 3 == 0) return replace(held, bytes);
    std::free(held.at);
    held = {};
    if (random_() % 4 == 0) return {};
    return make(held, bytes);
  }

  std::string replace(Held& held, std::size_t bytes) {
    const std::size_t old = held.bytes;
    void* moved = std::realloc(held.at, bytes);
    if (moved == nullptr && bytes != 0) return "realloc: no memory";
    held = {moved, bytes, held.seed};
    if (moved == nullptr) return {};
    const std::size_t kept = std::min(old, bytes);
    if (first_other(moved, kept, held.seed) != kept) return "realloc lost contents";
    return finish(held);
  }

  std::string make(Held& held, std::size_t bytes) {
    const std::size_t alignment = std::size_t{16} << random_() % 15;
    const bool zeros = random_() % 2 == 0;
    held = {zeros ? std::calloc(bytes, 1) : memalign(alignment, bytes), bytes, random_()};
    if (held.at == nullptr) return "no memory";
    if (zeros && !all_zero(held.at, bytes)) return "calloc: no zeros";
    if (!zeros && reinterpret_cast<std::uintptr_t>(held.at) % alignment != 0) return "memalign: not aligned";
    return finish(held);
  }

  std::string finish(const Held& held) {
    if (is_remote(held.at) != (held.bytes >= kLimit)) return "on the wrong side of the limit";
    if (malloc_usable_size(held.at) < held.bytes) return "too small";
    fill(held.at, held.bytes, held.seed);
    return {};
  }

  std::string check(const Held& held) {
    if (held.at == nullptr || first_other(held.at, held.bytes, held.seed) == held.bytes) return {};
    return "contents differ";
  }

  std::mt19937 random_;
  std::array<Held, 8> held_{};
};

TEST_F(Allocations, FourThousandRandomCallsOfFourThreads) {
  constexpr int kThreads = 4, kCalls = 1000;
  std::vector<std::string> faults(kThreads);
  std::vector<std::thread> threads;
  for (unsigned t = 0; t < kThreads; ++t)
    threads.emplace_back([&faults, t] { faults[t] = RandomCaller(t + 1).call(kCalls); });
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(faults, std::vector<std::string>(kThreads));
}

}  // namespace
}  // namespace remote_malloc
