// SPDX-License-Identifier: BSD-3-Clause
// A PMIx server that answers as a test wants, in place of libpmix's client: the functions in fake_pmix.cpp
// take precedence over the shared library's.
#pragma once

#include <pmix.h>
#include <signal.h>

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

namespace shm::test {

struct FakePmix {
  /// Fills in an answer; one that is empty stands for "not found".
  using Answer = std::function<void(pmix_value_t&)>;

  pmix_rank_t rank = 0;
  std::string nspace = "job-1.secret";
  std::map<std::pair<pmix_rank_t, std::string>, Answer> answers;
  /// What calls return, by name: "PMIx_Put".  Those that are not here succeed.
  std::map<std::string, pmix_status_t> failures;
  int absent_first = 0;  ///< so many calls of PMIx_Get find nothing

  sigset_t blocked_at_init;                      ///< the signals that threads of PMIx do not take
  std::vector<std::string> calls;                ///< their names, but for PMIx_Get
  std::vector<std::byte> put;                    ///< what was given to the last PMIx_Put
  std::map<std::string, std::uint64_t> numbers;  ///< or if it was a number, by key
  pmix_scope_t scope = PMIX_SCOPE_UNDEF;
  bool collects = false;  ///< what was asked of the last PMIx_Fence
  int seconds = 0;        ///< the same
  std::string how;        ///< what was asked of the last PMIx_Get: the key of the one flag, or nothing
  int abort_code = -1;
  std::string abort_message;

  FakePmix() { current() = this; }
  ~FakePmix() { current() = nullptr; }
  FakePmix(const FakePmix&) = delete;
  FakePmix& operator=(const FakePmix&) = delete;

  /// The one that answers; null: libpmix itself does.
  static FakePmix*& current() {
    static FakePmix* server = nullptr;
    return server;
  }

  pmix_status_t called(const std::string& name) {
    calls.push_back(name);
    const auto failure = failures.find(name);
    return failure == failures.end() ? PMIX_SUCCESS : failure->second;
  }
};

inline FakePmix::Answer text_answer(const std::string& text) {
  return [text](pmix_value_t& value) { PMIx_Value_load(&value, text.c_str(), PMIX_STRING); };
}

/// A number of any of PMIx's integer types.
template <class T>
FakePmix::Answer number_answer(T number, pmix_data_type_t type) {
  return [number, type](pmix_value_t& value) { PMIx_Value_load(&value, &number, type); };
}

}  // namespace shm::test
