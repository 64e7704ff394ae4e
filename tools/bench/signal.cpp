// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench signal: how long it takes until the other PE knows, verified.
#include <shmem.h>

#include <cstdint>

#include "pairs.hpp"
#include "sweep.hpp"

namespace bench {
namespace {

/// What travels there and back: the word counts the messages that have come.
struct Message {
  unsigned char* dest;
  const unsigned char* source;
  std::size_t bytes;
  std::uint64_t* word;
  int pe;
};

/// A step is a message and its answer; alone, a message to oneself.
template <class Send>
Swept there_and_back(const SweepOptions& options, std::size_t bytes, Send send) {
  const Pair pair;
  const std::size_t room = (bytes + 7) / 8 * 8;
  const Symmetric block(room + sizeof(std::uint64_t));
  auto* const word = reinterpret_cast<std::uint64_t*>(block.bytes() + room);
  std::vector<unsigned char> source(bytes);
  for (std::size_t i = 0; i < bytes; ++i) source[i] = pattern(pair.me, i, bytes);
  const Message message{block.bytes(), source.data(), bytes, word, pair.other};
  std::uint64_t number = 0;
  const auto run = [&](std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) {
      ++number;
      if (pair.begins) send(message, number);
      shmem_signal_wait_until(word, SHMEM_CMP_GE, number);
      if (!pair.begins) send(message, number);
    }
    shmem_quiet();
  };
  const bool takes_part = pair.begins || pair.answers;
  Swept swept = sweep(options, {takes_part, pair.alone ? std::size_t{1} : std::size_t{2}, run});
  if (takes_part) {
    swept.right = *word == number;
    for (std::size_t i = 0; i < bytes; ++i)
      swept.right = block.bytes()[i] == pattern(pair.other, i, bytes) && swept.right;
  }
  swept.at_once = pair.pairs;
  return swept;
}

Swept put_signal(const SweepOptions& options, std::size_t bytes) {
  return there_and_back(options, bytes, [](const Message& m, std::uint64_t number) {
    shmem_putmem_signal(m.dest, m.source, m.bytes, m.word, number, SHMEM_SIGNAL_SET, m.pe);
  });
}

Swept put_fence_word(const SweepOptions& options, std::size_t bytes) {
  return there_and_back(options, bytes, [](const Message& m, std::uint64_t number) {
    shmem_putmem(m.dest, m.source, m.bytes, m.pe);
    shmem_fence();
    shmem_uint64_p(m.word, number, m.pe);
  });
}

Swept signal_add(const SweepOptions& options, std::size_t) {
  return there_and_back(options, 0,
                        [](const Message& m, std::uint64_t) { shmem_signal_add(m.word, 1, m.pe); });
}

Swept signal_set(const SweepOptions& options, std::size_t) {
  return there_and_back(
      options, 0, [](const Message& m, std::uint64_t number) { shmem_signal_set(m.word, number, m.pe); });
}

constexpr SweepKind kKinds[] = {{"put_signal", true, put_signal},
                                {"put_fence_word", true, put_fence_word},
                                {"signal_add", false, signal_add},
                                {"signal_set", false, signal_set}};
constexpr std::size_t kSizes[] = {8, 64, 512, 1024, 4096, 16384, 65536, 262144};

}  // namespace

int signal(Words words) {
  return run_sweep({"signal", "messages there and back between partners of both halves: one way", kKinds,
                    "  --kind NAME,..    put_signal      data with a signal\n"
                    "                    put_fence_word  data, a fence and a word\n"
                    "                    signal_add, signal_set  a signal alone (default all)\n",
                    kSizes},
                   words);
}

}  // namespace bench
