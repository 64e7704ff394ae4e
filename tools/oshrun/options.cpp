// SPDX-License-Identifier: BSD-3-Clause
#include "options.hpp"

#include <algorithm>

#include "base/env.hpp"
#include "borrowed.hpp"
#include "debugger.hpp"
#include "words.hpp"

#ifndef ATOLL_VERSION
#define ATOLL_VERSION "development"
#endif

namespace oshrun {
namespace {

constexpr std::string_view kHelp =
    R"(oshrun starts an OpenSHMEM program as a job of several PEs, on this machine or on several.

usage: oshrun [options] program [arguments]
       oshrun [options] program [arguments] : [-n N] [-x ..] [--wdir ..] program [arguments] ...

What to run
  -n, -np, --np N      number of PEs; also -n4, -np4 (default 1; of one program on several hosts, or in a
                       Slurm allocation, as many as these have places for)
  --wdir DIR           start the PEs in DIR; a relative program path counts from there
  -x NAME[=VALUE]      set NAME for the PEs, or name a variable to pass on; may be repeated
                       (on this host the PEs get the whole environment of oshrun anyway)
  :                    starts the next program of the same job; its PEs are numbered on, and -n, -x and --wdir
                       are its own. An argument that is a colon itself is written '\:'
  --                   ends the options: what follows is the program

Memory of other processes
  --memory-servers M   start M processes more, which lend memory to the PEs (SHMEM_HEAP=remote,
                       shmemx_remote_alloc); default: what SHMEM_MEMORY_SERVERS says, else 0
  --memory-per-server SIZE   what each of them lends, such as 4g (SHMEM_MEMORY_PER_SERVER)
  --remote-malloc SIZE       blocks of this size and more that the programs allocate with malloc lie there;
                             with SHMEM_REMOTE_BSS=1 static variables, too

On which hosts
  --per-host N         so many PEs on each host of -H or --hostfile, or on each virtual node
  -H, --host a,b:2,c   hosts, and how many PEs each of them gets; without numbers they share evenly
  --hostfile FILE      the same, a host a line: NAME, NAME:PLACES or NAME slots=PLACES
  --launcher KIND      local    oshrun starts the PEs, on this host
                       srun, prterun, mpirun    oshrun becomes this command, which does
                       auto     local, if this is the only host of -H or --hostfile, or without them if there
                                is no Slurm allocation or it is this host alone; else srun inside an allocation,
                                then prterun or Open MPI's mpirun, whichever is there (default)
  --dry-run            print the command instead, as a line for a shell
  What an engine does otherwise than oshrun: docs/running.md

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

Debugging
  --debug              start each PE under gdb, in a window of tmux for each, stopped in main; where there is
                       no tmux, or no terminal, say what to type elsewhere instead
  --debug=[DEBUGGER:]PES   only these PEs, such as 0 or 2,5-7; the others run
  --debug=DEBUGGER     another debugger, which takes -p PID

Output and end
  --tag-output         begin every line with the number of its PE: '[2] ', on standard error '[2]<err> ';
                       lines of memory servers with '[memory server 0] '
  --timeout SECONDS    end the job after this time, with exit code 124
  --kill-after SECONDS    when the job ends early, PEs get SIGTERM, and SIGKILL this much later (default 0.5)
  --answer-within SECONDS how long PEs may take to say what they wait for (default 1)
  --stuck-after SECONDS   when a PE has ended, ask the others this much later whether they wait for it (default 5)
  -h, --help           this text
  -V, --version        versions of Atoll and of OpenSHMEM

Options with two dashes also take their value after '=': --bind=core. Options of Open MPI's and MPICH's mpirun
and of srun are taken where they mean something here; the others are answered with what to do instead.
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
  oshrun -n 8 -H node1,node2 ./hello
  oshrun -n 1 --memory-servers 2 --memory-per-server 4g --remote-malloc 8m ./openmp_program
  oshrun -n 4 --debug=0 ./program
  oshrun -n 4 sh -c 'ulimit -c unlimited; exec ./program'
)";

/// A walk over the words; `error` set means stop.
struct Parser {
  const std::vector<std::string>& words;
  std::size_t next = 0;
  Options options = {};
  bool memory_servers_given = false;
  std::vector<std::size_t> not_local = {};  // words that a command line for this host goes without
  std::string error = {};
  std::string show = {};

