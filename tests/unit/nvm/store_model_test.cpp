// SPDX-License-Identifier: BSD-3-Clause
// Stores over all engines against one model.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <map>
#include <ostream>
#include <random>

#include "nvm/storage/store.hpp"
#include "nvm/storage/store_files.hpp"
#include "store_fixture.hpp"
#include "test_device.hpp"

namespace shm::nvm {
namespace {

struct Variant {
  const char* name;
  IoEngine engine;
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
    if (!opened.ok() && variant.engine == IoEngine::uring && make) GTEST_SKIP() << opened.status().text();
    store = expect_store(std::move(opened));
  }

  Folder folder;
  TestDevice memory{{.size = file_bytes(test_object(kBlocks)), .seed = 5, .lazy_percent = 30}};
  std::unique_ptr<Store> store;
};

INSTANTIATE_TEST_SUITE_P(All, StoreModelTest,
                         ::testing::Values(Variant{"uring_direct", IoEngine::uring, true},
                                           Variant{"uring_cached", IoEngine::uring, false},
                                           Variant{"sync_direct", IoEngine::sync, true},
                                           Variant{"sync_cached", IoEngine::sync, false},
                                           Variant{"large_blocks", IoEngine::automatic, true, 16384},
                                           Variant{"memory", IoEngine::sync, false, kBlock, true}),
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
    EXPECT_EQ(ended->error, 0) << std::strerror(ended->error) << " " << store.damage(0, store.size());
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
  store.reset();  // before the memory of what is under way
}

}  // namespace
}  // namespace shm::nvm
