// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <charconv>
#include <cmath>
#include <cstdlib>
#include <functional>

#include "base/env.hpp"

#ifndef ATOLL_VERSION
#define ATOLL_VERSION "development"
#endif

namespace oshrun {
namespace {

constexpr std::string_view kHelp =
    R"(oshrun starts an OpenSHMEM program as a job of several PEs on this machine.

usage: oshrun [options] program [arguments]
       oshrun [options] program [arguments] : [-n N] [-x ..] [--wdir ..] program [arguments] ...

What to run
  -n, -np, --np N      number of PEs (default 1); also -n4, -np4
  --wdir DIR           start the PEs in DIR; a relative program path counts from there
  -x NAME[=VALUE]      set NAME for the PEs, or name a variable to pass on; may be repeated
                       (the PEs get the whole environment of oshrun anyway)
  :                    starts the next program of the same job; its PEs are numbered on, and -n, -x and --wdir
                       are its own. An argument that is a colon itself is written '\:'
  --                   ends the options: what follows is the program

Memory of other processes
  --memory-servers M   start M processes more, which lend memory to the PEs (SHMEM_HEAP=remote,
                       shmemx_remote_alloc); default: what SHMEM_MEMORY_SERVERS says, else 0
  --memory-per-server SIZE   what each of them lends, such as 4g (SHMEM_MEMORY_PER_SERVER)
  --remote-malloc SIZE       blocks of this size and more that the programs allocate with malloc lie there;
                             with SHMEM_REMOTE_BSS=1 static variables, too

Where it runs
  --bind KIND          none  leave the PEs to the operating system
                       core  one core for each PE
                       numa  the cores of one NUMA node for each PE
                       auto  an equal share of the cores for each PE (default)
                       With more PEs than cores nothing is bound; one PE is not bound by auto. Memory
                       servers get a core each if the PEs leave one for each
  --report-bindings    print where each PE was bound, or why none was
  --virtual-nodes N    let the PEs act as if they were on N machines (1 <= N <= PEs): for testing.
                       N:cyclic deals them out in turn; else neighbours share a machine

Output and end
  --tag-output         begin every line with the number of its PE: '[2] ', on standard error '[2]<err> ';
                       lines of memory servers with '[memory server 0] '
  --timeout SECONDS    end the job after this time, with exit code 124
  --kill-after SECONDS    when the job ends early, PEs get SIGTERM, and SIGKILL this much later (default 0.5)
  --answer-within SECONDS how long PEs may take to say what they wait for (default 1)
  --stuck-after SECONDS   when a PE has ended, ask the others this much later whether they wait for it (default 5)
  -h, --help           this text
  -V, --version        versions of Atoll and of OpenSHMEM

Options with two dashes also take their value after '=': --bind=core.
Input: PE 0 reads the standard input of oshrun, the other PEs read nothing.
Signals: ^C ends the job, a second ^C ends it at once. ^Z stops it. SIGUSR1 and SIGUSR2 reach every PE;
SIGURG prints who waits for whom, and so do --timeout and ^C.
Exit code: 0 when every PE succeeds, else the code of the PE that failed first (128 + number when a signal
killed it); 2 wrong usage, 124 timeout, 126 not executable, 127 program not found, 130 ^C.

The PEs' variables, such as SHMEM_SYMMETRIC_SIZE: 'shmem_info' explains them.

examples:
  oshrun -n 4 ./hello
  oshrun -n 8 --tag-output --timeout 60 -x SHMEM_DEBUG=1 ./solver input.dat
  oshrun -n 1 ./server : -n 3 ./client
  oshrun -n 1 --memory-servers 2 --memory-per-server 4g --remote-malloc 8m ./openmp_program
  oshrun -n 4 sh -c 'ulimit -c unlimited; exec ./program'
)";

/// A walk over the words; `error` set means stop.
struct Parser {
  const std::vector<std::string>& words;
  std::size_t next = 0;
  Options options;
  bool memory_servers_given = false;
  std::string error;
  std::string show;