  bool done() const { return next >= words.size(); }
  void refuse(std::string text) {
    if (error.empty()) error = "oshrun: " + std::move(text);
  }
};

constexpr std::string_view kMemoryServers = "SHMEM_MEMORY_SERVERS";

void set_pes(Parser& parser, App& app, const std::string& name, const std::string& value) {
  std::optional<int> number = whole_number(value);
  if (!number || *number < 1 || *number > kMaxPes) {
    parser.refuse(name + " " + quoted(value) + ": the number of PEs must be a whole number from 1 to " +
                  std::to_string(kMaxPes));
    return;
  }
  app.processes = *number;
  app.processes_given = true;
}

void set_per_host(Parser& parser, const std::string& name, const std::string& value) {
  const std::optional<int> number = whole_number(value);
  if (!number || *number < 1 || *number > kMaxProcesses) {
    parser.refuse(name + " " + quoted(value) +
                  ": the number of PEs of each host must be a whole number from 1 to " +
                  std::to_string(kMaxProcesses));
    return;
  }
  parser.options.per_host = *number;
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

/// Names that shells cannot set are names, too: those of functions that bash exports, say. One with a dash is
/// rather an option before which the name is missing.
bool is_variable_name(std::string_view name) {
  return !name.empty() && name[0] != '-' &&
         std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < ' ' || c == 0x7f; });
}

