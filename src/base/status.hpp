// SPDX-License-Identifier: BSD-3-Clause
// Results of set-up work.  The hot path returns nothing; what cannot go on calls fatal() instead.
#pragma once

#include <string>
#include <utility>

namespace shm {

/// Success, or one sentence for a person that says what failed and what to do about it.
class [[nodiscard]] Status {
 public:
  Status() = default;
  static Status error(std::string text) { return Status(std::move(text)); }

  bool ok() const { return text_.empty(); }
  const std::string& text() const { return text_; }

 private:
  explicit Status(std::string text) : text_(std::move(text)) {}
  std::string text_;  // empty: success
};

/// A value, or the Status that says why there is none.  REQUIRES: ok() before value() is used.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}                    // NOLINT: implicit on purpose
  Result(Status status) : status_(std::move(status)), value_() {}  // NOLINT: implicit on purpose

  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  T& value() { return value_; }

 private:
  Status status_;
  T value_;
};

}  // namespace shm
