// SPDX-License-Identifier: BSD-3-Clause
// A store as a device with epochs: against a model, over all engines, and with devices that fail.
#include "nvm/store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <ostream>
#include <random>

#include "nvm/store_files.hpp"
#include "nvm/test_device.hpp"
#include "store_fixture.hpp"

namespace shm::nvm {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// ---- Random work against a model

struct Variant {
  const char* name;
  Engine engine;
  bool direct;
  std::uint64_t block = kBlock;
  bool memory = false;
};
void PrintTo(const Variant& variant, std::ostream* out) { *out << variant.name; }

class StoreModelTest : public ::testing::TestWithParam<Variant> {
 protected:
  static constexpr std::uint64_t kBlocks = 600;  // two levels of tables if they are small

  // Also again.  May skip the test: check store.
  void open(bool make) {
    store.reset();
    const Variant& variant = GetParam();
    const Identity object = test_object(kBlocks, variant.block);
    if (variant.memory) {
      auto device = std::make_unique<Borrowed>(memory);
      auto opened = make ? Store::make(std::move(device), "memory", object)
                         : Store::open(std::move(device), "memory", object);
      store = expect_store(std::move(opened));
      return;
    }
    auto opened = open_store({folder.path(), object, make, variant.engine, variant.direct});
    if (!opened.ok() && variant.engine == Engine::uring && make) GTEST_SKIP() << opened.status().text();
    store = expect_store(std::move(opened));
  }

  Folder folder;
  TestDevice memory{{.size = file_bytes(test_object(kBlocks)), .seed = 5, .lazy_percent = 30}};
  std::unique_ptr<Store> store;
};

INSTANTIATE_TEST_SUITE_P(All, StoreModelTest,
                         ::testing::Values(Variant{"uring_direct", Engine::uring, true},
                                           Variant{"uring_cached", Engine::uring, false},
                                           Variant{"sync_direct", Engine::sync, true},
                                           Variant{"sync_cached", Engine::sync, false},
                                           Variant{"large_blocks", Engine::automatic, true, 16384},
                                           Variant{"memory", Engine::sync, false, kBlock, true}),
                         [](const auto& info) { return std::string(info.param.name); });

// What a store ought to hold, and transfers of it of which none overlap unless they read.
class Model {
 public:
  Model(std::uint64_t blocks, std::uint64_t block, std::uint64_t seed)
      : work(blocks, 0), block_(block), users_(blocks, 0), random_(seed) {
    epochs[0] = work;
  }

  std::uint64_t pick(std::uint64_t n) { return random_() % n; }

  void start(Store& store) {
    const std::uint64_t at = pick(work.size());
    const std::uint64_t n = std::min<std::uint64_t>(1 + pick(pick(4) == 0 ? 64 : 4), work.size() - at);
    const bool writes = pick(2) == 0;
    for (std::uint64_t b = at; b < at + n; ++b) {
      if (users_[b] < 0 || (writes && users_[b] > 0)) return;
    }
    auto job = std::make_unique<Job>(Job{{}, Buffer(n * block_, 0xee), {}});
    job->transfer = {writes ? Kind::write : Kind::read, at * block_, job->buffer.data(), n * block_};
    for (std::uint64_t b = 0; b < n; ++b) {
      users_[at + b] += writes ? -1 : 1;
      if (writes) fill_block(job->buffer.data() + b * block_, work[at + b] = ++values_, block_);
      job->expected.push_back(work[at + b]);
    }
    store.start(job->transfer);
    jobs_.push_back(std::move(job));
  }

  void end_all(Store& store) {
    while (!jobs_.empty() && !::testing::Test::HasFailure()) end(store);
  }

  void end(Store& store) {
    if (jobs_.empty()) return;
    const Transfer* ended = wait_for_one(store);
    const auto job = std::ranges::find_if(jobs_, [&](auto& j) { return &j->transfer == ended; });
    ASSERT_NE(job, jobs_.end());
    EXPECT_EQ(ended->error, 0) << std::strerror(ended->error) << " " << store.damage();
    for (std::size_t b = 0; b < (*job)->expected.size(); ++b) {
      users_[ended->offset / block_ + b] -= ended->kind == Kind::write ? -1 : 1;
      EXPECT_TRUE(block_holds(ended->data + b * block_, (*job)->expected[b], block_))
          << "block " << ended->offset / block_ + b;
    }
    jobs_.erase(job);
  }

  // Of a range that nothing uses.
  void change_room(Store& store) {
    const std::uint64_t at = pick(work.size());
    const std::uint64_t n = std::min<std::uint64_t>(1 + pick(20), work.size() - at);
    const auto users = users_.begin() + static_cast<std::ptrdiff_t>(at);
    if (std::any_of(users, users + static_cast<std::ptrdiff_t>(n), [](int u) { return u != 0; })) return;
    const bool gone = pick(2) == 0;
    const Status status =
        gone ? store.release(at * block_, n * block_) : store.reserve(at * block_, n * block_);
    EXPECT_TRUE(status.ok()) << status.text();
    if (gone) std::fill_n(work.begin() + static_cast<std::ptrdiff_t>(at), n, 0U);
  }

  Contents work;
  std::map<std::uint64_t, Contents> epochs;  // that the file holds

