// SPDX-License-Identifier: BSD-3-Clause
// Power cuts and SIGKILL at any instant: the last complete epoch is there afterwards, and nothing else.
#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <map>
#include <random>
#include <thread>

#include "nvm/storage/store.hpp"
#include "nvm/storage/store_files.hpp"
#include "sanitized.hpp"
#include "store_fixture.hpp"

namespace shm::nvm {
namespace {

using Random = std::mt19937_64;
using Epochs = std::map<std::uint64_t, Contents>;

std::uint64_t pick(Random& random, std::uint64_t n) { return random() % n; }

// ---- Power cuts: the writes of a run are known, and a file is made of some of them

// What a file must hold from a step of the log on, and what it may hold too.
struct Moment {
  std::size_t step;
  Epochs must, may;
};

// Random work on a store whose device writes a log.
class LoggedRun {
 public:
  static constexpr std::uint64_t kBlocks = 24;

  explicit LoggedRun(Random& random) : device(file_bytes(test_object(kBlocks))), random_(random) {
    Contents work(kBlocks, 0);
    mark({}, {{0, work}});
    auto store = expect_store(Store::make(std::make_unique<Borrowed>(device), "log", test_object(kBlocks)));
    mark({{0, work}}, {});
    EXPECT_TRUE(store->begin_at(0).ok());
    for (int round = 0; round < 30 && !::testing::Test::HasFailure(); ++round) next_epoch(*store, work);
  }

  LogDevice device;
  std::vector<Moment> moments;

 private:
  void mark(const Epochs& must, const Epochs& may) { moments.push_back({device.log.size(), must, may}); }

  void work_on(Store& store, Contents& work) {
    for (std::uint64_t i = pick(random_, 6); i > 0; --i) {
      const std::uint64_t at = pick(random_, kBlocks), n = std::min(1 + pick(random_, 5), kBlocks - at);
      const Buffer buffer(n * kBlock);
      for (std::uint64_t b = 0; b < n; ++b) fill_block(buffer.data() + b * kBlock, work[at + b] = ++values_);
      EXPECT_EQ(write(store, at * kBlock, buffer, n * kBlock), 0);
    }
    if (pick(random_, 6) != 0) return;
    const std::uint64_t at = pick(random_, kBlocks);
    EXPECT_TRUE(store.release(at * kBlock, kBlock).ok());
    work[at] = 0;
  }

  void next_epoch(Store& store, Contents& work) {
    const std::uint64_t last = store.epochs().back();
    const Epochs before{{last, moments.back().must.at(last)}};
    work_on(store, work);
    const Epochs after{{last + 1, work}};
    mark(before, after);
    EXPECT_TRUE(store.prepare(last + 1).ok());
    Epochs both = before;
    both.insert(after.begin(), after.end());
    mark(both, {});
    work_on(store, work);
    if (pick(random_, 4) == 0) {  // another PE has not prepared it
      mark(before, after);
      EXPECT_TRUE(store.begin_at(last).ok());
      mark(before, {});
      work = before.begin()->second;
    } else {
      mark(after, before);
      EXPECT_TRUE(store.settle(last + 1).ok());
      mark(after, {});
      work_on(store, work);
    }
  }

