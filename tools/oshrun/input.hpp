// SPDX-License-Identifier: BSD-3-Clause
// The terminal, on its way to PE 0. Pipes and files need none of this: PE 0 simply inherits them, and reads
// just as much as it wants. A terminal cannot be inherited, because PE 0 is in a process group of its own,
// which the terminal takes for a background job. Owned and used by the main loop: not thread safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>

#include "fd.hpp"

namespace oshrun {

/// True when standard input must be forwarded instead of inherited.
bool input_is_terminal();

class Input {
 public:
  using Clock = std::chrono::steady_clock;

  /// `to_pe`: non-blocking write end, or none (then nothing is ever read).
  explicit Input(UniqueFd to_pe) : to_pe_(std::move(to_pe)), open_(static_cast<bool>(to_pe_)) {}

  /// Read only while what was read before has left: the PE's pipe is the only buffer, so a PE that does not
  /// read leaves the typing to the terminal.
  bool wants_read() const { return open_ && waiting_.empty() && !retry_at_; }
  bool wants_write() const { return to_pe_ && !waiting_.empty(); }
  int pe_fd() const { return to_pe_.get(); }

  void on_readable();
  void on_writable();

  /// A launcher in the background does not read (it would be stopped); it looks again at this time.
  std::optional<Clock::time_point> deadline() const { return retry_at_; }
  void retry() { retry_at_.reset(); }
  /// PE 0 has exited: nobody will read.
  void close();

 private:
  UniqueFd to_pe_;
  bool open_;
  std::string waiting_;
  std::optional<Clock::time_point> retry_at_;
};

}  // namespace oshrun
