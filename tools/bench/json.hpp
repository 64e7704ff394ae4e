// SPDX-License-Identifier: BSD-3-Clause
// Reads what --json writes: an object a line.  Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace bench {

/// A value: text of a string, number or word; numbers of a list; or an object.
struct Json {
  enum class Kind { text, number, word, numbers, object } kind = Kind::word;
  std::string text;  ///< as it is written, of a string without the quotes
  double number = 0;
  std::vector<double> numbers;
  std::string name;           ///< of a member
  std::vector<Json> members;  ///< as they come

  const Json* find(const std::string& wanted) const;
  /// The text of a member, or "".
  std::string text_of(const std::string& wanted) const;
};

/// An object, of which objects are members but two deep, and lists have numbers; nothing if the line is none.
std::optional<Json> parse_json(std::string_view line);

}  // namespace bench
