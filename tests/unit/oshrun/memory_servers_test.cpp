// SPDX-License-Identifier: BSD-3-Clause
#include "memory_servers.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <string>

namespace oshrun {
namespace {

const Installation kHere{"/there/bin", "/there/lib"};

/// What the processes of `app` find under `name`, or "-".
std::string last(const App& app, const std::string& name) {
  std::string value = "-";
  for (const EnvSetting& setting : app.env)
    if (setting.name == name && setting.value) value = *setting.value;
  return value;
}

Options job_of(int servers) {
  Options options;
  options.apps.resize(2);
  options.apps[0].processes = 3;
  options.apps[0].argv = {"first", "argument"};
  options.apps[1].argv = {"second"};
  options.memory_servers = servers;
  return options;
}

class MemoryServers : public ::testing::Test {
 protected:
  void SetUp() override { unsetenv("LD_PRELOAD"); }
};

TEST_F(MemoryServers, AreTheLastProgram) {
  const std::vector<App> apps = all_apps(job_of(2), kHere);
  ASSERT_EQ(apps.size(), 3u);
  EXPECT_EQ(apps[0].processes, 3);
  EXPECT_EQ(apps[1].argv.front(), "second");
  EXPECT_EQ(apps[2].processes, 2);
  EXPECT_EQ(apps[2].argv, std::vector<std::string>{"/there/bin/shmem_memory"});
}

TEST_F(MemoryServers, AreNotThereUnasked) { EXPECT_EQ(all_apps(job_of(0), kHere).size(), 2u); }

TEST_F(MemoryServers, HaveTheSettingsOfTheFirstProgramButNotWhatIsLoadedIntoIt) {
  Options options = job_of(1);
  options.apps[0].wdir = "/elsewhere";
  options.apps[0].env = {{"SHMEM_PROVIDER", "tcp"}, {"LD_PRELOAD", "tool.so"}, {"PASSED", std::nullopt}};
  options.apps[1].env = {{"SHMEM_PROVIDER", "other"}};
  const App server = all_apps(options, kHere).back();
  EXPECT_EQ(last(server, "SHMEM_PROVIDER"), "tcp");
  EXPECT_EQ(last(server, "LD_PRELOAD"), "-");
  EXPECT_EQ(server.wdir, "") << "their program is found from anywhere";
}

TEST_F(MemoryServers, RemoteMallocIsForThePes) {
  Options options = job_of(1);
  options.remote_malloc = 8 << 20;
  const std::vector<App> apps = all_apps(options, kHere);
  for (const App& app : {apps[0], apps[1]}) {
    EXPECT_EQ(last(app, "LD_PRELOAD"), "/there/lib/libshmem_remote.so");
    EXPECT_EQ(last(app, "SHMEM_REMOTE_MALLOC"), "8388608");
  }
  EXPECT_EQ(last(apps[2], "LD_PRELOAD"), "-");
  EXPECT_EQ(last(apps[2], "SHMEM_REMOTE_MALLOC"), "-");
  EXPECT_EQ(last(all_apps(job_of(1), kHere)[0], "LD_PRELOAD"), "-");
}

TEST_F(MemoryServers, RemoteMallocComesBeforeWhatIsLoadedAlready) {
  setenv("LD_PRELOAD", "inherited.so", 1);
  Options options = job_of(1);
  options.remote_malloc = 1;
  options.apps[1].env = {{"LD_PRELOAD", "first.so"}, {"LD_PRELOAD", "a.so b.so"}};
  const std::vector<App> apps = all_apps(options, kHere);
  EXPECT_EQ(last(apps[0], "LD_PRELOAD"), "/there/lib/libshmem_remote.so:inherited.so");
  EXPECT_EQ(last(apps[1], "LD_PRELOAD"), "/there/lib/libshmem_remote.so:a.so b.so");
  unsetenv("LD_PRELOAD");
}

TEST_F(MemoryServers, AreFoundBesideThisProgram) {
  char self[4096] = "";
  ASSERT_GT(readlink("/proc/self/exe", self, sizeof self - 1), 0);
  const std::string path = self;
  const Installation here = this_installation();
  EXPECT_EQ(here.oshrun, path);
  EXPECT_EQ(here.bin, path.substr(0, path.rfind('/')));
  EXPECT_EQ(here.lib.find(".."), std::string::npos) << here.lib;
  EXPECT_EQ(here.lib.front(), '/');
}

}  // namespace
}  // namespace oshrun
