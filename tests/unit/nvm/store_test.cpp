// SPDX-License-Identifier: BSD-3-Clause
// A store as a device with epochs, and on devices that fail.
#include "nvm/storage/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <vector>

#include "nvm/storage/store_check.hpp"
#include "nvm/storage/store_files.hpp"
#include "store_fixture.hpp"
#include "system_calls.hpp"
#include "test_device.hpp"

namespace shm::nvm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(StorePagesTest, MovesPagesOf64MiB) {
  constexpr std::uint64_t kPage = 64 * kMiB;
  const Folder folder;
  const Identity object = test_object(kPage / kBlock);
  auto store = expect_store(open_store({.folder = folder.path(), .object = object, .make = true}));
  ASSERT_TRUE(store->begin_at(0).ok());
  const Buffer page(kPage, 3);
  EXPECT_EQ(write(*store, 0, page, kPage), 0);
  EXPECT_TRUE(store->prepare(1).ok());
  std::memset(page.data(), 0xee, kPage);
  EXPECT_EQ(read(*store, 0, page, kPage), 0);
  EXPECT_TRUE(page.holds(3));
}

class StoreTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kBlocks = 40;

  // A store that has begun at epoch 0, on `device`.
  std::unique_ptr<Store> make(const Identity& object = test_object(kBlocks)) {
    auto store = expect_store(Store::make(std::make_unique<Borrowed>(device), "here", object));
    EXPECT_TRUE(store->begin_at(0).ok());
    return store;
  }
  std::unique_ptr<Store> reopen(const Identity& object = test_object(kBlocks)) {
    return expect_store(Store::open(std::make_unique<Borrowed>(device), "here", object));
  }
  std::string refusal(const Identity& object) {
    return Store::open(std::make_unique<Borrowed>(device), "here", object).status().text();
  }

  TestDevice device{{.size = 4 * kMiB}};
};

TEST_F(StoreTest, APageThatIsWrittenWholeIsOneTransfer) {
  auto store = make();
  const Buffer page(16 * kBlock, 1);
  for (std::uint64_t epoch = 1; epoch < 20; ++epoch) {
    device.clear_records();
    EXPECT_EQ(write(*store, 8 * kBlock, page, 16 * kBlock), 0);
    EXPECT_EQ(write(*store, 8 * kBlock, page, 16 * kBlock), 0) << "where it is now";
    EXPECT_EQ(read(*store, 8 * kBlock, page, 16 * kBlock), 0);
    EXPECT_EQ(device.records().size(), 3U);
    EXPECT_TRUE(store->prepare(epoch).ok());
    EXPECT_TRUE(store->settle(epoch).ok());
  }
  EXPECT_LT(device.bytes_occupied(), kTablesStart + (2 + 2 * 16 + 2) * kBlock)
      << "blocks of old epochs are used again";
}

TEST_F(StoreTest, AnEpochBeginsOnlyWhenTheLastOneIsSettled) {
  auto store = make();
  EXPECT_THAT(store->prepare(2).text(), HasSubstr("the last epoch is 0"));
  EXPECT_TRUE(store->prepare(1).ok());
  EXPECT_THAT(store->prepare(2).text(), HasSubstr("which is not settled"));
  EXPECT_THAT(store->settle(2).text(), HasSubstr("not the last one"));
  EXPECT_TRUE(store->settle(1).ok());
  EXPECT_TRUE(store->prepare(2).ok());
  EXPECT_THAT(store->epochs(), ElementsAre(1, 2));
  EXPECT_THAT(store->begin_at(0).text(), HasSubstr("does not hold that epoch"));
}

TEST_F(StoreTest, AnEpochHasAllThatWasStartedBeforeIt) {
  auto store = make();
  const Buffer buffer(kBlock);
  fill_block(buffer.data(), 9);
  Transfer transfer{Kind::write, 3 * kBlock, buffer.data(), kBlock};
  store->start(transfer);
  EXPECT_TRUE(store->prepare(1).ok());
  EXPECT_EQ(store->finished(), &transfer) << "it is the caller's to take";
  EXPECT_EQ(transfer.error, 0);
  store = reopen();
  ASSERT_TRUE(store->begin_at(1).ok());
  Contents contents(kBlocks, 0);
  contents[3] = 9;
  EXPECT_TRUE(holds(*store, contents));
}

