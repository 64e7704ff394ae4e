// SPDX-License-Identifier: BSD-3-Clause
#include "output.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <unistd.h>

namespace oshrun {
namespace {

std::string fed(LineAssembler& lines, std::string_view bytes) {
  std::string ready;
  lines.feed(bytes, ready);
  return ready;
}

std::string finished(LineAssembler& lines) {
  std::string ready;
  lines.finish(ready);
  return ready;
}

std::string released(LineAssembler& lines) {
  std::string ready;
  lines.release(ready);
  return ready;
}

TEST(LineAssembler, KeepsTheUnfinishedLine) {
  LineAssembler lines("");
  EXPECT_EQ(fed(lines, "a\nb\nc"), "a\nb\n");
  EXPECT_TRUE(lines.holds_releasable());
  EXPECT_EQ(fed(lines, "d"), "");
  EXPECT_EQ(fed(lines, "\n"), "cd\n");
  EXPECT_FALSE(lines.holds_releasable());
  EXPECT_EQ(finished(lines), "");
}

TEST(LineAssembler, LosesAndAddsNothingWithoutAPrefix) {
  LineAssembler lines("");
  const std::string text = std::string("x\0y\n\n\r\n", 7) + "tail";
  std::string all;
  for (char c : text) lines.feed({&c, 1}, all);
  lines.finish(all);
  EXPECT_EQ(all, text);
}

TEST(LineAssembler, ReleasesAPrompt) {
  LineAssembler lines("");
  EXPECT_EQ(fed(lines, "name? "), "");
  EXPECT_EQ(released(lines), "name? ");
  EXPECT_EQ(released(lines), "");
  EXPECT_EQ(fed(lines, "ok\n"), "ok\n");
}

TEST(LineAssembler, PassesOnAnEndlessLine) {
  LineAssembler lines("");
  const std::string piece(LineAssembler::kMaxPlain, 'x');
  EXPECT_EQ(fed(lines, piece), "");
  EXPECT_EQ(fed(lines, "y"), piece + "y");
}

TEST(LineAssembler, PrefixesEveryLine) {
  LineAssembler lines("[3] ");
  EXPECT_EQ(fed(lines, "a\n\nb"), "[3] a\n[3] \n");
  EXPECT_FALSE(lines.holds_releasable());
  EXPECT_EQ(released(lines), "");
  EXPECT_EQ(fed(lines, "c"), "");
  EXPECT_EQ(finished(lines), "[3] bc\n");
  EXPECT_EQ(finished(lines), "");
}

TEST(LineAssembler, CutsAnEndlessPrefixedLine) {
  LineAssembler lines("> ");
  const std::string piece(LineAssembler::kMaxTagged + 1, 'x');
  EXPECT_EQ(fed(lines, piece), "> " + piece + "\n");
}

class SinkTest : public testing::Test {
 protected:
  void SetUp() override {
    signal(SIGPIPE, SIG_IGN);
    ASSERT_EQ(pipe(ends_), 0);
  }
  void TearDown() override {
    if (ends_[0] >= 0) close(ends_[0]);
    close(ends_[1]);
  }
  std::string read_all(std::size_t size) {
    std::string text(size, '\0');
    std::size_t have = 0;
    while (have < size) {
      const ssize_t got = read(ends_[0], text.data() + have, size - have);
      if (got <= 0) break;
      have += static_cast<std::size_t>(got);
    }
    text.resize(have);
    return text;
  }
  int ends_[2] = {-1, -1};
};

TEST_F(SinkTest, NeverBlocksAndKeepsTheOrder) {
  Sink sink(ends_[1]);
  std::string text;
  for (int i = 0; i < 300000; ++i) text += std::to_string(i) + "\n";
  sink.write(text);  // more than the pipe holds
  EXPECT_FALSE(sink.empty());
  EXPECT_TRUE(sink.full());
  std::string got;
  while (got.size() < text.size()) {
    got += read_all(std::min<std::size_t>(4096, text.size() - got.size()));
    sink.flush();
  }
  EXPECT_EQ(got, text);
  EXPECT_TRUE(sink.empty());
  EXPECT_FALSE(sink.full());
}

TEST_F(SinkTest, KnowsWhetherALineIsOpen) {
  Sink sink(ends_[1]);
  EXPECT_TRUE(sink.ends_line());
  sink.write("a");
  EXPECT_FALSE(sink.ends_line());
  sink.write("");
  EXPECT_FALSE(sink.ends_line());
  sink.write("\n");
  EXPECT_TRUE(sink.ends_line());
}

TEST_F(SinkTest, BreaksWhenTheReaderLeaves) {
  Sink sink(ends_[1]);
  close(ends_[0]);
  ends_[0] = -1;
  sink.write("a\n");
  EXPECT_TRUE(sink.broken());
  EXPECT_TRUE(sink.empty());
  sink.write("b\n");
  EXPECT_TRUE(sink.empty());
}

}  // namespace
}  // namespace oshrun
