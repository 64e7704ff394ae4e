// SPDX-License-Identifier: BSD-3-Clause
// What some PEs do to elements of one PE each, timed and verified.
#pragma once

#include <cstddef>

#include "kv_data.hpp"

namespace bench {

/// All but the constructor is collective: PEs that do not work wait.  What takes a count does that many
/// operations, in calls of `batch` keys (0: calls for one key), and returns the seconds of the slowest PE.
/// Gets and updates of one key begin where those before ended, so that elements for which there is no room in
/// memory are not those that have just come.
class Work {
 public:
  /// The store stays the caller's.  `keys`: of the PE that is worked on; not empty if this PE works.
  Work(const Store& store, Keys keys, bool works, std::size_t batch = 0);

  /// What there is to do, as a pointer to a member.
  using Kind = double (Work::*)(std::size_t count);

  double get(std::size_t count);
  /// One by one; which key is next follows from the value before.
  double get_chained(std::size_t count);
  /// Of keys that are not there.
  double get_absent(std::size_t count);
  double update(std::size_t count);
  /// Of keys that are not there, and are not there afterwards; at most as many as there are keys.
  double insert(std::size_t count);

  /// Removes, inserts and updates one key after the other.  Other PEs may do it with other keys.
  double change(std::size_t count);

  /// The median of rounds: seconds of an operation.
  double measure(Kind kind, const KvOptions& options);
  /// Whether all was right, on this PE.
  bool right() const { return right_; }

 private:
  template <class Body>
  double timed(Body body);
  template <class Call>
  double in_batches(std::size_t count, Call call);
  template <bool chained, class Get>
  double in_turn(std::size_t count, const char* what_is_wrong, Get get);
  double get_one_by_one(std::size_t count);
  double insert_one_by_one(std::size_t count);
  double insert_in_batches(std::size_t count);
  void expect(bool condition, const char* what);

  const Store& store_;
  const Keys keys_;
  const bool works_;
  const std::size_t batch_;
  Values values_;
  Word stamp_ = 0;  ///< of the values that were put last
  std::size_t next_ = 0;
  std::size_t most_;  ///< keys, of the PE that has fewest
  bool right_ = true;
};

}  // namespace bench
