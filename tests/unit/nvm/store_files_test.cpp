// SPDX-License-Identifier: BSD-3-Clause
// Files of objects: names, what PEs find and agree on, and what tools do.
#include "nvm/storage/store_files.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "nvm/storage/store_check.hpp"
#include "store_fixture.hpp"
#include "system_calls.hpp"

namespace shm::nvm {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::uint64_t kObjectBlocks = 8;

class StoreFilesTest : public ::testing::Test {
 protected:
  static Identity part(int pe, int npes = 2, std::uint64_t id = 5) {
    Identity object = test_object(kObjectBlocks);
    object.npes = npes;
    object.pe = pe;
    object.id = id;
    return object;
  }

  std::unique_ptr<Store> make(const Identity& object) {
    auto store = expect_store(open_store({.folder = folder.path(), .object = object, .make = true}));
    EXPECT_TRUE(store->begin_at(0).ok());
    return store;
  }
  // Part of an object whose epoch 1 all PEs have prepared; settled: this one has settled it.
  void make_with_epoch(const Identity& object, bool settled = true) {
    auto store = make(object);
    EXPECT_EQ(write_block(*store, 2, 9), 0);
    EXPECT_TRUE(store->prepare(1).ok());
    if (settled) {
      EXPECT_TRUE(store->settle(1).ok());
    }
  }

  std::vector<Found> look_at_all(int npes = 2) {
    std::vector<Found> found;
    for (int pe = 0; pe < npes; ++pe) {
      auto one = look(folder.path(), part(pe, npes, 0));
      EXPECT_TRUE(one.ok()) << one.status().text();
      found.push_back(one.value());
    }
    return found;
  }
  std::string file(int pe) const { return object_file(folder.path(), "field", pe); }
  std::string refusal(const Identity& object, bool make = false) {
    return open_store({.folder = folder.path(), .object = object, .make = make}).status().text();
  }
  Defects check(bool all_here = true) {
    auto parts = find_parts(folder.path());
    EXPECT_TRUE(parts.ok()) << parts.status().text();
    return check_object(parts.value(), all_here);
  }

