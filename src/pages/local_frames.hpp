// SPDX-License-Identifier: BSD-3-Clause
// Frames of LocalPages: which page leaves for another one, and what has to be written before.
//
//   free --------------------------------------------------------------------> a page that comes
//   victim: unmapped -clean--> standby: still filled, until its frame is needed ->
//                    -dirty--> on trial -not used meanwhile--> being written -nor now--> standby
//                                       -used--> stays                       -used--> stays
#pragma once

#include <cstdint>
#include <span>

#include "pages/local_statistics.hpp"
#include "pages/local_sweeper.hpp"
#include "pages/local_transfers.hpp"
#include "pages/mappings.hpp"
#include "pages/pool.hpp"
#include "pages/replacement.hpp"

namespace shm::pages {

/// Thread safety: any thread that takes no signals.  Async-signal-safe.
class LocalFrames final : private LocalTransfers::Finisher {
 public:
  struct Settings {
    LocalTransfers::Limits limits;
    std::size_t at_hand;  // as many frames are to be free or to stand by
  };
  /// `sweeper` is rung when it has to call sweep().
  LocalFrames(const Pool& pool, Mappings& mappings, Backing& backing, LocalSweeper& sweeper,
              const Settings& settings, LocalStatistics& statistics);

  /// A frame that no page is in.  Waits for one.
  FrameNumber take();
  /// The same for who calls make_room() once it has begun to fill the frame.
  FrameNumber take_first();
  /// Where frames are few, as many pages as should leave leave now, without waiting: while what the caller
  /// waits for is under way.  Only beside a sweeper, which is rung for what has to be written.
  void make_room();
  /// The same without waiting; kNoFrame if a page has to be written first.
  FrameNumber take_now();
  std::size_t at_hand() const { return replacement_.frames_at_hand(); }
  /// It is needed no more.
  void give(FrameNumber frame);
  /// Until as many as there should be are at hand, as far as pages can leave.
  void sweep();

  /// The caller's page, which is in `frame` now, is there for all from now on, `latches` times latched; of
  /// `access` write it is dirty.
  void publish(PageNumber page, FrameNumber frame, Access access, bool stored, unsigned latches = 0);
  /// The caller's page is not here.
  void vacate(PageNumber page, bool stored);
  /// Until the page is nobody's.
  void await(PageNumber page);
  /// The page has been mapped again.
  void recall(PageNumber page);
  /// What the pages hold is lost: they read as zeros.  Waits for who uses them.
  void forget(PageNumber first, PageNumber last);
  /// What the page holds does not matter: it need not be read, nor written, unless it is pinned to be
  /// written. Waits for who has it closed, or, if it is dirty, latched.
  void overwrite(PageNumber page);

  /// Unmaps a page, to make room for another mapping.  Ends the job if there is none.
  void unmap_one();
  /// Writes all pages that are dirty, where they are, but those that are pinned to be written.
  void clean_all();
  /// Until none is under way that no thread waits for.
  void await_transfers();

  LocalTransfers& transfers() { return transfers_; }

 private:
  using Kind = LocalTransfers::Kind;
  using Transit = LocalTransfers::Transit;
  static constexpr std::size_t kMostTogether = 16;  // that leave at a time
  struct Victim {
    PageNumber page = 0;
    FrameNumber frame = kNoFrame;
    Transit* transit = nullptr;  // if it is dirty
  };
  FrameNumber try_take();
  FrameNumber find_at_hand();
  FrameNumber take_standby();
  void ring_if_few();
  bool let_some_leave();
  std::size_t take_victims(std::span<Victim> victims);
  void begin_trial(std::span<Victim> victims);
  bool close_victim(Victim& victim);
  bool close(const Victim& victim);
  bool is_pinned(FrameNumber frame) const;
  void reopen(const Victim& victim);
  void unmap(std::span<Victim> victims);
  void retire(const Victim& victim);
  FrameNumber drop(const Victim& victim, bool stored);
  void enter(PageNumber page, FrameNumber frame, Access access, bool stored, unsigned latches,
             std::uint8_t touched);
  enum class Forgotten : std::uint8_t { all, closed, busy };
  Forgotten try_forget(PageNumber page, Victim& victim);
  void forget_together(std::span<Victim> victims);
  bool try_overwrite(PageNumber page);
  void await_use(PageNumber page);
  void begin_cleaning(const Victim& victim);
  void clean(FrameNumber frame, Transit& transit);
  void finish(Kind kind, const Transit& transit) override;
  void wake_if(bool awaited, PageNumber page);

  const Pool pool_;
  Mappings& mappings_;
  Replacement replacement_;
  LocalSweeper& sweeper_;
  const std::size_t at_hand_;
  LocalStatistics& statistics_;
  LocalTransfers transfers_;
};

}  // namespace shm::pages
