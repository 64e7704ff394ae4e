// SPDX-License-Identifier: BSD-3-Clause
#include "memory_cgroup.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <fstream>
#include <sstream>
#include <vector>

#include "base/human.hpp"

namespace oshrun {
namespace {

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(separator), text.size());
    parts.push_back(text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return parts;
}

bool has(const std::vector<std::string_view>& words, std::string_view wanted) {
  return std::find(words.begin(), words.end(), wanted) != words.end();
}

/// Where the cgroup file system of this type is mounted that shows `path`, and path's directory there. Of
/// version 1 there is one for each controller. In a container the mount may begin below the root.
std::optional<std::string> directory(std::string_view mounts, std::string_view type, std::string_view path) {
  for (const std::string_view line : split(mounts, '\n')) {
    // "35 31 0:32 ROOT PLACE OPTIONS... - TYPE SOURCE OPTIONS"
    const std::size_t dash = line.find(" - ");
    if (dash == line.npos) continue;
    const auto mount = split(line.substr(0, dash), ' '), kind = split(line.substr(dash + 3), ' ');
    if (mount.size() < 5 || kind.size() < 3 || kind[0] != type) continue;
    if (type == "cgroup" && !has(split(kind[2], ','), "memory")) continue;
    const std::string_view root = mount[3] == "/" ? "" : mount[3];
    if (!path.starts_with(root)) continue;
    const std::string_view below = path.substr(root.size());
    if (below.empty() || below.front() == '/') return std::string(mount[4]).append(below);
  }
  return std::nullopt;
}

std::string text_of(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

}  // namespace

std::optional<MemoryCgroup> memory_cgroup(std::string_view groups, std::string_view mounts) {
  std::optional<std::string> unified;
  for (const std::string_view line : split(groups, '\n')) {  // "4:memory:/path", of version 2 "0::/path"
    const std::size_t first = line.find(':'), second = line.find(':', first + 1);
    if (first == line.npos || second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1),
                           path = line.substr(second + 1);
    if (controllers.empty()) unified = directory(mounts, "cgroup2", path);
    if (!has(split(controllers, ','), "memory")) continue;
    if (const auto found = directory(mounts, "cgroup", path))
      return MemoryCgroup{*found + "/memory.oom_control", *found + "/memory.limit_in_bytes"};
  }
  if (!unified) return std::nullopt;
  return MemoryCgroup{*unified + "/memory.events", *unified + "/memory.max"};
}

std::optional<long> oom_kills(std::string_view events) {
  constexpr std::string_view kName = "oom_kill ";
  for (const std::string_view line : split(events, '\n')) {
    long count = 0;
    if (line.starts_with(kName) &&
        std::from_chars(line.data() + kName.size(), line.data() + line.size(), count).ec == std::errc())
      return count;
  }
  return std::nullopt;
}

std::string out_of_memory(long before, long now, const std::string& limit, const std::string& file) {
  if (now <= before) return {};
  std::string text = ", and since the job began the kernel's OOM killer has killed " +
                     std::to_string(now - before) + (now - before == 1 ? " process" : " processes") +
                     " of oshrun's cgroup: memory ran out";
  std::uint64_t bytes = 0;
  const bool limited = std::from_chars(limit.data(), limit.data() + limit.size(), bytes).ec == std::errc() &&
                       bytes < std::uint64_t{1} << 62;
  if (limited) text += " (" + file + " allows " + shm::human_bytes(bytes) + ")";
  return text;
}

OomWatch::OomWatch() : group_(memory_cgroup(text_of("/proc/self/cgroup"), text_of("/proc/self/mountinfo"))) {
  if (group_) before_ = oom_kills(text_of(group_->events));
}

std::string OomWatch::verdict() const {
  if (!before_) return {};
  const long now = oom_kills(text_of(group_->events)).value_or(*before_);
  return out_of_memory(*before_, now, text_of(group_->limit), group_->limit);
}

}  // namespace oshrun
