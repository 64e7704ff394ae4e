// SPDX-License-Identifier: BSD-3-Clause
#include "timeline.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <string_view>

#include "base/fixed_text.hpp"

namespace observe {
namespace {

constexpr int kArrivals = 1000;  // number of that lane
constexpr std::size_t kLaneBits = 6, kNumberBits = 27;
static_assert(kLanes == std::size_t{1} << kLaneBits);

class Line : public shm::FixedText<Timeline::kLongestLine> {
 public:
  // Microseconds with three digits behind the point.
  void add_time(const char* name, std::uint64_t nanoseconds, std::uint64_t zero) {
    const bool before = nanoseconds < zero;
    const std::uint64_t n = before ? zero - nanoseconds : nanoseconds - zero;
    add(",\"%s\":%s%llu.%03u", name, before ? "-" : "", static_cast<unsigned long long>(n / 1000),
        static_cast<unsigned>(n % 1000));
  }
};

bool is_fault(const Event& event) { return event.function >= kFunctions; }

const char* category(const Event& event) {
  const std::string_view name = kNames[event.function];
  if (is_fault(event)) return "nvm";
  if (name.starts_with("shmemx_kv_")) return "kv";
  return event.pe >= 0 ? "remote" : "call";
}

// An arrow has one number in the job: below 2^53, for those who read numbers as doubles.
unsigned long long arrow_number(int pe, std::size_t lane, std::uint64_t number) {
  return (static_cast<std::uint64_t>(pe) << kLaneBits | lane) << kNumberBits |
         (number & ((std::uint64_t{1} << kNumberBits) - 1));
}

void add_names(Line& line, const Author& author, bool begun) {
  line.add(
      "%s{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%d,\"args\":{\"name\":\"PE %d of %d on %.200s, node "
      "%d\"}}",
      begun ? ",\n" : "", author.pe, author.pe, author.npes, author.host.c_str(), author.node);
  line.add(",\n{\"ph\":\"M\",\"name\":\"process_sort_index\",\"pid\":%d,\"args\":{\"sort_index\":%d}}",
           author.pe, author.pe);
  line.add(
      ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%d,\"args\":{\"name\":\"from other "
      "PEs\"}}",
      author.pe, kArrivals);
}

void add_lane(Line& line, int pe, std::size_t lane) {
  line.add(
      ",\n{\"ph\":\"M\",\"name\":\"thread_name\",\"pid\":%d,\"tid\":%zu,\"args\":{\"name\":\"thread %zu\"}}",
      pe, lane, lane);
}

void add_event(Line& line, const Author& author, const Event& event, std::size_t lane, std::uint64_t number) {
  const char* name = kNames[event.function];
  // Begin and end each, so that what ended within another call still does.
  const std::uint64_t begin = author.clock.of_all(author.ticks.nanoseconds(event.begin));
  const std::uint64_t end = author.clock.of_all(author.ticks.nanoseconds(event.begin + event.length));
  line.add(",\n{\"ph\":\"X\",\"name\":\"%s\",\"cat\":\"%s\",\"pid\":%d,\"tid\":%zu", name, category(event),
           author.pe, lane);
  line.add_time("ts", begin, author.zero);
  line.add_time("dur", end - begin, 0);
  const auto bytes = static_cast<unsigned long long>(event.bytes);
  if (is_fault(event)) return line.add(",\"args\":{\"at\":\"0x%llx\"}}", bytes);
  if (event.pe < 0) return bytes == 0 ? line.add("}") : line.add(",\"args\":{\"bytes\":%llu}}", bytes);
  line.add(",\"args\":{\"pe\":%d,\"bytes\":%llu}}", event.pe, bytes);
  if (!has_arrow(name)) return;
  const unsigned long long arrow = arrow_number(author.pe, lane, number);
  line.add(",\n{\"ph\":\"s\",\"name\":\"arrow\",\"cat\":\"arrow\",\"id\":%llu,\"pid\":%d,\"tid\":%zu", arrow,
           author.pe, lane);
  line.add_time("ts", begin, author.zero);
  line.add("},\n{\"ph\":\"X\",\"name\":\"%s of PE %d\",\"cat\":\"arrival\",\"pid\":%d,\"tid\":%d", name,
           author.pe, event.pe, kArrivals);
  line.add_time("ts", end, author.zero);
  line.add(
      ",\"dur\":0.001,\"args\":{\"bytes\":%llu}},\n{\"ph\":\"f\",\"bp\":\"e\",\"name\":\"arrow\",\"cat\":"
      "\"arrow\",\"id\":%llu",
      bytes, arrow);
  line.add(",\"pid\":%d,\"tid\":%d", event.pe, kArrivals);
  line.add_time("ts", end, author.zero);
  line.add("}");
}

// A ring that is overwritten meanwhile may hold half of an event.
bool is_whole(const Event& event) { return event.function < kFunctions + 2 && event.begin != 0; }

bool write_all(int file, std::string_view text) {
  while (!text.empty()) {
    const ssize_t n = write(file, text.data(), text.size());
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

constexpr char kHead[] = "{\"displayTimeUnit\":\"ns\",\"traceEvents\":[\n";

void add_end(Line& line, int npes, std::uint64_t dropped, std::int64_t wrong_by) {
  line.add(
      "\n],\"otherData\":{\"pes\":\"%d\",\"dropped_events\":\"%llu\",\"clocks_wrong_by_ns_at_most\":\"%lld\"}"
      "}\n",
      npes, static_cast<unsigned long long>(dropped), static_cast<long long>(wrong_by));
}

std::uint64_t dropped_of(const Lane& lane) { return lane.all - lane.kept; }

}  // namespace

bool has_arrow(const char* name) {
  const std::string_view text = name;
  const auto has = [text](std::string_view part) { return text.find(part) != text.npos; };
  const bool reads = has("_get") || has("_iget") || has("_ibget") || has("contains") ||
                     text.ends_with("_g") || text.ends_with("_fetch") || text.ends_with("_fetch_nbi");
  return !reads;
}

Timeline::Timeline(const Author& author) : author_(author), dropped_(lost_events()) {
  for (std::size_t i = 0; i < lanes(); ++i) {
    const Lane here = lane(i);
    for (std::uint64_t k = 0; k < here.kept; ++k) {
      const Event event = event_of(here, k);
      if (is_whole(event)) entries_.push_back({event, i, dropped_of(here) + k});
    }
    dropped_ += dropped_of(here);
  }
  events_ = entries_.size();
  std::stable_sort(entries_.begin(), entries_.end(), [](const Entry& a, const Entry& b) {
    if (a.event.begin != b.event.begin) return a.event.begin < b.event.begin;
    return a.event.length > b.event.length;  // what is within the other comes behind it
  });
}

bool Timeline::append(std::string& text, std::size_t most) {
  const std::size_t before = text.size();
  if (!begun_) {
    Line line;
    add_names(line, author_, author_.pe > 0);
    text += line.text();
    for (std::size_t i = 0; i < lanes(); ++i) {
      Line of_lane;
      add_lane(of_lane, author_.pe, i);
      text += of_lane.text();
    }
    begun_ = true;
  }
  for (; next_ < entries_.size() && text.size() + kLongestLine <= most; ++next_) {
    Line line;
    add_event(line, author_, entries_[next_].event, entries_[next_].lane, entries_[next_].number);
    text += line.text();
  }
  return text.size() > before;
}

std::string head_of_file() { return kHead; }

std::string end_of_file(int npes, std::uint64_t dropped, std::int64_t clock_wrong_by) {
  Line line;
  add_end(line, npes, dropped, clock_wrong_by);
  return std::string(line.text());
}

void write_part(const Author& author, const char* path) {
  char other[4096];
  std::snprintf(other, sizeof other, "%s.tmp", path);
  const int file = open(other, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (file < 0) return;
  Line names;
  add_names(names, author, false);
  bool written = write_all(file, kHead) && write_all(file, names.text());
  std::uint64_t dropped = lost_events();
  for (std::size_t i = 0; i < lanes() && written; ++i) {
    const Lane here = lane(i);
    dropped += dropped_of(here);
    Line of_lane;
    add_lane(of_lane, author.pe, i);
    written = write_all(file, of_lane.text());
    for (std::uint64_t k = 0; k < here.kept && written; ++k) {
      const Event event = event_of(here, k);
      Line line;
      if (is_whole(event)) add_event(line, author, event, i, dropped_of(here) + k);
      written = write_all(file, line.text());
    }
  }
  Line end;
  add_end(end, author.npes, dropped, author.clock.last.wrong_by);
  written = written && write_all(file, end.text());
  close(file);
  if (!written || rename(other, path) != 0) unlink(other);
}

}  // namespace observe
