// SPDX-License-Identifier: BSD-3-Clause
#include "probes.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <utility>

#include "child.hpp"

namespace doctor {
namespace {

constexpr std::size_t kPart = std::size_t{1} << 20;
constexpr std::size_t kMostBytes = std::size_t{64} << 20;
constexpr std::chrono::milliseconds kLongest{500};

std::string reason() { return std::strerror(errno); }

const char* name_of_file_system(long type) {
  constexpr std::pair<unsigned long, const char*> kNames[] = {
      {0xef53, "ext4"},        {0x58465342, "xfs"}, {0x9123683e, "btrfs"}, {0x01021994, "tmpfs"},
      {0x794c7630, "overlay"}, {0x6969, "nfs"},     {0x2fc12fc1, "zfs"},   {0xf2f52010, "f2fs"},
      {0x0bd00bd0, "lustre"},  {0x01021997, "9p"},  {0x65735546, "fuse"},  {0x47504653, "gpfs"}};
  for (const auto& [magic, name] : kNames)
    if (static_cast<unsigned long>(type) == magic) return name;
  return "another file system";
}

class File {
 public:
  explicit File(int fd) : fd_(fd) {}
  ~File() {
    if (fd_ >= 0) close(fd_);
  }
  File(File&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  File& operator=(File&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  int get() const { return fd_; }

 private:
  int fd_;
};

// A file without a name, or with one that is gone at once.
File unnamed_file(const std::string& folder, int flags) {
  int fd = open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC | flags, 0600);
  if (fd < 0 && (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)) {
    std::string path = folder + "/atoll.doctor.XXXXXX";
    fd = mkostemp(path.data(), O_CLOEXEC | flags);
    const int error = errno;
    if (fd >= 0) unlink(path.c_str());
    errno = error;
  }
  return File(fd);
}

FolderSpeed failed(const std::string& why) {
  FolderSpeed result;
  result.error = why;
  return result;
}

// Bytes a second of moving parts of the file; 0: `move` has failed.
template <class Move>
double speed_of(std::size_t& moved, std::size_t most, Move move) {
  const auto begin = Clock::now();
  moved = 0;
  while (moved < most && Clock::now() - begin < kLongest) {
    if (move(static_cast<off_t>(moved)) != static_cast<ssize_t>(kPart)) return 0;
    moved += kPart;
  }
  const std::chrono::duration<double> seconds = Clock::now() - begin;
  return static_cast<double>(moved) / std::max(seconds.count(), 1e-6);
}

}  // namespace

Limit limit_of(int resource, bool hard) {
  rlimit now{};
  getrlimit(static_cast<__rlimit_resource_t>(resource), &now);
  const rlim_t most = hard ? now.rlim_max : now.rlim_cur;
  return most == RLIM_INFINITY ? Limit() : Limit(most);
}

std::string read_text(const char* path) {
  const File file(open(path, O_RDONLY | O_CLOEXEC));
  char text[4096];
  const ssize_t n = file.get() < 0 ? -1 : read(file.get(), text, sizeof text);
  return n > 0 ? std::string(text, static_cast<std::size_t>(n)) : "";
}

std::optional<int> read_number(const char* path) {
  const std::string text = read_text(path);
  return text.empty() ? std::nullopt : std::optional(std::atoi(text.c_str()));
}

std::string in_path(const std::string& name) {
  const char* path = std::getenv("PATH");
  std::string folders = path != nullptr ? path : "";
  while (!folders.empty()) {
    const std::size_t end = folders.find(':');
    const std::string file = folders.substr(0, end) + "/" + name;
    if (access(file.c_str(), X_OK) == 0) return file;
    folders = end == folders.npos ? "" : folders.substr(end + 1);
  }
  return "";
}

SharedFolder look_at_shared_folder() {
  struct statvfs info {};
  const bool there = access("/dev/shm", W_OK | X_OK) == 0 && statvfs("/dev/shm", &info) == 0;
  return {there, static_cast<std::size_t>(info.f_bavail) * info.f_frsize};
}

Reach reach_of_processes() {
  static volatile long secret = 42;
  const pid_t other = fork();
  if (other == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    for (;;) pause();
  }
  Child looking([other] {
    long seen = 0;
    const iovec here{&seen, sizeof seen}, there{const_cast<long*>(&secret), sizeof seen};
    const bool read_it = process_vm_readv(other, &here, 1, &there, 1, 0) == sizeof seen && seen == 42;
    const std::string why = read_it ? "" : "process_vm_readv: " + reason();
    const bool traced = ptrace(PTRACE_SEIZE, other, nullptr, nullptr) == 0;
    std::printf("%d%d%s", traced, read_it, why.c_str());
    return 0;
  });
  std::string said;
  const int code = looking.wait_until(Clock::now() + std::chrono::milliseconds(500), said);
  kill(other, SIGKILL);
  waitpid(other, nullptr, 0);
  if (code != 0 || said.size() < 2) return {false, false, "the process that has tried it has died"};
  return {said[0] == '1', said[1] == '1', said.substr(2)};
}

std::string why_no_io_uring() {
  alignas(8) char parameters[256] = {};  // larger than io_uring_params
#ifndef SYS_io_uring_setup
  constexpr long SYS_io_uring_setup = 425;
#endif
  const File ring(static_cast<int>(syscall(SYS_io_uring_setup, 2, parameters)));
  return ring.get() >= 0 ? "" : reason();
}

FolderSpeed measure_folder(const std::string& folder) {
  FolderSpeed result;
  struct statfs info {};
  if (statfs(folder.c_str(), &info) != 0) return failed(reason());
  result.file_system = name_of_file_system(info.f_type);
  result.free = static_cast<std::size_t>(info.f_bavail) * static_cast<std::size_t>(info.f_bsize);
  File file = unnamed_file(folder, O_DIRECT);
  result.direct = file.get() >= 0;
  if (!result.direct) {
    file = unnamed_file(folder, 0);
    if (file.get() < 0) return failed(reason());
  }
  void* memory = nullptr;
  if (posix_memalign(&memory, 4096, kPart) != 0) return failed("no memory");
  const std::unique_ptr<void, void (*)(void*)> part(memory, std::free);
  std::memset(memory, 0x5a, kPart);
  std::size_t written = 0, read_back = 0;
  result.written =
      speed_of(written, kMostBytes, [&](off_t at) { return pwrite(file.get(), memory, kPart, at); });
  if (result.written == 0) return failed("writing: " + reason());
  result.read = speed_of(read_back, written, [&](off_t at) { return pread(file.get(), memory, kPart, at); });
  if (result.read == 0) return failed("reading: " + reason());
  return result;
}

}  // namespace doctor
