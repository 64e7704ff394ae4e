// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"

#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace oshrun {

void LineAssembler::feed(std::string_view bytes, std::string& ready) {
  if (!prefix_.empty()) return feed_tagged(bytes, ready);
  const std::size_t last_end = bytes.rfind('\n');
  if (last_end != std::string_view::npos) {
    ready += partial_;
    ready += bytes.substr(0, last_end + 1);
    partial_.clear();
    bytes.remove_prefix(last_end + 1);
  }
  partial_ += bytes;
  if (partial_.size() > kMaxPlain) release(ready);
}

void LineAssembler::feed_tagged(std::string_view bytes, std::string& ready) {
  std::size_t end;
  while ((end = bytes.find('\n')) != std::string_view::npos) {
    ready += prefix_;
    ready += partial_;
    ready += bytes.substr(0, end + 1);
    partial_.clear();
    bytes.remove_prefix(end + 1);
  }
  partial_ += bytes;
  if (partial_.size() > kMaxTagged) finish(ready);
}

void LineAssembler::finish(std::string& ready) {
  if (partial_.empty()) return;
  ready += prefix_;
  ready += partial_;
  if (!prefix_.empty()) ready += '\n';
  partial_.clear();
}

void LineAssembler::release(std::string& ready) {
  if (holds_releasable()) finish(ready);
}

void Sink::write(std::string_view bytes) {
  if (bytes.empty()) return;
  ends_line_ = bytes.back() == '\n';
  if (broken_) return;
  waiting_ += bytes;
  flush();
}

void Sink::flush() {
  // The descriptor is shared with the caller's shell, so it may not be made non-blocking. A pipe that poll
  // calls ready takes PIPE_BUF bytes without blocking.
  while (!empty() && !broken_) {
    pollfd ready{fd_, POLLOUT, 0};
    if (poll(&ready, 1, 0) <= 0) break;
    const std::size_t size = std::min<std::size_t>(waiting_.size() - written_, PIPE_BUF);
    const ssize_t done = ::write(fd_, waiting_.data() + written_, size);
    if (done > 0) {
      written_ += static_cast<std::size_t>(done);
    } else if (errno == EAGAIN) {
      break;
    } else if (errno != EINTR) {
      broken_ = true;
    }
  }
  if (broken_ || empty() || written_ > kHighWater) {
    waiting_.erase(0, broken_ ? std::string::npos : written_);
    written_ = 0;
  }
}

Output::Output(const Roster& roster, Tag tag)
    : err_fd_(fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)),
      out_(STDOUT_FILENO),
      err_(err_fd_.get()),
      alone_(roster.size() == 1),
      tagged_(tag == Tag::kRank),
      repeats_(roster) {
  lines_.reserve(2 * static_cast<std::size_t>(roster.size()));
  for (int rank = 0; rank < roster.size(); ++rank) {
    const std::string who = roster.is_pe(rank) ? std::to_string(rank) : roster.name(rank);
    const std::string mark = std::string("[").append(who).append("]");
    lines_.emplace_back(tag == Tag::kRank ? mark + " " : "");
    lines_.emplace_back(tag == Tag::kRank ? mark + "<err> " : "");
  }
}

LineAssembler& Output::assembler(int rank, Stream stream) {
  return lines_[2 * static_cast<std::size_t>(rank) + (stream == Stream::kErr ? 1 : 0)];
}

void Output::feed(int rank, Stream stream, std::string_view bytes) {
  LineAssembler& lines = assembler(rank, stream);
  std::string ready;
  lines.feed(bytes, ready);
  if (alone_) {
    lines.release(ready);
  } else if (rank == 0 && lines.holds_releasable() && (!release_at_ || !ready.empty())) {
    release_at_ = Clock::now() + kPatience;
  }
  pass_on(rank, stream, ready);
}

void Output::pass_on(int rank, Stream stream, const std::string& ready) {
  // Tags are for those who want to see every process's own lines.
  const bool all = stream == Stream::kOut || alone_ || tagged_;
  sink(stream).write(all ? ready : repeats_.first_of(rank, ready, Clock::now()));
}

void Output::finish(int rank, Stream stream) {
  std::string ready;
  assembler(rank, stream).finish(ready);
  pass_on(rank, stream, ready);
}

std::optional<Output::Clock::time_point> Output::deadline() const {
  const std::optional<Clock::time_point> summary_at = repeats_.deadline();
  if (!release_at_ || !summary_at) return release_at_ ? release_at_ : summary_at;
  return std::min(*release_at_, *summary_at);
}

void Output::on_time(Clock::time_point now) {
  if (release_at_ && *release_at_ <= now) release_partial();
  summarize_repeats(now);
}

void Output::finish_all() { summarize_repeats(Clock::time_point::max()); }

void Output::summarize_repeats(Clock::time_point until) {
  for (const std::string& line : repeats_.summary(until)) say(line);
}

void Output::release_partial() {
  release_at_.reset();
  for (Stream stream : {Stream::kOut, Stream::kErr}) {
    std::string ready;
    assembler(0, stream).release(ready);
    sink(stream).write(ready);
  }
}

void Output::silence_libraries() {
  const UniqueFd null(open("/dev/null", O_WRONLY | O_CLOEXEC));
  if (null) dup2(null.get(), STDERR_FILENO);
}

void Output::say(const std::string& line) { err_.write((err_.ends_line() ? "" : "\n") + line + "\n"); }

}  // namespace oshrun
