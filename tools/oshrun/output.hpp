// SPDX-License-Identifier: BSD-3-Clause
// What the processes of the job print, on its way to the launcher's own output. Owned and used by the main
// loop: not thread safe.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "fd.hpp"
#include "options.hpp"
#include "repeats.hpp"

namespace oshrun {

enum class Stream { kOut = 1, kErr = 2 };  // the values are the file descriptors

/// Puts the bytes of one process and stream together to lines, so that the lines of several do not mix.
/// Without a prefix the bytes leave unchanged: only their grouping changes. With a prefix every line gets it,
/// a last line without an end gets one, and a line above kMaxTagged is cut.
class LineAssembler {
 public:
  static constexpr std::size_t kMaxPlain =
      64 << 10;  // an unfinished line longer than this is passed on as it is
  static constexpr std::size_t kMaxTagged = 1 << 20;

  explicit LineAssembler(std::string prefix) : prefix_(std::move(prefix)) {}

  /// Takes `bytes` and appends to `ready` what may be written now.
  void feed(std::string_view bytes, std::string& ready);
  /// Appends the unfinished line: nothing more will come.
  void finish(std::string& ready);
  /// Appends the unfinished line although more may come (a prompt); a tagged line waits for its end.
  void release(std::string& ready);
  /// True when release() would append something.
  bool holds_releasable() const { return prefix_.empty() && !partial_.empty(); }

 private:
  void feed_tagged(std::string_view bytes, std::string& ready);

  std::string prefix_;
  std::string partial_;
};

/// A file descriptor of the launcher that never blocks the main loop: bytes wait here until poll says it is
/// ready.
class Sink {
 public:
  static constexpr std::size_t kHighWater = 1 << 20;  // above this, the PEs' pipes should not be read

  explicit Sink(int fd) : fd_(fd) {}

  void write(std::string_view bytes);
  /// Writes what is possible now.
  void flush();
  void drop() {
    waiting_.clear();
    written_ = 0;
  }

  int fd() const { return fd_; }
  bool empty() const { return written_ == waiting_.size(); }
  bool full() const { return waiting_.size() - written_ > kHighWater; }
  /// The reader has gone (EPIPE): bytes are thrown away, and the PEs should learn it too.
  bool broken() const { return broken_; }
  bool ends_line() const { return ends_line_; }

 private:
  int fd_;
  std::string waiting_;
  std::size_t written_ = 0;
  bool broken_ = false;
  bool ends_line_ = true;
};

/// All the output of a job.
class Output {
 public:
  using Clock = std::chrono::steady_clock;
  /// An unfinished line of PE 0 may wait this long for its end before it is shown. Only PE 0 can read an
  /// answer, so only its unfinished lines are prompts; those of other PEs wait for their end and never mix.
  static constexpr std::chrono::milliseconds kPatience{50};

  Output(const Roster& roster, Tag tag);

  void feed(int rank, Stream stream, std::string_view bytes);
  void finish(int rank, Stream stream);
  /// One line of the launcher itself on standard error, on a line of its own.
  void say(const std::string& line);

  /// When on_time() has something to do: a prompt waits to be shown, or a summary to be said.
  std::optional<Clock::time_point> deadline() const;
  void on_time(Clock::time_point now);
  /// Nothing more will come.
  void finish_all();

  Sink& sink(Stream stream) { return stream == Stream::kOut ? out_ : err_; }
  bool empty() const { return out_.empty() && err_.empty(); }

  /// From now on only this object writes to standard error: what libraries print to descriptor 2 is thrown
  /// away.
  void silence_libraries();

 private:
  LineAssembler& assembler(int rank, Stream stream);
  void pass_on(int rank, Stream stream, const std::string& ready);
  void release_partial();
  void summarize_repeats(Clock::time_point until);

  UniqueFd err_fd_;  // a second descriptor for standard error
  Sink out_;
  Sink err_;
  bool alone_;  // the job has one process
  bool tagged_;
  std::vector<LineAssembler> lines_;  // two for each process
  std::optional<Clock::time_point> release_at_;
  Repeats repeats_;
};

}  // namespace oshrun
