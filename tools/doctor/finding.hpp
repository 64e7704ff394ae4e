// SPDX-License-Identifier: BSD-3-Clause
// What the doctor has found of one thing, and what follows from what the system says.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace doctor {

enum class State {
  good,
  note,  ///< jobs run; something is slower, or does not work that they need not
  bad,   ///< prevents jobs
};

struct Finding {
  State state = State::good;
  std::string what, found;
  std::string remedy;  ///< empty: nothing is to be done
};

/// What is printed of all: a row each, and a sentence that sums up.
std::string report(const std::vector<Finding>& findings, double seconds);
bool any_bad(const std::vector<Finding>& findings);

// ---- What follows from what was found; pure.  Numbers are bytes where nothing else is said.

/// A limit that ends processes, or keeps them from what they need; none: unlimited.
using Limit = std::optional<std::size_t>;

Finding judge_open_files(std::size_t hard);
Finding judge_address_space(Limit most);
Finding judge_file_size(Limit most);
Finding judge_locked_memory(Limit most);
Finding judge_core_size(Limit most);
Finding judge_memory(std::size_t all, std::size_t available);
/// `needed`: PEs share memory by files there.
Finding judge_shared_folder(bool there, std::size_t free, bool needed);
/// `scope`: of /proc/sys/kernel/yama; none: there is no such file.  `allowed`: a process may look into
/// another one of this user's that is no child of its.
Finding judge_ptrace(std::optional<int> scope, bool allowed);
Finding judge_cross_memory(bool works, const std::string& why);
/// `shmem`, `anonymous`: of /sys/kernel/mm/transparent_hugepage; empty: not there.
Finding judge_huge_pages(const std::string& shmem, const std::string& anonymous);
Finding judge_io_uring(bool works, const std::string& why);
Finding judge_debuggers(bool gdb, bool tmux);

/// Of a folder for NVM: what went wrong, or how fast it is.
struct FolderSpeed {
  std::string error;  ///< empty: none
  std::string file_system;
  bool direct = false;           ///< past the page cache
  double written = 0, read = 0;  ///< bytes a second
  std::size_t free = 0;
};
Finding judge_folder(const std::string& folder, const FolderSpeed& speed);

/// Of a job of two PEs: what its command has said, and how it has ended.
struct JobEnd {
  int code = 0;  ///< -1: it has not ended in time
  std::string said;
};
Finding judge_job(const std::string& what, const JobEnd& end, const std::string& fine, State if_not);

/// The word in brackets of "always within_size [advise] never"; empty: none.
std::string chosen_word(const std::string& text);

}  // namespace doctor
