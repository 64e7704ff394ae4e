// SPDX-License-Identifier: BSD-3-Clause
// The runtime of a PE that is alone, and whose symmetric heap is an array.
#pragma once

#include <gtest/gtest.h>

#include <array>

#include "core/runtime.hpp"

namespace shm {

template <class T, std::size_t N>
class ArrayHeap : public ::testing::Test {
 protected:
  ArrayHeap() {
    rt.npes = 1;
    rt.me = 0;
    rt.heap = {reinterpret_cast<std::uintptr_t>(heap.data()), sizeof heap, &no_delta_};
  }
  ~ArrayHeap() override {
    rt.npes = 0;
    rt.heap = {};
  }

  std::array<T, N> heap{};

 private:
  std::ptrdiff_t no_delta_ = 0;
};

}  // namespace shm
