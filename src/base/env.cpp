// SPDX-License-Identifier: BSD-3-Clause
#include "base/env.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "base/env_names.hpp"
#include "base/human.hpp"

namespace shm {
namespace {

// The variable that SHMEM_<name> has its value from; "": neither this one nor another name of it is set.  Set
// to nothing counts as unset, but where `nothing` is a value, too.
std::string source_of(std::string_view name, bool nothing) {
  const auto is_set = [nothing](const std::string& variable) {
    return (nothing ? std::getenv(variable.c_str()) : value_unless_empty(variable.c_str())) != nullptr;
  };
  if (std::string ours = std::string("SHMEM_").append(name); is_set(ours)) return ours;
  if (has_old_name(name)) {  // SHMEM_ wins when both are set (section 8)
    if (std::string legacy = std::string("SMA_").append(name); is_set(legacy)) return legacy;
  }
  return foreign_variable(name);
}

const char* text_of(std::string_view name, bool nothing) {
  return std::getenv(source_of(name, nothing).c_str());
}

// Kinds whose variables are set by any value, also by none.
constexpr bool takes_nothing(std::string_view kind) { return kind == "Switch"; }

// parse() overloads: false when `text` is not allowed; `rule` receives what is.

bool parse(bool& out, std::string_view text, std::string& rule) {
  rule = "0, off, no or false for off, anything else for on";
  out = is_on(text);
  return true;
}

// Unlike a Flag, it has no value for words that are not known: who mistypes "full" would go without.
bool parse(Checks& out, std::string_view text, std::string& rule) {
  static constexpr std::string_view kOn[] = {"1", "on", "yes", "true"};
  rule = "0 (off, no, false), 1 (on, yes, true) or full";
  if (text == "full")
    out = Checks::full;
  else if (!is_on(text))
    out = Checks::least;
  else if (std::ranges::find(kOn, text) != std::end(kOn))
    out = Checks::usual;
  else
    return false;
  return true;
}

bool parse(std::optional<std::size_t>& out, std::string_view text, std::string& rule) {
  rule =
      "a non-negative number with at most one suffix of k, m, g, t (powers of 1024), such as 512m, 1.5g or "
      "1e9";
  if (text.empty()) return true;
  out = parse_size(text);
  return out.has_value();
}

// Far from where sums and products of them, or a clock's ticks, do not fit any more.
constexpr double kLargestCount = 1e9;
constexpr double kLongestSeconds = 30 * 86400;

bool parse_number(std::string_view text, double& out) {
  const std::string copy(text);
  char* end = nullptr;
  out = std::strtod(copy.c_str(), &end);
  return end != copy.c_str() && *end == '\0' && std::isfinite(out);
}

bool parse_count(Env::Count& out, std::string_view text, std::string& rule) {
  rule = "a whole number from 0 to 1000000000, or auto";
  if (text.empty() || text == "auto") return true;
  double number = 0;
  if (!parse_number(text, number) || number < 0 || number > kLargestCount || number != std::floor(number))
    return false;
  out = static_cast<std::uint64_t>(number);
  return true;
}

bool parse_entries(std::uint64_t& out, std::string_view text, std::string& rule) {
  rule = "a whole number from 1 to " + std::to_string(Env::kMostEntries);
  double number = 0;
  if (!parse_number(text, number) || number < 1 || number > Env::kMostEntries || number != std::floor(number))
    return false;
  out = static_cast<std::uint64_t>(number);
  return true;
}

bool parse(double& out, std::string_view text, std::string& rule) {
  rule = "a number of seconds above 0, at most 2592000 (30 days)";
  return parse_number(text, out) && out > 0 && out <= kLongestSeconds;
}

bool parse_patience(double& out, std::string_view text, std::string& rule) {
  rule = "a number of seconds from 2 to 2592000 (30 days), or 0: for ever";
  return parse_number(text, out) && (out == 0 || (out >= 2 && out <= kLongestSeconds));
}

bool parse_choice(std::string& out, std::string_view text, std::string_view words, std::string& rule) {
  rule = "one of " + std::string(words);
  std::string_view rest = words;
  while (true) {
    const std::size_t bar = rest.find('|');
    const std::string_view word = rest.substr(0, bar);
    if (text == word || text.empty()) {
      out = word;
      return true;
    }
    if (bar == rest.npos) return false;
    rest.remove_prefix(bar + 1);
  }
}

// Which parser a kind uses.  Size and Count, Seconds and Patience, Choice and Text are the same C++ types,
// hence names and not types.  `t`: what the environment says, null if nothing; `d`: the default text, of a
// Choice all its words.
bool read_Switch(bool& out, const char* t, const char*, std::string&) {
  out = t != nullptr;
  return true;
}
bool read_Flag(bool& out, const char* t, const char* d, std::string& r) { return parse(out, t ? t : d, r); }
bool read_Level(Checks& out, const char* t, const char* d, std::string& r) {
  return parse(out, t ? t : d, r);
}
bool read_Size(Env::Size& out, const char* t, const char* d, std::string& r) {
  return parse(out, t ? t : d, r);
}
bool read_Count(Env::Count& out, const char* t, const char* d, std::string& r) {
  return parse_count(out, t ? t : d, r);
}
bool read_Entries(std::uint64_t& out, const char* t, const char* d, std::string& r) {
  return parse_entries(out, t ? t : d, r);
}
bool read_Seconds(double& out, const char* t, const char* d, std::string& r) {
  return parse(out, t ? t : d, r);
}
bool read_Patience(double& out, const char* t, const char* d, std::string& r) {
  return parse_patience(out, t ? t : d, r);
}
bool read_Choice(std::string& out, const char* t, const char* d, std::string& r) {
  return parse_choice(out, t ? t : "", d, r);
}
bool read_Text(std::string& out, const char* t, const char* d, std::string&) {
  out = t ? t : d;
  return true;
}

std::string show(bool value) { return value ? "1" : "0"; }
std::string show(Checks value) { return value == Checks::full ? "full" : value == Checks::usual ? "1" : "0"; }
std::string show(std::uint64_t value) { return std::to_string(value); }
std::string show(const std::optional<std::size_t>& value) { return value ? std::to_string(*value) : "auto"; }
std::string show(const std::string& value) { return value; }
std::string show(double value) { return plain_number(value); }

// "e9", "E-3" and the like at the beginning of `text`; goes on behind it.
int read_exponent(std::string_view& text) {
  if (text.empty() || (text[0] | 0x20) != 'e') return 0;
  std::size_t used = 1;
  const bool negative = used < text.size() && text[used] == '-';
  if (used < text.size() && (text[used] == '-' || text[used] == '+')) ++used;
  const std::size_t first = used;
  int exponent = 0;
  for (; used < text.size() && text[used] >= '0' && text[used] <= '9'; ++used)
    exponent = std::min(exponent * 10 + (text[used] - '0'), 1000);
  if (used == first) return 0;  // and "e" is no suffix
  text.remove_prefix(used);
  return negative ? -exponent : exponent;
}

}  // namespace

std::string variable_in_use(std::string_view name) {
  std::string source = source_of(name, false);
  return source.empty() ? std::string("SHMEM_").append(name) : source;
}

bool is_on(std::string_view text) {
  return !(text == "0" || text == "off" || text == "no" || text == "false");
}

std::optional<std::size_t> parse_size(std::string_view text) {
  long double number = 0;
  int decimals = 0;
  bool digits = false, fraction = false;
  for (; !text.empty(); text.remove_prefix(1)) {
    const char c = text[0];
    if (c >= '0' && c <= '9') {
      digits = true;
      number = number * 10 + (c - '0');
      if (fraction) ++decimals;
    } else if (c == '.' && !fraction) {
      fraction = true;
    } else {
      break;
    }
  }
  if (!digits) return std::nullopt;
  const int power = read_exponent(text) - decimals;  // of ten, at once: 3.1e1 is 31 and not a bit more
  for (int i = 0; i < power; ++i) number *= 10;
  long double unit = 1;
  for (int i = 0; i > power; --i) unit *= 10;
  number /= unit;
  if (!text.empty()) {
    static constexpr std::string_view kSuffixes = "kmgt";
    const char suffix = static_cast<char>(text[0] | 0x20);
    const std::size_t factor = kSuffixes.find(suffix);
    if (factor == kSuffixes.npos) return std::nullopt;
    for (std::size_t i = 0; i <= factor; ++i) number *= 1024;
  }
  number = std::ceil(number);
  if (number > 0x1p62L) return std::nullopt;
  return static_cast<std::size_t>(number);
}

Result<Env> Env::read() {
  Env env;
  std::string rule;
#define ENV(NAME, KIND, member, def, help)                                                             \
  {                                                                                                    \
    const char* const text = text_of(#NAME, takes_nothing(#KIND));                                     \
    if (!read_##KIND(env.member, text, def, rule))                                                     \
      return Status::error(variable_in_use(#NAME) + "=" + text + " is not valid: allowed is " + rule); \
  }
#include "base/env.def"
#undef ENV
  return env;
}

std::string Env::describe() const {
  std::string text;
#define ENV(NAME, KIND, member, def, help)                                                                   \
  text += "  SHMEM_" #NAME "=" + show(member) + (text_of(#NAME, takes_nothing(#KIND)) ? "" : " (default)") + \
          "\n      " help "\n";
#include "base/env.def"
#undef ENV
  return text;
}

}  // namespace shm
