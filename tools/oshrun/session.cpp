// SPDX-License-Identifier: BSD-3-Clause
#include "session.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <set>
#include <system_error>

namespace oshrun {
namespace {

std::string random_hex() {
  char text[17];
  snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(random_number()));
  return text;
}

void remove_matching(const std::string& directory, const std::string& prefix) {
  DIR* stream = opendir(directory.c_str());
  if (stream == nullptr) return;
  std::vector<std::string> names;
  while (const dirent* entry = readdir(stream)) {
    const std::string_view name = entry->d_name;
    if (name.starts_with(prefix)) names.emplace_back(name);
  }
  closedir(stream);
  std::error_code ignored;
  for (const std::string& name : names) std::filesystem::remove_all(directory + "/" + name, ignored);
}

bool any_alive(const std::set<pid_t>& groups) {
  return std::any_of(groups.begin(), groups.end(), [](pid_t group) { return kill(-group, 0) == 0; });
}

/// The launcher is gone. Files go after the processes that might still make some.
void clean_up_after(const Session& session, const std::set<pid_t>& groups) {
  for (pid_t group : groups) kill(-group, SIGKILL);
  const timespec pause{0, 1'000'000};
  for (int i = 0; i < 300 && any_alive(groups); ++i) nanosleep(&pause, nullptr);
  remove_job_files(session);
}

[[noreturn]] void janitor_main(const Session& session, int pipe_end) {
  setsid();
  prctl(PR_SET_NAME, "oshrun-janitor");
  const int null = open("/dev/null", O_RDWR);
  const int source = 3;
  // Nothing of the launcher may stay open here: its reader would wait for us.
  if (pipe_end != source) dup2(pipe_end, source);
  for (int fd : {0, 1, 2}) dup2(null, fd);
  close_range(source + 1, ~0U, 0);
  if (chdir("/") != 0) _exit(1);
  std::set<pid_t> groups;
  for (;;) {
    pid_t word = 0;
    const ssize_t size = read(source, &word, sizeof word);
    if (size < 0 && errno == EINTR) continue;
    if (size != sizeof word) break;
    if (word > 0) groups.insert(word);
    if (word < 0) groups.erase(-word);
  }
  clean_up_after(session, groups);
  _exit(0);
}

}  // namespace

std::uint64_t random_number() {
  std::uint64_t number = 0;
  if (getrandom(&number, sizeof number, 0) != sizeof number) {
    perror("oshrun: there are no random numbers for the job's secrets: getrandom");
    exit(1);
  }
  return number;
}

Session new_session() {
  Session session;
  const char* tmpdir = getenv("TMPDIR");
  session.job_id = "atoll-" + std::to_string(getpid()) + "-" + random_hex();
  session.pmix_namespace = session.job_id + "." + random_hex() + random_hex();
  session.tmpdir = tmpdir != nullptr && *tmpdir != '\0' ? tmpdir : "/tmp";
  std::error_code error;
  // The janitor has another working directory.
  const std::filesystem::path absolute = std::filesystem::absolute(session.tmpdir, error);
  if (!error) session.tmpdir = absolute.string();
  session.dir = session.tmpdir + "/atoll." + session.job_id + ".pmix";
  return session;
}

int create_session_dir(const Session& session) { return mkdir(session.dir.c_str(), 0700) == 0 ? 0 : errno; }

void remove_job_files(const Session& session) {
  const std::string prefix = "atoll." + session.job_id + ".";
  remove_matching("/dev/shm", prefix);
  remove_matching(session.tmpdir, prefix);
}

int Janitor::start(const Session& session) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0) return errno;
  UniqueFd read_end(ends[0]);
  pipe_.reset(ends[1]);
  pid_ = fork();
  if (pid_ == 0) {
    pipe_.reset();
    janitor_main(session, read_end.get());
  }
  return pid_ > 0 ? 0 : errno;
}

void Janitor::tell(pid_t word) {
  // Losing the janitor costs only the clean-up after a SIGKILL of the launcher.
  if (pipe_ && write(pipe_.get(), &word, sizeof word) != sizeof word) pipe_.reset();
}

void Janitor::stop() {
  if (pid_ <= 0) return;
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
  pid_ = -1;
  pipe_.reset();
}

}  // namespace oshrun
