// SPDX-License-Identifier: BSD-3-Clause
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <string>

#include "patterns.hpp"

extern "C" {
size_t __fread_chk(void*, size_t, size_t, size_t, FILE*);
size_t __fread_unlocked_chk(void*, size_t, size_t, size_t, FILE*);
}

namespace remote_malloc {
namespace {

constexpr std::size_t kLong = std::size_t{1} << 20;

class Streams : public Enabled {
 protected:
  void SetUp() override {
    stream_ = fdopen(memfd_create("atoll.test", MFD_CLOEXEC), "w+");
    ASSERT_NE(stream_, nullptr);
  }
  void TearDown() override { fclose(stream_); }
  void hold(std::size_t n, std::size_t seed) {
    const std::vector<std::uint8_t> contents = pattern_of(n, seed);
    std::rewind(stream_);
    ASSERT_EQ(ftruncate(fileno(stream_), 0), 0);
    ASSERT_EQ(fwrite(contents.data(), 1, n, stream_), n);
    std::rewind(stream_);
  }
  std::string contents() {
    std::rewind(stream_);
    std::string text(2 * kLong, '\0');
    text.resize(fread(text.data(), 1, text.size(), stream_));
    return text;
  }
  std::uint8_t* place() const { return block_.at(paged::kPage - 10); }

  Block block_{2 * kLong};
  std::FILE* stream_ = nullptr;
};

using Fread = size_t (*)(void*, size_t, size_t, FILE*);

TEST_F(Streams, LongReadsFillMemoryThatIsNotHere) {
  const Fread reads[] = {fread, fread_unlocked,
                         [](void* at, size_t size, size_t n, FILE* stream) {
                           return __fread_chk(at, size * n, size, n, stream);
                         },
                         [](void* at, size_t size, size_t n, FILE* stream) {
                           return __fread_unlocked_chk(at, size * n, size, n, stream);
                         }};
  for (const Fread call : reads) {
    for (const Resident resident : {Resident::none, Resident::first, Resident::all_but_first}) {
      hold(kLong, 2);
      std::memset(place() - 1, 0xee, kLong + 2);
      make_resident(resident, place(), kLong);
      ASSERT_EQ(call(place(), 16, kLong / 16, stream_), kLong / 16);
      EXPECT_FALSE(ferror(stream_));
      EXPECT_EQ(first_other(place(), kLong, 2), kLong);
      EXPECT_TRUE(place()[-1] == 0xee && place()[kLong] == 0xee);
    }
  }
}

TEST_F(Streams, AReadCountsWholeItems) {
  hold(kLong - 1, 2);
  paged::close_all();
  EXPECT_EQ(fread(place(), 1000, 2000, stream_), (kLong - 1) / 1000);
  EXPECT_TRUE(feof(stream_));
  EXPECT_EQ(first_other(place(), kLong - 1, 2), kLong - 1) << "what is left of an item is there, too";
  EXPECT_EQ(fread(place(), 0, 5, stream_), 0u);
}

TEST_F(Streams, LongWritesTakeMemoryThatIsNotHere) {
  for (const auto call : {fwrite, fwrite_unlocked}) {
    for (const Resident resident : {Resident::none, Resident::first, Resident::all_but_first}) {
      hold(0, 0);
      fill(place(), kLong, 3);
      make_resident(resident, place(), kLong);
      ASSERT_EQ(call(place(), 4, kLong / 4, stream_), kLong / 4);
      ASSERT_EQ(fflush(stream_), 0);
      const std::string text = contents();
      ASSERT_EQ(text.size(), kLong);
      EXPECT_EQ(first_other(text.data(), kLong, 3), kLong);
    }
  }
}

TEST_F(Streams, AWriteThatFailsSaysHowManyItems) {
  std::FILE* full = std::fopen("/dev/full", "w");
  ASSERT_NE(full, nullptr);
  setvbuf(full, nullptr, _IONBF, 0);
  EXPECT_EQ(fwrite(place(), 8, 1000, full), 0u);
  EXPECT_TRUE(ferror(full));
  std::fclose(full);
}

TEST_F(Streams, LongTextsAreWritten) {
  auto* text = reinterpret_cast<char*>(place());
  const std::string expected(kLong, 'a');
  for (const auto call : {fputs, fputs_unlocked}) {
    hold(0, 0);
    std::memcpy(text, expected.c_str(), kLong + 1);
    paged::close_all();
    ASSERT_GE(call(text, stream_), 0);
    ASSERT_EQ(fflush(stream_), 0);
    EXPECT_TRUE(contents() == expected);
  }
}

TEST_F(Streams, ALongLineIsWritten) {
  auto* text = reinterpret_cast<char*>(place());
  const std::string expected(kLong, 'a');
  std::memcpy(text, expected.c_str(), kLong + 1);
  fflush(stdout);
  const int before = dup(STDOUT_FILENO);
  ASSERT_GE(dup2(fileno(stream_), STDOUT_FILENO), 0);
  paged::close_all();
  const int result = puts(text);
  fflush(stdout);
  dup2(before, STDOUT_FILENO);
  close(before);
  EXPECT_GE(result, 0);
  EXPECT_TRUE(contents() == expected + "\n");
}

TEST_F(Streams, ABufferOfAStreamIsLocal) {
  ASSERT_EQ(setvbuf(stream_, reinterpret_cast<char*>(place()), _IOFBF, kLong), 0);
  std::memset(place(), 0, kLong);
  ASSERT_EQ(fputs("short", stream_), 1);
  EXPECT_EQ(std::memcmp(place(), "short", 5) == 0, false);
  paged::close_all();
  ASSERT_EQ(fflush(stream_), 0);
  EXPECT_EQ(contents(), "short");
}

}  // namespace
}  // namespace remote_malloc