// It is checked then as any other.
TEST_F(StoreTest, AReadOfBlocksThatLieTogetherCanBeCarriedOutByOthers) {
  TestDevice lender({.size = 4 * kMiB, .never_blocks = true, .lets_take = true});
  auto store = expect_store(Store::make(std::make_unique<Borrowed>(lender), "here", test_object(kBlocks)));
  ASSERT_TRUE(store->begin_at(0).ok());
  const Buffer page(8 * kBlock, 1);
  ASSERT_EQ(write(*store, 0, page, 4 * kBlock), 0);
  ASSERT_EQ(write(*store, 8 * kBlock, page, 4 * kBlock), 0);
  ASSERT_EQ(write(*store, 4 * kBlock, page, 4 * kBlock), 0);

  const Buffer memory(8 * kBlock);
  const auto take = [&](Transfer& transfer) {
    store->start(transfer);
    return store->take_read(transfer);
  };
  Transfer apart{Kind::read, 0, memory.data(), 8 * kBlock};
  EXPECT_EQ(take(apart), nullptr) << "two transfers of the file";
  EXPECT_EQ(wait_for_one(*store), &apart);

  Transfer together{Kind::read, 4 * kBlock, memory.data(), 4 * kBlock};
  Transfer* taken = take(together);
  ASSERT_NE(taken, nullptr);
  store->submit();
  EXPECT_EQ(store->finished(), nullptr);
  store->carry_out(*taken);
  EXPECT_EQ(store->finished(), &together);
  EXPECT_EQ(together.error, 0);

  taken = take(together);
  ASSERT_NE(taken, nullptr);
  store->carry_out(*taken);
  memory.data()[kBlock] ^= std::byte{1};
  EXPECT_EQ(store->finished(), &together);
  EXPECT_EQ(together.error, EBADMSG);
}

TEST_F(StoreTest, RefusesWorkBeforeItHasBegun) {
  make();
  auto store = reopen();
  const Buffer memory(kBlock);
  EXPECT_EQ(read(*store, 0, memory, kBlock), EINVAL);
  EXPECT_FALSE(store->prepare(1).ok());
  EXPECT_FALSE(store->settle(0).ok());
  EXPECT_FALSE(store->reserve(0, kBlock).ok());
}

TEST_F(StoreTest, RefusesWhatIsNoRangeOfBlocks) {
  Identity object = test_object(10, 2 * kBlock);
  object.bytes -= 5;  // rounded up
  auto store = make(object);
  const Buffer memory(40 * kBlock);
  EXPECT_EQ(read(*store, kBlock, memory, 2 * kBlock), EINVAL);
  EXPECT_EQ(read(*store, 0, memory, kBlock), EINVAL);
  EXPECT_EQ(read(*store, 18 * kBlock, memory, 4 * kBlock), EINVAL);
  EXPECT_EQ(run(*store, Kind::read, 0, memory.data() + 8, 2 * kBlock), EINVAL);
  EXPECT_EQ(store->size(), 20 * kBlock);
  EXPECT_EQ(read(*store, 20 * kBlock, memory, 0), 0) << "nothing, at the end";
  EXPECT_FALSE(store->release(UINT64_MAX - kBlock + 1, 2 * kBlock).ok());
}

TEST_F(StoreTest, SaysWhatIsThereAndWhatWasAskedFor) {
  Identity object = test_object(kBlocks);
  object.npes = 4;
  object.pe = 2;
  make(object);
  Identity other = object;
  other.npes = 2;
  EXPECT_THAT(refusal(other), HasSubstr("made by a job of 4 PEs and this one has 2"));
  other = object;
  for (const int pe : {1, 3}) {
    other.pe = pe;
    EXPECT_THAT(refusal(other), HasSubstr("the part of PE 2, not of PE " + std::to_string(pe)));
  }
  other = object;
  other.bytes += kBlock;
  EXPECT_THAT(refusal(other), HasSubstr("163840 bytes on each PE and 167936 are asked for"));
  other = object;
  other.name = "fjord";
  EXPECT_THAT(refusal(other), HasSubstr("it holds the object 'field'"));
  other = object;
  other.id = 78;
  EXPECT_THAT(refusal(other), HasSubstr("another object of that name"));
  other.id = 0;
  EXPECT_EQ(refusal(other), "");
}

