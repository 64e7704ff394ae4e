// SPDX-License-Identifier: BSD-3-Clause
#include "kv/functions.hpp"

#include <array>
#include <atomic>

#include "base/fatal.hpp"
#include "coll/barrier.hpp"
#include "coll/check_same.hpp"

namespace shm::kv {
namespace {

constexpr std::uint32_t kMostFunctions = 1024;
std::array<std::atomic<shmemx_kv_function_t>, kMostFunctions> functions;
std::uint32_t registrations = 0;

}  // namespace

std::uint32_t register_function(Call call, shmemx_kv_function_t function) {
  if (registrations == kMostFunctions)
    fatal("%s: %u functions are registered; allowed are as many", call.name, kMostFunctions);
  check_same(call, {{"the number of functions", registrations}});
  const std::uint32_t number = registrations++;
  functions[number].store(function, std::memory_order_release);
  sync_world(call);  // nobody asks a PE for one that it does not have
  return number;
}

shmemx_kv_function_t registered(std::uint32_t number) {
  return number < kMostFunctions ? functions[number].load(std::memory_order_acquire) : nullptr;
}

void forget_functions() {
  for (std::uint32_t i = 0; i < registrations; ++i) functions[i].store(nullptr, std::memory_order_relaxed);
  registrations = 0;
}

}  // namespace shm::kv
