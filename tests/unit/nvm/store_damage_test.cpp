// SPDX-License-Identifier: BSD-3-Clause
// Damaged files: whatever bit is flipped, check finds it or it does not matter, and it is never read as data.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <random>

#include "nvm/storage/store_check.hpp"
#include "store_fixture.hpp"

namespace shm::nvm {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kBlocks = 1100;  // three chunks of level 0, one above

// A file that holds epochs 4 and 5, which share blocks.
class DamageTest : public ::testing::Test {
 protected:
  void SetUp() override {
    device.logging = false;
    store = expect_store(Store::make(std::make_unique<Borrowed>(device), "here", test_object(kBlocks)));
    ASSERT_TRUE(store->begin_at(0).ok());
    Contents contents(kBlocks, 0);
    std::uint32_t value = 0;
    for (std::uint64_t epoch = 1; epoch <= 5; ++epoch) {
      for (const std::uint64_t b : {epoch, epoch + 1, 1000 + epoch, std::uint64_t{30}, std::uint64_t{31}}) {
        if (b == 30 && epoch != 2) break;  // 30 and 31 but once
        ASSERT_EQ(write_block(*store, b, contents[b] = ++value), 0);
      }
      ASSERT_TRUE(store->prepare(epoch).ok());
      if (epoch < 5) {
        ASSERT_TRUE(store->settle(epoch).ok());
      }
      if (epoch >= 4) epochs[epoch] = contents;
    }
    store.reset();
  }

  Defects check() {
    Slots slots;
    return check_device(device, "here", slots);
  }

  // Whether every epoch is held and reads right; a wrong byte that is read as data is a failed test.
  bool reads_right() {
    bool right = true;
    for (const auto& [epoch, contents] : epochs) {
      LogDevice copy(device.bytes);
      copy.logging = false;
      auto opened = Store::open(std::make_unique<Borrowed>(copy), "here", test_object(kBlocks));
      if (!opened.ok() || !opened.value()->begin_at(epoch).ok()) {
        right = false;
        continue;
      }
      for (std::uint64_t b = 0; b < kBlocks; b += 20) {
        const Buffer some(20 * kBlock);
        const int error = read(*opened.value(), b * kBlock, some, 20 * kBlock);
        EXPECT_TRUE(error == 0 || error == EBADMSG);
        right &= error == 0;
        for (std::uint64_t k = 0; k < 20 && error == 0; ++k)
          EXPECT_TRUE(block_holds(some.data() + k * kBlock, contents[b + k]))
              << "wrong data as block " << b + k;
      }
    }
    return right;
  }

  void flip(std::uint64_t bit) { device.bytes[bit / 8] ^= std::byte{1} << (bit % 8); }

