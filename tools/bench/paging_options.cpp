// SPDX-License-Identifier: BSD-3-Clause
#include "paging_options.hpp"

#include <bit>

namespace bench {
namespace {

constexpr std::string_view kKernels[] = {"fault", "micro", "triad"};
constexpr std::size_t kUsualPage = std::size_t{2} << 20;
constexpr std::size_t kMostThreads = 64;

constexpr Option<PagingOptions> kOptions[] = {
    {"--kernel", "fault, micro, triad, several with commas, or all",
     [](const std::string& value, PagingOptions& o) {
       return value == "all" || split(value, kKernels, o.kernels);
     }},
    {"--page", kBytesAllowed,
     [](const std::string& value, PagingOptions& o) { return bytes(value, o.page); }},
    {"--local", kBytesAllowed,
     [](const std::string& value, PagingOptions& o) { return bytes(value, o.local); }},
    {"--size", kBytesAllowed,
     [](const std::string& value, PagingOptions& o) { return bytes(value, o.size); }},
    {"--threads", "a number from 1 to 64",
     [](const std::string& value, PagingOptions& o) { return number(value, kMostThreads, o.threads); }},
    {"--rounds", kNumberAllowed,
     [](const std::string& value, PagingOptions& o) { return number(value, kMostNumber, o.rounds); }},
    plot_option<PagingOptions>(),
};

constexpr Flag<PagingOptions> kFlags[] = {{"--json", &PagingOptions::json}};

}  // namespace

const char kPagingUsage[] =
    "usage: oshrun -n 1 --memory-servers 2 --memory-per-server 1g -x SHMEM_REMOTE_LOCAL=256m shmem_bench "
    "paging "
    "[options]\n"
    "What memory on memory servers takes, by kernel, beside plain transfers of the same pages past the "
    "cache. Data "
    "are\n"
    "verified; the exit code is 1 if anything was wrong.\n"
    "  --kernel NAME,..  fault    loads of pages that are not here, one by one in random order\n"
    "                    micro    data are written in parallel, then three passes check a word of each MiB\n"
    "                    triad    a = b + s * c, without and with the hint that a is overwritten\n"
    "                    all      (default)\n"
    "  --size BYTES      of data (default: four times the local memory)\n"
    "  --local BYTES     of local memory (default: SHMEM_REMOTE_LOCAL)\n"
    "  --page BYTES      of a page (default: SHMEM_REMOTE_PAGE, else 2m)\n"
    "  --threads N       of micro (default 1)\n"
    "  --rounds N        a figure is the median of N rounds (default 3)\n";

Parsed parse(Words words, PagingOptions& options, std::string& why) {
  const Parsed parsed = parse_words<PagingOptions>(words, kOptions, kFlags, options, why);
  if (parsed != Parsed::run) return parsed;
  why = options.page == 0 ? take_bytes("SHMEM_REMOTE_PAGE", "--page", options.page) : "";
  if (why.empty() && options.local == 0) why = take_bytes("SHMEM_REMOTE_LOCAL", "--local", options.local);
  if (options.page == 0) options.page = kUsualPage;
  if (why.empty() && options.local == 0) {
    why =
        "what is measured must know how much memory is local: set SHMEM_REMOTE_LOCAL, or say it with --local";
  }
  if (options.size == 0) options.size = 4 * options.local;
  if (why.empty() && !std::has_single_bit(options.page)) why = "--page must be a power of two";
  if (why.empty() && options.size < 3 * options.page)
    why = "--size must be three pages at least: triad has three arrays";
  return why.empty() ? Parsed::run : Parsed::wrong;
}

}  // namespace bench
