// SPDX-License-Identifier: BSD-3-Clause
#include "base/env.hpp"
#include "base/env_names.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "environment.hpp"

namespace shm {
namespace {

using test::ScopedEnvironment;
using ::testing::HasSubstr;

constexpr std::size_t k = 1024, m = k * 1024, g = m * 1024, t = g * 1024;

TEST(ParseSize, ReadsWhatTheSpecificationAllows) {
  const std::pair<const char*, std::size_t> cases[] = {
      {"0", 0},
      {"123", 123},
      {"20k", 20 * k},
      {"20K", 20 * k},
      {"3m", 3 * m},
      {"4G", 4 * g},
      {"2t", 2 * t},
      {"20kk", 20 * k},
      {"1mb", m},
      {".5m", m / 2},
      {"1.5g", g + g / 2},
      {"3.1M", 3250586},
      {"0.0001k", 1},
      {"7.", 7},
      {"9007199254740993", 9007199254740993},
      {"1e9", 1000000000},
      {"1.5E+3", 1500},
      {"3.1e6", 3100000},
      {"2e1k", 20 * k},
      {"5e-1M", m / 2},
      {"1e-3", 1},
      {"0e999", 0},
      {"4194304t", std::size_t{1} << 62},  // the largest
  };
  for (const auto& [text, bytes] : cases) {
    const auto size = parse_size(text);
    ASSERT_TRUE(size.has_value()) << text;
    EXPECT_EQ(*size, bytes) << text;
  }
}

TEST(ParseSize, RefusesTheRest) {
  for (const char* text : {"",          "k",
                           ".",         ".k",
                           "-1",        "+1",
                           "abc",       "1..5",
                           "1e",        "1e+",
                           "e3",        "1ek",
                           "1e19",      "1e999999999999",
                           "inf",       "12x",
                           "1 m",       " 1",
                           "99999999t", "4611686018427387905"}) {
    EXPECT_FALSE(parse_size(text).has_value()) << '"' << text << '"';
  }
}

// Every variable unset, whatever the environment of the test run.
class EnvRead : public ::testing::Test {
 protected:
  EnvRead() {
#define ENV(NAME, KIND, member, def, help) environment.unset("SHMEM_" #NAME);
#include "base/env.def"
#undef ENV
    for (const char* name : {"SMA_VERSION", "SMA_INFO", "SMA_DEBUG", "SMA_SYMMETRIC_SIZE"})
      environment.unset(name);
  }

  static Env read() {
    Result<Env> env = Env::read();
    EXPECT_TRUE(env.ok()) << env.status().text();
    return env.value();
  }

  // The message for NAME=value, which names both and what is allowed.
  std::string refusal(const std::string& name, const std::string& value) {
    ScopedEnvironment changed;
    changed.set(name, value);
    const Result<Env> env = Env::read();
    EXPECT_FALSE(env.ok()) << name << '=' << value;
    EXPECT_THAT(env.status().text(), HasSubstr(name + "=" + value));
    EXPECT_THAT(env.status().text(), HasSubstr("allowed is"));
    return env.status().text();
  }

