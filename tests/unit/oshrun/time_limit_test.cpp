// SPDX-License-Identifier: BSD-3-Clause
#include "time_limit.hpp"

#include <gtest/gtest.h>

#include "words.hpp"

namespace oshrun {
namespace {

using std::chrono::milliseconds;

TEST(TimeLimit, IsReadAsItIsWritten) {
  std::vector<std::string> words = run_within("/bin/oshrun", milliseconds(2500));
  words.insert(words.end(), {"srun", "--run-within", "a b"});
  words.erase(words.begin());
  EXPECT_TRUE(is_run_within(words));
  const TimeLimit time = parse_run_within(words);
  EXPECT_EQ(time.error, "");
  EXPECT_EQ(time.limit, milliseconds(2500));
  EXPECT_GT(time.kill_after, std::chrono::seconds(32))
      << "srun waits that long for processes that do not listen";
  EXPECT_EQ(time.command, (std::vector<std::string>{"srun", "--run-within", "a b"}));
}

TEST(TimeLimit, IsNoOptionOfAJob) {
  EXPECT_FALSE(is_run_within({}));
  EXPECT_FALSE(is_run_within({"-n", "1", "--run-within"}));
}

TEST(TimeLimit, RefusesOtherWords) {
  const std::vector<std::string> wrong[] = {{"--run-within"},
                                            {"--run-within", "1"},
                                            {"--run-within", "1", "1"},
                                            {"--run-within", "1", "x", "a"},
                                            {"--run-within", "0", "1", "a"}};
  for (const auto& words : wrong) {
    const std::string error = parse_run_within(words).error;
    EXPECT_TRUE(error.starts_with("oshrun: --run-within: ")) << words.size();
  }
}

TEST(Seconds, AreWrittenAsTheyAreRead) {
  for (const char* text : {"1", "10", "2.5", "0.001", "0.01", "0.1", "31536000", "100.05"})
    EXPECT_EQ(in_seconds(*seconds(text)), text);
  EXPECT_EQ(seconds("1e-9"), milliseconds(1));
}

}  // namespace
}  // namespace oshrun