  Random& random_;
  std::uint32_t values_ = 0;
};

void apply(std::vector<std::byte>& bytes, const LogDevice::Step& step, std::size_t from, std::size_t to) {
  std::copy(step.data.begin() + static_cast<std::ptrdiff_t>(from),
            step.data.begin() + static_cast<std::ptrdiff_t>(to),
            bytes.begin() + static_cast<std::ptrdiff_t>(step.offset + from));
}

// Some sectors of it, or the first bytes, or the last ones.
void tear(std::vector<std::byte>& bytes, const LogDevice::Step& step, Random& random) {
  constexpr std::size_t kSector = 512;
  const std::size_t n = step.data.size(), cut = pick(random, n);
  switch (pick(random, 3)) {
    case 0: return apply(bytes, step, 0, cut);
    case 1: return apply(bytes, step, cut, n);
    default:
      for (std::size_t at = 0; at < n; at += kSector) {
        if (pick(random, 2) == 0) apply(bytes, step, at, at + kSector);
      }
  }
}

enum class Cut { nothing_unsynced, all_written, prefix_torn, some, some_torn };
constexpr Cut kCuts[] = {Cut::nothing_unsynced, Cut::all_written, Cut::prefix_torn, Cut::some,
                         Cut::some_torn};

// The file after a power cut before step `end`; `synced` has all that was durable, up to step `begin`.
std::vector<std::byte> after_cut(std::vector<std::byte> synced, const std::vector<LogDevice::Step>& log,
                                 std::size_t begin, std::size_t end, Cut cut, Random& random) {
  for (std::size_t i = begin; i < end && cut != Cut::nothing_unsynced; ++i) {
    const LogDevice::Step& step = log[i];
    const bool torn =
        (cut == Cut::prefix_torn && i + 1 == end) || (cut == Cut::some_torn && pick(random, 4) == 0);
    const bool lost = (cut == Cut::some || cut == Cut::some_torn) && pick(random, 2) == 0;
    if (torn && step.kind == LogDevice::Step::Kind::write)
      tear(synced, step, random);
    else if (!lost)
      apply(synced, step, 0, step.data.size());
  }
  return synced;
}

Result<std::unique_ptr<Store>> open_image(const std::vector<std::byte>& image) {
  return Store::open(std::make_unique<LogDevice>(image), "image", test_object(LoggedRun::kBlocks));
}

// Each epoch that the file holds is as it was made, and the work can go on from it.
void expect_epochs(const std::vector<std::byte>& image, const Moment& moment) {
  auto found = open_image(image);
  if (!found.ok()) {
    EXPECT_TRUE(moment.must.empty()) << found.status().text();
    EXPECT_NE(found.status().text().find("was not made to its end"), std::string::npos)
        << found.status().text();
    return;
  }
  const std::vector<std::uint64_t> epochs = found.value()->epochs();
  for (const auto& must : moment.must)
    EXPECT_TRUE(std::ranges::count(epochs, must.first)) << "epoch " << must.first << " is lost";
  for (const std::uint64_t epoch : epochs) {
    const bool must = moment.must.contains(epoch);
    ASSERT_TRUE(must || moment.may.contains(epoch)) << "epoch " << epoch << " was never made";
    Contents contents = must ? moment.must.at(epoch) : moment.may.at(epoch);
    auto store = expect_store(open_image(image));
    const Status begun = store->begin_at(epoch);
    ASSERT_TRUE(begun.ok()) << begun.text();
    EXPECT_TRUE(holds(*store, contents)) << "epoch " << epoch;
    EXPECT_EQ(write_block(*store, 7, contents[7] = 1000000), 0);
    EXPECT_TRUE(store->prepare(epoch + 1).ok() && store->settle(epoch + 1).ok());
    EXPECT_TRUE(holds(*store, contents));
  }
}

TEST(StoreCrashTest, APowerCutAtAnyInstantLosesNoCompleteEpoch) {
  const std::uint64_t seed = seed_of_run();
  Random random(seed);
  const LoggedRun run(random);
  const std::vector<LogDevice::Step>& log = run.device.log;
  std::vector<std::byte> synced(run.device.bytes.size());
  std::size_t begin = 0, moment = 0;
  for (std::size_t end = 0; end <= log.size() && !::testing::Test::HasFailure(); ++end) {
    while (moment + 1 < run.moments.size() && run.moments[moment + 1].step < end) ++moment;
    // A call that has just returned keeps its promise already.
    const bool returned = moment + 1 < run.moments.size() && run.moments[moment + 1].step == end;
    Random choices(seed + end);  // the same with and without a sanitizer, which tries fewer steps
    for (const Cut cut : kCuts) {
      if (test::kSanitized && end % 5 != 0 && !returned) break;
      SCOPED_TRACE("step " + std::to_string(end) + ", cut " + std::to_string(static_cast<int>(cut)));
      expect_epochs(after_cut(synced, log, begin, end, cut, choices), run.moments[moment]);
      if (returned) expect_epochs(after_cut(synced, log, begin, end, cut, choices), run.moments[moment + 1]);
    }
    if (end < log.size() && log[end].kind == LogDevice::Step::Kind::persist) {
      for (; begin < end; ++begin) apply(synced, log[begin], 0, log[begin].data.size());
      begin = end + 1;
    }
  }
  EXPECT_GT(log.size(), 200U);
}

// ---- SIGKILL: two PEs' parts in files, in one process

constexpr int kPes = 2;
constexpr std::uint64_t kPartBlocks = 64;

// What the process that is killed has got done.
struct Progress {
  std::atomic<std::uint64_t> prepared;  // by all PEs
};

Identity part_of(int pe, std::uint64_t id) {
  Identity object = test_object(kPartBlocks);
  object.npes = kPes;
  object.pe = pe;
  object.id = id;
  return object;
}

// An epoch follows from the one before and a number.
std::vector<std::uint64_t> apply_epoch(Contents& contents, std::uint64_t seed, int pe) {
  Random random(seed * 2 + static_cast<std::uint64_t>(pe));
  std::vector<std::uint64_t> changed;
  for (std::uint64_t i = 1 + pick(random, 12); i > 0; --i) {
    changed.push_back(pick(random, kPartBlocks));
    contents[changed.back()] = static_cast<std::uint32_t>(random());
  }
  return changed;
}

struct Parts {
  Plan plan;
  std::unique_ptr<Store> stores[kPes];
  std::string error;
};

// As the PEs of a job do it.
Parts open_parts(const Folder& folder, std::uint64_t id, IoEngine engine, bool direct) {
  Parts parts;
  std::vector<Found> found;
  for (int pe = 0; pe < kPes; ++pe) {
    auto one = look(folder.path(), part_of(pe, 0));
    parts.error += one.status().text();
    found.push_back(one.value());
  }
  auto plan = agree("field", found);
  parts.error += plan.status().text();
  parts.plan = plan.value();
  for (int pe = 0; pe < kPes && parts.error.empty(); ++pe) {
    auto store =
        open_store({folder.path(), part_of(pe, parts.plan.make ? id : 0), parts.plan.make, engine, direct});
    parts.error += store.status().text();
    parts.stores[pe] = std::move(store.value());
  }
  for (int pe = 0; pe < kPes && parts.error.empty(); ++pe)
    parts.error += parts.stores[pe]->begin_at(parts.plan.epoch).text();
  return parts;
}

// Makes epochs until it is killed; returns only because of an error.
void make_epochs(Parts& parts, Contents (&contents)[kPes], std::uint64_t seed, Progress& progress) {
  for (std::uint64_t epoch = parts.plan.epoch + 1;; ++epoch) {
    for (int pe = 0; pe < kPes; ++pe) {
      for (const std::uint64_t block : apply_epoch(contents[pe], seed + epoch, pe)) {
        if (write_block(*parts.stores[pe], block, contents[pe][block]) != 0) return;
      }
    }
    for (const auto& store : parts.stores) {
      if (!store->prepare(epoch).ok()) return;
    }
    progress.prepared.store(epoch);
    for (const auto& store : parts.stores) {
      if (!store->settle(epoch).ok()) return;
    }
  }
}

TEST(StoreCrashTest, AJobThatIsKilledAtAnyInstantLosesNoCompleteEpoch) {
  constexpr std::uint64_t kKills = test::kSanitized ? 40 : 220;
  const std::uint64_t run = seed_of_run();
  Random random(run);
  const Folder folder;
  auto& progress = test::shared_object<Progress>();
  Contents contents[kPes] = {Contents(kPartBlocks, 0), Contents(kPartBlocks, 0)};
  std::uint64_t epoch = 0;
  for (std::uint64_t kill_number = 0; kill_number < kKills && !::testing::Test::HasFailure(); ++kill_number) {
    const std::uint64_t seed = random() >> 8;
    const bool direct = pick(random, 2) == 0;
    const IoEngine engine = pick(random, 2) == 0 ? IoEngine::sync : IoEngine::automatic;
    progress.prepared = epoch;
    const pid_t child = fork();
    if (child == 0) {
      Parts parts = open_parts(folder, seed + 1, engine, direct);
      if (parts.error.empty()) make_epochs(parts, contents, seed, progress);
      _exit(1);
    }
    // Counted from its beginning or from its first epoch, so that a slow machine gets there too.
    const auto limit = deadline();
    while (kill_number % 2 == 0 && progress.prepared.load() == epoch &&
           std::chrono::steady_clock::now() < limit)
      std::this_thread::sleep_for(std::chrono::microseconds(100));
    std::this_thread::sleep_for(std::chrono::microseconds(pick(random, 10000)));
    kill(child, SIGKILL);
    int status = 0;
    waitpid(child, &status, 0);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the job has failed";

    Parts parts = open_parts(folder, seed + 2, IoEngine::sync, false);
    ASSERT_EQ(parts.error, "");
    const std::uint64_t found = parts.plan.epoch;
    ASSERT_GE(found, progress.prepared.load()) << "kill " << kill_number;
    ASSERT_LE(found, progress.prepared.load() + 1) << "kill " << kill_number;
    for (; epoch < found; ++epoch) {
      for (int pe = 0; pe < kPes; ++pe) apply_epoch(contents[pe], seed + epoch + 1, pe);
    }
    for (int pe = 0; pe < kPes; ++pe)
      EXPECT_TRUE(holds(*parts.stores[pe], contents[pe])) << "kill " << kill_number << ", PE " << pe;
  }
  RecordProperty("epochs", static_cast<int>(epoch));
  EXPECT_GE(epoch, kKills / 2) << "the jobs were killed before they got anything done";
}

}  // namespace
}  // namespace shm::nvm
