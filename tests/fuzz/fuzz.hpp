// SPDX-License-Identifier: BSD-3-Clause
// What fuzz targets share.  A target is a file with fuzz_one_input(), which is given bytes that nobody has
// looked at: libFuzzer's, or those of the corpus (README.md).
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <vector>

#include "base/fatal.hpp"

namespace shm::fuzz {

using Bytes = std::vector<std::byte>;

/// The bytes, taken one after the other; behind the last there are zeros.
class Input {
 public:
  Input(const std::uint8_t* data, std::size_t n) : at_(data), end_(data + n) {}

  bool empty() const { return at_ == end_; }
  std::size_t left() const { return static_cast<std::size_t>(end_ - at_); }
  std::uint8_t byte() { return empty() ? 0 : *at_++; }
  /// A number below `most`, from one byte or two.
  unsigned below(unsigned most) { return most > 256 ? (byte() << 8U | byte()) % most : byte() % most; }
  template <class Word>
  Word word() {
    Word word{};
    const std::size_t n = std::min(sizeof word, left());
    std::memcpy(&word, at_, n);
    at_ += n;
    return word;
  }
  /// The next n, or as many as there are: exactly so long, so that who reads on is found out.
  Bytes bytes(std::size_t n) {
    n = std::min(n, left());
    const auto* first = reinterpret_cast<const std::byte*>(at_);
    at_ += n;
    return {first, first + n};
  }
  Bytes rest() { return bytes(left()); }
  std::string text(std::size_t n) {
    const Bytes taken = bytes(n);
    return {reinterpret_cast<const char*>(taken.data()), taken.size()};
  }

  /// What is left, line by line, without zeros.
  std::vector<std::string> lines() {
    std::vector<std::string> lines(1);
    while (!empty()) {
      const auto c = static_cast<char>(byte());
      if (c == '\n') {
        lines.emplace_back();
      } else if (c != '\0') {
        lines.back() += c;
      }
    }
    return lines;
  }

  /// A number that may be right, or next to that, or anything: small inputs reach each.
  std::uint64_t near(std::uint64_t right) {
    const unsigned how = byte();
    if (how < 200) return right;
    if (how < 240) return right + static_cast<std::uint64_t>(static_cast<std::int8_t>(byte()));
    return word<std::uint64_t>();
  }

 private:
  const std::uint8_t* at_;
  const std::uint8_t* const end_;
};

template <class Head>
void append(Bytes& to, const Head& head) {
  const auto* bytes = reinterpret_cast<const std::byte*>(&head);
  to.insert(to.end(), bytes, bytes + sizeof head);
}

/// Where fatal() would end the job: what was refused has been, in words, and the input goes on with something
/// else.
struct Refused {};

/// Runs what may refuse its input.  Returns whether it did.
template <class Act>
bool refuses(Act act) {
  set_abort_hook([](int, const char*) { throw Refused(); });
  try {
    act();
  } catch (const Refused&) {
    return true;
  }
  return false;
}

/// Defined by each target.  Crashes, or does not return soon: a defect.
void fuzz_one_input(const std::uint8_t* data, std::size_t n);

}  // namespace shm::fuzz
