// SPDX-License-Identifier: BSD-3-Clause
// What the library tells, and what is done then: the other side of base/observer.hpp.
#include "base/observer.hpp"

#include <pshmem.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdio>
#include <cstring>
#include <string>

#include "clocks.hpp"
#include "gather.hpp"
#include "pairs.hpp"
#include "record.hpp"
#include "timeline.hpp"

namespace observe {
namespace {

constexpr std::size_t kWindow = std::size_t{1} << 20;

// All of it lives as long as the process: one that dies may be anywhere.
struct Job {
  std::string trace, pairs_file, part;  // absolute paths; empty: none
  bool pairs = false;
  std::byte* window = nullptr;
  std::size_t window_bytes = 0;
  int lives = 0;  // of the library in this process
  Author author;
};
Job& job = *new Job;
std::atomic<bool> may_die{false};

std::string absolute(const char* path) {
  char folder[PATH_MAX];
  if (path[0] == '\0' || path[0] == '/' || getcwd(folder, sizeof folder) == nullptr) return path;
  return std::string(folder) + "/" + path;
}

// "a/b.json", "pe" and 3: "a/b.pe3.json".
std::string numbered(const std::string& path, const char* what, int number) {
  std::string infix = ".";
  infix.append(what).append(std::to_string(number));
  const std::size_t dot = path.rfind('.');
  const bool suffix = dot != path.npos && dot > 0 && path.find('/', dot) == path.npos && path[dot - 1] != '/';
  return suffix ? path.substr(0, dot) + infix + path.substr(dot) : path + infix;
}

void say(const std::string& line) { std::fwrite(line.data(), 1, line.size(), stderr); }

/// A file that is there at its end, or not at all.
class File {
 public:
  explicit File(const std::string& path)
      : path_(path), other_(path + ".tmp"), file_(std::fopen(other_.c_str(), "we")) {
    if (file_ == nullptr) fail();
  }
  ~File() {
    if (file_ == nullptr) return;
    const bool closed = std::fclose(file_) == 0;
    if (!failed_ && closed && std::rename(other_.c_str(), path_.c_str()) == 0) return;
    if (!failed_) fail();
    unlink(other_.c_str());
  }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void write(const std::string& text) {
    if (file_ != nullptr && !failed_ && std::fwrite(text.data(), 1, text.size(), file_) != text.size())
      fail();
  }
  bool good() const { return !failed_; }

