// SPDX-License-Identifier: BSD-3-Clause
#include "doctor.hpp"

#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>
#include <sstream>

#include "base/env.hpp"
#include "base/env_names.hpp"
#include "base/host_memory.hpp"
#include "child.hpp"
#include "finding.hpp"
#include "probes.hpp"
#include "transports/ofi/fabric.hpp"

namespace doctor {
namespace {

using std::chrono::seconds;

// When what may hang is ended: parts of the time that there is.
struct Ends {
  explicit Ends(int within)
      : begin(Clock::now()),
        providers(begin + seconds(within) * 4 / 10),
        jobs(begin + seconds(within) * 7 / 10),
        folder(begin + seconds(within) * 9 / 10),
        of_job(std::to_string(within * 6 / 10)) {}
  Clock::time_point begin, providers, jobs, folder;
  std::string of_job;  // the time limit of each
};

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t n = readlink("/proc/self/exe", path, sizeof path);
  return n > 0 ? std::string(path, static_cast<std::size_t>(n)) : "";
}

// Beside this program, or in PATH.
std::string launcher() {
  const std::string beside = own_path().substr(0, own_path().rfind('/') + 1) + "oshrun";
  return access(beside.c_str(), X_OK) == 0 ? beside : in_path("oshrun");
}

using Variables = std::vector<std::pair<std::string, std::string>>;

Child start_job(const std::string& oshrun, const std::string& limit, bool two_nodes,
                const Variables& variables) {
  std::vector<std::string> command{oshrun, "-n", "2", "--launcher", "local", "--timeout", limit};
  if (two_nodes) command.insert(command.end(), {"--virtual-nodes", "2"});
  command.insert(command.end(), {own_path(), "--pe"});
  return Child(command, variables);
}

JobEnd end_of(Child& job, Clock::time_point until) {
  JobEnd end;
  end.code = job.wait_until(until, end.said);
  return end;
}

// The names of those that open, one a line: opening one may take its time, or crash.
int print_providers_that_open() {
#define PROVIDER(name, ...)                                               \
  if (shm::open_fabric({.provider = name, .loopback_only = true}).ok()) { \
    std::puts(name);                                                      \
    std::fflush(stdout);                                                  \
  }
#include "transports/ofi/quirks.def"
#undef PROVIDER
  return 0;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) lines.push_back(line);
  return lines;
}

// The provider of a user's choice, and those that are here beside it.
void look_at_network(const std::string& oshrun, Child& opening, const Ends& ends,
                     std::vector<Finding>& findings) {
  Child usual = start_job(oshrun, ends.of_job, true, {});
  std::string said;
  const int opened = opening.wait_until(ends.providers, said);
  const std::vector<std::string> names = lines_of(said);
  std::vector<Child> jobs;
  for (const std::string& name : names)
    jobs.push_back(
        start_job(oshrun, ends.of_job, true, {{"SHMEM_PROVIDER", name}, {"SHMEM_SYMMETRIC_SIZE", "16m"}}));
  const char* chosen = std::getenv("SHMEM_PROVIDER");
  findings.push_back(
      judge_job("PEs on two nodes", end_of(usual, ends.jobs),
                std::string("have put, got and added, over ") +
                    (chosen != nullptr && *chosen != '\0' ? chosen : "the provider of Atoll's choice"),
                State::bad));
  for (std::size_t i = 0; i < names.size(); ++i)
    findings.push_back(judge_job("provider " + names[i], end_of(jobs[i], ends.jobs),
                                 "carries puts, gets and atomics between two endpoints", State::note));
  if (opened < 0)
    findings.push_back({State::note, "providers",
                        "not all have answered in time, which one may be the reason of",
                        "shmem_info --providers, which waits for all"});
  if (names.empty() && opened >= 0)
    findings.push_back(
        {State::bad, "providers", "none of those that Atoll knows opens here",
         "install libfabric (Debian: libfabric1); shmem_info --providers says why each does not"});
}

Finding look_at_variables(shm::Env& env) {
  shm::Result<shm::Env> read = shm::Env::read();
  if (!read.ok()) return {State::bad, "variables", read.status().text(), "correct or unset it"};
  env = read.value();
  const std::vector<std::string> remarks = shm::remarks_on_variables();
  if (remarks.empty()) return {State::good, "variables", "all are understood", ""};
  return {State::note, "variables", remarks.front(), ""};
}

