// SPDX-License-Identifier: BSD-3-Clause
#include "memory_servers.hpp"

#include <cstdlib>
#include <filesystem>
#include <string_view>
#include <system_error>

namespace oshrun {
namespace {

constexpr const char* kPreload = "LD_PRELOAD";

/// The value that `name` will have in the processes of `app`.
std::string value_of(const App& app, const char* name) {
  const char* inherited = getenv(name);
  std::string value = inherited != nullptr ? inherited : "";
  for (const EnvSetting& setting : app.env)
    if (setting.name == name && setting.value) value = *setting.value;
  return value;
}

void add_remote_malloc(App& app, const std::string& library, std::size_t from_bytes) {
  const std::string before = value_of(app, kPreload);
  app.env.push_back({kPreload, before.empty() ? library : library + ":" + before});
  app.env.push_back({"SHMEM_REMOTE_MALLOC", std::to_string(from_bytes)});
}

/// Servers act on the word of PE 0, and have the settings that its program has for the library and the
/// network. What is loaded into that program is not meant for them.
App server_app(const Options& options, const Installation& installation) {
  App app;
  app.processes = options.memory_servers;
  app.argv = {installation.server()};
  for (const EnvSetting& setting : options.apps.front().env)
    if (setting.name != kPreload) app.env.push_back(setting);
  return app;
}

}  // namespace

Installation this_installation() {
  std::error_code error;
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe", error);
  const std::filesystem::path bin = self.parent_path();
  return {bin.string(), (bin / ATOLL_BIN_TO_LIB).lexically_normal().string(), self.string(),
          (bin / ATOLL_BIN_TO_DATA / "atoll").lexically_normal().string()};
}

std::vector<App> all_apps(const Options& options, const Installation& installation) {
  std::vector<App> apps = options.apps;
  if (options.remote_malloc) {
    for (App& app : apps) add_remote_malloc(app, installation.remote_malloc(), *options.remote_malloc);
  }
  if (options.memory_servers > 0) apps.push_back(server_app(options, installation));
  return apps;
}

}  // namespace oshrun