TEST_F(StoreTest, RefusesFilesThatItCannotRead) {
  LogDevice empty(4 * kMiB), foreign(4 * kMiB), newer(4 * kMiB);
  std::memset(foreign.bytes.data(), 'x', 4 * kMiB);
  Header later = first_header(test_object(kBlocks));
  later.format = kFormat + 1;
  const SlotBlock slot = make_slot(later);  // gcc does not align a temporary, with AddressSanitizer
  std::memcpy(newer.bytes.data(), &slot, sizeof slot);
  const auto refused = [](LogDevice& on) {
    return Store::open(std::make_unique<Borrowed>(on), "here", test_object(kBlocks)).status().text();
  };
  EXPECT_THAT(refused(empty), HasSubstr("it was not made to its end"));
  EXPECT_THAT(refused(foreign), HasSubstr("it is not an NVM object"));
  EXPECT_THAT(refused(newer), HasSubstr("a later version of Atoll (this one reads format 1)"));
}

// Headers whose checksums are right, and which cannot be those of one object all the same.
TEST_F(StoreTest, RefusesHeadersThatSomebodyMadeUp) {
  const Header good = first_header(test_object(kBlocks));
  const auto state = [](const Header& first, const Header& second) {
    const SlotBlock blocks[] = {make_slot(first), make_slot(second)};
    return read_slots(blocks).state;
  };
  EXPECT_EQ(state(good, good), Slots::State::object);
  Header other = good;
  ++other.id;
  EXPECT_EQ(state(good, other), Slots::State::other) << "of two objects";
  other = good;
  other.pe = other.npes;
  EXPECT_EQ(state(other, other), Slots::State::other) << "of a PE that the job had not";
  EXPECT_EQ(state(other, good), Slots::State::object) << "the other one will do";
  other = good;
  other.block = 2 * kMaxStoreBlock;
  EXPECT_EQ(state(other, other), Slots::State::other) << "of blocks that are too large";
  other = good;
  std::memset(other.name, 'x', sizeof other.name);
  EXPECT_EQ(state(other, other), Slots::State::other) << "with a name that does not end";
}

// A power cut while the first header is written.
TEST_F(StoreTest, AHeaderThatWasWrittenInPartIsOfAnObjectThatWasNotMade) {
  for (const std::size_t written : {std::size_t{3}, std::size_t{8}, std::size_t{81}, kBlock}) {
    SlotBlock blocks[kSlots] = {};
    const SlotBlock whole = make_slot(first_header(test_object(kBlocks)));
    std::memcpy(static_cast<void*>(&blocks[0]), &whole, written);
    const bool is_whole = written == kBlock;
    EXPECT_EQ(read_slots(blocks).state, is_whole ? Slots::State::object : Slots::State::nothing) << written;
  }
}

TEST_F(StoreTest, EpochsKnowWhenTheyWereWritten) {
  auto store = make();  // of an object that was made in 1970
  EXPECT_TRUE(store->prepare(1).ok());
  SlotBlock block{};
  Transfer read{Kind::read, FileLayout::slot(1), reinterpret_cast<std::byte*>(&block), sizeof block};
  EXPECT_EQ(carry_out_all(device, {&read, 1}), 0);
  EXPECT_EQ(block.header.epoch, 1U);
  EXPECT_EQ(block.header.made, 0);
  EXPECT_NEAR(static_cast<double>(block.header.written), static_cast<double>(std::time(nullptr)), 60);
}

TEST_F(StoreTest, RefusesObjectsThatCannotBe) {
  const auto refused = [&](const Identity& object) {
    return Store::make(std::make_unique<Borrowed>(device), "here", object).status().text();
  };
  EXPECT_THAT(refused(test_object(0)), HasSubstr("0 bytes"));
  for (const std::uint64_t block : {std::uint64_t{5000}, kBlock / 2, 2 * kMaxStoreBlock})
    EXPECT_THAT(refused(test_object(4, block)),
                HasSubstr("blocks of " + std::to_string(block) +
                          " bytes; allowed are powers of two from 4096 to 1048576"));
  EXPECT_THAT(refused(test_object(std::uint64_t{1} << 31)), HasSubstr("or more with larger blocks"));
  Identity object = test_object(4);
  object.name = "a/b";
  EXPECT_THAT(refused(object), HasSubstr("the name is 'a/b'; allowed are letters"));
}

