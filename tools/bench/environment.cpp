// SPDX-License-Identifier: BSD-3-Clause
#include "environment.hpp"

#include <shmem.h>
#include <shmemx.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <utility>
#include <vector>

namespace bench {

extern const char* const kCommit;  // commit.cmake writes it

namespace {

// A build for debugging may be optimised a little, and one of another type, of a distribution say, for
// release.
#ifdef __OPTIMIZE__
constexpr bool kForDebugging = std::string_view(ATOLL_BUILD_TYPE) == "Debug";
#else
constexpr bool kForDebugging = true;
#endif

std::string first_line(const char* path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line.empty() ? "unknown" : line;
}

std::string processor() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string provider() {
  const std::string network = shmemx_network();
  return network.empty() ? "none, all PEs share memory" : network;
}

std::string today() {
  const std::time_t seconds = std::time(nullptr);
  std::tm parts{};
  char text[32];
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &parts));
  return text;
}

using Facts = std::vector<std::pair<const char*, std::string>>;

Facts facts(const char* command, int nodes) {
  utsname system{};
  uname(&system);
  return {{"command", command},
          {"date", today()},
          {"host", system.nodename},
          {"kernel", system.release},
          {"cpu", processor()},
          {"cores", std::to_string(sysconf(_SC_NPROCESSORS_ONLN))},
          {"governor", first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")},
          {"pes", std::to_string(shmem_n_pes())},
          {"nodes", std::to_string(nodes)},
          {"provider", provider()},
          {"version", ATOLL_VERSION},
          {"commit", kCommit},
          {"build", ATOLL_BUILD_TYPE}};
}

bool is_number(const char* name) {
  const std::string_view text = name;
  return text == "cores" || text == "pes" || text == "nodes";
}

}  // namespace

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char letter : text) {
    if (letter == '"' || letter == '\\') out += '\\';
    out += static_cast<unsigned char>(letter) < ' ' ? ' ' : letter;
  }
  return out + "\"";
}

std::string environment_text(const char* command, int nodes) {
  std::string out;
  for (const auto& [name, value] : facts(command, nodes)) {
    const bool begins = out.empty() || out.size() - out.rfind('\n') > 80;
    out += (out.empty() ? "# shmem_bench " : begins ? "\n# " : "; ");
    out += std::string_view(name) == "command" ? value : std::string(name) + " " + value;
  }
  return out + "\n";
}

std::string environment_json(const char* command, int nodes) {
  std::string out;
  for (const auto& [name, value] : facts(command, nodes))
    out += (out.empty() ? "" : ", ") + quoted(name) + ": " + (is_number(name) ? value : quoted(value));
  return "{\"environment\": {" + out + "}}\n";
}

const char* build_warning() {
  if (std::string_view(ATOLL_SANITIZE) != "") return "WARNING: built with a sanitizer: figures say nothing";
  if (kForDebugging) return "WARNING: built for debugging: figures say nothing";
  return "";
}

}  // namespace bench
