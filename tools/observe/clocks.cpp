// SPDX-License-Identifier: BSD-3-Clause
#include "clocks.hpp"

#include <pshmem.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "base/observer.hpp"

namespace observe {
namespace {

// Of PE 0 the question, of others the answer, and what they have found.
struct Meeting {
  std::uint64_t question, answer;
  std::int64_t found[2];
  std::uint64_t kind;  // of clock
  std::uint64_t kinds[1];
};

// The kernel that runs, and the time namespace, which may move its clocks.
std::uint64_t kind_of_clock() {
  std::string text(256, '\0');
  std::size_t length = 0;
  if (FILE* file = std::fopen("/proc/sys/kernel/random/boot_id", "re")) {
    length = std::fread(text.data(), 1, 64, file);
    std::fclose(file);
  }
  const ssize_t more = readlink("/proc/self/ns/time", text.data() + length, 128);
  text.resize(length + static_cast<std::size_t>(std::max<ssize_t>(more, 0)));
  return std::hash<std::string>()(text);
}

void answer_questions(Meeting& meeting, int pe, std::uint64_t first) {
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    pshmem_uint64_wait_until(&meeting.question, SHMEM_CMP_GE, first + i);
    pshmem_uint64_p(&meeting.answer, shm::monotonic_ns(), pe);
    pshmem_quiet();
  }
}

Difference ask(Meeting& meeting, std::uint64_t first) {
  std::vector<RoundTrip> trips(kRounds);
  std::uint64_t before = 0;
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    trips[i].asked = shm::monotonic_ns();
    pshmem_uint64_p(&meeting.question, first + i, 0);
    pshmem_quiet();
    pshmem_uint64_wait_until(&meeting.answer, SHMEM_CMP_NE, before);
    trips[i].answered = shm::monotonic_ns();
    trips[i].there = before = meeting.answer;
  }
  return difference_of(trips);
}

}  // namespace

Difference difference_of(std::span<const RoundTrip> trips) {
  const RoundTrip& best = *std::min_element(trips.begin(), trips.end(), [](const auto& a, const auto& b) {
    return a.answered - a.asked < b.answered - b.asked;
  });
  const std::uint64_t half = (best.answered - best.asked) / 2, middle = best.asked + half;
  return {static_cast<std::int64_t>(best.there - middle), static_cast<std::int64_t>(half), middle};
}

std::uint64_t Clock::of_all(std::uint64_t time) const {
  double difference = static_cast<double>(last.nanoseconds - first.nanoseconds);
  if (last.at > first.at) {
    difference *= static_cast<double>(static_cast<std::int64_t>(time - first.at)) /
                  static_cast<double>(last.at - first.at);
  }
  return time + static_cast<std::uint64_t>(first.nanoseconds + static_cast<std::int64_t>(difference));
}

std::size_t bytes_for_clocks(int npes) {
  return sizeof(Meeting) + static_cast<std::size_t>(npes) * sizeof(std::uint64_t);
}

Difference measure_difference(void* room) {
  auto& meeting = *static_cast<Meeting*>(room);
  const int me = pshmem_my_pe(), npes = pshmem_n_pes();
  meeting.question = meeting.answer = 0;
  meeting.kind = kind_of_clock();
  pshmem_uint64_fcollect(SHMEM_TEAM_WORLD, meeting.kinds, &meeting.kind, 1);
  pshmem_barrier_all();
  const std::span<const std::uint64_t> kinds(meeting.kinds, static_cast<std::size_t>(npes));
  std::vector<std::uint64_t> known{kinds[0]};
  int asker = 0;  // with my clock
  Difference found{0, 0, shm::monotonic_ns()};
  std::uint64_t first = 1;
  for (int pe = 1; pe < npes; ++pe) {
    const std::uint64_t kind = kinds[static_cast<std::size_t>(pe)];
    if (std::find(known.begin(), known.end(), kind) != known.end()) continue;
    known.push_back(kind);
    if (kind == meeting.kind) asker = pe;
    if (me == 0) answer_questions(meeting, pe, first);
    if (me == pe) found = ask(meeting, first);
    first += kRounds;
  }
  meeting.found[0] = found.nanoseconds;
  meeting.found[1] = found.wrong_by;
  pshmem_barrier_all();
  if (asker != me) {
    found.nanoseconds = pshmem_int64_g(&meeting.found[0], asker);
    found.wrong_by = pshmem_int64_g(&meeting.found[1], asker);
  }
  pshmem_barrier_all();
  return found;
}

}  // namespace observe