TEST_F(StoreTest, ObjectsAreAsLargeAsPlacesHaveNumbers) {
  for (const std::uint64_t block : {kBlock, kMaxStoreBlock}) {
    const std::uint64_t most = (UINT32_MAX - 1) / 3 * block;
    EXPECT_EQ(FileLayout::problem(1, block), "");
    EXPECT_EQ(FileLayout::problem(most, block), "");
    EXPECT_EQ(FileLayout::problem(most + 1, block),
              std::to_string(most + 1) + " bytes in blocks of " + std::to_string(block) + "; at most " +
                  std::to_string(most) + ", or more with larger blocks");
  }
}

// ---- Room

TEST_F(StoreTest, RoomIsThatOfWholeBlocks) {
  auto store = make();
  EXPECT_THAT(store->reserve(1, kBlock).text(), HasSubstr("cannot make room in "));
  EXPECT_THAT(store->release(0, kBlock + 1).text(), HasSubstr("cannot give room back in "));
}

TEST_F(StoreTest, WhatIsReservedCanBeWrittenInEveryEpoch) {
  auto store = make();
  ASSERT_TRUE(store->reserve(0, 8 * kBlock).ok());
  ASSERT_TRUE(store->reserve(0, 8 * kBlock).ok()) << "again";
  device.limit_room(device.bytes_occupied());
  EXPECT_EQ(device.bytes_occupied(), kTablesStart + (2 + 2 * 8) * kBlock);
  for (std::uint64_t epoch = 1; epoch < 6; ++epoch) {
    for (std::uint32_t round = 0; round < 3; ++round) {
      for (std::uint32_t b = 0; b < 8; ++b) EXPECT_EQ(write_block(*store, b, 1 + b + round), 0);
    }
    EXPECT_TRUE(store->prepare(epoch).ok());
    EXPECT_TRUE(store->settle(epoch).ok());
  }
  EXPECT_THAT(store->reserve(8 * kBlock, kBlock).text(), HasSubstr("No space left"));
  EXPECT_EQ(write_block(*store, 0, 5), 0) << "what was reserved still is";
}

TEST_F(StoreTest, AThirdCopyNeedsRoomOfItsOwnUntilTheEpochIsSettled) {
  auto store = make();
  ASSERT_TRUE(store->reserve(0, 8 * kBlock).ok());
  device.limit_room(device.bytes_occupied());
  Contents contents(kBlocks, 0);
  for (std::uint64_t epoch = 1; epoch < 3; ++epoch) {
    for (std::uint32_t b = 0; b < 8; ++b) EXPECT_EQ(write_block(*store, b, contents[b] = 10 + b), 0);
    EXPECT_TRUE(store->prepare(epoch).ok());
    if (epoch < 2) {
      EXPECT_TRUE(store->settle(epoch).ok());
    }
  }
  EXPECT_EQ(write_block(*store, 5, 99), ENOSPC);
  EXPECT_TRUE(holds(*store, contents));
  EXPECT_TRUE(store->settle(2).ok());
  EXPECT_EQ(write_block(*store, 5, contents[5] = 99), 0);
  EXPECT_TRUE(store->prepare(3).ok());
  EXPECT_TRUE(holds(*store, contents));
}

TEST_F(StoreTest, GivesRoomBack) {
  auto store = make();
  const std::uint64_t before = device.bytes_occupied();
  ASSERT_TRUE(store->reserve(0, kBlocks * kBlock).ok());
  EXPECT_EQ(device.bytes_occupied(), before + 2 * kBlocks * kBlock);
  for (std::uint32_t b = 0; b < kBlocks; ++b) EXPECT_EQ(write_block(*store, b, 1 + b), 0);
  EXPECT_TRUE(store->prepare(1).ok());
  EXPECT_TRUE(store->settle(1).ok());
  ASSERT_TRUE(store->release(0, kBlocks * kBlock).ok());
  EXPECT_TRUE(holds(*store, Contents(kBlocks, 0)));
  EXPECT_TRUE(store->prepare(2).ok());
  EXPECT_GE(device.bytes_occupied(), before + kBlocks * kBlock) << "epoch 1 is still there";
  EXPECT_TRUE(store->settle(2).ok());
  EXPECT_EQ(device.bytes_occupied(), before);
}

