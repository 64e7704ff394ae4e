// SPDX-License-Identifier: BSD-3-Clause
// Operations on the NVM heap that this PE has sent and that are not answered.
#pragma once

#include <atomic>
#include <cstring>

#include "base/fatal.hpp"
#include "base/names.hpp"
#include "nvm/coherence/message_check.hpp"

namespace shm::nvm {

/// One of them.
struct AwaitedAnswer {
  std::atomic<std::uint64_t>* unanswered;  // counts it
  std::byte* results;
  std::uint32_t n;  // bytes of them
  PageNumber page;
};

/// Thread safety: all of it.
class AwaitedAnswers {
 public:
  /// Returns the operation's token.
  std::uint64_t add(const AwaitedAnswer& awaited) { return names_.add(awaited); }

  struct Taken {
    AwaitedAnswer asked;
    Answer answer;  // asked.n bytes follow it in the message
  };
  /// An answer of n bytes has come, to an operation that awaits none any more then.  Ends the job, naming PE
  /// `from`, if it cannot be meant.
  Taken take(int from, const std::byte* message, std::size_t n, const MessageLimits& limits) {
    constexpr const char* kAnswer = "an answer of the NVM heap";
    check_message(from, kAnswer, wrong_with_answer(message, n));
    Taken taken{};
    std::memcpy(&taken.answer, message, sizeof taken.answer);
    if (!names_.take(taken.answer.token, taken.asked)) [[unlikely]]
      refuse_message(from, kAnswer, "that nobody has asked for");
    check_message(from, kAnswer,
                  wrong_with_answer_to(taken.asked.page, taken.asked.n, taken.answer, from, limits));
    return taken;
  }

 private:
  Names<AwaitedAnswer> names_;
};

}  // namespace shm::nvm