  ScopedEnvironment environment;
};

TEST_F(EnvRead, HasDefaults) {
  const Env env = read();
  EXPECT_FALSE(env.info);
  EXPECT_EQ(env.checks, Checks::usual);
  EXPECT_FALSE(env.symmetric_size.has_value());
  EXPECT_FALSE(env.spin.has_value());
  EXPECT_EQ(env.mapper, "auto");
  EXPECT_EQ(env.provider, "");
  EXPECT_EQ(env.init_timeout, 120);
  EXPECT_EQ(env.peer_timeout, 30);
  EXPECT_EQ(env.agent_spin_us, 50U);
  EXPECT_EQ(env.nic_mshrs, 64U);
  EXPECT_EQ(env.wait_report, 0U);
}

// Or one variable would have another one's value.
TEST_F(EnvRead, PutsEachVariableIntoTheMemberOfItsName) {
  const auto lower = [](std::string name) {
    for (char& c : name) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return name;
  };
#define ENV(NAME, KIND, member, def, help) EXPECT_EQ(lower(#NAME), #member);
#include "base/env.def"
#undef ENV
}

TEST_F(EnvRead, ReadsEachKind) {
  environment.set("SHMEM_SYMMETRIC_SIZE", "1.5g");
  environment.set("SHMEM_MAPPER", "posix");
  environment.set("SHMEM_PROVIDER", "tcp;ofi_rxm");
  environment.set("SHMEM_INIT_TIMEOUT", "2.5");
  environment.set("SHMEM_PEER_TIMEOUT", "0");
  environment.set("SHMEM_VIRTUAL_NODES", "2");
  environment.set("SHMEM_SPIN", "auto");
  const Env env = read();
  EXPECT_EQ(env.symmetric_size, g + g / 2);
  EXPECT_EQ(env.mapper, "posix");
  EXPECT_EQ(env.provider, "tcp;ofi_rxm");
  EXPECT_EQ(env.init_timeout, 2.5);
  EXPECT_EQ(env.peer_timeout, 0);
  EXPECT_EQ(env.virtual_nodes, 2U);
  EXPECT_FALSE(env.spin.has_value());
}

TEST_F(EnvRead, ZeroAndItsNamesMeanOff) {
  for (const char* off : {"0", "off", "no", "false"}) {
    environment.set("SHMEM_CHECKS", off);
    EXPECT_EQ(read().checks, Checks::least) << off;
  }
  for (const char* on : {"1", "on", "yes", "true"}) {
    environment.set("SHMEM_CHECKS", on);
    EXPECT_EQ(read().checks, Checks::usual) << on;
  }
  environment.set("SHMEM_CHECKS", "full");
  EXPECT_EQ(read().checks, Checks::full);
  EXPECT_THAT(read().describe(), HasSubstr("SHMEM_CHECKS=full\n"));
}

// Who means "full" and mistypes it must not believe that everything was looked at.
TEST_F(EnvRead, RefusesOtherLevelsOfChecks) {
  for (const char* text : {"ful", "fulll", "Full", "FULL", "full ", "2", "-1", "y", "usual", "ON"})
    EXPECT_THAT(refusal("SHMEM_CHECKS", text),
                ::testing::EndsWith("allowed is 0 (off, no, false), 1 (on, yes, true) or full"));
}

// Flags are on for whatever is not one of the words for off.
TEST_F(EnvRead, FlagsAreOnForOtherWords) {
  for (const char* on : {"1", "y", "Full"}) {
    environment.set("SHMEM_STATS", on);
    EXPECT_TRUE(read().stats) << on;
  }
  environment.set("SHMEM_STATS", "off");
  EXPECT_FALSE(read().stats);
}

// Of the specification's own: their value is "any".
TEST_F(EnvRead, SwitchesAreOnForAnyValue) {
  for (const char* name : {"SHMEM_INFO", "SMA_INFO"}) {
    for (const char* any : {"1", "0", "off", ""}) {
      environment.set(name, any);
      EXPECT_TRUE(read().info) << name << '=' << any;
    }
    environment.unset(name);
    EXPECT_FALSE(read().info) << name;
  }
  EXPECT_THAT(read().describe(), HasSubstr("SHMEM_VERSION=0 (default)"));
}

TEST_F(EnvRead, KnowsTheOldNamesAndPrefersTheNew) {
  environment.set("SMA_SYMMETRIC_SIZE", "1m");
  EXPECT_EQ(read().symmetric_size, m);
  environment.set("SHMEM_SYMMETRIC_SIZE", "2m");
  EXPECT_EQ(read().symmetric_size, 2 * m);
  environment.set("SHMEM_SYMMETRIC_SIZE", "");  // counts as unset
  EXPECT_EQ(read().symmetric_size, m);
  environment.set("SMA_SYMMETRIC_SIZE", "");
  EXPECT_EQ(read().symmetric_size, std::nullopt);
  for (const char* name : {"SMA_VERSION", "SMA_INFO", "SMA_DEBUG"}) environment.set(name, "1");
  EXPECT_TRUE(read().version);
  EXPECT_TRUE(read().info);
  EXPECT_TRUE(read().debug);
  environment.set("SMA_MAPPER", "posix");  // not one of the four
  EXPECT_EQ(read().mapper, "auto");
}

TEST_F(EnvRead, RefusesWithTheNameTheValueAndWhatIsAllowed) {
  EXPECT_THAT(refusal("SHMEM_SYMMETRIC_SIZE", "lots"), HasSubstr("512m"));
  EXPECT_THAT(refusal("SHMEM_MAPPER", "carrier-pigeon"), HasSubstr("auto|memfd|posix"));
  EXPECT_THAT(refusal("SHMEM_INIT_TIMEOUT", "0"), HasSubstr("above 0"));
  for (const char* seconds : {"1.9", "-1", "3e6", "x"})
    EXPECT_THAT(refusal("SHMEM_PEER_TIMEOUT", seconds), HasSubstr("from 2 to 2592000"));
  refusal("SHMEM_INIT_TIMEOUT", "soon");
  for (const char* count : {"-1", "1.5", "many", "1e300", "nan", "5x", "5 "}) refusal("SHMEM_SPIN", count);
  for (const char* seconds : {"5x", "5s", "1.5.", ","}) refusal("SHMEM_INIT_TIMEOUT", seconds);
  for (const char* choice : {"memf", "memfds", "auto|memfd", "|", "MEMFD"}) refusal("SHMEM_MAPPER", choice);
}

TEST_F(EnvRead, HasLimitsBeyondWhichNothingIsMeant) {
  for (const char* name : {"SHMEM_SPIN", "SHMEM_VIRTUAL_NODES", "SHMEM_AGENT_SPIN_US", "SHMEM_FAULTS"}) {
    EXPECT_THAT(refusal(name, "1000000001"), HasSubstr("from 0 to 1000000000"));
  }
  for (const char* seconds : {"1e300", "2592001", "inf", "-1"}) {
    EXPECT_THAT(refusal("SHMEM_INIT_TIMEOUT", seconds), HasSubstr("at most 2592000"));
  }
  for (const char* name : {"SHMEM_NIC_MSHRS", "SHMEM_NIC_SUBENTRIES", "SHMEM_KV_PENDING"}) {
    for (const char* entries : {"0", "1025", "-1", "1.5", "5x", "auto"})
      EXPECT_THAT(refusal(name, entries), HasSubstr("a whole number from 1 to 1024"));
  }
  environment.set("SHMEM_NIC_MSHRS", "1");
  environment.set("SHMEM_NIC_SUBENTRIES", "1024");
  EXPECT_EQ(read().nic_mshrs, 1U);
  EXPECT_EQ(read().nic_subentries, 1024U);
  environment.set("SHMEM_INIT_TIMEOUT", "2592000");
  environment.set("SHMEM_SPIN", "1000000000");
  EXPECT_EQ(read().spin, 1000000000U);
}

TEST_F(EnvRead, TakesTheKvStoresVariablesUpToTheirBounds) {
  for (const char* entries : {"1", "1024"}) {
    environment.set("SHMEM_KV_PENDING", entries);
    EXPECT_EQ(std::to_string(read().kv_pending), entries);
  }
  for (const char* match : {"bucket", "entry"}) {
    environment.set("SHMEM_KV_MATCH", match);
    EXPECT_EQ(read().kv_match, match);
  }
  for (const char* get : {"auto", "message", "onesided"}) {
    environment.set("SHMEM_KV_GET", get);
    EXPECT_EQ(read().kv_get, get);
  }
  refusal("SHMEM_KV_GET", "reads");
  for (const char* match : {"entries", "none", "1", "bucket|entry"}) refusal("SHMEM_KV_MATCH", match);
}

TEST_F(EnvRead, SuspectsWhatIsNearlyOneOfOurs) {
  EXPECT_THAT(remarks_on_variables(), ::testing::IsEmpty());
  environment.set("SHMEM_SYMETRIC_SIZE", "1g");
  environment.set("SHMEM_PROVDIER", "tcp");
  EXPECT_THAT(
      remarks_on_variables(),
      ::testing::UnorderedElementsAre("SHMEM_SYMETRIC_SIZE is not known here; is SHMEM_SYMMETRIC_SIZE meant?",
                                      "SHMEM_PROVDIER is not known here; is SHMEM_PROVIDER meant?"));
}

// Up to two letters that are missing, too many or others; of two names the nearer one.
TEST_F(EnvRead, SuspectsUpToTwoTypingErrors) {
  environment.set("SHMEM_SPON", "7");
  environment.set("SHMEM_INIT_TIEMOUT", "7");
  environment.set("SHMEM_NVM_SIXE", "1g");  // one letter from NVM_SIZE, more than two from all others
  environment.set("SHMEM_PROVIDORS", "tcp");
  environment.set("SHMEM_PRUVIDORS", "tcp");  // three
  EXPECT_THAT(
      remarks_on_variables(),
      ::testing::UnorderedElementsAre("SHMEM_SPON is not known here; is SHMEM_SPIN meant?",
                                      "SHMEM_INIT_TIEMOUT is not known here; is SHMEM_INIT_TIMEOUT meant?",
                                      "SHMEM_NVM_SIXE is not known here; is SHMEM_NVM_SIZE meant?",
                                      "SHMEM_PROVIDORS is not known here; is SHMEM_PROVIDER meant?"));
}

TEST_F(EnvRead, SuspectsNothingElse) {
  environment.set("SHMEM_SPIN", "7");  // ours
  environment.set("SHMEM_MAPER", "");  // counts as unset
  environment.set("SHMEM_OTHER_LIBRARY", "4");
  environment.set("SHMEM_FOO", "1");  // of SHMEM_AMO no more than a letter is left
  environment.set("SMA_DEBUG", "1");  // ours
  environment.set("SMA_OTHER_LIBRARY", "4");
  environment.set("SMB_DEBUG", "1");
  EXPECT_THAT(remarks_on_variables(), ::testing::IsEmpty());
}

// Of old names four count, and a misspelt name of another implementation means what the right one does.
TEST_F(EnvRead, SuspectsOldNamesAndThoseOfOthers) {
  environment.set("SMA_DEBUGG", "1");
  environment.set("SMA_MAPPER", "posix");
  environment.set("SMA_SYMETRIC_SIZE", "1g");
  environment.set("SHMEM_SYMMETRIC_HEAPSIZE", "1g");
  environment.set("SMA_OFI_PROVIDR", "tcp");
  environment.set("SHMEM_TEAMS_MIN", "3");  // Sandia's SHMEM_TEAMS_MAX has no effect either
  EXPECT_THAT(remarks_on_variables(),
              ::testing::UnorderedElementsAre(
                  "SMA_DEBUGG is not known here; is SHMEM_DEBUG meant?",
                  "SMA_MAPPER is not known here; is SHMEM_MAPPER meant?",
                  "SMA_SYMETRIC_SIZE is not known here; is SHMEM_SYMMETRIC_SIZE meant?",
                  "SHMEM_SYMMETRIC_HEAPSIZE is not known here; is SHMEM_SYMMETRIC_SIZE meant?",
                  "SMA_OFI_PROVIDR is not known here; is SHMEM_PROVIDER meant?"));
}

TEST_F(EnvRead, TakesWhatOtherImplementationsCallTheHeapsSize) {
  for (const char* name :
       {"SHMEM_SYMMETRIC_HEAP_SIZE", "SMA_SYMMETRIC_HEAP_SIZE", "XT_SYMMETRIC_HEAP_SIZE"}) {
    environment.set(name, "64m");
    EXPECT_EQ(read().symmetric_size, 64u << 20) << name;
    EXPECT_EQ(variable_in_use("SYMMETRIC_SIZE"), name);
    EXPECT_THAT(remarks_on_variables(),
                ::testing::ElementsAre(::testing::EndsWith("; it is taken for SHMEM_SYMMETRIC_SIZE")));
    environment.set("SHMEM_SYMMETRIC_SIZE", "1m");
    EXPECT_EQ(read().symmetric_size, 1u << 20) << name;
    EXPECT_EQ(variable_in_use("SYMMETRIC_SIZE"), "SHMEM_SYMMETRIC_SIZE");
    EXPECT_THAT(remarks_on_variables(), ::testing::ElementsAre(::testing::EndsWith(
                                            " and has no effect here, as SHMEM_SYMMETRIC_SIZE is set, too")));
    environment.set("SHMEM_SYMMETRIC_SIZE", "");
    environment.set(name, "much");
    EXPECT_THAT(Env::read().status().text(), ::testing::StartsWith(std::string(name) + "=much is not valid"));
    environment.set(name, "");
  }
  environment.set("SMA_SYMMETRIC_SIZE", "1m");
  EXPECT_EQ(variable_in_use("SYMMETRIC_SIZE"), "SMA_SYMMETRIC_SIZE");
  environment.set("SMA_SYMMETRIC_SIZE", "");
  environment.set("SMA_KV_TEAM_SIZE", "1m");  // there is no such one
  EXPECT_EQ(variable_in_use("KV_TEAM_SIZE"), "SHMEM_KV_TEAM_SIZE");
  environment.set("SMA_KV_TEAM_SIZE", "");
  environment.set("SMA_OFI_PROVIDER", "tcp");
  EXPECT_EQ(read().provider, "tcp");
}

TEST_F(EnvRead, SaysWhatToUseInsteadOfAnothersVariable) {
  environment.set("SHMEM_BARRIER_ALGORITHM", "tree");
  environment.set("SHMEM_OFI_STX_MAX", "4");
  EXPECT_THAT(
      remarks_on_variables(),
      ::testing::UnorderedElementsAre(
          "SHMEM_BARRIER_ALGORITHM is a variable of Sandia OpenSHMEM and has no effect here: algorithms are "
          "chosen by size and PEs; SHMEM_ALGORITHMS sets one for measurements",
          "SHMEM_OFI_STX_MAX is a variable of Sandia OpenSHMEM and has no effect here: set "
          "SHMEM_CONTEXT_ENDPOINTS to the most endpoints that contexts may have"));
}

// All that Sandia OpenSHMEM 1.5 and its development version read, src/shmem_env_defs.h, but those that mean
// the same here, under both prefixes.
TEST_F(EnvRead, AnswersEachVariableOfSandiaOpenShmem) {
  for (const char* name : {"SYMMETRIC_HEAP_USE_HUGE_PAGES",
                           "SYMMETRIC_HEAP_PAGE_SIZE",
                           "DISABLE_ASLR_CHECK",
                           "SYMMETRIC_HEAP_USE_MALLOC",
                           "SYMMETRIC_HEAP_USE_DSMML",
                           "BOUNCE_SIZE",
                           "MAX_BOUNCE_BUFFERS",
                           "TRAP_ON_ABORT",
                           "COLL_CROSSOVER",
                           "COLL_SIZE_CROSSOVER",
                           "COLL_RADIX",
                           "BARRIER_ALGORITHM",
                           "HIER_BARRIER_THRESHOLD",
                           "HIER_BARRIER_DEBUG",
                           "BCAST_ALGORITHM",
                           "REDUCE_ALGORITHM",
                           "SCAN_ALGORITHM",
                           "COLLECT_ALGORITHM",
                           "FCOLLECT_ALGORITHM",
                           "BARRIERS_FLUSH",
                           "TEAMS_MAX",
                           "TEAM_SHARED_ONLY_SELF",
                           "CMA_PUT_MAX",
                           "CMA_GET_MAX",
                           "OFI_ATOMIC_CHECKS_WARN",
                           "OFI_PROVIDER",
                           "OFI_FABRIC",
                           "OFI_DOMAIN",
                           "OFI_TX_POLL_LIMIT",
                           "OFI_PUT_PIPELINE_DEPTH",
                           "OFI_RX_POLL_LIMIT",
                           "OFI_STX_MAX",
                           "OFI_STX_AUTO",
                           "OFI_STX_THRESHOLD",
                           "OFI_STX_ALLOCATOR",
                           "OFI_STX_DISABLE_PRIVATE",
                           "OFI_DISABLE_MULTIRAIL",
                           "OFI_DISABLE_SINGLE_EP",
                           "PROGRESS_INTERVAL",
                           "MPI_THREAD_LEVEL"}) {
    for (const char* prefix : {"SHMEM_", "SMA_"}) {
      ScopedEnvironment changed;
      changed.set(std::string(prefix) + name, "1");
      EXPECT_THAT(remarks_on_variables(), ::testing::ElementsAre(::testing::StartsWith(
                                              prefix + std::string(name) + " is a variable of Sandia")));
    }
  }
}

TEST_F(EnvRead, DescribesEveryVariable) {
  environment.set("SHMEM_MAPPER", "posix");
  environment.set("SHMEM_INIT_TIMEOUT", "2.5");
  const std::string text = read().describe();
#define ENV(NAME, KIND, member, def, help)          \
  EXPECT_THAT(text, HasSubstr("SHMEM_" #NAME "=")); \
  EXPECT_THAT(text, HasSubstr(help));
#include "base/env.def"
#undef ENV
  EXPECT_THAT(text, HasSubstr("SHMEM_MAPPER=posix\n"));
  EXPECT_THAT(text, HasSubstr("SHMEM_CHECKS=1 (default)\n"));
  EXPECT_THAT(text, HasSubstr("SHMEM_SPIN=auto (default)\n"));
  EXPECT_THAT(text, HasSubstr("SHMEM_PROVIDER= (default)\n"));
  EXPECT_THAT(text, HasSubstr("SHMEM_INIT_TIMEOUT=2.5\n"));
}

}  // namespace
}  // namespace shm