void set_env(Parser& parser, App& app, const std::string& name, const std::string& value) {
  const std::size_t equals = value.find('=');
  EnvSetting setting{value.substr(0, equals), std::nullopt};
  if (!is_variable_name(setting.name)) {
    parser.refuse(name + " " + quoted(value) +
                  ": give NAME or NAME=VALUE; a name begins with no dash, and has no control characters");
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
  if (const auto given = seconds(value)) {
    time = *given;
  } else {
    parser.refuse(name + " " + quoted(value) + ": give a number of seconds above 0 and up to " +
                  std::to_string(kMaxTimeout));
  }
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

void set_launcher(Parser& parser, const std::string& name, const std::string& value) {
  static constexpr std::pair<std::string_view, Launcher> kKinds[] = {{"auto", Launcher::kAuto},
                                                                     {"local", Launcher::kLocal},
                                                                     {"srun", Launcher::kSrun},
                                                                     {"prterun", Launcher::kPrterun},
                                                                     {"mpirun", Launcher::kMpirun}};
  for (const auto& [word, kind] : kKinds) {
    if (value != word) continue;
    parser.options.launcher = kind;
    return;
  }
  parser.refuse(name + " " + quoted(value) + ": give auto, local, srun, prterun or mpirun");
}

/// The list itself is read where its hosts are needed (hosts.hpp).
void set_hosts(Parser& parser, std::string& list, const std::string& name, const std::string& value) {
  if (!parser.options.host_list.empty() || !parser.options.hostfile.empty())
    parser.refuse("-H and --hostfile: give one of them, and once; a list may name all hosts");
  list = value;
  if (value.empty())
    parser.refuse(name + " '': give hosts, as in -H a,b:2, or a file with a host in each line");
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

void set_wdir(Parser& parser, App& app, const std::string& value) {
  app.wdir = value;
  if (value.empty()) parser.refuse("--wdir needs the name of a directory");
}

/// Of how a job ends: only oshrun itself does that so.
template <class Time>
void set_own_seconds(Parser& parser, Time& time, const std::string& name, const std::string& value) {
  parser.options.local_only.push_back(name);
  set_seconds(parser, time, name, value);
}

/// An option that takes a value.
struct Valued {
  std::string_view name;
  void (*apply)(Parser&, App&, const std::string& name, const std::string& value);
};

constexpr Valued kValued[] = {
    {"-n", set_pes},
    {"-np", set_pes},
    {"--np", set_pes},
    {"--per-host", [](Parser& p, App&, auto& name, auto& value) { set_per_host(p, name, value); }},
    {"-x", set_env},
    {"--wdir", [](Parser& p, App& app, auto&, auto& value) { set_wdir(p, app, value); }},
    {"--timeout",
     [](Parser& p, App&, auto& name, auto& value) { set_seconds(p, p.options.timeout, name, value); }},
    {"--kill-after",
     [](Parser& p, App&, auto& name, auto& value) { set_own_seconds(p, p.options.kill_after, name, value); }},
    {"--answer-within", [](Parser& p, App&, auto& name,
                           auto& value) { set_own_seconds(p, p.options.answer_within, name, value); }},
    {"--stuck-after", [](Parser& p, App&, auto& name,
                         auto& value) { set_own_seconds(p, p.options.stuck_after, name, value); }},
    {"--memory-servers",
     [](Parser& p, App&, auto& name, auto& value) { set_memory_servers(p, name, value); }},
    {"--memory-per-server",
     [](Parser& p, App&, auto& name, auto& value) { set_size(p, p.options.memory_per_server, name, value); }},
    {"--remote-malloc",
     [](Parser& p, App&, auto& name, auto& value) { set_size(p, p.options.remote_malloc, name, value); }},
    {"--bind", [](Parser& p, App&, auto& name, auto& value) { set_bind(p, name, value); }},
    {"--virtual-nodes", [](Parser& p, App&, auto& name, auto& value) { set_virtual_nodes(p, name, value); }},
    {"--launcher", [](Parser& p, App&, auto& name, auto& value) { set_launcher(p, name, value); }},
    {"-H", [](Parser& p, App&, auto& name, auto& value) { set_hosts(p, p.options.host_list, name, value); }},
    {"--host",
     [](Parser& p, App&, auto& name, auto& value) { set_hosts(p, p.options.host_list, name, value); }},
    {"--hostfile",
     [](Parser& p, App&, auto& name, auto& value) { set_hosts(p, p.options.hostfile, name, value); }},
};

/// True when `name` is an option that takes a value; the value is consumed.
bool apply_valued(Parser& parser, App& app, const std::string& name,
                  const std::optional<std::string>& given) {
  for (const Valued& option : kValued) {
    if (option.name != name) continue;
    if (!given && parser.done()) {
      parser.refuse(name + " needs a value; 'oshrun --help' explains it");
    } else {
      option.apply(parser, app, name, given ? *given : parser.words[parser.next++]);
    }
    return true;
  }
  return false;
}

/// Options that stand alone. True when `name` is one of them.
bool apply_flag(Parser& parser, const std::string& name) {
  if (name == "--tag-output") {
    parser.options.tag = Tag::kRank;
  } else if (name == "--report-bindings") {
    parser.options.report_bindings = true;
  } else if (name == "--dry-run") {
    parser.options.dry_run = true;
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

/// A long option behind one dash, as Open MPI takes it: "-hostfile".
std::string with_two_dashes(const std::string& name) {
  const bool one = name.size() > 2 && name[0] == '-' && name[1] != '-';
  return one ? '-' + name : name;
}

/// An option of oshrun. False: it is none.
bool apply_own(Parser& parser, App& app, const std::string& name, const std::optional<std::string>& value) {
  if (name == "--debug") {
    parser.options.debug = debugging_of(value.value_or(""));
    if (!parser.options.debug)
      parser.refuse("--debug=" + *value +
                    ": give PEs, such as 0 or 2,5-7, the name of a debugger, or both: gdb:0");
    return true;
  }
  if (apply_valued(parser, app, name, value)) return true;
  if (!apply_flag(parser, name)) return false;
  if (value) parser.refuse(name + " " + quoted(*value) + ": this option takes no value");
  return true;
}

/// An option of another launcher. False: it is none.
bool apply_borrowed(Parser& parser, App& app, const std::string& name,
                    const std::optional<std::string>& value) {
  const auto next_word = [&parser]() -> std::optional<std::string> {
    return parser.done() ? std::nullopt : std::optional(parser.words[parser.next++]);
  };
  const std::optional<Borrowed> theirs = borrowed(name, value, next_word);
  if (!theirs) return false;
  if (!theirs->instead.empty()) parser.refuse(theirs->instead);
  if (!theirs->note.empty()) parser.options.notes.push_back(theirs->note);
  const std::vector<std::string>& ours = theirs->ours;
  for (std::size_t i = 0; i < ours.size(); i += 2)
    apply_own(parser, app, ours[i], i + 1 < ours.size() ? std::optional(ours[i + 1]) : std::nullopt);
  return true;
}

std::string meant_by(const std::string& name) {
  std::vector<std::string_view> known;
  for (const Valued& option : kValued) known.push_back(option.name);
  known.insert(known.end(),
               {"--debug", "--tag-output", "--report-bindings", "--dry-run", "--help", "--version"});
  return option_meant(with_two_dashes(name), known);
}

/// "-N2". A word without a digit that is nearly a long option is that one, misspelt: "-wdri" is no "-w dri".
bool apply_attached(Parser& parser, App& app, const std::string& word) {
  const auto split = attached_value(word);
  if (!split) return false;
  const bool digit = split->text.find_first_of("0123456789") != std::string::npos;
  if (!digit && !meant_by(word).empty()) return false;
  return apply_borrowed(parser, app, split->name, split->text);
}

std::string unknown_option(const std::string& name) {
  const std::string meant = meant_by(name);
  return "unknown option " + quoted(name) + "; " + (meant.empty() ? "" : "is " + meant + " meant? ") +
         "'oshrun --help' lists the options";
}

void read_option(Parser& parser, App& app) {
  std::string name = parser.words[parser.next++];
  std::optional<std::string> value;
  split_attached_number(name, value);
  const std::size_t equals = name.find('=');
  if (name.starts_with("--") && equals != std::string::npos) {
    value = name.substr(equals + 1);
    name.resize(equals);
  }
  if (!apply_own(parser, app, name, value) && !apply_own(parser, app, with_two_dashes(name), value) &&
      !apply_borrowed(parser, app, name, value) && !apply_attached(parser, app, name))
    parser.refuse(unknown_option(name));
}

void parse_option(Parser& parser, App& app) {
  const std::size_t first = parser.next;
  const std::string& word = parser.words[first];
  read_option(parser, app);
  if (word != "--dry-run" && !word.starts_with("--launcher")) return;
  for (std::size_t i = first; i < parser.next; ++i) parser.not_local.push_back(i);
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
  long pes = 0;
  for (const App& app : parser.options.apps) pes += app.processes;
  if (pes > kMaxPes)
    parser.refuse("-n: the programs have " + std::to_string(pes) + " PEs in all; at most " +
                  std::to_string(kMaxPes) + " are possible; start fewer");
  if (parser.options.memory_servers == 0 &&
      (parser.options.memory_per_server || parser.options.remote_malloc))
    parser.refuse(std::string(parser.options.remote_malloc ? "--remote-malloc" : "--memory-per-server") +
                  ": the job has no memory servers; give --memory-servers as well");
  auto skipped = parser.not_local.begin();
  for (std::size_t i = 0; i < parser.words.size(); ++i) {
    if (skipped != parser.not_local.end() && *skipped == i) {
      ++skipped;
    } else {
      parser.options.local_words.push_back(parser.words[i]);
    }
  }
}

}  // namespace

Roster Options::roster() const {
  int pes = 0;
  for (const App& app : apps) pes += app.processes;
  return {pes, memory_servers};
}

ParseResult parse_options(const std::vector<std::string>& words, std::string_view memory_servers) {
  Parser parser{words};
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

std::string check_counts(const Options& options, bool one_machine) {
  const Roster roster = options.roster();
  if (one_machine && roster.size() > kMaxProcesses)
    return "oshrun: the job has " + roster.count() + "; at most " + std::to_string(kMaxProcesses) +
           " are possible on one machine";
  if (options.debug && !options.debug->pes.empty() && options.debug->pes.back() >= roster.pes)
    return "oshrun: --debug: there is no PE " + std::to_string(options.debug->pes.back()) +
           "; PEs are 0 to " + std::to_string(roster.pes - 1);
  if (options.virtual_nodes > roster.pes)
    return "oshrun: --virtual-nodes " + std::to_string(options.virtual_nodes) + ": the job has only " +
           std::to_string(roster.pes) + " PE" + (roster.pes == 1 ? "" : "s") +
           "; give at most that many nodes";
  return {};
}

std::string_view help_text() { return kHelp; }

std::string version_text() { return "oshrun (Atoll " ATOLL_VERSION "), OpenSHMEM 1.6\n"; }

}  // namespace oshrun
