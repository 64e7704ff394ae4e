// SPDX-License-Identifier: BSD-3-Clause
#include "finding.hpp"

#include <algorithm>
#include <cstdio>

#include "base/human.hpp"

namespace doctor {
namespace {

constexpr std::size_t kFewestFiles = 128;                         // of oshrun and a few PEs
constexpr std::size_t kLeastAddressSpace = std::size_t{1} << 30;  // the library, libfabric, and a small heap
constexpr std::size_t kLeastMemory = std::size_t{256} << 20;
constexpr std::size_t kLeastFolder = std::size_t{64} << 20;
constexpr std::size_t kUsefulLocked = std::size_t{64} << 20;
constexpr double kSlowNvm = 100e6;  // bytes a second: a disk that turns

std::string text_of(Limit limit) { return limit ? shm::human_bytes(*limit) : "unlimited"; }
std::string speed(double bytes) { return shm::human_bytes(bytes) + "/s"; }

std::string last_line(const std::string& text) {
  const std::size_t end = text.find_last_not_of('\n');
  if (end == text.npos) return "it said nothing";
  const std::size_t begin = text.find_last_of('\n', end);
  return text.substr(begin == text.npos ? 0 : begin + 1, end - (begin == text.npos ? 0 : begin + 1) + 1);
}

// The line of the library that says why, before what the launcher adds.
std::string telling_line(const std::string& text) {
  for (const char* begin : {"atoll: ", "oshrun: "}) {
    std::size_t at = text.starts_with(begin) ? 0 : text.find(std::string("\n") + begin);
    if (at == text.npos) continue;
    if (at > 0) ++at;
    return text.substr(at, text.find('\n', at) - at);
  }
  return last_line(text);
}

const char* word_of(State state) {
  return state == State::good ? "ok" : state == State::note ? "note" : "BAD";
}

}  // namespace

std::string report(const std::vector<Finding>& findings, double seconds) {
  std::string text;
  char line[64];
  for (const Finding& each : findings) {
    std::snprintf(line, sizeof line, "  %-5s %-22s ", word_of(each.state), each.what.c_str());
    text += line + each.found + "\n";
    if (!each.remedy.empty()) text += std::string(8, ' ') + "-> " + each.remedy + "\n";
  }
  const auto bad = std::ranges::count(findings, State::bad, &Finding::state);
  std::snprintf(line, sizeof line, "\n%.1f s: ", seconds);
  text += line;
  if (bad == 0) return text + "nothing prevents jobs\n";
  return text + std::to_string(bad) + (bad == 1 ? " thing prevents jobs\n" : " things prevent jobs\n");
}

bool any_bad(const std::vector<Finding>& findings) {
  return std::ranges::find(findings, State::bad, &Finding::state) != findings.end();
}

Finding judge_open_files(std::size_t hard) {
  const std::string found = "at most " + std::to_string(hard);
  if (hard < kFewestFiles)
    return {State::bad, "open files", found, "raise the hard limit to 1024 (ulimit -Hn, limits.conf)"};
  return {State::good, "open files", found, ""};
}

Finding judge_address_space(Limit most) {
  if (most && *most < kLeastAddressSpace)
    return {State::bad, "address space", text_of(most),
            "ulimit -v unlimited, or ask the batch system for more memory"};
  if (most)
    return {State::note, "address space", text_of(most) + ": the default heap is a quarter of that",
            "set SHMEM_SYMMETRIC_SIZE, or ulimit -v unlimited"};
  return {State::good, "address space", "unlimited", ""};
}

Finding judge_file_size(Limit most) {
  // Shared memory is a file, too.
  if (most)
    return {State::bad, "size of files", text_of(most) + ": the memory that PEs share is a file",
            "ulimit -f unlimited"};
  return {State::good, "size of files", "unlimited", ""};
}

Finding judge_locked_memory(Limit most) {
  if (most && *most < kUsefulLocked)
    return {State::note, "locked memory", text_of(most) + ": networks that pin memory have too little",
            "with InfiniBand and its like: ulimit -l unlimited (limits.conf)"};
  return {State::good, "locked memory", text_of(most), ""};
}

Finding judge_core_size(Limit most) {
  if (most && *most == 0)
    return {State::note, "core files", "none are written",
            "to look into a crash afterwards: ulimit -c unlimited"};
  return {State::good, "core files", text_of(most), ""};
}

Finding judge_memory(std::size_t all, std::size_t available) {
  const std::string found = shm::human_bytes(available) + " available of " + shm::human_bytes(all);
  if (available < kLeastMemory)
    return {State::bad, "memory", found, "end other programs, or ask for more memory"};
  return {State::good, "memory", found, ""};
}

Finding judge_shared_folder(bool there, std::size_t free, bool needed) {
  const std::string what = "/dev/shm";
  const State state = needed ? State::bad : State::note;
  const char* remedy = needed ? "SHMEM_MAPPER=memfd needs none; or mount a larger tmpfs there"
                              : "only SHMEM_MAPPER=posix and other programs need it: mount a tmpfs there";
  if (!there) return {state, what, "not there, or not writable", remedy};
  if (free < kLeastFolder) return {state, what, shm::human_bytes(free) + " free", remedy};
  return {State::good, what,
          shm::human_bytes(free) + " free" + (needed ? "" : " (SHMEM_MAPPER=posix alone uses it)"), ""};
}

Finding judge_ptrace(std::optional<int> scope, bool allowed) {
  const std::string value = scope ? "ptrace_scope is " + std::to_string(*scope) : "no ptrace_scope";
  if (allowed) return {State::good, "debuggers", value + ": may attach to any process of yours", ""};
  if (scope && *scope == 1)
    return {State::note, "debuggers",
            value + ": may attach only to their children, and to PEs of oshrun --debug",
            "to attach to others: sysctl kernel.yama.ptrace_scope=0, as root"};
  return {State::note, "debuggers", value + ": may attach to nothing",
          "sysctl kernel.yama.ptrace_scope=0, as root; in a container: --cap-add SYS_PTRACE"};
}

Finding judge_cross_memory(bool works, const std::string& why) {
  if (works) return {State::good, "cross memory attach", "process_vm_readv works between processes", ""};
  return {State::note, "cross memory attach", why,
          "Atoll needs none; the provider shm of libfabric, and MPI, copy twice without: as for debuggers"};
}

std::string chosen_word(const std::string& text) {
  const std::size_t begin = text.find('['), end = text.find(']');
  return begin == text.npos || end == text.npos || end < begin ? "" : text.substr(begin + 1, end - begin - 1);
}

Finding judge_huge_pages(const std::string& shmem, const std::string& anonymous) {
  const std::string what = "huge pages";
  if (shmem.empty() && anonymous.empty())
    return {State::note, what, "the kernel has no transparent ones",
            "large heaps are slower; nothing is wrong"};
  const std::string word = chosen_word(shmem), other = chosen_word(anonymous);
  const std::string found = "for shared memory: " + (word.empty() ? "not known" : word) +
                            "; else: " + (other.empty() ? "not known" : other);
  if (word == "always" || word == "within_size" || word == "advise" || word == "force")
    return {State::good, what, found, ""};
  return {State::note, what, found,
          "for heaps of many GiB: echo advise > /sys/kernel/mm/transparent_hugepage/shmem_enabled, as root"};
}

Finding judge_io_uring(bool works, const std::string& why) {
  if (works) return {State::good, "io_uring", "permitted", ""};
  return {State::note, "io_uring",
          why + ": files are read and written one request after the other (NVM heap)",
          "sysctl kernel.io_uring_disabled=0, as root; in a container: a seccomp profile that permits it"};
}

Finding judge_debuggers(bool gdb, bool tmux) {
  if (gdb && tmux) return {State::good, "oshrun --debug", "gdb and tmux are there", ""};
  const std::string missing = gdb ? "tmux" : tmux ? "gdb" : "gdb and tmux";
  return {State::note, "oshrun --debug", "not in PATH: " + missing, "install them to debug jobs"};
}

Finding judge_folder(const std::string& folder, const FolderSpeed& speed_of) {
  const std::string what = "NVM folder";
  if (!speed_of.error.empty())
    return {State::bad, what, folder + ": " + speed_of.error,
            "name a folder on a local disk that you may write to (SHMEM_HEAP=nvm:<folder>, SHMEM_NVM_DIR)"};
  std::string found = folder + " (" + speed_of.file_system + "): writes " + speed(speed_of.written) +
                      ", reads " + speed(speed_of.read) + ", " + shm::human_bytes(speed_of.free) + " free";
  if (!speed_of.direct)
    return {State::note, what, found + "; not past the page cache (O_DIRECT)",
            "what is cached twice takes memory: use a folder on a file system on a disk"};
  if (std::min(speed_of.written, speed_of.read) < kSlowNvm)
    return {State::note, what, found, "slow for an NVM heap: use a local SSD"};
  return {State::good, what, found, ""};
}

Finding judge_job(const std::string& what, const JobEnd& end, const std::string& fine, State if_not) {
  if (end.code == 0) return {State::good, what, fine, ""};
  if (end.code < 0)
    return {if_not, what, "has not ended in time",
            "is the machine very busy?  Else: oshrun -n 2 --timeout 30 -x SHMEM_DEBUG=1 shmem_info --pe says "
            "where it waits"};
  return {if_not, what, "exit code " + std::to_string(end.code), telling_line(end.said)};
}

}  // namespace doctor
