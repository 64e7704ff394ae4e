// SPDX-License-Identifier: BSD-3-Clause
#include "hosts.hpp"

#include <algorithm>
#include <unordered_map>

#include "words.hpp"

namespace oshrun {
namespace {

constexpr int kMaxPlaces = 1'000'000;  // of one host, and of all: more than any job has processes

std::optional<int> number_of_places(std::string_view text) {
  const std::optional<int> value = whole_number(text);
  return value && *value >= 1 && *value <= kMaxPlaces ? value : std::nullopt;
}

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

std::string lower_case(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(), lower);
  return result;
}

bool is_address(std::string_view name) {
  return name.find_first_not_of("0123456789.") == std::string_view::npos;
}

constexpr std::string_view kLoopback = "localhost";

/// Of a name in lower case: what each host calls itself.
bool is_loopback(std::string_view name) {
  return name == kLoopback || name.starts_with("localhost.") ||
         (is_address(name) && name.starts_with("127.") && std::count(name.begin(), name.end(), '.') == 3);
}

/// The part of a name before its domain; an address has none. Names of the loopback are alike.
std::string_view label_of(std::string_view name) {
  if (is_loopback(name)) return kLoopback;
  return is_address(name) ? name : name.substr(0, name.find('.'));
}

/// Of names in lower case: one without a domain may be short for one with it.
bool may_be_one_host(std::string_view one, std::string_view other) {
  if (one == other || (is_loopback(one) && is_loopback(other))) return true;
  const bool short_one = label_of(one) == one, short_other = label_of(other) == other;
  return short_one != short_other && label_of(one) == label_of(other);
}

/// Names and IPv4 addresses.
bool is_host_name(std::string_view name) {
  constexpr std::string_view kOfNames = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_.";
  return !name.empty() && name.front() != '-' && name.front() != '.' && name.back() != '.' &&
         name.find("..") == std::string_view::npos &&
         name.find_first_not_of(kOfNames) == std::string_view::npos;
}

bool looks_like_ipv6(std::string_view word) {
  return word.find_first_not_of("0123456789abcdefABCDEF:.[]") == std::string_view::npos &&
         (word.find("::") != std::string_view::npos || std::count(word.begin(), word.end(), ':') >= 7);
}

/// Collects hosts; `where` begins an error.
class Collector {
 public:
  explicit Collector(std::string where) : where_(std::move(where)) {}

  /// "NAME" or "NAME:PLACES"; `slots`: what "slots=" says behind it.
  void add(std::string_view word, std::optional<std::string_view> slots = {}) {
    if (looks_like_ipv6(word))
      return refuse(quoted(word) + ": give a host with an IPv6 address by its name, and places as in a:4");
    const std::size_t colon = word.find(':');
    const std::string_view name = word.substr(0, colon);
    std::optional<std::string_view> count = slots;
    if (colon != std::string_view::npos) count = word.substr(colon + 1);
    if (!is_host_name(name))
      return refuse(quoted(word) +
                    ": give hosts one by one, each by its name (letters, digits, - and _, and dots between "
                    "them) or IPv4 address");
    std::optional<int> places;
    if (count) {
      places = number_of_places(*count);
      if (!places)
        return refuse(quoted(word) + ": the number of places must be a whole number from 1 to " +
                      std::to_string(kMaxPlaces));
    }
    add_host(name, places);
  }

  void refuse(const std::string& what) {
    if (list_.error.empty()) list_.error = "oshrun: " + where_ + ": " + what;
  }

  HostList take() {
    if (list_.error.empty() && list_.hosts.empty()) refuse("it names no host");
    return std::move(list_);
  }

 private:
  void add_host(std::string_view name, std::optional<int> places) {
    const std::string plain = lower_case(name);
    std::vector<std::size_t>& alike = alike_[std::string(label_of(plain))];
    for (const std::size_t index : alike) {
      Host& known = list_.hosts[index];
      if (known.name == name) return add_places(known, places);
      if (may_be_one_host(lower_case(known.name), plain))
        return refuse(quoted(known.name) + " and " + quoted(name) +
                      " may be one host; call it by one name, and two hosts by names with their domains");
    }
    alike.push_back(list_.hosts.size());
    list_.hosts.push_back({std::string(name), places});
  }

