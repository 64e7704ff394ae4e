// SPDX-License-Identifier: BSD-3-Clause
// The command line of oshrun. Pure: parsing reads what it is given and nothing else (no environment, no
// files), so that it can be tested without starting anything. Values are owned copies; all functions are
// thread safe.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "roster.hpp"

namespace oshrun {

/// Where a PE may run. kAuto gives every PE an equal share of the allowed cores when there is at least one
/// core for each of two or more PEs, and binds nothing otherwise.
enum class Bind { kNone, kCore, kNuma, kAuto };

/// Who starts the PEs: engine.hpp.
enum class Launcher { kAuto, kLocal, kSrun, kPrterun, kMpirun };

/// How a line of output is marked. kRank writes "[2] " before one of PE 2, and "[2]<err> " on standard error;
/// "[memory server 0] " before one of a memory server.
enum class Tag { kNone, kRank };

/// Which PEs wait for a debugger, and for which.
struct Debugging {
  std::string debugger = "gdb";
  std::vector<int> pes;  // ascending; empty: all

  bool waits(int pe) const { return pes.empty() || std::binary_search(pes.begin(), pes.end(), pe); }
};

/// `-x NAME` (value empty: pass on what the environment has) or `-x NAME=VALUE`.
struct EnvSetting {
  std::string name;
  std::optional<std::string> value;
};

/// One program of the job: everything between two ':' words. PEs are numbered through in the order of the
/// programs.
struct App {
  int processes = 1;
  bool processes_given = false;  // by -n
  std::string wdir;              // empty: where oshrun was started
  std::vector<EnvSetting> env;
  std::vector<std::string> argv;  // never empty after a successful parse
};

struct Options {
  std::vector<App> apps;
  Tag tag = Tag::kNone;
  Bind bind = Bind::kAuto;
  bool report_bindings = false;
  std::optional<std::chrono::milliseconds> timeout;
  std::chrono::milliseconds kill_after{500};      // from SIGTERM to SIGKILL
  std::chrono::milliseconds answer_within{1000};  // from the question what a PE waits for to no answer
  std::chrono::milliseconds stuck_after{
      5000};              // from the end of a PE to the question whether others can go on
  int virtual_nodes = 0;  // 0: not asked for
  bool cyclic = false;    // PEs go to the virtual nodes in turn

  int memory_servers = 0;
  std::optional<std::size_t> memory_per_server;  // bytes; none: the library's default
  std::optional<std::size_t> remote_malloc;      // bytes from which on malloc takes memory of servers

  std::optional<Debugging> debug;

  Launcher launcher = Launcher::kAuto;
  bool dry_run = false;
  int per_host = 0;                      // PEs of each host; 0: not given
  std::vector<std::string> notes;        // lines about options that have no effect
  std::string host_list;                 // of -H; empty: not given
  std::string hostfile;                  // its path; empty: not given
  std::vector<std::string> local_only;   // options that were given and that only oshrun itself knows
  std::vector<std::string> local_words;  // the command line without --launcher and --dry-run

  Roster roster() const;
};

/// What the command line asks for. kRun: use `options`. kShow: print `text` on stdout, exit 0.
/// kRefuse: print `text` (one line) on stderr, exit kExitUsage.
struct ParseResult {
  enum class Kind { kRun, kShow, kRefuse };
  Kind kind = Kind::kRun;
  Options options;
  std::string text;
};

inline constexpr int kExitUsage = 2;        // the command line could not be understood
inline constexpr int kMaxProcesses = 4096;  // of one job on one machine
inline constexpr int kMaxPes = 1'000'000;   // of a job that an engine starts

/// Parses the words after the program's name. `memory_servers` is the value of SHMEM_MEMORY_SERVERS in the
/// environment, or empty: it stands for the option where that is not given.
ParseResult parse_options(const std::vector<std::string>& words, std::string_view memory_servers = {});

/// What the number of PEs allows, once it is known (default_pes). Empty, or one line that ends the launcher.
std::string check_counts(const Options& options, bool one_machine);

/// The text of --help and of --version, each ending in a newline.
std::string_view help_text();
std::string version_text();

}  // namespace oshrun
