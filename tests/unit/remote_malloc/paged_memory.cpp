// SPDX-License-Identifier: BSD-3-Clause
#include "paged_memory.hpp"

#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <mutex>
#include <vector>

#include "remote_memory.hpp"

namespace paged {
namespace {

std::byte* area = nullptr;
std::atomic<std::size_t> faults{0};
std::atomic<int> starts{0}, ends{0};
void (*also_at_start)() = nullptr;
bool alone_now = true;

// Of the pages that can be accessed.  A thread that has it takes no signals.
std::atomic_flag pages_lock{};
std::array<bool, kPages> open_pages{};
std::array<std::size_t, kOpen> order{};  // of their opening: a ring
std::size_t next_in_order = 0, order_filled = 0;

class PagesLocked {
 public:
  PagesLocked() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
    while (pages_lock.test_and_set(std::memory_order_acquire)) sched_yield();
  }
  ~PagesLocked() {
    pages_lock.clear(std::memory_order_release);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t before_;
};

void permit(std::size_t page, bool open) {
  open_pages[page] = open;
  if (mprotect(area + page * kPage, kPage, open ? PROT_READ | PROT_WRITE : PROT_NONE) != 0) abort();
}

// What was taken over: pages of it are closed by close_all() only.
struct Taken {
  std::byte* at = nullptr;
  std::size_t bytes = 0;
};
std::array<Taken, 8> taken_over{};
std::atomic<std::size_t> taken_over_count{0};

bool open_taken(std::byte* at) {
  for (std::size_t i = 0; i < taken_over_count.load(); ++i) {
    const auto offset = static_cast<std::size_t>(at - taken_over[i].at);
    if (offset >= taken_over[i].bytes) continue;
    faults.fetch_add(1);
    return mprotect(taken_over[i].at + offset / kPage * kPage, kPage, PROT_READ | PROT_WRITE) == 0;
  }
  return false;
}

void close_taken() {
  for (std::size_t i = 0; i < taken_over_count.load(); ++i)
    if (mprotect(taken_over[i].at, taken_over[i].bytes, PROT_NONE) != 0) abort();
}

struct sigaction others {};

void on_fault(int number, siginfo_t* info, void* context) {
  if (open_taken(static_cast<std::byte*>(info->si_addr))) return;
  const auto offset = static_cast<std::size_t>(static_cast<std::byte*>(info->si_addr) - area);
  if (area == nullptr || offset >= kPages * kPage) {
    if ((others.sa_flags & SA_SIGINFO) == 0) abort();  // what comes with the program's passes on
    return others.sa_sigaction(number, info, context);
  }
  const PagesLocked locked;
  faults.fetch_add(1);
  const std::size_t page = offset / kPage;
  if (open_pages[page]) return;
  if (order_filled == kOpen && open_pages[order[next_in_order]]) permit(order[next_in_order], false);
  order[next_in_order] = page;
  next_in_order = (next_in_order + 1) % kOpen;
  if (order_filled < kOpen) ++order_filled;
  permit(page, true);
}

std::mutex blocks_mutex;
std::vector<bool> taken(kPages);
std::map<const void*, std::size_t> sizes;
std::size_t room = kPages, used = 0;

std::size_t pages_of(std::size_t bytes) { return (bytes + kPage - 1) / kPage; }

// The first of `n` free pages in a row; kPages: there are none.
std::size_t find_free(std::size_t n) {
  std::size_t row = 0;
  for (std::size_t page = 0; page < kPages; ++page) {
    row = taken[page] ? 0 : row + 1;
    if (row == n) return page + 1 - n;
  }
  return kPages;
}

void fail(const char* what) {
  std::fprintf(stderr, "paged memory: %s\n", what);
  abort();
}

}  // namespace

Counts counts() {
  const std::scoped_lock guard(blocks_mutex);
  return {starts.load(), ends.load(), faults.load(), sizes.size()};
}

void set_room(std::size_t pages) {
  const std::scoped_lock guard(blocks_mutex);
  room = pages;
}

void close_all() {
  close_taken();
  const PagesLocked locked;
  for (std::size_t page = 0; page < kPages; ++page) {
    if (open_pages[page]) permit(page, false);
  }
}

bool is_open(const void* address) {
  const PagesLocked locked;
  return open_pages[static_cast<std::size_t>(static_cast<const std::byte*>(address) - area) / kPage];
}

void set_alone(bool alone) { alone_now = alone; }

void at_start(void (*function)()) { also_at_start = function; }

}  // namespace paged

namespace remote_malloc::memory {

using namespace paged;

void start() {
  if (starts.fetch_add(1) != 0) fail("started twice");
  void* got = mmap(nullptr, kPages * kPage, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (got == MAP_FAILED) fail("no addresses");
  area = static_cast<std::byte*>(got);
  struct sigaction action {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigaction(SIGSEGV, &action, &others);
  if (also_at_start != nullptr) also_at_start();
}

void end() {
  ends.fetch_add(1);
  munmap(area, kPages * kPage);
  area = nullptr;
}

bool alone() { return alone_now; }

std::size_t take_over(void* at, std::size_t bytes) {
  const std::size_t n = taken_over_count.load();
  if (n == taken_over.size()) return 0;
  const std::size_t before = (0 - reinterpret_cast<std::uintptr_t>(at)) % kPage;
  if (bytes < before + kPage) return 0;
  taken_over[n] = {static_cast<std::byte*>(at) + before, (bytes - before) / kPage * kPage};
  taken_over_count.store(n + 1);
  close_taken();
  return taken_over[n].bytes;
}

void* allocate(std::size_t bytes) {
  const std::scoped_lock guard(blocks_mutex);
  if (bytes > kPages * kPage) return nullptr;
  const std::size_t n = pages_of(bytes), first = used + n <= room ? find_free(n) : kPages;
  if (first == kPages) return nullptr;
  for (std::size_t page = first; page < first + n; ++page) taken[page] = true;
  used += n;
  sizes.emplace(area + first * kPage, bytes);
  return area + first * kPage;
}

void release(void* block) {
  const std::scoped_lock guard(blocks_mutex);
  const auto found = sizes.find(block);
  if (found == sizes.end()) fail("no such block");
  const std::size_t first = static_cast<std::size_t>(static_cast<std::byte*>(block) - area) / kPage;
  const std::size_t n = pages_of(found->second);
  {
    const PagesLocked locked;
    for (std::size_t page = first; page < first + n; ++page) {
      if (open_pages[page]) permit(page, false);
    }
    madvise(block, n * kPage, MADV_DONTNEED);  // the next block reads as zeros
  }
  for (std::size_t page = first; page < first + n; ++page) taken[page] = false;
  used -= n;
  sizes.erase(found);
}

std::size_t size_of(const void* block) {
  const std::scoped_lock guard(blocks_mutex);
  const auto found = sizes.find(block);
  return found != sizes.end() ? found->second : 0;
}

}  // namespace remote_malloc::memory