  Folder folder;
};

TEST(ObjectNameTest, IsMadeOfPlainCharacters) {
  for (const char* good : {"a", "A-9_z.b", "0", "x.pe3"}) EXPECT_EQ(name_problem(good), "") << good;
  for (const char* bad : {"", ".", "..", "-x", "_x", "a b", "a/b", "\xc3\xa4", "a\n"}) {
    EXPECT_NE(name_problem(bad), "") << bad;
  }
  EXPECT_EQ(name_problem(std::string(64, 'x')), "");
  EXPECT_THAT(name_problem(std::string(65, 'x')), HasSubstr("65 characters; at most 64"));
}

TEST_F(StoreFilesTest, WhatIsNotThereIsMadeAndFoundAgain) {
  auto plan = agree("field", look_at_all());
  ASSERT_TRUE(plan.ok() && plan.value().make);
  make_with_epoch(part(0));
  make_with_epoch(part(1));
  EXPECT_TRUE(std::filesystem::exists(folder.file("field.pe1.atoll")));
  plan = agree("field", look_at_all());
  ASSERT_TRUE(plan.ok() && !plan.value().make);
  EXPECT_EQ(plan.value().epoch, 1U);
  auto store = expect_store(open_store({.folder = folder.path(), .object = part(1, 2, 0)}));
  EXPECT_EQ(store->identity().id, 5U);
  EXPECT_GT(store->identity().made, 0);
  ASSERT_TRUE(store->begin_at(1).ok());
  EXPECT_TRUE(holds(*store, {0, 0, 9, 0, 0, 0, 0, 0}));
}

TEST_F(StoreFilesTest, TheNewestEpochThatAllHoldCounts) {
  make_with_epoch(part(0), false);
  make(part(1));  // has not prepared epoch 1
  auto plan = agree("field", look_at_all());
  ASSERT_TRUE(plan.ok()) << plan.status().text();
  EXPECT_FALSE(plan.value().make);
  EXPECT_EQ(plan.value().epoch, 0U);
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(StoreFilesTest, WhatKeptNothingIsMadeAnew) {
  make(part(0, 4));  // the job ended before it persisted anything, or the others had theirs
  std::ofstream(file(1)) << std::string(20, '\0');
  auto plan = agree("field", look_at_all());
  ASSERT_TRUE(plan.ok() && plan.value().make);
  make_with_epoch(part(0));
  make_with_epoch(part(1));
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(StoreFilesTest, MissingPartsAreNotMadeUp) {
  make_with_epoch(part(0));
  EXPECT_THAT(agree("field", look_at_all()).status().text(),
              HasSubstr("PE 1 has no part of it, and PE 0 has"));
  EXPECT_THAT(check(), ElementsAre("the part of PE 1 of 'field' is missing"));
  EXPECT_THAT(check(false), IsEmpty());
}

TEST_F(StoreFilesTest, PartsOfTwoObjectsAreNotMixed) {
  make_with_epoch(part(0));
  make_with_epoch(part(1, 2, 6));
  EXPECT_THAT(agree("field", look_at_all()).status().text(),
              HasSubstr("the parts of PE 0 and PE 1 are not of the same object"));
  EXPECT_THAT(check(), ElementsAre(HasSubstr("pe1.atoll: it does not go with " + file(0) +
                                             ": it is a part of another object of that name")));
}

TEST_F(StoreFilesTest, PartsAreHeldAgainstTheFirstThatCanBeRead) {
  std::ofstream(file(0)) << "no object";
  make_with_epoch(part(1, 3));
  make_with_epoch(part(2, 3, 6));
  EXPECT_THAT(check(), ElementsAre(HasSubstr("pe0.atoll: it is not an NVM object"),
                                   HasSubstr("pe2.atoll: it does not go with " + file(1) + ": ")));
}

TEST(AgreeTest, FindsTheEpochThatAllHave) {
  const auto parts = [](std::vector<std::vector<std::uint64_t>> epochs) {
    std::vector<Found> found;
    for (const auto& of_part : epochs) {
      Found one{.pe = static_cast<std::int64_t>(found.size()), .id = 3, .count = of_part.size()};
      std::ranges::copy(of_part, one.epochs);
      found.push_back(one);
    }
    return agree("field", found);
  };
  EXPECT_EQ(parts({{4, 5}, {4, 5}}).value().epoch, 5U);
  EXPECT_EQ(parts({{4, 5}, {5}}).value().epoch, 5U);
  EXPECT_EQ(parts({{4, 5}, {4}, {4, 5}}).value().epoch, 4U);
  EXPECT_EQ(parts({{7}}).value().epoch, 7U);
  EXPECT_THAT(parts({{4, 5}, {4, 5}, {9}}).status().text(),
              HasSubstr("PE 0 has epoch 4 and 5 and PE 2 epoch 9"));
  EXPECT_THAT(parts({{4, 5}, {4}, {5}}).status().text(), HasSubstr("no epoch that all have"));
}

TEST_F(StoreFilesTest, AnotherJobIsToldWhatIsThere) {
  make_with_epoch(part(0));
  EXPECT_THAT(look(folder.path(), part(0, 8, 0)).status().text(),
              HasSubstr("a job of 2 PEs and this one has 8"));
  Identity larger = part(0);
  larger.bytes *= 2;
  EXPECT_THAT(refusal(larger), HasSubstr("32768 bytes on each PE and 65536 are asked for"));
  EXPECT_EQ(std::filesystem::file_size(file(0)), file_bytes(part(0))) << "a refused opening changes nothing";
  EXPECT_THAT(refusal(part(0), true), HasSubstr("there is a file that holds something"));
  EXPECT_THAT(refusal(part(1)), HasSubstr("No such file"));
  Identity nameless = part(0);
  nameless.name = "../field";
  EXPECT_THAT(refusal(nameless), HasSubstr("allowed are letters"));
}

TEST_F(StoreFilesTest, LeavesFilesOfOthersAlone) {
  std::ofstream(file(0)) << std::string(200000, 'x');
  std::filesystem::create_directory(file(1));
  EXPECT_THAT(refusal(part(0)), HasSubstr("it is not an NVM object"));
  EXPECT_THAT(refusal(part(0), true), HasSubstr("there is a file that holds something"));
  EXPECT_FALSE(look(folder.path(), part(0)).ok());
  EXPECT_THAT(refusal(part(1), true), HasSubstr("not a regular file"));
  EXPECT_THAT(check(), ElementsAre(HasSubstr("it is not an NVM object"), HasSubstr("not a regular file")));
}

// At the same time, as each waits for a moment.
TEST_F(StoreFilesTest, AnObjectIsUsedByOneJobAtATime) {
  auto store = make(part(0));
  auto opening = std::async(std::launch::async, [&] { return refusal(part(0)); });
  auto making = std::async(std::launch::async, [&] { return refusal(part(0), true); });
  auto checking = std::async(std::launch::async, [&] { return check(false); });
  const Removal removal = remove_object(folder.path(), "field");
  EXPECT_THAT(removal.status.text(), HasSubstr("is using it; wait until that has ended"));
  EXPECT_THAT(removal.removed, IsEmpty());
  EXPECT_THAT(opening.get(), HasSubstr("is using it"));
  EXPECT_THAT(making.get(), HasSubstr("is using it"));
  EXPECT_THAT(checking.get(), ElementsAre(HasSubstr("is using it")));
  EXPECT_TRUE(std::filesystem::exists(file(0)));
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    store.reset();
  });
  EXPECT_EQ(refusal(part(0)), "") << "it is waited for";
  later.join();
}

TEST_F(StoreFilesTest, FindsPartsByTheirNames) {
  for (const char* name : {"b.pe10.atoll", "b.pe9.atoll", "a.pe0.pe1.atoll", "a.pe01.atoll", "a.pe.atoll",
                           "a.pex.atoll", ".x.pe0.atoll", "a.pe0.atol", "pe0.atoll", "a.pe-1.atoll"})
    std::ofstream(folder.file(name)) << "x";
  auto parts = find_parts(folder.path());
  ASSERT_TRUE(parts.ok());
  std::vector<std::string> names;
  for (const PartFile& part : parts.value()) names.push_back(part.name + " " + std::to_string(part.pe));
  EXPECT_THAT(names, ElementsAre("a.pe0 1", "b 9", "b 10"));
  EXPECT_THAT(find_parts(folder.file("none")).status().text(), HasSubstr("No such file"));
}

TEST_F(StoreFilesTest, RemovesAllPartsOfAnObjectAndNothingElse) {
  make_with_epoch(part(0));
  make_with_epoch(part(1));
  Identity other = part(0);
  other.name = "field2";
  make_with_epoch(other);
  const Removal removal = remove_object(folder.path(), "field");
  EXPECT_TRUE(removal.status.ok());
  EXPECT_THAT(removal.removed, ElementsAre(file(0), file(1)));
  EXPECT_THAT(remove_object(folder.path(), "field").status.text(),
              HasSubstr("there is no NVM object 'field'"));
  EXPECT_EQ(find_parts(folder.path()).value().size(), 1U);
}

TEST_F(StoreFilesTest, FindsFilesThatWereCutShort) {
  make_with_epoch(part(0, 1));
  std::filesystem::resize_file(file(0), file_bytes(part(0)) - 1);
  const std::uint64_t bytes = file_bytes(part(0));
  EXPECT_THAT(check(), ElementsAre(file(0) + ": it has " + std::to_string(bytes - 1) + " of its " +
                                   std::to_string(bytes) + " bytes; restore it from a copy"));
}

TEST_F(StoreFilesTest, FindsFilesThatHaveAnotherObjectsName) {
  make_with_epoch(part(0, 1));
  std::filesystem::rename(file(0), object_file(folder.path(), "meadow", 0));
  EXPECT_THAT(check(), ElementsAre(HasSubstr("it holds the object 'field'; give the file its own name")));
}

// The job that made it was killed between the two headers.
TEST_F(StoreFilesTest, AnObjectThatIsBeingMadeHasNoDefect) {
  make(part(0, 1));
  std::fstream(file(0), std::ios::in | std::ios::out | std::ios::binary)
      .seekp(static_cast<std::streamoff>(FileLayout::slot(1)))
      .write(std::string(kBlock, '\0').data(), kBlock);
  EXPECT_THAT(check(), IsEmpty());
}

TEST_F(StoreFilesTest, FindsPartsWithoutACommonEpoch) {
  make_with_epoch(part(0));
  make(part(1));
  EXPECT_THAT(check(), ElementsAre(HasSubstr("PE 0 has epoch 1 and PE 1 epoch 0")));
}

TEST_F(StoreFilesTest, AnObjectThatCannotBeMadeLeavesNoFile) {
  Identity object = part(0);
  object.bytes = std::uint64_t{1} << 45;
  EXPECT_THAT(refusal(object, true), HasSubstr("or more with larger blocks"));
  object.block = kMaxStoreBlock;  // larger than files can be on many file systems
  if (const std::string why = refusal(object, true); !why.empty()) {
    EXPECT_TRUE(folder.empty()) << why;
  }
}

// ---- The system refuses, or is interrupted

TEST_F(StoreFilesTest, ASignalWhileHeadersAreReadIsNoError) {
  make_with_epoch(part(0, 1));
  SystemCalls calls;
  calls.next(Called::pread, {EINTR, SystemCalls::at_most(100), EINTR});
  auto found = look(folder.path(), part(0, 1, 0));
  ASSERT_TRUE(found.ok()) << found.status().text();
  EXPECT_EQ(found.value().id, 5U);
  EXPECT_EQ(found.value().epochs[0], 1U);
}

TEST_F(StoreFilesTest, HeadersThatCannotBeReadAreSaid) {
  make_with_epoch(part(0, 1));
  SystemCalls calls;
  for (const SystemCalls::Outcome first : {SystemCalls::real, SystemCalls::Outcome{EIO}}) {
    calls.next(Called::pread, {first, EIO});
    const std::string said = look(folder.path(), part(0, 1, 0)).status().text();
    EXPECT_EQ(said, "cannot read " + file(0) + ": Input/output error");
  }
  calls.next(Called::open, {EACCES});
  EXPECT_EQ(look(folder.path(), part(0, 1, 0)).status().text(),
            "cannot open " + file(0) + ": Permission denied");
}

TEST_F(StoreFilesTest, APartThatCannotBeMadeLeavesNoFile) {
  SystemCalls calls;
  calls.next(Called::fallocate, {ENOSPC});
  EXPECT_THAT(refusal(part(0), true), HasSubstr("No space left on device"));
  EXPECT_TRUE(folder.empty());
  calls.next(Called::fdatasync, {EIO});
  EXPECT_THAT(refusal(part(0), true), HasSubstr("Input/output error"));
  EXPECT_TRUE(folder.empty());
  EXPECT_EQ(refusal(part(0), true), "");
}

TEST_F(StoreFilesTest, AFileOfNoUseThatCannotBeRemovedIsSaid) {
  make(part(0));
  SystemCalls calls;
  calls.next(Called::unlink, {EACCES});
  EXPECT_EQ(refusal(part(0), true),
            "cannot remove " + file(0) + ": Permission denied; it is of no use, remove it by hand");
}

TEST_F(StoreFilesTest, SaysWhichFilesOfAnObjectAreGoneIfOneCannotBeRemoved) {
  for (int pe = 0; pe < 3; ++pe) make_with_epoch(part(pe, 3));
  SystemCalls calls;
  calls.next(Called::unlink, {SystemCalls::real, EPERM});
  const Removal removal = remove_object(folder.path(), "field");
  EXPECT_EQ(removal.status.text(), "cannot remove " + file(1) +
                                       ": Operation not permitted; of the object's files 1 are gone, remove "
                                       "the others");
  EXPECT_THAT(removal.removed, ElementsAre(file(0), file(2))) << "the others go all the same";
}

}  // namespace
}  // namespace shm::nvm
