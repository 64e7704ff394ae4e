// SPDX-License-Identifier: BSD-3-Clause
#include "json.hpp"

#include <cctype>
#include <cstdlib>
#include <utility>

namespace bench {
namespace {

constexpr int kDeepest = 2;

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {}

  std::optional<Json> whole() {
    Json value;
    if (!object(value, 0)) return {};
    blanks();
    return at_ == text_.size() ? std::optional<Json>(std::move(value)) : std::nullopt;
  }

 private:
  void blanks() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_])) != 0) ++at_;
  }
  bool take(char letter) {
    blanks();
    if (at_ >= text_.size() || text_[at_] != letter) return false;
    ++at_;
    return true;
  }

  bool string(std::string& out) {
    if (!take('"')) return false;
    for (; at_ < text_.size() && text_[at_] != '"'; ++at_) {
      if (text_[at_] == '\\' && ++at_ == text_.size()) return false;
      out += text_[at_];
    }
    return at_++ < text_.size();
  }

  bool scalar(Json& value) {
    blanks();
    const std::size_t begin = at_;
    while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) != 0 ||
                                  std::string_view("+-.").find(text_[at_]) != std::string_view::npos))
      ++at_;
    value.text = text_.substr(begin, at_ - begin);
    if (value.text.empty()) return false;
    char* end = nullptr;
    value.number = std::strtod(value.text.c_str(), &end);
    value.kind = *end == '\0' ? Json::Kind::number : Json::Kind::word;
    return value.kind == Json::Kind::number || value.text == "true" || value.text == "false" ||
           value.text == "null";
  }

  bool list(Json& value) {
    value.kind = Json::Kind::numbers;
    if (!take('[')) return false;
    if (take(']')) return true;
    do {
      Json one;
      if (!scalar(one) || one.kind != Json::Kind::number) return false;
      value.numbers.push_back(one.number);
    } while (take(','));
    return take(']');
  }

  bool object(Json& value, int deep) {
    value.kind = Json::Kind::object;
    if (deep >= kDeepest || !take('{')) return false;
    if (take('}')) return true;
    do {
      Json member;
      if (!string(member.name) || !take(':') || !any(member, deep)) return false;
      value.members.push_back(std::move(member));
    } while (take(','));
    return take('}');
  }

  bool any(Json& value, int deep) {
    blanks();
    const char next = at_ < text_.size() ? text_[at_] : '\0';
    if (next == '{') return object(value, deep + 1);
    if (next == '[') return list(value);
    if (next != '"') return scalar(value);
    value.kind = Json::Kind::text;
    return string(value.text);
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

const Json* Json::find(const std::string& wanted) const {
  for (const Json& member : members)
    if (member.name == wanted) return &member;
  return nullptr;
}

std::string Json::text_of(const std::string& wanted) const {
  const Json* const member = find(wanted);
  return member == nullptr ? "" : member->text;
}

std::optional<Json> parse_json(std::string_view line) { return Reader(line).whole(); }

}  // namespace bench
