// SPDX-License-Identifier: BSD-3-Clause
// Regions for tests: one that holds nothing, and one that counts what it is asked.
#pragma once

#include "core/region.hpp"

namespace shm::test {

class EmptyRegion : public Region {
 public:
  using Region::Region;
  void put(Context*, std::uintptr_t, const void*, std::size_t, int, bool) override {}
  void get(Context*, void*, std::uintptr_t, std::size_t, int, bool) override {}
  void amo(Context*, std::uintptr_t, AtomicOp, AtomicType, const void*, const void*, void*, int,
           bool) override {}
  void load(std::uintptr_t, void*, std::size_t) override {}
  void* ptr(std::uintptr_t, int) override { return nullptr; }
  void quiet(Context&) override {}
  void fence(Context&) override {}
};

class CountingRegion final : public EmptyRegion {
 public:
  using EmptyRegion::EmptyRegion;
  void quiet(Context&) override { ++quiets; }
  void fence(Context&) override { ++fences; }
  int quiets = 0, fences = 0;
};

}  // namespace shm::test
