// SPDX-License-Identifier: BSD-3-Clause
// The command line of a subcommand: a table of options with a value, and one of those without.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "command.hpp"

namespace bench {

enum class Parsed { run, help, wrong };

using Names = std::vector<std::string>;

/// Whether `name` is one of `names`, of which none means all.
bool among(const Names& names, std::string_view name);

// What a value may be; each returns false if the text is nothing of the kind.

/// Words between commas, each of `known`.
bool split(std::string_view text, std::span<const std::string_view> known, Names& names);
/// Digits for 1 to `most`.
bool number(const std::string& text, std::size_t most, std::size_t& value);
/// 8388608, 8192k, 8m.
bool bytes(std::string text, std::size_t& value);
/// Seconds: 0.02 and the like.
bool duration(const std::string& text, double& value);

/// What the environment says; nothing if the variable is not set.
std::string variable(const char* name);
/// Takes the bytes that the variable has into `value`, if it is set; what is wrong with it, or "".  `option`:
/// what says the same.
std::string take_bytes(const char* name, const char* option, std::size_t& value);

inline constexpr std::size_t kMostNumber = 1000000000;  // the product of two, in bytes, fits a word
inline constexpr const char* kNumberAllowed = "a number from 1 to 1000000000";
inline constexpr const char* kBytesAllowed = "a number of bytes such as 8388608, 8192k, 8m or 1g";
inline constexpr const char* kDurationAllowed = "more than 0 and at most 3600, such as 0.02";

template <class Options>
struct Option {
  std::string_view name;
  const char* allowed;
  bool (*set)(const std::string& value, Options& options);  ///< false if `value` is not allowed
};

template <class Options>
struct Flag {
  std::string_view name;
  bool Options::*member;
};

/// A word of the command line, and what follows it.
struct Argument {
  std::string name;
  bool joined;        ///< written as NAME=VALUE
  const char* value;  ///< nullptr: nothing follows
};
Argument word_at(Words words, std::size_t i);

/// Fills `options`; when wrong, `why` is a sentence for the user.
template <class Options>
Parsed parse_words(Words words, std::span<const Option<Options>> table, std::span<const Flag<Options>> flags,
                   Options& options, std::string& why) {
  for (std::size_t i = 0; i < words.size(); ++i) {
    const Argument word = word_at(words, i);
    if (word.name == "-h" || word.name == "--help") return Parsed::help;
    bool known = false;
    for (const Flag<Options>& flag : flags) {
      if (word.name != flag.name) continue;
      known = true;
      options.*flag.member = true;
      if (word.joined) why = word.name + " takes no value; write it alone";
    }
    for (const Option<Options>& option : table) {
      if (word.name != option.name) continue;
      known = true;
      if (word.value == nullptr) {
        why = word.name + " needs a value: " + option.allowed;
      } else if (!option.set(word.value, options)) {
        why = word.name + " must be " + option.allowed + ", not '" + word.value + "'";
      }
      if (!word.joined) ++i;
    }
    if (!known) why = "there is no option '" + word.name + "'; --help has those that there are";
    if (!why.empty()) return Parsed::wrong;
  }
  return Parsed::run;
}

// The ends of a subcommand, called by all PEs; what there is to say is said by PE 0.  Both return the exit
// code.

/// When `parsed` is not run: shows the usage, or says why `subcommand` refuses.
int end_unrun(Parsed parsed, const char* subcommand, const char* usage, const std::string& why);
/// After `wrong` results failed their verification.
int end_run(std::size_t wrong);

}  // namespace bench
