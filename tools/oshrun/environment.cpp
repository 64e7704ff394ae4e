// SPDX-License-Identifier: BSD-3-Clause
#include "environment.hpp"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>

namespace oshrun {
namespace {

constexpr std::string_view kStaticTlsName = "glibc.rtld.optional_static_tls";
constexpr std::string_view kStaticTls = "glibc.rtld.optional_static_tls=8192";

/// Open MPI 4 takes a process for a singleton unless it knows the launcher: MPI_Init then starts a daemon and
/// puts that daemon's PMIX_* variables in the place of ours, and a later shmem_init would join the wrong job.
/// By this variable it knows the one launcher, IBM's, that is a PMIx server and nothing else: it joins our
/// job, and leaves the binding to us.
constexpr const char* kPmixLauncherMark = "JSM_JSRUN_PORT";

/// PMIX_MCA_* are the user's settings for the library; every other PMIX_* describes one job.
bool belongs_to_outer_job(std::string_view variable) {
  return variable.starts_with("PMIX_") && !variable.starts_with("PMIX_MCA_");
}

void forget_outer_job() {
  std::vector<std::string> names;
  for (char** variable = environ; *variable != nullptr; ++variable) {
    const std::string_view text = *variable;
    if (belongs_to_outer_job(text)) names.emplace_back(text.substr(0, text.find('=')));
  }
  for (const std::string& name : names) unsetenv(name.c_str());
}

constexpr std::string_view kBlanks = " \t\r\n";

/// Whether an option that begins with `name` is among `options`: print_suppressions=1 is none of
/// suppressions=.
bool has_option(std::string_view options, std::string_view name) {
  for (std::size_t at = options.find(name); at != options.npos; at = options.find(name, at + 1))
    if (at == 0 || options[at - 1] == ':' || options[at - 1] == ',' ||
        kBlanks.find(options[at - 1]) != kBlanks.npos)
      return true;
  return false;
}

/// Adds the option to those in `variable` unless one of that `name` is among them. Whether it did.
bool add_option(const char* variable, const std::string& name, const std::string& text, char separator) {
  const char* before = getenv(variable);
  std::string options = before != nullptr ? before : "";
  if (has_option(options, name)) return false;
  if (!options.empty()) options += separator;
  setenv(variable, options.append(name).append(text).c_str(), 1);
  return true;
}

/// `path` as the value of an option of a sanitizer, whose options end at blanks, colons and commas if they
/// are not in quotes. Nothing: it has both kinds of quotes.
std::optional<std::string> sanitizers_value(const std::string& path) {
  if (path.find_first_of(" \t\r\n:,'\"") == path.npos) return path;
  for (const char quote : {'\'', '"'})
    if (path.find(quote) == path.npos) return quote + path + quote;
  return std::nullopt;
}

bool starts_with_valgrind(const App& app) {
  const std::string& program = app.argv[0];
  return program.substr(program.rfind('/') + 1) == "valgrind";
}

/// PATH as the PE will have it.
std::string search_path(const App& app) {
  const char* inherited = getenv("PATH");
  std::string path = inherited != nullptr ? inherited : "/usr/local/bin:/usr/bin:/bin";
  for (const EnvSetting& setting : app.env)
    if (setting.name == "PATH" && setting.value) path = *setting.value;
  return path;
}

/// 0 if `path` can be executed by us, else the errno that says why not.
int executable_error(const std::string& path) {
  struct stat info {};
  if (stat(path.c_str(), &info) != 0) return errno;
  if (S_ISDIR(info.st_mode)) return EISDIR;
  return access(path.c_str(), X_OK) == 0 ? 0 : errno;
}

/// `path` as seen from the PEs' directory, written so that it is right after the PE went there and before.
std::string from_wdir(const App& app, const std::string& path) {
  return path.starts_with('/') || app.wdir.empty() ? path : app.wdir + "/" + path;
}

}  // namespace

std::string with_static_tls(std::string_view tunables) {
  std::string result(tunables);
  if (result.find(kStaticTlsName) != std::string::npos) return result;
  if (!result.empty()) result += ':';
  return result.append(kStaticTls);
}

std::vector<std::string> suppress_others_errors(const std::string& folder, const std::vector<App>& apps) {
  const auto file_of = [&](const char* tool) { return folder + "/" + tool + ".supp"; };
  const std::string valgrind = file_of("valgrind");
  if (access(valgrind.c_str(), R_OK) != 0) return {};
  std::vector<std::string> lines;
  if (const auto lsan = sanitizers_value(file_of("lsan")), tsan = sanitizers_value(file_of("tsan"));
      lsan && tsan) {
    if (add_option("LSAN_OPTIONS", "suppressions=", *lsan, ':'))
      add_option("LSAN_OPTIONS", "print_suppressions=", "0", ':');
    add_option("TSAN_OPTIONS", "suppressions=", *tsan, ':');
  } else {
    lines.push_back("oshrun: sanitizers cannot be told of " + file_of("lsan") +
                    ", as its path has both kinds of quotes; copy it, and name the copy in LSAN_OPTIONS");
  }
  if (valgrind.find_first_of(kBlanks) == valgrind.npos) {
    add_option("VALGRIND_OPTS", "--suppressions=", valgrind, ' ');
  } else if (std::any_of(apps.begin(), apps.end(), starts_with_valgrind)) {
    lines.push_back("oshrun: VALGRIND_OPTS cannot name " + valgrind +
                    ", as its path has a blank; give valgrind the option --suppressions='" + valgrind + "'");
  }
  return lines;
}

void prepare_environment(const Options& options, const std::string& job_id) {
  forget_outer_job();
  const char* tunables = getenv("GLIBC_TUNABLES");
  setenv("GLIBC_TUNABLES", with_static_tls(tunables != nullptr ? tunables : "").c_str(), 1);
  setenv("ATOLL_JOB_ID", job_id.c_str(), 1);
  setenv(kPmixLauncherMark, "0", 0);
  if (options.virtual_nodes > 0) {
    setenv("SHMEM_VIRTUAL_NODES", std::to_string(options.virtual_nodes).c_str(), 1);
    setenv("SHMEM_VIRTUAL_ORDER", options.cyclic ? "cyclic" : "block", 1);
  }
  // The parser has looked at it; --memory-servers 0 overrules it.
  unsetenv("SHMEM_MEMORY_SERVERS");
  if (options.memory_servers > 0)
    setenv("SHMEM_MEMORY_SERVERS", std::to_string(options.memory_servers).c_str(), 1);
  if (options.memory_per_server)
    setenv("SHMEM_MEMORY_PER_SERVER", std::to_string(*options.memory_per_server).c_str(), 1);
}

void let_debuggers_take_their_time() {
  setenv("SHMEM_PEER_TIMEOUT", "0", 0);
  setenv("SHMEM_INIT_TIMEOUT", "2592000", 0);
}

void apply_settings(const std::vector<EnvSetting>& settings) {
  for (const EnvSetting& setting : settings)
    if (setting.value) setenv(setting.name.c_str(), setting.value->c_str(), 1);
}

std::vector<std::string> missing_settings(const Options& options) {
  std::vector<std::string> names;
  for (const App& app : options.apps)
    for (const EnvSetting& setting : app.env)
      if (!setting.value && getenv(setting.name.c_str()) == nullptr) names.push_back(setting.name);
  return names;
}

std::string missing_setting(const std::string& name) {
  return "oshrun: -x " + name + ": there is no such variable to pass on; ignored";
}

ProgramPath find_program(const App& app) {
  const std::string& name = app.argv[0];
  if (name.find('/') != std::string::npos) return {name, executable_error(from_wdir(app, name))};
  ProgramPath best{name, ENOENT};
  const std::string path = search_path(app);
  for (std::size_t start = 0; start <= path.size();) {
    std::size_t end = path.find(':', start);
    if (end == std::string::npos) end = path.size();
    const std::string directory = end == start ? "." : path.substr(start, end - start);
    const std::string candidate = directory + "/" + name;
    const int error = executable_error(from_wdir(app, candidate));
    if (error == 0) return {candidate, 0};
    if (error != ENOENT && error != ENOTDIR && error != EISDIR) best = {candidate, error};
    start = end + 1;
  }
  return best;
}

int exec_exit_code(int error) { return error == ENOENT || error == ENOTDIR ? 127 : 126; }

std::string host_name() {
  char name[HOST_NAME_MAX + 1] = {};
  return gethostname(name, sizeof name - 1) == 0 ? name : "localhost";
}

}  // namespace oshrun
