// SPDX-License-Identifier: BSD-3-Clause
// Functions as they would be if this library were not there: the next definition behind it.
#pragma once

#include <atomic>

/// A function that programs call in the place of another library's.
#define REMOTE_MALLOC_WRAPPER extern "C" [[gnu::visibility("default")]]

namespace remote_malloc {

/// Ends the process with a line if there is none.
void* find_next(const char* name);

/// Whether this thread is in find_next(), which may allocate.
bool finding_next();

/// Thread safety: any thread, and signal handlers once it was called.
template <typename Function>
class Next;
template <typename Result, typename... Arguments>
class Next<Result(Arguments...)> {
 public:
  explicit constexpr Next(const char* name) : name_(name) {}

  Result operator()(Arguments... arguments) {
    Function function = found_.load(std::memory_order_relaxed);
    if (function == nullptr) [[unlikely]]
      function = find();
    return function(arguments...);
  }

 private:
  using Function = Result (*)(Arguments...);

  // Several threads may do it at the same time, and find the same.
  [[gnu::cold]] Function find() {
    const auto function = reinterpret_cast<Function>(find_next(name_));
    found_.store(function, std::memory_order_relaxed);
    return function;
  }

  const char* const name_;
  std::atomic<Function> found_{nullptr};
};

}  // namespace remote_malloc