TEST_F(StoreTest, AWriteWithoutRoomLeavesWhatWasThereAndHoldsTheEpochBack) {
  auto store = make();
  EXPECT_EQ(write_block(*store, 3, 1), 0);
  EXPECT_TRUE(store->prepare(1).ok());
  EXPECT_TRUE(store->settle(1).ok());
  device.limit_room(device.bytes_occupied());
  EXPECT_EQ(write_block(*store, 3, 2), ENOSPC);
  Contents contents(kBlocks, 0);
  contents[3] = 1;
  EXPECT_TRUE(holds(*store, contents));
  EXPECT_THAT(store->prepare(2).text(), HasSubstr("a write at offset 12288 has failed"));
  device.limit_room(UINT64_MAX);
  EXPECT_EQ(write_block(*store, 3, contents[3] = 2), 0);
  EXPECT_TRUE(store->prepare(2).ok());
  EXPECT_TRUE(holds(*store, contents));
}

TEST_F(StoreTest, GoingBackForgetsWhatHasFailedAndWhatWasReserved) {
  auto store = make();
  ASSERT_TRUE(store->reserve(0, 8 * kBlock).ok());
  device.limit_room(device.bytes_occupied());
  for (std::uint32_t b = 0; b < kBlocks; ++b) static_cast<void>(write_block(*store, b, 1 + b));
  EXPECT_FALSE(store->prepare(1).ok()) << "most have failed";
  ASSERT_TRUE(store->begin_at(0).ok());
  EXPECT_TRUE(holds(*store, Contents(kBlocks, 0)));
  device.limit_room(UINT64_MAX);
  const std::uint64_t before = device.bytes_occupied();
  ASSERT_TRUE(store->reserve(0, kBlocks * kBlock).ok());
  EXPECT_EQ(device.bytes_occupied(), before + 2 * (kBlocks - 8) * kBlock) << "in addition to what has it";
  EXPECT_TRUE(store->prepare(1).ok());
}

TEST_F(StoreTest, RoomThatIsRefusedIsGivenBack) {
  auto store = make();
  const std::uint64_t before = device.bytes_occupied();
  device.limit_room(before + 10 * kBlock);
  EXPECT_FALSE(store->reserve(0, 8 * kBlock).ok());
  EXPECT_EQ(device.bytes_occupied(), before);
  EXPECT_TRUE(store->reserve(0, 5 * kBlock).ok());
}

TEST_F(StoreTest, AWriteWithoutRoomIsForgottenWithItsBlock) {
  auto store = make();
  device.limit_room(device.bytes_occupied());
  EXPECT_EQ(write_block(*store, 3, 2), ENOSPC);
  EXPECT_FALSE(store->prepare(1).ok());
  device.limit_room(UINT64_MAX);
  EXPECT_TRUE(store->release(3 * kBlock, kBlock).ok());
  EXPECT_TRUE(store->prepare(1).ok());
}

TEST_F(StoreTest, AnObjectWithoutRoomForItsTablesIsNotMade) {
  device.limit_room(kBlock);
  auto store = Store::make(std::make_unique<Borrowed>(device), "here", test_object(kBlocks));
  EXPECT_THAT(store.status().text(), HasSubstr("No space left"));
}

// ---- Faults

