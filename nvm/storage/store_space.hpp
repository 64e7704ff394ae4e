// SPDX-License-Identifier: BSD-3-Clause
// Which places of a store's data are free: those that neither what is being worked on nor an epoch refers to.
//
//   free --take()--> fresh --prepared()--> of the new epoch --settled()--> of the old epoch
//     ^                |                            |                           |
//     +---- drop() ----+          drop() and the settled() after the next prepared()
//
// A place that is *fresh* is referred to by no epoch: it may be written again where it is.
//
// Thread safety: one thread, that of the store.
#pragma once

#include <cstdint>
#include <vector>

namespace shm::nvm {

class Space {
 public:
  struct Run {
    std::uint64_t first, n;
    friend bool operator==(const Run&, const Run&) = default;
  };

  explicit Space(std::uint64_t places);

  /// Adds n free places to `runs`, as few runs as can be; those below `room`, whose room in the file is made
  /// already, come before others. False, and nothing is taken: there are not that many.
  bool take(std::uint64_t n, std::uint64_t room, std::vector<Run>& runs);
  /// Takes this one, as a table says.  False: it was taken.
  bool take_this(std::uint64_t place);
  /// What is being worked on does not refer to it any more.  REQUIRES: taken.
  void drop(std::uint64_t place);
  bool fresh(std::uint64_t place) const;

  /// What was taken and not dropped is the new epoch.
  void prepared();
  /// The new epoch is the only one.
  void settled();

  /// Free places from `room` on that were taken since they were last returned here, or since the beginning:
  /// there may be room for them in the file.
  std::vector<Run> surplus(std::uint64_t room);
  /// Free places of [first, last).
  std::vector<Run> free_runs(std::uint64_t first, std::uint64_t last) const;

 private:
  using Bits = std::vector<std::uint64_t>;  // one for each place

  bool take_one_run(std::uint64_t n, std::uint64_t first, std::uint64_t last, std::vector<Run>& runs);
  bool take_what_is_there(std::uint64_t n, std::uint64_t last, std::vector<Run>& runs);
  void mark(const Run& run);

  const std::uint64_t places_;
  std::uint64_t lowest_ = 0;  // no place below it is free
  Bits live_;                 // of what is being worked on
  Bits new_, old_;            // of the epochs
  Bits busy_;                 // any of these
  Bits roomy_;                // with room in the file, perhaps
};

}  // namespace shm::nvm