 private:
  void fail() {
    failed_ = true;
    say("atoll: cannot write " + path_ + ": " + std::strerror(errno) + "\n");
  }
  std::string path_, other_;
  FILE* file_;
  bool failed_ = false;
};

// ---- the library starts

void starts() {
  Author& author = job.author;
  author.pe = pshmem_my_pe();
  author.npes = pshmem_n_pes();
  clear_records();
  if (!job.trace.empty()) {
    const Window window(bytes_for_clocks(author.npes) + sizeof(std::uint64_t), nullptr, 0);
    author.clock = {};
    author.ticks.first = this_moment();
    if (window.size() > 0) {
      author.clock.first = author.clock.last = measure_difference(window.bytes());
      auto* zero = reinterpret_cast<std::uint64_t*>(window.bytes());
      *zero = shm::monotonic_ns();
      pshmem_barrier_all();
      author.zero = pshmem_uint64_g(zero, 0);
      pshmem_barrier_all();
    } else if (author.pe == 0) {
      say("atoll: SHMEM_TRACE: the heap has no room to compare the clocks of hosts\n");
    }
    job.part = numbered(job.trace, "pe", author.pe);
    unlink(job.part.c_str());  // those of a job before
    if (author.pe == 0) unlink(job.trace.c_str());
    may_die = true;
  }
  mode = (job.trace.empty() ? 0U : kEvents) | (job.pairs ? kPairs : 0U);
}

// ---- and ends

struct Sums {
  std::uint64_t mine[3], all[3];  // events, dropped; the third is the largest
};

Sums sum_up(const Window& window, const Timeline& timeline) {
  auto& sums = *reinterpret_cast<Sums*>(window.bytes());
  const Clock& clock = job.author.clock;
  sums.mine[0] = timeline.events();
  sums.mine[1] = timeline.dropped();
  sums.mine[2] = static_cast<std::uint64_t>(std::max(clock.first.wrong_by, clock.last.wrong_by));
  pshmem_uint64_sum_reduce(SHMEM_TEAM_WORLD, sums.all, sums.mine, 2);
  pshmem_uint64_max_reduce(SHMEM_TEAM_WORLD, sums.all + 2, sums.mine + 2, 1);
  const Sums copy = sums;
  pshmem_barrier_all();
  return copy;
}

void write_trace(const Window& window) {
  Author& author = job.author;
  author.ticks.last = this_moment();
  if (window.size() >= bytes_for_clocks(author.npes)) author.clock.last = measure_difference(window.bytes());
  Timeline timeline(author);
  const Sums sums = sum_up(window, timeline);
  const std::string path = job.lives > 1 ? numbered(job.trace, "", job.lives) : job.trace;
  const auto make = [&timeline](std::string& text, std::size_t most) { timeline.append(text, most); };
  if (author.pe > 0) return gather(window, make, {});
  bool good = true;
  {
    File file(path);
    file.write(head_of_file());
    gather(window, make, [&file](int, const std::string& text) { file.write(text); });
    file.write(end_of_file(author.npes, sums.all[1], static_cast<std::int64_t>(sums.all[2])));
    good = file.good();
  }
  if (!good) return;
  say("atoll: SHMEM_TRACE: " + path + " has " + std::to_string(sums.all[0]) + " events of " +
      std::to_string(author.npes) + " PEs" +
      (sums.all[1] > 0 ? "; " + std::to_string(sums.all[1]) + " older ones were dropped (SHMEM_TRACE_EVENTS)"
                       : "") +
      "\n");
}

struct Spoken {
  std::uint64_t to, operations, bytes;
};

void print_pairs(const Window& window) {
  const Author& author = job.author;
  int next = 0;
  const auto make = [&](std::string& text, std::size_t most) {
    for (; next < author.npes && text.size() + sizeof(Spoken) <= most; ++next) {
      const Talk talk = talk_to(next);
      const Spoken spoken{static_cast<std::uint64_t>(next), talk.operations, talk.bytes};
      if (talk.operations > 0) text.append(reinterpret_cast<const char*>(&spoken), sizeof spoken);
    }
  };
  if (author.pe > 0) return gather(window, make, {});
  Pairs pairs(author.npes);
  gather(window, make, [&pairs](int from, const std::string& text) {
    Spoken spoken;
    for (std::size_t at = 0; at + sizeof spoken <= text.size(); at += sizeof spoken) {
      std::memcpy(&spoken, text.data() + at, sizeof spoken);
      pairs.add(from, static_cast<int>(spoken.to), {spoken.operations, spoken.bytes});
    }
  });
  say(heat_map(pairs));
  if (job.pairs_file.empty()) return;
  File(job.pairs_file).write(job.pairs_file.ends_with(".svg") ? svg_of(pairs) : json_of(pairs));
}

void ends() {
  const unsigned had = mode.exchange(kNothing);
  may_die = false;
  ++job.lives;
  const Window window(kWindow, job.window, job.window_bytes);
  if (window.size() < kLeastWindow) {
    if (job.author.pe == 0)
      say("atoll: SHMEM_TRACE, SHMEM_STATS: the heap has no room to gather what PEs have seen\n");
  } else {
    if ((had & kEvents) != 0) write_trace(window);
    if ((had & kPairs) != 0) print_pairs(window);
  }
}

void dies() {
  if (!may_die.exchange(false)) return;
  job.author.ticks.last = this_moment();
  write_part(job.author, job.part.c_str());
}

constexpr shm::Observer kObserver{starts, ticks, record_fault, ends, dies};

const shm::Observer* open(unsigned version, const shm::ObserverSettings& settings) {
  if (version != shm::kObserverVersion) return nullptr;
  job.trace = absolute(settings.trace);
  job.pairs_file = absolute(settings.pairs_file);
  job.pairs = settings.pairs;
  job.window = settings.window;
  job.window_bytes = settings.window_size;
  job.author.host = settings.host;
  job.author.node = settings.node;
  prepare_records(settings.events, pshmem_n_pes());
  return &kObserver;
}

}  // namespace
}  // namespace observe

extern "C" __attribute__((visibility("default"))) const shm::ObserverEntry atoll_observer;
const shm::ObserverEntry atoll_observer{observe::open};
