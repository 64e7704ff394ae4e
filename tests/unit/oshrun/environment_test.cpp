// SPDX-License-Identifier: BSD-3-Clause
#include "environment.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace oshrun {
namespace {

constexpr const char* kTls = "glibc.rtld.optional_static_tls=8192";

App app_of(const std::string& program) {
  App app;
  app.argv = {program};
  return app;
}

TEST(Environment, TunablesKeepWhatTheUserSet) {
  EXPECT_EQ(with_static_tls(""), kTls);
  EXPECT_EQ(with_static_tls("glibc.malloc.check=3"), std::string("glibc.malloc.check=3:") + kTls);
  EXPECT_EQ(with_static_tls("glibc.rtld.optional_static_tls=99"), "glibc.rtld.optional_static_tls=99");
}

TEST(Environment, OuterJobIsForgotten) {
  setenv("PMIX_RANK", "3", 1);
  setenv("PMIX_SERVER_URI41", "x", 1);
  setenv("PMIX_MCA_base_verbose", "1", 1);
  Options options;
  options.virtual_nodes = 2;
  prepare_environment(options, "atoll-1-x");
  EXPECT_EQ(getenv("PMIX_RANK"), nullptr);
  EXPECT_EQ(getenv("PMIX_SERVER_URI41"), nullptr);
  EXPECT_STREQ(getenv("PMIX_MCA_base_verbose"), "1");
  EXPECT_STREQ(getenv("SHMEM_VIRTUAL_NODES"), "2");
  EXPECT_STREQ(getenv("SHMEM_VIRTUAL_ORDER"), "block");
  options.cyclic = true;
  prepare_environment(options, "atoll-1-x");
  EXPECT_STREQ(getenv("SHMEM_VIRTUAL_ORDER"), "cyclic");
  EXPECT_STREQ(getenv("ATOLL_JOB_ID"), "atoll-1-x");
}

TEST(Environment, ProgramsAreFoundAsByAShell) {
  EXPECT_EQ(find_program(app_of("sh")).error, 0);
  EXPECT_EQ(find_program(app_of("no-such-program")).error, ENOENT);
  EXPECT_EQ(find_program(app_of("./sh")).error, ENOENT);
  EXPECT_EQ(find_program(app_of("/etc/passwd")).error, EACCES);
  EXPECT_EQ(find_program(app_of("/")).error, EISDIR);
  App app = app_of("./sh");
  app.wdir = "/bin";
  EXPECT_EQ(find_program(app).error, 0);
  EXPECT_EQ(find_program(app).path, "./sh");
  app = app_of("passwd");
  app.env.push_back({"PATH", "/nonexistent:/etc"});
  EXPECT_EQ(find_program(app).error, EACCES);
  app = app_of("bin");
  app.env = {{"PATH", "/"}};  // a folder of that name is no program
  EXPECT_EQ(find_program(app).error, ENOENT);
  app = app_of("sh");
  app.wdir = "/bin";
  app.env = {{"PATH", "/nonexistent:"}};  // an empty part is the directory that one is in
  EXPECT_EQ(find_program(app).error, 0);
  EXPECT_EQ(find_program(app).path, "./sh");
  app.env = {{"PATH", std::nullopt}};  // passed on as it is
  EXPECT_EQ(find_program(app).error, 0);
  EXPECT_NE(find_program(app).path, "./sh");
}

TEST(Environment, ThereIsAPathWithoutPath) {
  const std::string path = getenv("PATH");
  unsetenv("PATH");
  EXPECT_EQ(find_program(app_of("sh")).error, 0);
  setenv("PATH", path.c_str(), 1);
}

TEST(Environment, VirtualNodesThatOshrunIsNotAskedForAreThoseOfTheEnvironment) {
  setenv("SHMEM_VIRTUAL_NODES", "3", 1);
  setenv("SHMEM_VIRTUAL_ORDER", "cyclic", 1);
  prepare_environment(Options(), "atoll-1-x");
  EXPECT_STREQ(getenv("SHMEM_VIRTUAL_NODES"), "3");
  EXPECT_STREQ(getenv("SHMEM_VIRTUAL_ORDER"), "cyclic");
}

TEST(Environment, AllAreToldOfTheMemoryServers) {
  Options options;
  options.memory_servers = 3;
  options.memory_per_server = std::size_t{4} << 30;
  prepare_environment(options, "atoll-1-x");
  EXPECT_STREQ(getenv("SHMEM_MEMORY_SERVERS"), "3");
  EXPECT_STREQ(getenv("SHMEM_MEMORY_PER_SERVER"), "4294967296");
  // What they lend is the library's business unless it is asked for; that there are none is the option's.
  setenv("SHMEM_MEMORY_PER_SERVER", "2g", 1);
  prepare_environment(Options(), "atoll-1-x");
  EXPECT_EQ(getenv("SHMEM_MEMORY_SERVERS"), nullptr);
  EXPECT_STREQ(getenv("SHMEM_MEMORY_PER_SERVER"), "2g");
  unsetenv("SHMEM_MEMORY_PER_SERVER");
}

// A folder with suppressions, of any name; the variables are unset at first and at the end.
class Suppressions : public ::testing::Test {
 protected:
  Suppressions() { forget(); }
  ~Suppressions() override {
    forget();
    std::filesystem::remove_all(top_);
  }

