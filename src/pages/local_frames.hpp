// SPDX-License-Identifier: BSD-3-Clause
// Frames of LocalPages: which page leaves for another one, and what has to be written before.
//
//   free --------------------------------------------------------------------> a page that comes
//   victim: unmapped -clean--> standby: still filled, until its frame is needed ->
//                    -dirty--> being written -not used meanwhile--> standby
//                                            -used--> stays
#pragma once

#include <cstdint>
#include <span>

#include "pages/local_statistics.hpp"
#include "pages/local_transfers.hpp"
#include "pages/mappings.hpp"
#include "pages/pool.hpp"
#include "pages/replacement.hpp"

namespace shm::pages {

/// Thread safety: any thread that takes no signals.  Async-signal-safe.
class LocalFrames final : private LocalTransfers::Finisher {
 public:
  LocalFrames(const Pool& pool, Mappings& mappings, Backing& backing, const LocalTransfers::Limits& limits,
              LocalStatistics& statistics);

  /// A frame that no page is in.  Waits for one.
  FrameNumber take();
  /// It is needed no more.
  void give(FrameNumber frame);

  /// The caller's page, which is in `frame` now, is there for all from now on; of `access` write it is dirty.
  void publish(PageNumber page, FrameNumber frame, Access access, bool stored);
  /// It is not here.
  void vacate(PageNumber page, bool stored);
  /// Until the page is nobody's.
  void await(PageNumber page);
  /// The page has been mapped again.
  void recall(PageNumber page);
  /// Drops a page that the caller has closed, with what it holds.
  void drop(PageNumber page, FrameNumber frame, bool stored);

  /// Unmaps a page, to make room for another mapping.  Ends the job if there is none.
  void unmap_one();
  /// Writes all pages that are dirty, where they are.
  void clean_all();

  LocalTransfers& transfers() { return transfers_; }

 private:
  using Kind = LocalTransfers::Kind;
  using Transit = LocalTransfers::Transit;
  struct Victim {
    PageNumber page;
    FrameNumber frame;
  };
  FrameNumber try_take();
  FrameNumber take_standby();
  bool close_victim(Victim& victim);
  bool close(const Victim& victim);
  void reopen(const Victim& victim);
  void unmap(const Victim& victim);
  void vacate_frame(const Victim& victim);
  void begin_cleaning(const Victim& victim, Transit& transit);
  void finish(Kind kind, const Transit& transit) override;
  void wake_if(bool awaited, PageNumber page);

  const Pool pool_;
  Mappings& mappings_;
  Replacement replacement_;
  LocalStatistics& statistics_;
  LocalTransfers transfers_;
};

}  // namespace shm::pages
