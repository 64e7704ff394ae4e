// SPDX-License-Identifier: BSD-3-Clause
// The NVM heap as the core sees it: a region with put, get, atomics and waits of its own.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/region.hpp"
#include "nvm/interest.hpp"
#include "nvm/options.hpp"
#include "nvm/pager.hpp"
#include "nvm/pool.hpp"

namespace shm::nvm {

/// Thread safety: as Region; open() and close() while no other thread is inside the library.
class Heap final : public Region, private Host {
 public:
  static Result<std::unique_ptr<Heap>> open(const Options& options);
  ~Heap() override;

  /// After all PEs of the node have opened it, and before the first closes it.
  void start();
  /// First step of the end: nothing of this PE's is under way any more, and pages no longer leave.  When all
  /// PEs of the job have taken it, nobody sends anything any more: then stop().
  void rest();
  void stop();

  /// For SHMEM_INFO.
  std::string describe() const;

  void put(Context&, std::uintptr_t to, const void* source, std::size_t n, int pe, bool nbi) override;
  void get(Context&, void* dest, std::uintptr_t from, std::size_t n, int pe, bool nbi) override;
  void amo(Context&, std::uintptr_t at, AtomicOp, AtomicType, const void* value, const void* compare,
           void* fetch, int pe, bool nbi) override;
  void load(std::uintptr_t address, void* value, std::size_t n) override;
  void* ptr(std::uintptr_t address, int pe) override;
  void quiet(Context&) override {}
  void fence(Context&) override {}
  bool reserve(std::uintptr_t address, std::size_t n) override;
  void discard(std::uintptr_t address, std::size_t n) override;

 private:
  Heap(const PoolShape& shape, std::byte* segment, bool cooperative);
  std::byte* pin(PageNumber page, Access access);
  std::byte* pin_here(PageNumber page, Access access);
  std::byte* ask_to_pin(PageNumber page, Access access);
  bool goes_there(PageNumber page, std::size_t n);
  bool ask(Request::Kind kind, PageNumber first, PageNumber last);
  template <class Piece>
  void for_pieces(std::uint64_t offset, std::size_t n, int pe, std::size_t largest, Piece piece);
  void send(Operation operation, const std::byte* data, int pe, struct Awaiting& awaiting);
  void wait(const struct Awaiting& awaiting, std::uint32_t left, int pe) const;
  static void on_operation(void* heap, int from_pe, const std::byte* message, std::size_t n);
  static void on_page(void* heap, int from_pe, const std::byte* message, std::size_t n);
  static void on_answer(void* heap, int from_pe, const std::byte* message, std::size_t n);

  void map(std::byte* at, std::size_t offset, std::size_t n, bool writable) override;
  void unmap(std::byte* at, std::size_t n) override;
  void answer(int pe, const std::byte* message, std::size_t n) override;
  void send(int pe, const std::byte* message, std::size_t n) override;

  std::byte* const segment_;
  const Pool pool_;
  const bool cooperative_;
  const Nodes nodes_;
  Interest interest_;
  std::unique_ptr<Pager> pager_;
};

}  // namespace shm::nvm
