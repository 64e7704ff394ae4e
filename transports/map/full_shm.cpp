// SPDX-License-Identifier: BSD-3-Clause
#include "transports/map/full_shm.hpp"

#include <fcntl.h>
#include <signal.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>

#include "base/fatal.hpp"
#include "base/human.hpp"
#include "base/signal_chain.hpp"

namespace shm {
namespace {

struct sigaction before;
bool installed = false;

constexpr char kOurs[] = "/dev/shm/atoll.";  // how the posix mapper's files begin

// Whether a line of /proc/self/maps is that of a mapping of ours with `at` in it.
bool is_our_mapping(const char* line, std::uintptr_t at) {
  char* end = nullptr;
  const std::uintptr_t first = std::strtoull(line, &end, 16);
  const std::uintptr_t last = *end == '-' ? std::strtoull(end + 1, nullptr, 16) : 0;
  return at >= first && at < last && std::strstr(line, kOurs) != nullptr;
}

// Only what a handler may call.
bool lies_in_our_memory(const void* address) {
  const int file = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
  if (file < 0) return false;
  char line[512], text[4096];
  std::size_t length = 0;
  bool found = false;
  for (ssize_t n; !found && (n = read(file, text, sizeof text)) > 0;) {
    for (ssize_t i = 0; i < n && !found; ++i) {
      if (text[i] != '\n') {
        if (length < sizeof line - 1) line[length++] = text[i];
        continue;
      }
      line[length] = '\0';
      length = 0;
      found = is_our_mapping(line, reinterpret_cast<std::uintptr_t>(address));
    }
  }
  close(file);
  return found;
}

// The kernel says BUS_ADRERR for a page of a file system that has no room, and for one behind the end of a
// file.
void on_bus_error(int number, siginfo_t* info, void* context) {
  struct statvfs room {};
  if (info->si_code == BUS_ADRERR && statvfs("/dev/shm", &room) == 0 && room.f_bavail == 0 &&
      lies_in_our_memory(info->si_addr))
    fatal(
        "/dev/shm is full (%s), where SHMEM_MAPPER=posix keeps the symmetric heaps: make it larger (mount -o "
        "remount,size=...; docker --shm-size), touch less, or use SHMEM_MAPPER=memfd",
        human_bytes(static_cast<double>(room.f_blocks) * static_cast<double>(room.f_frsize)).c_str());
  pass_on(before, number, info, context);
}

}  // namespace

void name_full_shm() {
  if (installed) return;
  installed = true;
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK | SA_RESTART;  // as pages/fault.cpp
  sigemptyset(&action.sa_mask);
  sigaction(SIGBUS, &action, &before);
}

}  // namespace shm