  bool done() const { return next >= words.size(); }
  void refuse(std::string text) {
    if (error.empty()) error = "oshrun: " + std::move(text);
  }
};

constexpr std::string_view kMemoryServers = "SHMEM_MEMORY_SERVERS";

std::string quoted(std::string_view text) { return std::string("'").append(text).append("'"); }

std::optional<int> whole_number(std::string_view text) {
  int value = 0;
  const char* end = text.data() + text.size();
  auto [stop, status] = std::from_chars(text.data(), end, value);
  if (status != std::errc() || stop != end) return std::nullopt;
  return value;
}

void set_pes(Parser& parser, App& app, const std::string& name, const std::string& value) {
  std::optional<int> number = whole_number(value);
  if (!number || *number < 1 || *number > kMaxProcesses) {
    parser.refuse(name + " " + quoted(value) + ": the number of PEs must be a whole number from 1 to " +
                  std::to_string(kMaxProcesses));
    return;
  }
  app.processes = *number;
}

void set_memory_servers(Parser& parser, const std::string& name, const std::string& value) {
  std::optional<int> number = whole_number(value);
  if (!number || *number < 0 || *number > kMaxProcesses) {
    parser.refuse(name + " " + quoted(value) +
                  ": the number of memory servers must be a whole number from 0 to " +
                  std::to_string(kMaxProcesses));
    return;
  }
  parser.options.memory_servers = *number;
  parser.memory_servers_given = true;
}

void set_size(Parser& parser, std::optional<std::size_t>& bytes, const std::string& name,
              const std::string& value) {
  bytes = shm::parse_size(value);
  if (!bytes || *bytes == 0)
    parser.refuse(name + " " + quoted(value) +
                  ": give a size above 0, a number with at most one suffix of k, m, g, t, such as 512m");
}

void set_env(Parser& parser, App& app, const std::string& name, const std::string& value) {
  const std::size_t equals = value.find('=');
  EnvSetting setting{value.substr(0, equals), std::nullopt};
  if (setting.name.empty()) {
    parser.refuse(name + " " + quoted(value) + ": give NAME or NAME=VALUE");
    return;
  }
  if (equals != std::string::npos) setting.value = value.substr(equals + 1);
  if (setting.name == kMemoryServers && setting.value) {
    parser.refuse(name + " " + quoted(value) + ": give --memory-servers, which also starts them");
    return;
  }
  app.env.push_back(std::move(setting));
}

/// Leaves `time` as it is where the value is refused.
template <class Time>
void set_seconds(Parser& parser, Time& time, const std::string& name, const std::string& value) {
  char* end = nullptr;
  const double seconds = std::strtod(value.c_str(), &end);
  if (value.empty() || *end != '\0' || !std::isfinite(seconds) || seconds <= 0 || seconds > kMaxTimeout) {
    parser.refuse(name + " " + quoted(value) + ": give a number of seconds above 0 and up to " +
                  std::to_string(kMaxTimeout));
    return;
  }
  time = std::chrono::milliseconds(std::max(1L, std::lround(seconds * 1000)));
}

void set_bind(Parser& parser, const std::string& name, const std::string& value) {
  if (value == "none") {
    parser.options.bind = Bind::kNone;
  } else if (value == "core") {
    parser.options.bind = Bind::kCore;
  } else if (value == "numa") {
    parser.options.bind = Bind::kNuma;
  } else if (value == "auto") {
    parser.options.bind = Bind::kAuto;
  } else {
    parser.refuse(name + " " + quoted(value) + ": give none, core, numa or auto");
  }
}

void set_virtual_nodes(Parser& parser, const std::string& name, const std::string& value) {
  static constexpr std::string_view kCyclic = ":cyclic";
  std::string_view digits = value;
  const bool cyclic = digits.ends_with(kCyclic);
  if (cyclic) digits.remove_suffix(kCyclic.size());
  std::optional<int> number = whole_number(digits);
  if (!number || *number < 1) {
    parser.refuse(name + " " + quoted(value) +
                  ": give a whole number from 1 to the number of PEs, and ':cyclic' behind it if wanted");
    return;
  }
  parser.options.virtual_nodes = *number;
  parser.options.cyclic = cyclic;
}

/// Options that take a value. True when `name` is one of them; the value is consumed.
bool apply_valued(Parser& parser, App& app, const std::string& name,
                  const std::optional<std::string>& given) {
  static constexpr std::string_view kValued[] = {"-n",
                                                 "-np",
                                                 "--np",
                                                 "-x",
                                                 "--wdir",
                                                 "--timeout",
                                                 "--bind",
                                                 "--virtual-nodes",
                                                 "--kill-after",
                                                 "--answer-within",
                                                 "--stuck-after",
                                                 "--memory-servers",
                                                 "--memory-per-server",
                                                 "--remote-malloc"};
  bool known = false;
  for (std::string_view candidate : kValued) known |= candidate == name;
  if (!known) return false;
  if (!given && parser.done()) {
    parser.refuse(name + " needs a value; 'oshrun --help' explains it");
    return true;
  }
  const std::string value = given ? *given : parser.words[parser.next++];
  if (name == "-x") {
    set_env(parser, app, name, value);
  } else if (name == "--wdir") {
    app.wdir = value;
    if (value.empty()) parser.refuse("--wdir needs the name of a directory");
  } else if (name == "--timeout") {
    set_seconds(parser, parser.options.timeout, name, value);
  } else if (name == "--kill-after") {
    set_seconds(parser, parser.options.kill_after, name, value);
  } else if (name == "--answer-within") {
    set_seconds(parser, parser.options.answer_within, name, value);
  } else if (name == "--stuck-after") {
    set_seconds(parser, parser.options.stuck_after, name, value);
  } else if (name == "--memory-servers") {
    set_memory_servers(parser, name, value);
  } else if (name == "--memory-per-server") {
    set_size(parser, parser.options.memory_per_server, name, value);
  } else if (name == "--remote-malloc") {
    set_size(parser, parser.options.remote_malloc, name, value);
  } else if (name == "--bind") {
    set_bind(parser, name, value);
  } else if (name == "--virtual-nodes") {
    set_virtual_nodes(parser, name, value);
  } else {
    set_pes(parser, app, name, value);
  }
  return true;
}

/// Options that stand alone. True when `name` is one of them.
bool apply_flag(Parser& parser, const std::string& name) {
  if (name == "--tag-output") {
    parser.options.tag = Tag::kRank;
  } else if (name == "--report-bindings") {
    parser.options.report_bindings = true;
  } else if (name == "-h" || name == "--help") {
    parser.show = help_text();
  } else if (name == "--version" || name == "-V") {
    parser.show = version_text();
  } else {
    return false;
  }
  return true;
}

/// "-n4" and "-np4" are read as if the number were a word of its own.
void split_attached_number(std::string& name, std::optional<std::string>& value) {
  const std::size_t digit = name.find_first_of("0123456789");
  if (digit == std::string::npos) return;
  if (const std::string option = name.substr(0, digit); option != "-n" && option != "-np") return;
  value = name.substr(digit);
  name.resize(digit);
}

void parse_option(Parser& parser, App& app) {
  std::string name = parser.words[parser.next++];
  if (apply_flag(parser, name)) return;
  std::optional<std::string> value;
  split_attached_number(name, value);
  const std::size_t equals = name.find('=');
  if (name.starts_with("--") && equals != std::string::npos) {
    value = name.substr(equals + 1);
    name.resize(equals);
  }
  if (!apply_valued(parser, app, name, value))
    parser.refuse("unknown option " + quoted(name) + "; 'oshrun --help' lists the options");
}

/// A word for the program: ':' would end its arguments, so '\:' stands for it, and '\\:' for '\:'.
std::string argument(const std::string& word) {
  const bool escaped =
      word.size() > 1 && word.back() == ':' && word.find_first_not_of('\\') == word.size() - 1;
  return escaped ? word.substr(1) : word;
}

/// One program: options, then its name and arguments up to ':' or the end.
void parse_app(Parser& parser) {
  App app;
  while (!parser.done() && parser.error.empty() && parser.show.empty()) {
    const std::string& word = parser.words[parser.next];
    if (word == "--") {
      ++parser.next;
      break;
    }
    if (word.size() < 2 || word[0] != '-') break;
    parse_option(parser, app);
  }
  if (!parser.error.empty() || !parser.show.empty()) return;
  while (!parser.done() && parser.words[parser.next] != ":")
    app.argv.push_back(argument(parser.words[parser.next++]));
  if (app.argv.empty() || app.argv[0].empty())
    parser.refuse(std::string(parser.options.apps.empty() ? "no program to start" : "no program after ':'") +
                  "; usage: oshrun [-n N] program [arguments], more with 'oshrun --help'");
  parser.options.apps.push_back(std::move(app));
}

void check_whole(Parser& parser) {
  const Roster roster = parser.options.roster();
  const int pes = roster.pes;
  if (roster.size() > kMaxProcesses)
    parser.refuse("the job has " + roster.count() + "; at most " + std::to_string(kMaxProcesses) +
                  " are possible on one machine");
  if (roster.servers == 0 && (parser.options.memory_per_server || parser.options.remote_malloc))
    parser.refuse(std::string(parser.options.remote_malloc ? "--remote-malloc" : "--memory-per-server") +
                  ": the job has no memory servers; give --memory-servers as well");
  if (parser.options.virtual_nodes > pes) {
    parser.refuse("--virtual-nodes " + std::to_string(parser.options.virtual_nodes) + ": the job has only " +
                  std::to_string(pes) + " PE" + (pes == 1 ? "" : "s") + "; give at most that many nodes");
  }
}

}  // namespace

Roster Options::roster() const {
  int pes = 0;
  for (const App& app : apps) pes += app.processes;
  return {pes, memory_servers};
}

ParseResult parse_options(const std::vector<std::string>& words, std::string_view memory_servers) {
  Parser parser{words, 0, {}, false, {}, {}};
  bool more = true;
  while (more) {
    parse_app(parser);
    more = parser.error.empty() && parser.show.empty() && !parser.done();
    if (more) ++parser.next;  // the ':' itself
  }
  if (!parser.show.empty()) return {ParseResult::Kind::kShow, {}, std::move(parser.show)};
  if (!parser.memory_servers_given && !memory_servers.empty())
    set_memory_servers(parser, std::string(kMemoryServers), std::string(memory_servers));
  check_whole(parser);
  if (!parser.error.empty()) return {ParseResult::Kind::kRefuse, {}, std::move(parser.error)};
  return {ParseResult::Kind::kRun, std::move(parser.options), {}};
}

std::string_view help_text() { return kHelp; }

std::string version_text() { return "oshrun (Atoll " ATOLL_VERSION "), OpenSHMEM 1.6\n"; }

}  // namespace oshrun