  static void forget() {
    for (const char* name : {"LSAN_OPTIONS", "TSAN_OPTIONS", "VALGRIND_OPTS"}) unsetenv(name);
  }

  std::string folder(const std::string& name) const {
    std::filesystem::create_directories(top_ + "/" + name);
    std::ofstream(top_ + "/" + name + "/valgrind.supp") << "\n";
    return top_ + "/" + name;
  }

  std::vector<std::string> add(const std::string& folder, const char* program = "./program") const {
    return suppress_others_errors(folder, {app_of(program)});
  }

 private:
  std::string top_ =
      std::filesystem::temp_directory_path() / ("atoll-suppressions-" + std::to_string(getpid()));
};

TEST_F(Suppressions, AreAddedWhereTheUserHasNone) {
  const std::string here = folder("plain");
  setenv("TSAN_OPTIONS", "suppressions=/mine", 1);
  setenv("VALGRIND_OPTS", "-q", 1);
  EXPECT_TRUE(add(here).empty());
  EXPECT_EQ(getenv("LSAN_OPTIONS"), "suppressions=" + here + "/lsan.supp:print_suppressions=0");
  EXPECT_STREQ(getenv("TSAN_OPTIONS"), "suppressions=/mine");
  EXPECT_EQ(getenv("VALGRIND_OPTS"), "-q --suppressions=" + here + "/valgrind.supp");
  forget();
  EXPECT_TRUE(add(here + "/none").empty());  // none are installed
  EXPECT_EQ(getenv("LSAN_OPTIONS"), nullptr);
}

// Whose name ends in that of the other option.
TEST_F(Suppressions, AreAddedToPrintSuppressions) {
  const std::string here = folder("plain");
  for (const char* name : {"LSAN_OPTIONS", "TSAN_OPTIONS"}) setenv(name, "print_suppressions=1", 1);
  add(here);
  EXPECT_EQ(getenv("LSAN_OPTIONS"), "print_suppressions=1:suppressions=" + here + "/lsan.supp");
  EXPECT_EQ(getenv("TSAN_OPTIONS"), "print_suppressions=1:suppressions=" + here + "/tsan.supp");
}

TEST_F(Suppressions, OfTheUserAreSeenBehindOtherOptions) {
  for (const char separator : {':', ',', ' '}) {
    const std::string mine = std::string("print_suppressions=1") + separator + "suppressions=/mine";
    for (const char* name : {"LSAN_OPTIONS", "TSAN_OPTIONS"}) setenv(name, mine.c_str(), 1);
    add(folder("plain"));
    EXPECT_EQ(getenv("LSAN_OPTIONS"), mine);
    EXPECT_EQ(getenv("TSAN_OPTIONS"), mine);
  }
}

// Of a path that would end the option, the sanitizers take quotes.
TEST_F(Suppressions, AreQuotedForSanitizers) {
  for (const char* name : {"a b", "a:b", "a,b", "a\"b"}) {
    forget();
    const std::string here = folder(name);
    EXPECT_TRUE(add(here).empty()) << name;
    EXPECT_EQ(getenv("TSAN_OPTIONS"), "suppressions='" + here + "/tsan.supp'");
    EXPECT_EQ(getenv("LSAN_OPTIONS"), "suppressions='" + here + "/lsan.supp':print_suppressions=0");
  }
  forget();
  EXPECT_TRUE(add(folder("a'b")).empty());
  EXPECT_EQ(getenv("TSAN_OPTIONS"), "suppressions=\"" + folder("a'b") + "/tsan.supp\"");
}

TEST_F(Suppressions, ThatCannotBeNamedAreSaid) {
  const std::string blank = folder("a b"), quotes = folder("a'\"b");
  EXPECT_TRUE(add(blank, "./valgrind-of-mine").empty());
  for (const char* program : {"valgrind", "/usr/bin/valgrind"})
    EXPECT_EQ(add(blank, program),
              std::vector<std::string>{"oshrun: VALGRIND_OPTS cannot name " + blank +
                                       "/valgrind.supp, as its path has a blank; give valgrind the option "
                                       "--suppressions='" +
                                       blank + "/valgrind.supp'"});
  EXPECT_EQ(getenv("VALGRIND_OPTS"), nullptr);
  forget();
  EXPECT_EQ(add(quotes),
            std::vector<std::string>{"oshrun: sanitizers cannot be told of " + quotes +
                                     "/lsan.supp, as its path has both kinds of quotes; copy it, and name "
                                     "the copy in LSAN_OPTIONS"});
  EXPECT_EQ(getenv("LSAN_OPTIONS"), nullptr);
  EXPECT_EQ(getenv("VALGRIND_OPTS"), "--suppressions=" + quotes + "/valgrind.supp");
}

// By it Open MPI knows a launcher of its own liking.
TEST(Environment, AMarkThatIsThereStays) {
  setenv("JSM_JSRUN_PORT", "17", 1);
  prepare_environment(Options(), "atoll-1-x");
  EXPECT_STREQ(getenv("JSM_JSRUN_PORT"), "17");
  unsetenv("JSM_JSRUN_PORT");
  prepare_environment(Options(), "atoll-1-x");
  EXPECT_STREQ(getenv("JSM_JSRUN_PORT"), "0");
}

TEST(Environment, KnowsWhichVariablesToPassOnAreNotThere) {
  setenv("OSHRUN_TEST_EMPTY", "", 1);
  Options options;
  options.apps = {app_of("a"), app_of("b")};
  options.apps[0].env = {{"OSHRUN_TEST_EMPTY", std::nullopt}, {"OSHRUN_TEST_NONE", std::nullopt}};
  options.apps[1].env = {{"OSHRUN_TEST_GIVEN", "1"}, {"OSHRUN_TEST_NEITHER", std::nullopt}};
  EXPECT_EQ(missing_settings(options), (std::vector<std::string>{"OSHRUN_TEST_NONE", "OSHRUN_TEST_NEITHER"}));
}

TEST(Environment, ExitCodesOfShells) {
  EXPECT_EQ(exec_exit_code(ENOENT), 127);
  EXPECT_EQ(exec_exit_code(ENOTDIR), 127);
  EXPECT_EQ(exec_exit_code(EACCES), 126);
  EXPECT_EQ(exec_exit_code(EISDIR), 126);
}

}  // namespace
}  // namespace oshrun
