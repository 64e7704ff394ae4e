// SPDX-License-Identifier: BSD-3-Clause
// Regions: address ranges with their own rules for put, get, atomics, waiting and pointers.
//
// The seam through which paged memory plugs in.  A region is found by its addresses, where the heap and the
// statics have been missed: what is in memory is as fast with regions as without.  Addresses of a region are
// symmetric: the range is the same size on all PEs, and an object has the same offset in it.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/ranges_meet.hpp"
#include "core/context.hpp"
#include "core/runtime.hpp"

namespace shm {

/// Implementations may block and are called by any thread; errors end the job (fatal()).
/// Addresses are in this process; `pe` is a world PE and may be this one.
class Region {
 public:
  Region(const char* name, std::uintptr_t base, std::size_t size) : name_(name), base_(base), size_(size) {}
  virtual ~Region() = default;

  /// For messages: "the NVM heap".
  const char* name() const { return name_; }
  std::uintptr_t base() const { return base_; }
  std::size_t size() const { return size_; }
  bool holds(std::uintptr_t address, std::size_t n) const {
    return address - base_ < size_ && n <= size_ - (address - base_);
  }

  // Operations of a context are complete when its quiet() returns; those of none (null) when their call does.

  /// Returns when `source` may be reused, or, with `nbi`, at any time before quiet.
  virtual void put(Context*, std::uintptr_t to, const void* source, std::size_t n, int pe, bool nbi) = 0;
  /// Returns when the data are in `dest`, or, with `nbi`, at any time before quiet.
  virtual void get(Context*, void* dest, std::uintptr_t from, std::size_t n, int pe, bool nbi) = 0;
  /// `fetch` is null for operations that return nothing.
  virtual void amo(Context*, std::uintptr_t at, AtomicOp, AtomicType, const void* value, const void* compare,
                   void* fetch, int pe, bool nbi) = 0;

  /// Current value of this PE's own n <= 8 bytes at `address`, as wait_until and test see it: an update that
  /// a PE has completed is returned sooner or later, and what preceded it in order is then visible to loads.
  virtual void load(std::uintptr_t address, void* value, std::size_t n) = 0;

  /// Before several steps in the memory around `address` of `pe`.  bring() makes them quick where it can.
  /// better_there(): whether that PE had better take them; if not, it is as after bring().
  virtual void bring(std::uintptr_t /*address*/, int /*pe*/, bool /*writes*/) {}
  virtual bool better_there(std::uintptr_t /*address*/, int /*pe*/, bool /*writes*/) { return false; }

  /// Load/store address of the object on `pe`, or null.
  virtual void* ptr(std::uintptr_t address, int pe) = 0;

  /// What a block of n bytes is best aligned to.
  virtual std::size_t alignment_for(std::size_t /*n*/) const { return 1; }
  /// Makes sure that this PE's [address, address + n) can hold what is written there, or gives it up.  A
  /// failure is said in a line on stderr.
  virtual bool reserve(std::uintptr_t /*address*/, std::size_t /*n*/) { return true; }
  virtual void discard(const Call&, std::uintptr_t /*address*/, std::size_t /*n*/) {}
  /// All of this PE's [address, address + n) will be written before it is read: what it holds may be lost.
  virtual void will_overwrite(std::uintptr_t /*address*/, std::size_t /*n*/) {}
  /// What keeps the block at `address` from being given another size, as a sentence; null: nothing.  The same
  /// on all PEs.
  virtual const char* keeps_size(std::uintptr_t /*address*/) const { return nullptr; }

  /// Completes, or orders, what the context has issued to this region.
  virtual void quiet(Context&) = 0;
  virtual void fence(Context&) = 0;
  /// The call that called quiet() returns: the network's operations are complete too.
  virtual void quiet_ends() {}

 private:
  const char* name_;
  std::uintptr_t base_;
  std::size_t size_;
};

/// Registered regions must not overlap one another, the heap or the statics; at most kMaxRegions.
/// Thread safety: register and remove while no other thread is inside the library.
inline constexpr int kMaxRegions = 4;
void add_region(Region*);
void remove_region(Region*);

/// Memory that no other PE can reach, but whose pages come and go as those of a region do; and that there is
/// none any more.  Thread safety: as add_region().
void add_private_pages(std::uintptr_t base, std::size_t size);
void remove_private_pages();

/// The region that holds all of [address, address + n), or null.  The first form is for what is rarely in
/// one.
[[gnu::cold]] Region* look_for_region(std::uintptr_t address, std::size_t n);
inline Region* find_region(std::uintptr_t address, std::size_t n) {
  return rt.regions.holds(address) ? look_for_region(address, n) : nullptr;
}
inline Region* find_region(const void* address, std::size_t n) {
  return find_region(reinterpret_cast<std::uintptr_t>(address), n);
}
inline bool in_region(const void* address) { return find_region(address, 1) != nullptr; }

/// Whether pages there come and go, symmetric memory or not: a system call on them may fail with EFAULT, and
/// an access may have to wait.
[[gnu::cold]] bool look_for_pages(std::uintptr_t address, std::size_t n);
/// Of any of n bytes: an array that was there before remote memory took it over has a head and a tail
/// outside.
inline bool on_pages(const void* address, std::size_t n) {
  const auto a = reinterpret_cast<std::uintptr_t>(address);
  return ranges_meet(a, n, rt.regions.base, rt.regions.size) && look_for_pages(a, n);
}

/// Before an operation of the context on the region, if there is one: quiet and fence of the context then ask
/// the regions.  Returns the region.
inline Region* enter_region(Context& context, Region* region) {
  if (region != nullptr) context.uses_regions.store(true, std::memory_order_relaxed);
  return region;
}

/// Region::quiet, Region::fence and Region::quiet_ends of all regions.
void quiet_regions(Context&);
void fence_regions(Context&);
void end_quiet_of_regions();

}  // namespace shm