 private:
  struct Job {
    Transfer transfer;
    Buffer buffer;
    Contents expected;
  };
  const std::uint64_t block_;
  std::vector<int> users_;  // of each block: readers, or -1 for a writer
  std::mt19937_64 random_;
  std::uint32_t values_ = 0;
  std::vector<std::unique_ptr<Job>> jobs_;
};

std::vector<std::uint64_t> keys(const std::map<std::uint64_t, Contents>& epochs) {
  std::vector<std::uint64_t> found;
  for (const auto& entry : epochs) found.push_back(entry.first);
  return found;
}

// Epochs, going back, and opening again, at random.
void next_epoch(Model& model, std::unique_ptr<Store>& store, const std::function<void()>& reopen) {
  const std::uint64_t newest = model.epochs.rbegin()->first;
  const auto good = [](const Status& status) { EXPECT_TRUE(status.ok()) << status.text(); };
  if (model.epochs.size() == 1) {
    good(store->prepare(newest + 1));  // of what is under way too
    model.epochs[newest + 1] = model.work;
  } else if (model.pick(3) != 0) {
    good(store->settle(newest));
    good(store->settle(newest));
    model.epochs.erase(newest - 1);
  }
  EXPECT_EQ(store->epochs(), keys(model.epochs));
  if (model.pick(4) != 0) return;
  model.end_all(*store);
  if (model.pick(2) == 0) reopen();
  const auto to = model.pick(2) == 0 ? *model.epochs.begin() : *model.epochs.rbegin();
  good(store->begin_at(to.first));
  model.work = to.second;
  model.epochs = {to};
  EXPECT_EQ(store->epochs(), keys(model.epochs));
}

TEST_P(StoreModelTest, HoldsWhatWasWrittenAndItsEpochs) {
  ASSERT_NO_FATAL_FAILURE(open(true));
  if (IsSkipped()) return;
  const std::uint64_t seed = seed_of_run();
  Model model(kBlocks, GetParam().block, seed);
  ASSERT_TRUE(store->begin_at(0).ok());
  for (int round = 0; round < 60 && !HasFailure(); ++round) {
    for (int i = 0; i < 30 && !HasFailure(); ++i) {
      model.start(*store);
      if (store->under_way() > 12) model.end(*store);
      if (model.pick(20) == 0) model.change_room(*store);
    }
    next_epoch(model, store, [&] { open(false); });
    if (model.pick(8) == 0) {
      model.end_all(*store);
      EXPECT_TRUE(holds(*store, model.work));
    }
  }
}

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

// ---- In memory

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
  auto store = make(object);
  const Buffer memory(40 * kBlock);
  EXPECT_EQ(read(*store, kBlock, memory, 2 * kBlock), EINVAL);
  EXPECT_EQ(read(*store, 0, memory, kBlock), EINVAL);
  EXPECT_EQ(read(*store, 18 * kBlock, memory, 4 * kBlock), EINVAL);
  EXPECT_EQ(run(*store, Kind::read, 0, memory.data() + 8, 2 * kBlock), EINVAL);
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
  other.pe = 1;
  EXPECT_THAT(refusal(other), HasSubstr("the part of PE 2, not of PE 1"));
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
  SlotBlock slot{};
  slot.header = first_header(test_object(kBlocks));
  slot.header.format = kFormat + 1;
  slot = make_slot(slot.header);
  std::memcpy(newer.bytes.data(), &slot, sizeof slot);
  const auto refused = [](LogDevice& on) {
    return Store::open(std::make_unique<Borrowed>(on), "here", test_object(kBlocks)).status().text();
  };
  EXPECT_THAT(refused(empty), HasSubstr("it was not made to its end"));
  EXPECT_THAT(refused(foreign), HasSubstr("it is not an NVM object"));
  EXPECT_THAT(refused(newer), HasSubstr("a later version of Atoll (this one reads format 1)"));
}

TEST_F(StoreTest, RefusesObjectsThatCannotBe) {
  const auto refused = [&](const Identity& object) {
    return Store::make(std::make_unique<Borrowed>(device), "here", object).status().text();
  };
  EXPECT_THAT(refused(test_object(0)), HasSubstr("0 bytes"));
  EXPECT_THAT(refused(test_object(4, 5000)), HasSubstr("blocks of 5000 bytes; allowed are powers of two"));
  EXPECT_THAT(refused(test_object(std::uint64_t{1} << 31)), HasSubstr("or more with larger blocks"));
  Identity object = test_object(4);
  object.name = "a/b";
  EXPECT_THAT(refused(object), HasSubstr("the name is 'a/b'; allowed are letters"));
}

// ---- Room

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
  EXPECT_THAT(store->damage(), HasSubstr("damaged at offset 4096"));
  EXPECT_FALSE(store->prepare(1).ok());
  EXPECT_EQ(write_block(*store, 1, 3), 0);
  EXPECT_TRUE(store->prepare(1).ok());
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
  store = reopen();
  EXPECT_THAT(store->epochs(), ElementsAre(1));
  ASSERT_TRUE(store->begin_at(1).ok());
  Contents contents(kBlocks, 0);
  contents[0] = 9;
  EXPECT_TRUE(holds(*store, contents));
  EXPECT_TRUE(store->prepare(2).ok()) << "the header that was damaged has been repaired";
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
