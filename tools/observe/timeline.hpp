// SPDX-License-Identifier: BSD-3-Clause
// The timeline as text: the trace event format that ui.perfetto.dev and chrome://tracing read.
//
// A process is a PE, its threads are lanes; behind them is one for what comes from other PEs.  There each
// call that changes a PE's memory has a mark of a nanosecond, when the call has ended, and an arrow from the
// call to it.  That is when the caller was free: what goes to another node may have come later, at the
// caller's next quiet at the latest.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "clocks.hpp"
#include "record.hpp"
#include "ticks.hpp"

namespace observe {

/// Who writes, and as of when: `zero` is a time of PE 0.
struct Author {
  int pe = 0, npes = 1;
  std::string host;
  int node = 0;
  Clock clock;
  Conversion ticks;
  std::uint64_t zero = 0;
};

/// Whether a call of this name changes the memory of the PE that it is for.
bool has_arrow(const char* name);

/// The lines of one PE, each ",\n" and an event; the first of all has no comma.  An event has kLongestLine
/// characters at most, with what belongs to it.
class Timeline {
 public:
  static constexpr std::size_t kLongestLine = 1024;

  /// What the rings have now, in the order of time.
  explicit Timeline(const Author& author);

  /// Appends whole events to `text`, until it has more than `most` - kLongestLine characters.  False: there
  /// was nothing left to append.
  bool append(std::string& text, std::size_t most);

  std::uint64_t events() const { return events_; }
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Entry {
    Event event;
    std::size_t lane;
    std::uint64_t number;  // of all that the lane had
  };
  const Author& author_;
  std::vector<Entry> entries_;
  std::uint64_t events_ = 0, dropped_ = 0;
  std::size_t next_ = 0;
  bool begun_ = false;
};

/// Around the events of all.  `head` ends where the first event begins.
std::string head_of_file();
std::string end_of_file(int npes, std::uint64_t dropped, std::int64_t clock_wrong_by);

/// A file with this PE's part alone, for one that dies: takes no memory.
void write_part(const Author& author, const char* path);

}  // namespace observe