  void add_places(Host& host, std::optional<int> places) {
    const int sum = host.places.value_or(1) + places.value_or(1);  // of two numbers up to kMaxPlaces
    if (sum <= kMaxPlaces)
      host.places = sum;
    else
      refuse(quoted(host.name) + " has more than " + std::to_string(kMaxPlaces) + " places in all");
  }

  const std::string where_;
  HostList list_;
  std::unordered_map<std::string, std::vector<std::size_t>> alike_;  // hosts by what comes before the domain
};

std::vector<std::string_view> words_of(std::string_view line) {
  std::vector<std::string_view> words;
  constexpr std::string_view kBlanks = " \t\r";
  for (std::size_t start = line.find_first_not_of(kBlanks); start != std::string_view::npos;) {
    const std::size_t end = std::min(line.find_first_of(kBlanks, start), line.size());
    words.push_back(line.substr(start, end - start));
    start = line.find_first_not_of(kBlanks, end);
  }
  return words;
}

}  // namespace

HostList parse_host_list(const std::string& option, std::string_view list) {
  Collector collector(option + " " + quoted(list));
  for (std::size_t start = 0; start <= list.size();) {
    const std::size_t end = std::min(list.find(',', start), list.size());
    collector.add(list.substr(start, end - start));
    start = end + 1;
  }
  return collector.take();
}

HostList parse_hostfile(const std::string& file, std::string_view text) {
  constexpr std::string_view kSlots = "slots=";
  Collector collector("--hostfile " + quoted(file));
  for (std::size_t start = 0; start < text.size();) {
    const std::size_t end = std::min(text.find('\n', start), text.size());
    const std::string_view line = text.substr(start, end - start);
    start = end + 1;
    const std::vector<std::string_view> words = words_of(line.substr(0, line.find('#')));
    if (words.empty()) continue;
    std::optional<std::string_view> slots;
    for (std::size_t i = 1; i < words.size(); ++i) {
      if (!words[i].starts_with(kSlots)) {
        collector.refuse(quoted(words[i]) +
                         " is not understood; give NAME, NAME:PLACES or NAME slots=PLACES");
      } else {
        slots = words[i].substr(kSlots.size());
      }
    }
    collector.add(words[0], slots);
  }
  return collector.take();
}

bool counted(const std::vector<Host>& hosts) {
  return std::any_of(hosts.begin(), hosts.end(), [](const Host& host) { return host.places.has_value(); });
}

int places(const std::vector<Host>& hosts) {
  long sum = 0;
  for (const Host& host : hosts) sum += host.places.value_or(1);
  return static_cast<int>(std::min<long>(sum, kMaxPlaces));
}

Placement place(const std::vector<Host>& hosts, int processes) {
  Placement result;
  const bool limited = counted(hosts);
  if (limited && processes > places(hosts)) {
    result.error = "oshrun: the hosts have places for " + std::to_string(places(hosts)) +
                   " processes, and the job has " + std::to_string(processes) +
                   "; name more hosts, or give places as in a:4";
    return result;
  }
  const int count = static_cast<int>(hosts.size());
  int left = processes;
  for (int i = 0; i < count && left > 0; ++i) {
    const Host& host = hosts[static_cast<std::size_t>(i)];
    const int even = processes / count + (i < processes % count ? 1 : 0);
    const int given = std::min(left, limited ? host.places.value_or(1) : even);
    result.hosts.push_back({host.name, given});
    left -= given;
  }
  return result;
}

bool is_this_host(std::string_view name, std::string_view this_host) {
  if (name.empty()) return false;
  const std::string plain = lower_case(name);
  return is_loopback(plain) || may_be_one_host(plain, lower_case(this_host));
}

std::string named_twice(const std::vector<Host>& hosts, std::string_view this_host) {
  const Host* by_loopback = nullptr;
  const Host* by_name = nullptr;
  for (const Host& host : hosts)
    if (is_this_host(host.name, this_host))
      (is_loopback(lower_case(host.name)) ? by_loopback : by_name) = &host;
  if (by_loopback == nullptr || by_name == nullptr) return {};
  return "oshrun: the list of hosts has " + quoted(by_loopback->name) + " and " + quoted(by_name->name) +
         ", which are both this host; call it by one name";
}

}  // namespace oshrun