std::string folder_of(const shm::Env& env) {
  constexpr std::string_view kNvm = "nvm:";
  return env.heap.starts_with(kNvm) ? env.heap.substr(kNvm.size()) : env.nvm_dir;
}

Finding look_at_folder(const std::string& folder, Clock::time_point until) {
  if (folder.empty())
    return {State::good, "NVM folder",
            "none is asked for (SHMEM_HEAP, SHMEM_NVM_DIR; --nvm FOLDER tries one)", ""};
  Child measuring([&folder] {
    const FolderSpeed speed = measure_folder(folder);
    std::printf("%s\n%s\n%d %.0f %.0f %zu\n", speed.error.c_str(), speed.file_system.c_str(), speed.direct,
                speed.written, speed.read, speed.free);
    return 0;
  });
  std::string said;
  FolderSpeed speed;
  const int code = measuring.wait_until(until, said);
  const std::vector<std::string> lines = lines_of(said);
  int direct = 0;
  if (code != 0 || lines.size() != 3 ||
      std::sscanf(lines[2].c_str(), "%d %lf %lf %zu", &direct, &speed.written, &speed.read, &speed.free) !=
          4) {
    speed.error =
        code < 0 ? "does not answer" : "writing to it ends the process (code " + std::to_string(code) + ")";
  } else {
    speed.error = lines[0];
    speed.file_system = lines[1];
    speed.direct = direct != 0;
  }
  return judge_folder(folder, speed);
}

void look_at_limits(std::vector<Finding>& findings) {
  findings.push_back(judge_memory(shm::host_memory(), shm::available_memory()));
  findings.push_back(judge_address_space(limit_of(RLIMIT_AS, false)));
  findings.push_back(judge_open_files(limit_of(RLIMIT_NOFILE, true).value_or(1 << 20)));
  findings.push_back(judge_file_size(limit_of(RLIMIT_FSIZE, false)));
  findings.push_back(judge_locked_memory(limit_of(RLIMIT_MEMLOCK, true)));
  findings.push_back(judge_core_size(limit_of(RLIMIT_CORE, false)));
}

void look_at_system(std::vector<Finding>& findings) {
  const Reach reach = reach_of_processes();
  findings.push_back(judge_ptrace(read_number("/proc/sys/kernel/yama/ptrace_scope"), reach.trace));
  findings.push_back(judge_debuggers(!in_path("gdb").empty(), !in_path("tmux").empty()));
  findings.push_back(judge_cross_memory(reach.read_memory, reach.why_not));
  findings.push_back(judge_huge_pages(read_text("/sys/kernel/mm/transparent_hugepage/shmem_enabled"),
                                      read_text("/sys/kernel/mm/transparent_hugepage/enabled")));
  const std::string why = why_no_io_uring();
  findings.push_back(judge_io_uring(why.empty(), why));
}

}  // namespace

int look_at_machine(const std::string& given_folder, int within) {
  const Ends ends(within);
  std::vector<Finding> findings;
  shm::Env env{};
  findings.push_back(look_at_variables(env));
  Child opening(print_providers_that_open);
  if (const std::string oshrun = launcher(); oshrun.empty()) {
    findings.push_back(
        {State::bad, "oshrun", "neither beside shmem_info nor in PATH", "install Atoll as a whole"});
  } else {
    Child job = start_job(oshrun, ends.of_job, false, {});
    findings.push_back(judge_job("PEs on one node", end_of(job, ends.jobs),
                                 "have put, got and added: oshrun, PMIx and shared memory work", State::bad));
    look_at_network(oshrun, opening, ends, findings);
  }
  look_at_limits(findings);
  const SharedFolder shared = look_at_shared_folder();
  findings.push_back(judge_shared_folder(shared.there, shared.free, env.mapper == "posix"));
  findings.push_back(look_at_folder(given_folder.empty() ? folder_of(env) : given_folder, ends.folder));
  look_at_system(findings);
  const std::chrono::duration<double> taken = Clock::now() - ends.begin;
  std::fputs(report(findings, taken.count()).c_str(), stdout);
  return any_bad(findings) ? 1 : 0;
}

}  // namespace doctor
