// SPDX-License-Identifier: BSD-3-Clause
// What is wrong with a message of the NVM heap, before anything of it is used: each function returns how
// "PE 3 sent ... of the NVM heap ..." goes on, or null where nothing is wrong.  Pure.
//
// They refuse what no PE can have meant, whatever the state of the page is.  What does not fit that state the
// protocol refuses: step() and serve().
#pragma once

#include <cstddef>

#include "nvm/coherence/messages.hpp"
#include "nvm/coherence/nodes.hpp"
#include "pages/pool.hpp"

namespace shm::nvm {

/// What messages to a PE are checked against.
struct MessageLimits {
  const pages::PoolShape& shape;
  const Nodes& nodes;
  int me;
};

/// Of an Operation with what follows it, n bytes, from a thread of PE `from`.
const char* wrong_with_operation(const std::byte* message, std::size_t n, int from,
                                 const MessageLimits& limits);

/// Of a message of them, each padded to words.
const char* wrong_with_operations(const std::byte* message, std::size_t n, int from,
                                  const MessageLimits& limits);

/// Of a packet of PageMessages, n bytes, from the pager of PE `from` on another node.
const char* wrong_with_page_messages(const std::byte* packet, std::size_t n, int from,
                                     const MessageLimits& limits);

/// Of a message of Answers with what follows each, n bytes.  Whether anybody awaits them say their tokens.
const char* wrong_with_answers(const std::byte* message, std::size_t n);
/// Of the answer to an operation on `page` that brings n bytes, from PE `from`: the home of the page, or who
/// caches it for its node, by whom the home may have it executed.
const char* wrong_with_answer_to(PageNumber page, std::uint32_t n, const Answer& answer, int from,
                                 const MessageLimits& limits);

/// What check_message() calls messages between pagers.
inline constexpr const char* kPagerMessage = "a message of the NVM heap";

}  // namespace shm::nvm
