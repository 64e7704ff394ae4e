// SPDX-License-Identifier: BSD-3-Clause
// The page table of the paper's protocols: which pages are in which frames, and which one leaves next.
//
//   absent --claim--> coming --arrive--> here --choose_victim--> leaving --left--> absent
//                        ^                                          |
//                        +--------------------claim-----------------+
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/spin.hpp"
#include "pages/local_space.hpp"
#include "pages/page_word.hpp"

namespace shm::remote {

/// Thread safety: any thread that takes no signals.
class PaperTable {
 public:
  using PageNumber = pages::PageNumber;
  using FrameNumber = pages::FrameNumber;
  struct Victim {
    PageNumber page;
    FrameNumber frame;
  };

  /// Of the frames of `space` the first `frames` are used.  `space` outlives it.
  PaperTable(pages::LocalSpace& space, std::size_t frames);

  // For a thread that has faulted.  Async-signal-safe.

  /// The page is the caller's to bring, unless it is here or on its way.
  bool claim(PageNumber page);
  /// Until a page that is on its way has come.
  void await(PageNumber page);

  // For who brings it.

  /// Whether it reads as zeros, whatever the server has.
  bool is_blank(PageNumber page) const { return (entries_[page].state.load() & kBlank) != 0; }
  /// A free frame.  REQUIRES: there is one.
  FrameNumber take_frame();
  std::size_t free_frames();
  /// The page is mapped, to be read and written.  Returns false if the system has no room for more mappings.
  bool map(PageNumber page, FrameNumber frame);
  /// It is here: those who wait for it go on.  REQUIRES: mapped.
  void arrive(PageNumber page, FrameNumber frame);

  // For who sends another one away.

  /// The page that CLOCK names, unmapped.  A reference that it knows of is a fault: after that the page is
  /// passed over once.  Nothing if none may leave.
  std::optional<Victim> choose_victim();
  /// Its server has it.
  void left(const Victim& victim);

  // For calls of the library.

  /// It reads as zeros, and has no frame.  Waits for a page that is on its way.
  void forget(PageNumber page);
  /// It stays, once it has come, until as many calls of unpin().
  void pin(PageNumber page);
  void unpin(PageNumber page);

 private:
  enum State : std::uint32_t { absent, coming, here, leaving };
  static constexpr std::uint32_t kBlank = 4, kStates = 3;
  static constexpr PageNumber kNoPage = ~PageNumber{0};

  struct Entry {
    std::atomic<std::uint32_t> state{absent};
    std::uint32_t pins = 0;  // guarded by lock_
    FrameNumber frame = 0;   // where it is here or leaving
  };
  struct Place {
    PageNumber page = kNoPage;
    bool referenced = false;
  };
  std::byte* address(PageNumber page) const;
  void unmap(PageNumber page);
  void become(PageNumber page, std::uint32_t state);
  void give_frame(FrameNumber frame);

  pages::LocalSpace& space_;
  const pages::Pool pool_;
  std::vector<Entry> entries_;  // by page

  SpinLock lock_;
  std::vector<Place> places_ GUARDED_BY(lock_);      // by frame
  std::vector<FrameNumber> free_ GUARDED_BY(lock_);  // the one that was used last is the next
  FrameNumber hand_ GUARDED_BY(lock_) = 0;
};

}  // namespace shm::remote