  LogDevice device{file_bytes(test_object(kBlocks))};
  std::unique_ptr<Store> store;
  std::map<std::uint64_t, Contents> epochs;
};

TEST_F(DamageTest, AWholeFileHasNoDefects) {
  EXPECT_THAT(check(), IsEmpty());
  EXPECT_TRUE(reads_right());
}

// Blocks of the file, found by looking at it: damage in each that matters must be found.
TEST_F(DamageTest, EveryFlippedBitThatMattersIsFound) {
  const std::uint64_t seed = seed_of_run();
  std::mt19937_64 random(seed);
  int mattered = 0;
  for (std::uint64_t at = 0; at < device.bytes.size() && !HasFailure(); at += kBlock) {
    const auto begin = device.bytes.begin() + static_cast<std::ptrdiff_t>(at);
    const bool used = std::any_of(begin, begin + kBlock, [](std::byte b) { return b != std::byte{0}; });
    if (!used && random() % 100 != 0) continue;
    for (int i = 0; i < (used ? 5 : 1); ++i) {
      const std::uint64_t bit = 8 * at + random() % (8 * kBlock);
      flip(bit);
      const bool found = !check().empty();
      EXPECT_TRUE(found || reads_right()) << "bit " << bit;
      mattered += found ? 1 : 0;
      flip(bit);
    }
  }
  // 2 headers, tables of two epochs, and what they say of 15 blocks, most in both epochs.
  EXPECT_GE(mattered, 5 * 20);
}

TEST_F(DamageTest, EveryBitOfAHeaderMatters) {
  for (int slot = 0; slot < kSlots; ++slot) {
    for (std::uint64_t bit = 0; bit < 8 * sizeof(Header); bit += 3) {
      flip(8 * FileLayout::slot(slot) + bit);
      EXPECT_THAT(check(), ElementsAre(HasSubstr("header " + std::to_string(slot) + " is damaged"))) << bit;
      flip(8 * FileLayout::slot(slot) + bit);
    }
    flip(8 * FileLayout::slot(slot) + 8 * kBlock - 1);
    EXPECT_EQ(check().size(), 1U) << "the last bit";
    flip(8 * FileLayout::slot(slot) + 8 * kBlock - 1);
  }
}

TEST_F(DamageTest, BothHeadersDamagedIsTheEndOfTheObject) {
  flip(100);
  flip(8 * FileLayout::slot(1) + 900);
  EXPECT_THAT(check(), ElementsAre(AllOf(HasSubstr("here: "), HasSubstr("both its headers are damaged"))));
  const auto opened = Store::open(std::make_unique<Borrowed>(device), "here", test_object(kBlocks));
  EXPECT_THAT(opened.status().text(), HasSubstr("both its headers are damaged"));
}

TEST_F(DamageTest, SaysWhichBytesAreDamaged) {
  // Blocks 30 and 31 were written one after the other and lie together.
  Contents marks(2);
  auto at = device.bytes.begin();
  const Contents& contents = epochs.at(5);
  for (; !block_holds(&*at, contents[30]); at += kBlock) {
  }
  at[5] ^= std::byte{1};
  at[kBlock + 7] ^= std::byte{128};
  EXPECT_THAT(check(),
              ElementsAre("here: epoch 4: bytes 122880 to 131071 of the object do not match their checksums"))
      << "once, though both epochs have them";
  auto opened = expect_store(Store::open(std::make_unique<Borrowed>(device), "here", test_object(kBlocks)));
  ASSERT_TRUE(opened->begin_at(5).ok());
  const Buffer block(kBlock);
  EXPECT_EQ(read(*opened, 30 * kBlock, block, kBlock), EBADMSG);
  EXPECT_THAT(opened->damage(0, 122881), AllOf(HasSubstr("'field' in here is damaged at offset 122880")));
  EXPECT_EQ(read(*opened, 32 * kBlock, block, kBlock), 0) << "the rest can be read";
}

TEST_F(DamageTest, ABlockOfAnotherPlaceIsDamageToo) {
  const Contents& contents = epochs.at(5);
  auto one = device.bytes.begin(), other = device.bytes.begin();
  for (; !block_holds(&*one, contents[30]); one += kBlock) {
  }
  for (; !block_holds(&*other, contents[31]); other += kBlock) {
  }
  std::swap_ranges(one, one + kBlock, other);
  EXPECT_THAT(check(), ElementsAre(HasSubstr("bytes 122880 to 131071")));
}

// The same bytes as a block of another object, of another level, or of another place.
TEST_F(DamageTest, AChecksumIsOfOnePlace) {
  Buffer block(kBlock);
  std::memset(block.data(), 7, kBlock);
  const std::uint32_t here = checksum_of(7, 1, 5, block.data(), kBlock);
  EXPECT_EQ(here, checksum_of(7, 1, 5, block.data(), kBlock));
  EXPECT_NE(here, checksum_of(8, 1, 5, block.data(), kBlock));
  EXPECT_NE(here, checksum_of(7, 0, 5, block.data(), kBlock));
  EXPECT_NE(here, checksum_of(7, 1, 6, block.data(), kBlock));
}

TEST_F(DamageTest, AnEpochWithADamagedTableIsRefusedAndTheOtherOneIsThere) {
  // The chunks of the last level: epochs 4 and 5 have one each.
  const FileLayout layout(kBlocks * kBlock, kBlock);
  Slots slots;
  check_device(device, "here", slots);
  const int home = static_cast<int>(slots.header[slots.slot_of(5)].root.place) - 1;
  flip(8 * layout.chunk(1, 0, home) + 17);
  EXPECT_THAT(check(),
              ElementsAre("here: epoch 5: chunk 0 of level 1 of the table does not match its checksum"));
  auto opened = expect_store(Store::open(std::make_unique<Borrowed>(device), "here", test_object(kBlocks)));
  EXPECT_THAT(opened->begin_at(5).text(), HasSubstr("chunk 0 of level 1 of the table does not match"));
  EXPECT_THAT(opened->epochs(), ElementsAre(4, 5));
  ASSERT_TRUE(opened->begin_at(4).ok());
  EXPECT_TRUE(holds(*opened, epochs.at(4)));
}

}  // namespace
}  // namespace shm::nvm
