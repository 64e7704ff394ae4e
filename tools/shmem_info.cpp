// SPDX-License-Identifier: BSD-3-Clause
// shmem_info: what this Atoll is, what it finds on this machine, and which environment variables it knows.
//
// Needs no launcher and starts no job, so that it still answers where a job does not start; --doctor tries
// some.
#include <dlfcn.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>

#include "base/env.hpp"
#include "base/host_memory.hpp"
#include "base/human.hpp"
#include "base/limits.hpp"
#include "doctor/doctor.hpp"
#include "setup/process_state.hpp"
#include "shmem.h"
#include "transports/ofi/fabric.hpp"

namespace {

constexpr char kUsage[] =
    "usage: shmem_info [--providers]\n"
    "       shmem_info --doctor [--nvm FOLDER] [--within SECONDS]\n"
    "Prints the version of Atoll, the libraries and limits that it finds here, and its environment "
    "variables.\n"
    "  --providers   also try to open each libfabric provider that Atoll knows\n"
    "  --doctor      try what jobs need on this machine, within 10 s: two PEs on one node and between two\n"
    "                endpoints of each provider, limits, memory, debuggers, the folder of an NVM heap and so "
    "on.\n"
    "                Says what was found and what to do; exit code 1 if something prevents jobs\n"
    "  --nvm FOLDER  the folder to try; default: that of SHMEM_HEAP or SHMEM_NVM_DIR\n"
    "  --within S    the time for all of that, 5 and more: on a very busy machine more than 10\n";

void row(const char* name, const std::string& value) { std::printf("  %-22s %s\n", name, value.c_str()); }

// Calls a version function of a library that is loaded for this; `show` makes text of what it returns.
template <class R, class F>
std::string version_of(const char* library, const char* function, F show) {
  void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (handle == nullptr) return std::string("NOT FOUND (") + library + ")";
  const auto call = reinterpret_cast<R (*)()>(dlsym(handle, function));
  return call != nullptr ? show(call()) : std::string("found, without a version");
}

std::string numbers(unsigned a, unsigned b, unsigned c) {
  return std::to_string(a) + "." + std::to_string(b) + "." + std::to_string(c);
}

void print_versions() {
  std::printf("%s %s\n", SHMEM_VENDOR_STRING, ATOLL_VERSION);
  row("specification",
      "OpenSHMEM " + std::to_string(SHMEM_MAJOR_VERSION) + "." + std::to_string(SHMEM_MINOR_VERSION));
  row("compiled with", ATOLL_COMPILER);
  row("build type", ATOLL_BUILD_TYPE);
  std::printf("\nLibraries\n");
  // PMIx answers with a sentence, the version before its first bracket; the others with packed numbers.
  row("PMIx", version_of<const char*>("libpmix.so.2", "PMIx_Get_version", [](const char* text) {
        return std::string(text, std::strcspn(text, "("));
      }));
  row("libfabric", version_of<unsigned>("libfabric.so.1", "fi_version", [](unsigned v) {
        return std::to_string(v >> 16) + "." + std::to_string(v & 0xffffU) +
               " (loaded only for PEs on several nodes)";
      }));
  row("hwloc", version_of<unsigned>("libhwloc.so.15", "hwloc_get_api_version", [](unsigned v) {
        return numbers(v >> 16, (v >> 8) & 0xffU, v & 0xffU);
      }));
}

std::string limit(int resource) {
  rlimit now{};
  getrlimit(resource, &now);
  return now.rlim_cur == RLIM_INFINITY ? "unlimited" : shm::human_bytes(now.rlim_cur);
}

std::string room_in(const char* folder) {
  struct statvfs info {};
  if (statvfs(folder, &info) != 0) return "not there";
  const double unit = static_cast<double>(info.f_frsize);
  return shm::human_bytes(static_cast<double>(info.f_bavail) * unit) + " free of " +
         shm::human_bytes(static_cast<double>(info.f_blocks) * unit);
}

// Of one PE on this host, with the variables in force here.
std::string pinned_memory(std::size_t allowed) {
  shm::Result<shm::Env> env = shm::Env::read();
  if (!env.ok()) return "not known: see the variables below";
  const std::size_t in_memory = shm::default_heap(1);
  shm::Result<shm::nvm::Options> nvm = shm::nvm::Options::read(env.value(), in_memory);
  if (!nvm.ok()) return "not known: " + nvm.status().text();
  const shm::ToPin pages{shm::heap_sizes(env.value(), nvm.value(), in_memory).segment,
                         nvm.value().wanted() ? nvm.value().shape(1, 1).bytes() : 0};
  const std::string why_not = shm::why_not_pinned(pages, shm::host_memory(), allowed);
  return shm::human_bytes(pages.own + pages.shared) +
         " if it is alone on this host and the provider pins (InfiniBand and its like); " +
         (why_not.empty() ? "that may be" : "too much: " + why_not);
}

void print_limits() {
  const std::size_t allowed = shm::allowed_locked_memory();
  std::printf("\nThis machine\n");
  row("cores", std::to_string(sysconf(_SC_NPROCESSORS_ONLN)));
  row("memory", shm::human_bytes(static_cast<double>(sysconf(_SC_PHYS_PAGES)) *
                                 static_cast<double>(sysconf(_SC_PAGESIZE))));
  row("/dev/shm", room_in("/dev/shm") + " (used by SHMEM_MAPPER=posix only)");
  row("locked memory",
      limit(RLIMIT_MEMLOCK) + (allowed == SIZE_MAX ? ", without a limit for this process"
                                                   : ", at most " + shm::human_bytes(allowed)));
  row("pinned by a PE", pinned_memory(allowed));
  row("address space", limit(RLIMIT_AS));
  rlimit files{};
  getrlimit(RLIMIT_NOFILE, &files);
  row("open files", std::to_string(files.rlim_cur) + ", at most " + std::to_string(files.rlim_max));
}

bool print_variables() {
  std::printf("\nEnvironment variables, with the values in force here\n");
  shm::Result<shm::Env> env = shm::Env::read();
  if (env.ok()) {
    std::fputs(env.value().describe().c_str(), stdout);
  } else {
    std::printf("  %s\n", env.status().text().c_str());
  }
  return env.ok();
}

// Opening a provider is the only honest test of it; each is given a moment of its own.
void print_providers() {
  std::printf("\nlibfabric providers that Atoll knows\n");
#define PROVIDER(name, ...)                                                                              \
  {                                                                                                      \
    auto network = shm::open_fabric({.provider = name, .loopback_only = true});                          \
    row(name, network.ok() ? "opens here, as " + network.value()->describe() : std::string("not here")); \
  }
#include "transports/ofi/quirks.def"
#undef PROVIDER
}

}  // namespace

int main(int argc, char** argv) {
  bool providers = false, with_doctor = false;
  int within = 10;
  std::string folder;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--providers") {
      providers = true;
    } else if (word == "--doctor") {
      with_doctor = true;
    } else if (word == "--nvm" && i + 1 < argc) {
      folder = argv[++i];
    } else if (word == "--within" && i + 1 < argc && std::atoi(argv[i + 1]) >= 5) {
      within = std::atoi(argv[++i]);
    } else if (word == "--pe" && argc == 2) {  // of a job of the doctor's
      return doctor::be_pe();
    } else {
      const bool asked = word == "-h" || word == "--help";
      std::fputs(kUsage, asked ? stdout : stderr);
      return asked ? 0 : 2;
    }
  }
  if (with_doctor) return doctor::look_at_machine(folder, within);
  print_versions();
  print_limits();
  const bool valid = print_variables();
  if (providers) print_providers();
  return valid ? 0 : 1;
}