TEST_F(StoreTest, AWriteInPlaceThatIsCutShortIsNotReadAsData) {
  auto store = make();
  EXPECT_EQ(write_block(*store, 1, 1), 0);
  device.fail(Kind::write, 1, EIO, 100);
  EXPECT_EQ(write_block(*store, 1, 2), EIO);
  const Buffer memory(kBlock);
  EXPECT_EQ(read(*store, kBlock, memory, kBlock), EBADMSG);
  EXPECT_THAT(store->damage(kBlock, kBlock), HasSubstr("damaged at offset 4096"));
  EXPECT_EQ(store->damage(0, kBlock), "");
  EXPECT_EQ(store->damage(2 * kBlock, kBlock), "");
  EXPECT_FALSE(store->prepare(1).ok());
  EXPECT_EQ(write_block(*store, 1, 3), 0);
  EXPECT_EQ(store->damage(kBlock, kBlock), "") << "it has been written again";
  EXPECT_TRUE(store->prepare(1).ok());
}

TEST_F(StoreTest, DamageIsForgottenWithTheBlockAndByGoingBack) {
  auto store = make();
  const Buffer memory(kBlock);
  for (const bool goes_back : {false, true}) {
    EXPECT_EQ(write_block(*store, 1, 1), 0);
    device.fail(Kind::write, 1, EIO, 100);
    EXPECT_EQ(write_block(*store, 1, 2), EIO);
    EXPECT_EQ(read(*store, kBlock, memory, kBlock), EBADMSG);
    EXPECT_NE(store->damage(kBlock, kBlock), "");
    EXPECT_TRUE(goes_back ? store->begin_at(0).ok() : store->release(kBlock, kBlock).ok());
    EXPECT_EQ(store->damage(kBlock, kBlock), "");
    EXPECT_TRUE(holds(*store, Contents(kBlocks, 0)));
  }
}

// Though it still says which epoch it was of.
TEST_F(StoreTest, ADamagedHeaderIsWrittenAnew) {
  auto store = make();
  EXPECT_TRUE(store->prepare(1).ok() && store->settle(1).ok());
  for (int slot = 0; slot < kSlots; ++slot) {
    const Buffer block(sizeof(SlotBlock));
    EXPECT_EQ(read(device, FileLayout::slot(slot), block, sizeof(SlotBlock)), 0);
    block.data()[sizeof(SlotBlock) - 1] ^= std::byte{1};
    EXPECT_EQ(write(device, FileLayout::slot(slot), block, sizeof(SlotBlock)), 0);
    store = reopen();
    EXPECT_THAT(store->epochs(), ElementsAre(1));
    ASSERT_TRUE(store->begin_at(1).ok());
    Slots slots;
    ASSERT_TRUE(check_device(device, "here", slots).empty()) << slot;
  }
}

// Whatever fails while an epoch is made: the one before is there, and another attempt either works or is
// refused.
TEST_F(StoreTest, AFailedPrepareLosesNothing) {
  for (const int write_that_fails : {1, 2, 3, 4, 0}) {
    TestDevice fails({.size = 8 * kMiB});
    const Identity object = test_object(600);
    auto store = expect_store(Store::make(std::make_unique<Borrowed>(fails), "here", object));
    ASSERT_TRUE(store->begin_at(0).ok());
    Contents contents(600, 0);
    EXPECT_EQ(write_block(*store, 0, contents[0] = 9), 0);
    EXPECT_TRUE(store->prepare(1).ok() && store->settle(1).ok());
    const Contents before = contents;
    EXPECT_EQ(write_block(*store, 0, contents[0] = 8), 0);
    EXPECT_EQ(write_block(*store, 599, contents[599] = 7), 0);
    if (write_that_fails > 0)
      fails.fail(Kind::write, static_cast<std::uint64_t>(write_that_fails), EIO, 50);
    else
      fails.fail_persist();
    const Status first = store->prepare(2);
    EXPECT_FALSE(first.ok());
    EXPECT_TRUE(holds(*store, contents));
    EXPECT_EQ(store->epochs().front(), 1U);
    const bool works = store->prepare(2).ok();
    // Two chunks of level 0 and one above; the header comes after them.
    EXPECT_EQ(works, write_that_fails > 0 && write_that_fails < 4) << write_that_fails;
    store = expect_store(Store::open(std::make_unique<Borrowed>(fails), "here", object));
    EXPECT_EQ(store->epochs().front(), 1U);
    if (works) {
      EXPECT_EQ(store->epochs().back(), 2U);
      EXPECT_TRUE(store->begin_at(2).ok() && holds(*store, contents));
    } else {
      EXPECT_TRUE(store->begin_at(1).ok() && holds(*store, before));
    }
  }
}

