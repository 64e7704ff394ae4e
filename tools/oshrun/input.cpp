// SPDX-License-Identifier: BSD-3-Clause
#include "input.hpp"

#include <unistd.h>

#include <array>
#include <cerrno>

namespace oshrun {
namespace {

constexpr std::chrono::milliseconds kRetry{250};

}  // namespace

bool input_is_terminal() { return isatty(STDIN_FILENO) == 1; }

void Input::on_readable() {
  if (tcgetpgrp(STDIN_FILENO) != getpgrp()) {
    retry_at_ = Clock::now() + kRetry;
    return;
  }
  std::array<char, 4096> buffer;
  const ssize_t size = read(STDIN_FILENO, buffer.data(), buffer.size());
  if (size < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (size <= 0) {
    open_ = false;
    to_pe_.reset();
    return;
  }
  waiting_.assign(buffer.data(), static_cast<std::size_t>(size));
  on_writable();
}

void Input::on_writable() {
  while (wants_write()) {
    const ssize_t size = write(to_pe_.get(), waiting_.data(), waiting_.size());
    if (size < 0 && errno == EAGAIN) return;
    if (size < 0 && errno != EINTR) return close();
    if (size > 0) waiting_.erase(0, static_cast<std::size_t>(size));
  }
}

void Input::close() {
  open_ = false;
  waiting_.clear();
  retry_at_.reset();
  to_pe_.reset();
}

}  // namespace oshrun
