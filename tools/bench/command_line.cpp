// SPDX-License-Identifier: BSD-3-Clause
#include "command_line.hpp"

#include <shmem.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstdlib>

namespace bench {

constexpr std::size_t kMostBytes = std::size_t{1} << 50;

bool among(const Names& names, std::string_view name) {
  return names.empty() || std::find(names.begin(), names.end(), name) != names.end();
}

bool split(std::string_view text, std::span<const std::string_view> known, Names& names) {
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    const std::string_view name = text.substr(0, comma);
    if (std::find(known.begin(), known.end(), name) == known.end()) return false;
    names.emplace_back(name);
    if (comma == text.size()) return true;
    text.remove_prefix(comma + 1);
  }
}

bool number(const std::string& text, std::size_t most, std::size_t& value) {
  if (text.empty() || text.find_first_not_of("0123456789") != std::string::npos || text.size() > 15)
    return false;
  value = std::strtoull(text.c_str(), nullptr, 10);
  return value >= 1 && value <= most;
}

bool bytes(std::string text, std::size_t& value) {
  constexpr std::string_view kUnits = "kmgt";
  std::size_t unit = 1;
  if (text.empty()) return false;
  const auto letter = static_cast<char>(std::tolower(static_cast<unsigned char>(text.back())));
  if (const std::size_t at = kUnits.find(letter); at != std::string_view::npos) {
    unit = std::size_t{1024} << 10 * at;
    text.pop_back();
  }
  if (!number(text, kMostBytes / unit, value)) return false;
  value *= unit;
  return true;
}

bool duration(const std::string& text, double& value) {
  char* end = nullptr;
  value = std::strtod(text.c_str(), &end);
  return !text.empty() && *end == '\0' && value > 0 && value <= 3600;
}

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr ? value : "";
}

std::string take_bytes(const char* name, const char* option, std::size_t& value) {
  const std::string text = variable(name);
  if (text.empty() || bytes(text, value)) return "";
  return std::string(name) + " is '" + text + "', but what is measured must know it: write it as " +
         kBytesAllowed + ", or add " + option;
}

Argument word_at(Words words, std::size_t i) {
  const std::string_view word = words[i];
  const std::size_t equals = word.find('=');
  if (equals != std::string_view::npos)
    return {std::string(word.substr(0, equals)), true, words[i] + equals + 1};
  return {std::string(word), false, i + 1 < words.size() ? words[i + 1] : nullptr};
}

int end_unrun(Parsed parsed, const char* subcommand, const char* usage, const std::string& why) {
  const bool prints = shmem_my_pe() == 0;
  if (prints && parsed == Parsed::help) std::fputs(usage, stdout);
  if (prints && parsed == Parsed::wrong)
    std::fprintf(stderr, "shmem_bench %s: %s\n", subcommand, why.c_str());
  return parsed == Parsed::help ? 0 : 2;
}

int end_run(std::size_t wrong) {
  if (wrong > 0 && shmem_my_pe() == 0) std::fprintf(stderr, "shmem_bench: %zu results are wrong\n", wrong);
  return wrong > 0 ? 1 : 0;
}

}  // namespace bench
