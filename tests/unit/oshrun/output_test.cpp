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

/// Standard output and standard error of this process lead into pipes.
class OutputTest : public testing::Test {
 protected:
  OutputTest() {
    for (int i : {0, 1}) {
      EXPECT_EQ(pipe2(pipes_[i], O_CLOEXEC | O_NONBLOCK), 0);
      before_[i] = fcntl(i + 1, F_DUPFD_CLOEXEC, 3);
      dup2(pipes_[i][1], i + 1);
    }
  }
  ~OutputTest() override {
    const std::string rest = written(Stream::kOut);  // what GoogleTest has said
    for (int i : {0, 1}) {
      dup2(before_[i], i + 1);
      for (int fd : {before_[i], pipes_[i][0], pipes_[i][1]}) close(fd);
    }
    EXPECT_EQ(write(STDOUT_FILENO, rest.data(), rest.size()), static_cast<ssize_t>(rest.size()));
  }
  std::string written(Stream stream) {
    char text[4096];
    const ssize_t got = read(pipes_[stream == Stream::kOut ? 0 : 1][0], text, sizeof text);
    return got > 0 ? std::string(text, static_cast<std::size_t>(got)) : "";
  }

 private:
  int pipes_[2][2], before_[2];
};

// Only PE 0 can read an answer.
TEST_F(OutputTest, APromptOfPe0IsShownInTime) {
  Output output({2}, Tag::kNone);
  output.feed(1, Stream::kOut, "name of 1? ");
  EXPECT_FALSE(output.deadline());
  output.feed(0, Stream::kOut, "begun\nname? ");
  EXPECT_EQ(written(Stream::kOut), "begun\n");
  const auto deadline = output.deadline();
  ASSERT_TRUE(deadline);
  output.feed(0, Stream::kErr, "password? ");
  EXPECT_EQ(output.deadline(), deadline) << "what waits longest says when";
  output.on_time(*deadline - std::chrono::milliseconds(1));
  EXPECT_EQ(written(Stream::kOut), "");
  output.on_time(*deadline);
  EXPECT_EQ(written(Stream::kOut), "name? ");
  EXPECT_EQ(written(Stream::kErr), "password? ");
  EXPECT_FALSE(output.deadline()) << "once";
  output.finish(1, Stream::kOut);
  EXPECT_EQ(written(Stream::kOut), "name of 1? ");
}

// A tag stands before a whole line.
TEST_F(OutputTest, WithTagsAPromptWaitsForItsEnd) {
  Output output({2}, Tag::kRank);
  output.feed(0, Stream::kErr, "name? ");
  EXPECT_FALSE(output.deadline());
  output.finish(0, Stream::kErr);
  EXPECT_EQ(written(Stream::kErr), "[0]<err> name? \n");
}

TEST_F(OutputTest, LinesOfMemoryServersSayWhoseTheyAre) {
  Output output({2, 2}, Tag::kRank);
  output.feed(1, Stream::kOut, "a\n");
  output.feed(2, Stream::kOut, "b\n");
  output.feed(3, Stream::kErr, "c\n");
  EXPECT_EQ(written(Stream::kOut), "[1] a\n[memory server 0] b\n");
  EXPECT_EQ(written(Stream::kErr), "[memory server 1]<err> c\n");
}

TEST_F(OutputTest, APeWithMemoryServersIsNotAlone) {
  Output output({1, 1}, Tag::kNone);
  output.feed(1, Stream::kOut, "unfinished");
  EXPECT_EQ(written(Stream::kOut), "") << "it could mix with a line of PE 0";
  output.feed(0, Stream::kErr, "atoll: no room\n");
  output.feed(1, Stream::kErr, "atoll: no room\n");
  EXPECT_EQ(written(Stream::kErr), "atoll: no room\n");
  output.finish_all();
  EXPECT_EQ(written(Stream::kErr), "oshrun: memory server 0 said the same as PE 0\n");
}

TEST_F(OutputTest, WhoSaidTheSameIsToldInTime) {
  Output output({3}, Tag::kNone);
  for (int pe : {0, 1, 2}) output.feed(pe, Stream::kErr, "atoll: no room\n");
  EXPECT_EQ(written(Stream::kErr), "atoll: no room\n");
  const auto summary = output.deadline();
  ASSERT_TRUE(summary);
  output.feed(0, Stream::kOut, "name? ");
  const auto prompt = output.deadline();
  ASSERT_TRUE(prompt);
  EXPECT_LT(*prompt, *summary) << "the earlier of the two";
  output.on_time(*prompt);
  EXPECT_EQ(written(Stream::kOut), "name? ");
  EXPECT_EQ(written(Stream::kErr), "");
  EXPECT_EQ(output.deadline(), summary);
  output.on_time(*summary);
  EXPECT_EQ(written(Stream::kErr), "oshrun: PE 1, 2 said the same as PE 0\n");
  EXPECT_FALSE(output.deadline());
}

// What the launcher says has a line of its own, whatever a PE has begun.
TEST_F(OutputTest, AtTheEndNothingIsKept) {
  Output output({2}, Tag::kNone);
  for (int pe : {0, 1}) output.feed(pe, Stream::kErr, "atoll: no room\nwait");
  output.finish(1, Stream::kErr);
  EXPECT_EQ(written(Stream::kErr), "atoll: no room\nwait");
  output.finish_all();
  EXPECT_EQ(written(Stream::kErr), "\noshrun: PE 1 said the same as PE 0\n");
  output.say("oshrun: the end");
  EXPECT_EQ(written(Stream::kErr), "oshrun: the end\n");
}

TEST_F(SinkTest, WhatIsDroppedIsGone) {
  Sink sink(ends_[1]);
  sink.write(std::string(std::size_t{3} << 20, 'x'));
  EXPECT_TRUE(sink.full());
  sink.drop();
  EXPECT_TRUE(sink.empty());
  EXPECT_FALSE(sink.full());
  EXPECT_FALSE(sink.broken());
}

}  // namespace
}  // namespace oshrun
