// SPDX-License-Identifier: BSD-3-Clause
// A range of bytes that lies on memory servers, as far as it is in use: extents are leased when the first
// page of theirs is reserved, and given back with the last.  So a page that is reserved has room, whenever it
// is written there.
#pragma once

#include <cstdint>
#include <vector>

#include "base/mutex.hpp"
#include "base/status.hpp"
#include "remote/placement.hpp"
#include "remote/servers.hpp"

namespace shm::remote {

/// Thread safety: reserve() and release() by any thread, not in a signal handler; place() as
/// Placement::find(). Pages that are released are not used meanwhile.
class LentRange {
 public:
  /// `servers` outlives it.
  LentRange(Servers& servers, const Placement::Shape& shape);
  ~LentRange();
  LentRange(const LentRange&) = delete;
  LentRange& operator=(const LentRange&) = delete;

  /// Pages [first, last) have room from now on; what lies there is unknown.  An error says what the servers
  /// lack, and nothing has changed.
  Status reserve(std::uint64_t first, std::uint64_t last);
  /// Pages [first, last) need no room any more; those that have none are passed over.
  void release(std::uint64_t first, std::uint64_t last);

  /// Where byte `at` lies, and the rest of its page behind it.  REQUIRES: reserved.
  Place place(std::uint64_t at) const { return placement_.find(at); }
  Servers& servers() const { return servers_; }
  const Placement::Shape& shape() const { return placement_.shape(); }

  /// Extents as large as suits servers that lend `server_bytes` each.
  static Placement::Shape shape_for(std::uint64_t bytes, std::uint64_t page_bytes,
                                    std::uint64_t server_bytes);

 private:
  bool lease(std::uint64_t extent) REQUIRES(mutex_);
  std::uint64_t extent_of_page(std::uint64_t page) const {
    return page * shape().page_bytes / shape().extent_bytes;
  }
  void give_back(std::uint64_t extent) REQUIRES(mutex_);

  Servers& servers_;
  Placement placement_;
  Mutex mutex_;
  std::vector<bool> reserved_ GUARDED_BY(mutex_);         // by page
  std::vector<std::uint32_t> in_use_ GUARDED_BY(mutex_);  // reserved pages, by extent
  std::uint64_t next_server_ GUARDED_BY(mutex_) = 0;      // where the next extent begins
};

}  // namespace shm::remote
