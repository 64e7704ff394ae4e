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
  std::uint32_t weight = 1;  // counted so
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
  /// A message of answers has come, n bytes: calls visit(taken, what follows the answer) for each, whose
  /// operation awaits none any more then.  Ends the job, naming PE `from`, if one cannot be meant.
  template <class Visit>
  void take(int from, const std::byte* message, std::size_t n, const MessageLimits& limits, Visit visit) {
    check_message(from, kAnswer, wrong_with_answers(message, n));
    for (std::size_t at = 0; at < n;) {
      const Taken taken = take_one(from, message + at, limits);
      visit(taken, message + at + sizeof taken.answer);
      at += padded_to_words(sizeof taken.answer + taken.answer.n);
    }
  }

 private:
  static constexpr const char* kAnswer = "an answer of the NVM heap";

  Taken take_one(int from, const std::byte* message, const MessageLimits& limits) {
    Taken taken{};
    std::memcpy(&taken.answer, message, sizeof taken.answer);
    if (!names_.take(taken.answer.token, taken.asked)) [[unlikely]]
      refuse_message(from, kAnswer, "that nobody has asked for");
    check_message(from, kAnswer,
                  wrong_with_answer_to(taken.asked.page, taken.asked.n, taken.answer, from, limits));
    return taken;
  }

  Names<AwaitedAnswer> names_;
};

}  // namespace shm::nvm
