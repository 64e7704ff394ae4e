// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench rma: puts and gets between pairs of PEs, verified.
#include <shmem.h>

#include <cstring>

#include "pairs.hpp"
#include "sweep.hpp"

namespace bench {
namespace {

constexpr std::size_t kMostWindow = std::size_t{4} << 20;  // bytes that a window lies in, or one operation

/// Where the operations of a window work, one behind the other as far as there is room.
std::size_t places_of(const SweepOptions& options, std::size_t bytes) {
  return std::clamp<std::size_t>(kMostWindow / bytes, 1, options.window);
}

void fill_with(unsigned char* data, std::size_t bytes, int pe) {
  for (std::size_t i = 0; i < bytes; ++i) data[i] = pattern(pe, i, bytes);
}

bool has(const unsigned char* data, std::size_t bytes, std::size_t total, int pe) {
  for (std::size_t i = 0; i < total; ++i)
    if (data[i] != pattern(pe, i % bytes, bytes)) return false;
  return true;
}

/// `window` operations, then a quiet.
template <class Operation>
Steps windows(bool takes_part, std::size_t window, std::size_t places, std::size_t bytes,
              Operation operation) {
  return {takes_part, window, [=](std::size_t count) {
            for (std::size_t step = 0; step < count; ++step) {
              for (std::size_t i = 0, place = 0; i < window; ++i, place = place + 1 == places ? 0 : place + 1)
                operation(place * bytes);
              shmem_quiet();
            }
          }};
}

template <class Put>
Swept puts(const SweepOptions& options, std::size_t bytes, std::size_t window, Put put) {
  const Pair pair;
  const std::size_t places = window == 1 ? 1 : places_of(options, bytes);
  const Symmetric block(places * bytes);
  std::vector<unsigned char> source(bytes);
  fill_with(source.data(), bytes, shmem_my_pe());
  unsigned char* const dest = block.bytes();
  Swept swept = sweep(options, windows(pair.begins, window, places, bytes, [&](std::size_t at) {
                        put(dest + at, source.data(), bytes, pair.other);
                      }));
  if (pair.answers) swept.right = has(dest, bytes, std::min(window, places) * bytes, pair.other_of_me);
  swept.at_once = pair.pairs;
  return swept;
}

template <class Get>
Swept gets(const SweepOptions& options, std::size_t bytes, std::size_t window, Get get) {
  const Pair pair;
  const std::size_t places = window == 1 ? 1 : places_of(options, bytes);
  const Symmetric block(bytes);
  fill_with(block.bytes(), bytes, shmem_my_pe());
  std::vector<unsigned char> dest(places * bytes);
  Swept swept = sweep(options, windows(pair.begins, window, places, bytes, [&](std::size_t at) {
                        get(dest.data() + at, block.bytes(), bytes, pair.other);
                      }));
  if (pair.begins) swept.right = has(dest.data(), bytes, std::min(window, places) * bytes, pair.other);
  swept.at_once = pair.pairs;
  return swept;
}

Swept put(const SweepOptions& options, std::size_t bytes) { return puts(options, bytes, 1, shmem_putmem); }
Swept get(const SweepOptions& options, std::size_t bytes) { return gets(options, bytes, 1, shmem_getmem); }
Swept put_nbi(const SweepOptions& options, std::size_t bytes) {
  return puts(options, bytes, options.window, shmem_putmem_nbi);
}
Swept get_nbi(const SweepOptions& options, std::size_t bytes) {
  return gets(options, bytes, options.window, shmem_getmem_nbi);
}

constexpr SweepKind kKinds[] = {
    {"put", true, put}, {"get", true, get}, {"put_nbi", true, put_nbi}, {"get_nbi", true, get_nbi}};
constexpr std::size_t kSizes[] = {8,    16,   32,    64,    128,   256,    512,    1024,   2048,
                                  4096, 8192, 16384, 32768, 65536, 131072, 262144, 524288, 1048576};

}  // namespace

int rma(Words words) {
  return run_sweep({"rma", "puts and gets: each PE of the first half and its partner in the second", kKinds,
                    "  --kind NAME,..    put       a put and a quiet: until it is complete\n"
                    "                    get       a get\n"
                    "                    put_nbi   --window puts and a quiet, shared among them\n"
                    "                    get_nbi   likewise (default all)\n",
                    kSizes},
                   words);
}

}  // namespace bench
