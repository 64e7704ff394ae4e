// SPDX-License-Identifier: BSD-3-Clause
// An environment that a test may change: what it had is restored afterwards.
#pragma once

#include <cstdlib>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace shm::test {

class ScopedEnvironment {
 public:
  ScopedEnvironment() = default;
  ~ScopedEnvironment() {
    for (auto entry = saved_.rbegin(); entry != saved_.rend(); ++entry) put(entry->first, entry->second);
  }
  ScopedEnvironment(const ScopedEnvironment&) = delete;
  ScopedEnvironment& operator=(const ScopedEnvironment&) = delete;

  void set(const std::string& name, const std::string& value) { change(name, value); }
  void unset(const std::string& name) { change(name, std::nullopt); }

 private:
  using Value = std::optional<std::string>;

  void change(const std::string& name, const Value& value) {
    const char* old = std::getenv(name.c_str());
    saved_.emplace_back(name, old != nullptr ? Value(old) : std::nullopt);
    put(name, value);
  }
  static void put(const std::string& name, const Value& value) {
    if (value) {
      setenv(name.c_str(), value->c_str(), 1);
    } else {
      unsetenv(name.c_str());
    }
  }

  std::vector<std::pair<std::string, Value>> saved_;
};

}  // namespace shm::test
