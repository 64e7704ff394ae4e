// SPDX-License-Identifier: BSD-3-Clause
#include "base/limits.hpp"

#include <fcntl.h>
#include <linux/capability.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <system_error>
#include <thread>

#include "base/human.hpp"
#include "base/service_thread.hpp"

namespace shm {
namespace {

// Soft limit; RLIM_INFINITY where there is none.
rlim_t limit_of(int resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) == 0 ? limit.rlim_cur : RLIM_INFINITY;
}

std::string in_force(int resource, const char* command) {
  const rlim_t limit = limit_of(resource);
  return std::string(command) + (limit == RLIM_INFINITY ? "" : ": " + std::to_string(limit));
}

// The kernel counts for nobody who has this.
bool may_lock_all() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct sets[_LINUX_CAPABILITY_U32S_3]{};
  return syscall(SYS_capget, &head, sets) == 0 && (sets[0].effective & (1U << CAP_IPC_LOCK)) != 0;
}

}  // namespace

std::size_t allow_open_files(std::size_t files) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0) return files;
  if (limit.rlim_cur < files && limit.rlim_cur < limit.rlim_max) {
    const rlimit raised{std::min<rlim_t>(files, limit.rlim_max), limit.rlim_max};
    if (setrlimit(RLIMIT_NOFILE, &raised) == 0) return raised.rlim_cur;
  }
  return limit.rlim_cur;
}

void allow_locked_memory() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0) return;
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_MEMLOCK, &limit);
}

std::size_t allowed_locked_memory() {
  rlimit limit{};
  if (getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || limit.rlim_max == RLIM_INFINITY || may_lock_all())
    return SIZE_MAX;
  return limit.rlim_max;
}

std::string why_not_pinned(const ToPin& pages, std::size_t memory, std::size_t allowed) {
  constexpr const char* kSmaller = "set SHMEM_SYMMETRIC_SIZE, or a smaller one";
  const std::size_t of_host = pages.own * static_cast<std::size_t>(pages.processes) + pages.shared;
  if (of_host > memory)
    return "that is " + human_bytes(of_host) + " on this host of " + human_bytes(memory) + "; " + kSmaller;
  if (pages.own + pages.shared > allowed)
    return "a process may lock " + human_bytes(allowed) + "; raise the hard limit (ulimit -Hl), or " +
           kSmaller;
  return "";
}

std::size_t allowed_address_space() {
  const rlim_t limit = limit_of(RLIMIT_AS);
  return limit == RLIM_INFINITY ? SIZE_MAX : static_cast<std::size_t>(limit);
}

int set_file_size(int file, std::size_t bytes) {
  if (const rlim_t limit = limit_of(RLIMIT_FSIZE); limit != RLIM_INFINITY && bytes > limit) {
    errno = EFBIG;
    return -1;
  }
  return ftruncate(file, static_cast<off_t>(bytes));
}

bool open_files_are_used_up() {
  const int file = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (file < 0) return errno == EMFILE;
  close(file);
  return false;
}

bool threads_are_used_up() {
  std::array<std::thread, 4> threads;
  std::atomic<bool> all{false};
  bool failed = false;
  for (std::thread& thread : threads) {
    try {
      thread = start_service_thread("atoll-try", [&all] { all.wait(false); });
    } catch (const std::system_error&) {
      failed = true;
      break;
    }
  }
  all = true;
  all.notify_all();
  for (std::thread& thread : threads)
    if (thread.joinable()) thread.join();
  return failed;
}

std::string limit_behind(int error) {
  if (error == EMFILE)
    return "; this process may have " + std::to_string(limit_of(RLIMIT_NOFILE)) + " open files (ulimit -n)";
  if (error == ENFILE) return "; all open files of this host are in use (fs.file-max)";
  if (const rlim_t largest = limit_of(RLIMIT_FSIZE); error == EFBIG && largest != RLIM_INFINITY)
    return "; no file of this process may be larger than " + human_bytes(largest) + " (ulimit -f)";
  if (error != ENOMEM) return "";
  const rlim_t space = limit_of(RLIMIT_AS);
  if (space != RLIM_INFINITY) return "; this process may map " + human_bytes(space) + " (ulimit -v)";
  int overcommit = 0;
  std::ifstream("/proc/sys/vm/overcommit_memory") >> overcommit;
  return overcommit == 2 ? "; this host promises no more memory than it has (vm.overcommit_memory is 2)" : "";
}

std::string limit_of_locked_memory() {
  const rlim_t limit = limit_of(RLIMIT_MEMLOCK);
  return limit == RLIM_INFINITY ? "" : "; this process may lock " + human_bytes(limit) + " (ulimit -l)";
}

std::string limit_of_threads() {
  return "; no more processes and threads are allowed (" + in_force(RLIMIT_NPROC, "ulimit -u") +
         "; in a container its pids limit)";
}

}  // namespace shm
