// SPDX-License-Identifier: BSD-3-Clause
#include "borrowed.hpp"

#include "base/edit_distance.hpp"
#include "words.hpp"

namespace oshrun {
namespace {

enum class How {
  kSame,     // text: the option of oshrun
  kAnyway,   // oshrun does so, whatever is said
  kBinding,  // its value says where PEs are bound
  kSetting,  // values: a name and a value; text: empty
  kNames,    // its value: names of variables with commas, all of them or with values
  kIgnored,  // text: what has no effect, and why
  kInstead,  // text: what to do
};

/// A name without its dashes: of one letter behind one dash, else behind one or two.
struct Row {
  std::string_view name;
  int values;  // words that belong to it
  How how;
  std::string_view text;
};

constexpr std::string_view kMcaText =
    "it sets parameters of Open MPI, which this job does not use; SHMEM_* variables are Atoll's "
    "(shmem_info), and "
    "'--launcher mpirun --dry-run' prints a command to add it to";
constexpr std::string_view kPlacesText =
    "PEs are numbered from host to host, and on each by core; give --bind, -H a:2,b:2 or --virtual-nodes "
    "N:cyclic";
constexpr std::string_view kOutputText =
    "give each PE a file of its own with: sh -c 'exec ./program >out.$PMIX_RANK 2>&1', or --tag-output, "
    "which "
    "marks every line";
constexpr std::string_view kAllocationText =
    "is for sbatch or salloc; inside the allocation oshrun uses all of it";
constexpr std::string_view kCpusText =
    "with --bind auto, the default, PEs share the cores evenly; for more cores a PE start fewer PEs (-n)";

constexpr Row kRows[] = {
    // How many
    {"c", 1, How::kInstead, "Open MPI and Slurm mean different things by it; give -n, the number of PEs"},
    {"N", 1, How::kInstead,
     "Open MPI and Slurm mean different things by it; give --per-host N, the PEs of each host, or -n, those "
     "of the job"},
    {"n", 1, How::kSame, "-n"},
    {"np", 1, How::kSame, "-n"},
    {"ntasks", 1, How::kSame, "-n"},
    {"npernode", 1, How::kSame, "--per-host"},
    {"ppn", 1, How::kSame, "--per-host"},
    {"perhost", 1, How::kSame, "--per-host"},
    {"ntasks-per-node", 1, How::kSame, "--per-host"},
    {"pernode", 0, How::kInstead, "give --per-host 1"},
    {"nodes", 1, How::kInstead, "give -H with the hosts, or ask sbatch or salloc for them"},
    {"oversubscribe", 0, How::kAnyway, ""},
    {"overcommit", 0, How::kAnyway, ""},
    {"O", 0, How::kAnyway, ""},
    {"allow-run-as-root", 0, How::kAnyway, ""},
    {"mpi", 1, How::kAnyway, ""},
    // Where
    {"machinefile", 1, How::kSame, "--hostfile"},
    {"default-hostfile", 1, How::kSame, "--hostfile"},
    {"f", 1, How::kSame, "--hostfile"},
    {"hosts", 1, How::kSame, "-H"},
    {"nodelist", 1, How::kSame, "-H"},
    {"w", 1, How::kSame, "-H"},
    {"wd", 1, How::kSame, "--wdir"},
    {"chdir", 1, How::kSame, "--wdir"},
    {"D", 1, How::kSame, "--wdir"},
    {"bind-to", 1, How::kBinding, ""},
    {"cpu-bind", 1, How::kBinding, ""},
    {"bind-to-core", 0, How::kInstead, "give --bind core"},
    {"bind-to-none", 0, How::kInstead, "give --bind none"},
    {"map-by", 1, How::kIgnored, kPlacesText},
    {"rank-by", 1, How::kIgnored, kPlacesText},
    {"distribution", 1, How::kIgnored, kPlacesText},
    {"m", 1, How::kIgnored, kPlacesText},
    {"nolocal", 0, How::kInstead, "name the hosts with -H"},
    {"use-hwthread-cpus", 0, How::kIgnored, kCpusText},
    {"cpus-per-task", 1, How::kIgnored, kCpusText},
    {"cpus-per-proc", 1, How::kIgnored, kCpusText},
    {"display-map", 0, How::kSame, "--report-bindings"},
    {"display-allocation", 0, How::kSame, "--report-bindings"},
    {"prefix", 1, How::kIgnored, "programs find Atoll's library by the path that oshcc has given them"},
    {"partition", 1, How::kInstead, kAllocationText},
    {"p", 1, How::kInstead, kAllocationText},
    {"account", 1, How::kInstead, kAllocationText},
    {"A", 1, How::kInstead, kAllocationText},
    {"job-name", 1, How::kInstead, kAllocationText},
    {"J", 1, How::kInstead, kAllocationText},
    {"exclusive", 0, How::kInstead, kAllocationText},
    // Variables
    {"env", 2, How::kSetting, ""},
    {"genv", 2, How::kSetting, ""},
    {"genvlist", 1, How::kNames, ""},
    {"envlist", 1, How::kNames, ""},
    {"export", 1, How::kNames, ""},
    {"genvall", 0, How::kAnyway, ""},
    {"envall", 0, How::kAnyway, ""},
    {"genvnone", 0, How::kInstead,
     "PEs get the environment of oshrun; start it with: env -i PATH=\"$PATH\" oshrun ..."},
    {"envnone", 0, How::kInstead,
     "PEs get the environment of oshrun; start it with: env -i PATH=\"$PATH\" oshrun ..."},
    {"mca", 2, How::kIgnored, kMcaText},
    {"gmca", 2, How::kIgnored, kMcaText},
    {"prtemca", 2, How::kIgnored, kMcaText},
    {"pmixmca", 2, How::kIgnored, kMcaText},
    {"am", 1, How::kIgnored, kMcaText},
    {"tune", 1, How::kIgnored, kMcaText},
    // Output and end
    {"l", 0, How::kSame, "--tag-output"},
    {"label", 0, How::kSame, "--tag-output"},
    {"prepend-rank", 0, How::kSame, "--tag-output"},
    {"output-filename", 1, How::kInstead, kOutputText},
    {"outfile-pattern", 1, How::kInstead, kOutputText},
    {"output", 1, How::kInstead, kOutputText},
    {"o", 1, How::kInstead, kOutputText},
    {"error", 1, How::kInstead, kOutputText},
    {"e", 1, How::kInstead, kOutputText},
    {"xterm", 1, How::kInstead, "oshrun opens no windows; give --tag-output"},
    {"stdin", 1, How::kInstead, "PE 0 reads the standard input, the other PEs nothing"},
    {"q", 0, How::kAnyway, ""},
    {"quiet", 0, How::kAnyway, ""},
    {"Q", 0, How::kAnyway, ""},
    {"u", 0, How::kAnyway, ""},
    {"unbuffered", 0, How::kAnyway, ""},
    {"v", 0, How::kIgnored, "oshrun has no more to say; -x SHMEM_INFO=1 prints how each PE is set up"},
    {"verbose", 0, How::kIgnored, "oshrun has no more to say; -x SHMEM_INFO=1 prints how each PE is set up"},
    {"report-state-on-timeout", 0, How::kAnyway, ""},
    {"kill-on-bad-exit", 0, How::kAnyway, ""},
    {"K", 0, How::kAnyway, ""},
    {"t", 1, How::kInstead, "give --timeout, in seconds"},
    {"time", 1, How::kInstead, "give --timeout, in seconds"},
};

/// Without its dashes; empty if it has none, or two before a single letter.
std::string_view bare(std::string_view name) {
  if (!name.starts_with('-')) return {};
  name.remove_prefix(1);
  if (!name.starts_with('-')) return name;
  name.remove_prefix(1);
  return name.size() == 1 && name != "n" ? std::string_view() : name;
}

const Row* row_of(std::string_view name) {
  const std::string_view plain = bare(name);
  for (const Row& row : kRows)
    if (row.name == plain) return &row;
  return nullptr;
}

/// "core:overload-allowed", "verbose,cores": the first word that says where.
std::optional<std::string> binding(std::string_view value) {
  static constexpr std::pair<std::string_view, std::string_view> kWords[] = {
      {"none", "none"},     {"no", "none"},        {"core", "core"},   {"cores", "core"},
      {"hwthread", "core"}, {"threads", "core"},   {"rank", "core"},   {"numa", "numa"},
      {"ldoms", "numa"},    {"rank_ldom", "numa"}, {"socket", "numa"}, {"sockets", "numa"},
      {"package", "numa"},  {"l3cache", "numa"},   {"l3", "numa"},     {"board", "none"},
      {"user", "none"},     {"machine", "none"}};
  while (!value.empty()) {
    const std::size_t end = std::min(value.find_first_of(",:"), value.size());
    for (const auto& [theirs, ours] : kWords)
      if (value.substr(0, end) == theirs) return std::string(ours);
    value.remove_prefix(std::min(end + 1, value.size()));
  }
  return std::nullopt;
}

/// "A,B=1,ALL": -x for each, but for ALL, as PEs get all of it anyway.
std::vector<std::string> settings(std::string_view list) {
  std::vector<std::string> ours;
  while (!list.empty()) {
    const std::size_t end = std::min(list.find(','), list.size());
    const std::string_view word = list.substr(0, end);
    if (!word.empty() && word != "ALL") ours.insert(ours.end(), {"-x", std::string(word)});
    list.remove_prefix(std::min(end + 1, list.size()));
  }
  return ours;
}

Borrowed meaning(const Row& row, const std::string& name, const std::vector<std::string>& values) {
  Borrowed result;
  switch (row.how) {
    case How::kAnyway: break;
    case How::kSame:
      result.ours = {std::string(row.text)};
      result.ours.insert(result.ours.end(), values.begin(), values.end());
      break;
    case How::kBinding:
      if (const auto kind = binding(values[0]))
        result.ours = {"--bind", *kind};
      else
        result.instead = name + " " + quoted(values[0]) + ": give --bind none, core, numa or auto";
      break;
    case How::kSetting: result.ours = {"-x", values[0] + "=" + values[1]}; break;
    case How::kNames:
      if (values[0] == "NONE")
        result.instead = name + " NONE: PEs get the environment of oshrun; start it with env -i";
      else
        result.ours = settings(values[0]);
      break;
    case How::kIgnored: result.note = "oshrun: " + name + " has no effect: " + std::string(row.text); break;
    case How::kInstead: result.instead = name + ": " + std::string(row.text); break;
  }
  return result;
}

}  // namespace

std::optional<Borrowed> borrowed(const std::string& name, const std::optional<std::string>& given,
                                 const std::function<std::optional<std::string>()>& next_word) {
  const Row* const row = row_of(name);
  if (row == nullptr) return std::nullopt;
  if (row->how == How::kInstead) return meaning(*row, name, {});
  std::vector<std::string> values;
  if (given && row->values > 0) values.push_back(*given);
  while (static_cast<int>(values.size()) < row->values) {
    std::optional<std::string> word = next_word();
    if (!word)
      return Borrowed{
          {}, {}, name + " needs " + (row->values == 1 ? "a value" : "two values") + " behind it"};
    values.push_back(std::move(*word));
  }
  return meaning(*row, name, values);
}

std::optional<Attached> attached_value(std::string_view word) {
  constexpr std::size_t kName = 2;  // the dash and the letter
  if (word.size() <= kName || word[0] != '-' || word[1] == '-') return std::nullopt;
  const Row* const row = row_of(word.substr(0, kName));
  if (row == nullptr || row->values == 0) return std::nullopt;
  return Attached{std::string(word.substr(0, kName)), std::string(word.substr(kName))};
}

std::string option_meant(std::string_view name, const std::vector<std::string_view>& known) {
  constexpr std::size_t kTypingErrors = 2;
  std::string nearest;
  std::size_t least = kTypingErrors + 1;
  const auto consider = [&](std::string_view option) {
    const std::size_t distance = shm::edit_distance(name, option);
    if (distance >= least || option.size() < 5) return;
    least = distance;
    nearest = option;
  };
  for (const std::string_view option : known) consider(option);
  for (const Row& row : kRows)
    if (row.how == How::kSame || row.how == How::kBinding) consider("--" + std::string(row.name));
  return nearest;
}

}  // namespace oshrun
