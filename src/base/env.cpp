// SPDX-License-Identifier: BSD-3-Clause
#include "base/env.hpp"

#include <cmath>
#include <cstdlib>
#include <cstring>

extern char** environ;

namespace shm {
namespace {

// The specification keeps the old SMA_ names of these alive; SHMEM_ wins when both are set (section 8).
constexpr std::string_view kLegacyNames[] = {"VERSION", "INFO", "DEBUG", "SYMMETRIC_SIZE"};

const char* text_of(const char* name) {
  // A variable that is set to nothing counts as unset.
  const char* value = std::getenv((std::string("SHMEM_") + name).c_str());
  if (value != nullptr && *value != '\0') return value;
  for (std::string_view legacy : kLegacyNames) {
    if (legacy != name) continue;
    value = std::getenv((std::string("SMA_") + name).c_str());
    if (value != nullptr && *value != '\0') return value;
  }
  return nullptr;
}

// parse() overloads: false when `text` is not allowed; `rule` receives what is.

bool parse(bool& out, std::string_view text, const char*, std::string& rule) {
  rule = "0, off, no or false for off, anything else for on";
  out = !(text == "0" || text == "off" || text == "no" || text == "false");
  return true;
}

bool parse(std::optional<std::size_t>& out, std::string_view text, const char*, std::string& rule) {
  rule = "a non-negative number with at most one suffix of k, m, g, t (powers of 1024), such as 512m or 1.5g";
  if (text.empty()) return true;
  out = parse_size(text);
  return out.has_value();
}

bool parse_number(std::string_view text, double& out) {
  const std::string copy(text);
  char* end = nullptr;
  out = std::strtod(copy.c_str(), &end);
  return end != copy.c_str() && *end == '\0' && std::isfinite(out);
}

bool parse_count(Env::Count& out, std::string_view text, std::string& rule) {
  rule = "a non-negative whole number, or auto";
  if (text.empty() || text == "auto") return true;
  double number = 0;
  if (!parse_number(text, number) || number < 0 || number > 1e15 || number != std::floor(number))
    return false;
  out = static_cast<std::uint64_t>(number);
  return true;
}

bool parse(double& out, std::string_view text, const char*, std::string& rule) {
  rule = "a number of seconds above 0";
  return parse_number(text, out) && out > 0;
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

// Which parser a kind uses.  Size and Count, Choice and Text are the same C++ types, hence names and not
// types.
bool read_Flag(bool& out, std::string_view t, const char* d, std::string& r) { return parse(out, t, d, r); }
bool read_Size(Env::Size& out, std::string_view t, const char* d, std::string& r) {
  return parse(out, t, d, r);
}
bool read_Count(Env::Count& out, std::string_view t, const char*, std::string& r) {
  return parse_count(out, t, r);
}
bool read_Seconds(double& out, std::string_view t, const char* d, std::string& r) {
  return parse(out, t, d, r);
}
bool read_Choice(std::string& out, std::string_view t, const char* d, std::string& r) {
  return parse_choice(out, t == d ? std::string_view() : t, d, r);
}
bool read_Text(std::string& out, std::string_view t, const char*, std::string&) {
  out = t;
  return true;
}

std::string show(bool value) { return value ? "1" : "0"; }
std::string show(const std::optional<std::size_t>& value) { return value ? std::to_string(*value) : "auto"; }
std::string show(const std::string& value) { return value.empty() ? "(default)" : value; }
std::string show(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

}  // namespace

std::optional<std::size_t> parse_size(std::string_view text) {
  std::size_t used = 0;
  long double number = 0, unit = 1;
  bool digits = false, fraction = false;
  for (; used < text.size(); ++used) {
    const char c = text[used];
    if (c >= '0' && c <= '9') {
      digits = true;
      number = number * 10 + (c - '0');
      if (fraction) unit *= 10;
    } else if (c == '.' && !fraction) {
      fraction = true;
    } else {
      break;
    }
  }
  if (!digits) return std::nullopt;
  number /= unit;
  if (used < text.size()) {
    static constexpr std::string_view kSuffixes = "kmgt";
    const char suffix = static_cast<char>(text[used] | 0x20);
    const std::size_t power = kSuffixes.find(suffix);
    if (power == kSuffixes.npos) return std::nullopt;
    for (std::size_t i = 0; i <= power; ++i) number *= 1024;
  }
  number = std::ceil(number);
  if (number > 0x1p62L) return std::nullopt;
  return static_cast<std::size_t>(number);
}

Result<Env> Env::read() {
  Env env;
  std::string rule;
#define ENV(NAME, KIND, member, def, help)                                                                \
  {                                                                                                       \
    const char* text = text_of(#NAME);                                                                    \
    if (!read_##KIND(env.member, text != nullptr ? text : def, def, rule))                                \
      return Status::error("SHMEM_" #NAME "=" + std::string(text) + " is not valid: allowed is " + rule); \
  }
#include "base/env.def"
#undef ENV
  return env;
}

std::string Env::describe() const {
  std::string text;
#define ENV(NAME, KIND, member, def, help) \
  text += "  SHMEM_" #NAME "=" + show(member) + (text_of(#NAME) ? "" : " (default)") + "\n      " help "\n";
#include "base/env.def"
#undef ENV
  return text;
}

}  // namespace shm