TEST_F(StoreTest, AFailedSettleLosesNothing) {
  auto store = make();
  EXPECT_EQ(write_block(*store, 0, 9), 0);
  EXPECT_TRUE(store->prepare(1).ok());
  device.fail(Kind::write, 1, EIO, 30);
  EXPECT_THAT(store->settle(1).text(), HasSubstr("cannot write a header"));
  EXPECT_FALSE(store->settle(1).ok());
  EXPECT_FALSE(store->prepare(2).ok());
  EXPECT_THAT(store->epochs(), ElementsAre(1));
  store = reopen();
  EXPECT_THAT(store->epochs(), ElementsAre(1));
  ASSERT_TRUE(store->begin_at(1).ok());
  Contents contents(kBlocks, 0);
  contents[0] = 9;
  EXPECT_TRUE(holds(*store, contents));
  EXPECT_TRUE(store->prepare(2).ok()) << "the header that was damaged has been repaired";
}

TEST_F(StoreTest, GoingBackMendsAHeaderThatCouldNotBeWritten) {
  auto store = make();
  EXPECT_EQ(write_block(*store, 0, 9), 0);
  device.fail(Kind::write, 2, EIO, 30);  // the chunk of the table comes first
  EXPECT_THAT(store->prepare(1).text(), HasSubstr("cannot write a header"));
  EXPECT_THAT(store->prepare(1).text(), HasSubstr("cannot write a header")) << "refused";
  ASSERT_TRUE(store->begin_at(0).ok());
  EXPECT_TRUE(holds(*store, Contents(kBlocks, 0)));
  EXPECT_TRUE(store->prepare(1).ok());
}

TEST_F(StoreTest, ReadsThatFailSaySo) {
  auto store = make();
  EXPECT_EQ(write_block(*store, 0, 9), 0);
  device.fail(Kind::read, 1, EIO);
  const Buffer memory(kBlock);
  EXPECT_EQ(read(*store, 0, memory, kBlock), EIO);
  EXPECT_EQ(read(*store, 0, memory, kBlock), 0);
  EXPECT_TRUE(store->prepare(1).ok());
  device.fail(Kind::read, 1, EIO);
  EXPECT_THAT(refusal(test_object(kBlocks)), HasSubstr("Input/output error"));
  store = reopen();
  device.fail(Kind::read, 1, EIO);
  EXPECT_THAT(store->begin_at(1).text(), HasSubstr("Input/output error"));
  EXPECT_THAT(store->epochs(), ElementsAre(0, 1)) << "nothing has changed";
  EXPECT_TRUE(store->begin_at(1).ok());
}

TEST_F(StoreTest, ATableWithoutMemoryIsSaidAndChangesNothing) {
  auto store = make();
  EXPECT_EQ(write_block(*store, 3, 9), 0);
  EXPECT_TRUE(store->prepare(1).ok());
  SystemCalls calls;
  calls.next(Called::mmap, {ENOMEM});
  EXPECT_THAT(store->begin_at(1).text(), HasSubstr("no memory for its table; choose larger blocks"));
  Contents contents(kBlocks, 0);
  contents[3] = 9;
  EXPECT_TRUE(holds(*store, contents));
  EXPECT_TRUE(store->begin_at(1).ok());
  EXPECT_TRUE(holds(*store, contents));
}

TEST_F(StoreTest, CanGoAwayWithTransfersUnderWay) {
  auto own = std::make_unique<TestDevice>(TestDeviceOptions{.size = 4 * kMiB});
  auto store = expect_store(Store::make(std::move(own), "here", test_object(kBlocks)));
  ASSERT_TRUE(store->begin_at(0).ok());
  const Buffer memory(kBlocks * kBlock);
  std::vector<Transfer> transfers(kBlocks);
  for (std::size_t i = 0; i < kBlocks; ++i) {
    transfers[i] = {Kind::write, i * kBlock, memory.data() + i * kBlock, kBlock};
    store->start(transfers[i]);
  }
  EXPECT_EQ(store->under_way(), kBlocks);
  store.reset();
}

}  // namespace
}  // namespace shm::nvm
