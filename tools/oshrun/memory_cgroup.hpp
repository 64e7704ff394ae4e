// SPDX-License-Identifier: BSD-3-Clause
// Whether the kernel's OOM killer has been at work: it sends SIGKILL without a word to anybody, but counts.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace oshrun {

/// The files of the cgroup that bounds the memory of this process.
struct MemoryCgroup {
  std::string events;  // has a line "oom_kill N"
  std::string limit;   // bytes; in version 2 "max" means none, in version 1 a number close to 2^63
};

/// From the texts of /proc/self/cgroup and /proc/self/mountinfo, both versions of cgroups; nothing where no
/// such cgroup can be seen.
std::optional<MemoryCgroup> memory_cgroup(std::string_view groups, std::string_view mounts);

/// N of a line "oom_kill N".
std::optional<long> oom_kills(std::string_view events);

/// ", and ..." for behind a death by SIGKILL: that the count has risen from `before` to `now`. `limit` is
/// what the file of that name, `file`, has.
std::string out_of_memory(long before, long now, const std::string& limit, const std::string& file);

/// Counts from its making on, in the cgroup that this process had then, and its children unless they were
/// moved.
class OomWatch {
 public:
  OomWatch();
  /// What to say of a child that has been reaped after SIGKILL; empty if no OOM killer has been at work. The
  /// kernel counts before it kills.
  std::string verdict() const;

 private:
  std::optional<MemoryCgroup> group_;
  std::optional<long> before_;
};

}  // namespace oshrun
