// SPDX-License-Identifier: BSD-3-Clause
// Small operations of other nodes' threads, executed on a page that is here: by the pager, or at once by who
// receives them.
#pragma once

#include <cstddef>

#include "nvm/coherence/messages.hpp"
#include "nvm/coherence/nodes.hpp"
#include "nvm/pages.hpp"
#include "pages/pool.hpp"

namespace shm::nvm {

/// Whether it would change what a program has pinned, or see it while it is written to.  What comes from
/// this node is the program's own, which would wait for itself.
bool is_pinned_against(const Frame& frame, const Operation& operation, const Nodes& nodes);

/// Executes it on its page, which is in `frame`; `data`: of a put.  Writes the Answer and what it brings to
/// `message`, which has room for both at their largest (answer_bytes()); returns their size.
/// REQUIRES: nobody takes the page away or writes it to the device meanwhile.
std::size_t execute(const Operation& operation, const std::byte* data, const Pool& pool, FrameNumber frame,
                    const Nodes& nodes, std::byte* message);

/// No answer to the operation is longer, padded to words.
inline std::size_t answer_bytes(const Operation& operation) {
  const bool brings = operation.kind == Operation::Kind::get || operation.brings;
  return padded_to_words(sizeof(Answer) + (brings ? operation.n : 0));
}

}  // namespace shm::nvm
