// SPDX-License-Identifier: BSD-3-Clause
#include "nvm_options.hpp"

#include <algorithm>
#include <bit>

namespace bench {
namespace {

constexpr std::string_view kKernels[] = {"miss", "gets", "sharing", "computing", "faults", "cached"};
constexpr std::size_t kUsualPage = std::size_t{256} << 10;
constexpr std::size_t kMostOfMiss = std::size_t{128} << 20;  // bytes

constexpr Option<NvmOptions> kOptions[] = {
    {"--kernel", "miss, gets, sharing, computing, faults, cached, several with commas, or all",
     [](const std::string& value, NvmOptions& o) {
       return value == "all" || split(value, kKernels, o.kernels);
     }},
    {"--pages", kNumberAllowed,
     [](const std::string& value, NvmOptions& o) { return number(value, kMostNumber, o.pages); }},
    {"--page", kBytesAllowed, [](const std::string& value, NvmOptions& o) { return bytes(value, o.page); }},
    {"--pool", kNumberAllowed,
     [](const std::string& value, NvmOptions& o) { return number(value, kMostNumber, o.pool); }},
    {"--bytes", kBytesAllowed, [](const std::string& value, NvmOptions& o) { return bytes(value, o.bytes); }},
    {"--size", kBytesAllowed, [](const std::string& value, NvmOptions& o) { return bytes(value, o.size); }},
    {"--memory", kBytesAllowed,
     [](const std::string& value, NvmOptions& o) { return bytes(value, o.memory); }},
    {"--seconds", kDurationAllowed,
     [](const std::string& value, NvmOptions& o) { return duration(value, o.seconds); }},
    {"--rounds", kNumberAllowed,
     [](const std::string& value, NvmOptions& o) { return number(value, kMostNumber, o.rounds); }},
    plot_option<NvmOptions>(),
};

constexpr Flag<NvmOptions> kFlags[] = {{"--json", &NvmOptions::json}, {"--dram", &NvmOptions::dram}};

bool anything_on_nvm() {
  return variable("SHMEM_HEAP").starts_with("nvm:") || !variable("SHMEM_NVM_DIR").empty();
}

/// Page and pool as the library has them.
std::string take_sizes(std::size_t node_size, NvmOptions& o) {
  std::string why = o.page == 0 ? take_bytes("SHMEM_NVM_PAGE", "--page", o.page) : "";
  if (o.page == 0) o.page = kUsualPage;
  std::size_t cache = 0;
  if (why.empty() && o.pool == 0) why = take_bytes("SHMEM_NVM_CACHE", "--pool", cache);
  if (cache != 0) o.pool = std::max({cache / o.page, std::size_t{16}, 8 * node_size});
  return why;
}

/// What does not fit together, or "".
std::string check(const NvmOptions& o, std::size_t pes) {
  if (!o.dram && !anything_on_nvm()) {
    return "nothing is on NVM: set SHMEM_NVM_DIR=<folder>, or SHMEM_HEAP=nvm:<folder>, or measure memory "
           "with --dram";
  }
  if (!std::has_single_bit(o.page) || o.page < 4096) return "--page must be a power of two from 4096";
  if (o.size % 8 != 0 || o.memory % o.size != 0)
    return "--size must be a multiple of 8 bytes, and --memory one of --size";
  const bool emptied = o.wants("miss") || o.wants("gets") || o.wants("faults");
  if (emptied && !o.dram && o.pool == 0) {
    return "miss, gets and faults must know how many pages fit into memory: set SHMEM_NVM_CACHE, or say it "
           "with "
           "--pool";
  }
  if (o.wants("sharing") && (o.bytes == 0 || o.bytes > o.page / pes))
    return "--bytes must be from 1 to " + std::to_string(o.page / pes) + ", as all PEs share a page";
  if (!o.dram && (o.wants("miss") || o.wants("faults")) && o.pages > o.pool / 2) {
    return "--pages " + std::to_string(o.pages) + " is too many for miss and faults: half of the pool, " +
           std::to_string(o.pool / 2) + " pages, at most";
  }
  return "";
}

}  // namespace

const char kNvmUsage[] =
    "usage: oshrun -n 4 --virtual-nodes 4 -x SHMEM_NVM_DIR=/mnt/ssd -x SHMEM_NVM_CACHE=64m shmem_bench nvm "
    "[options]\n"
    "What the NVM heap takes, by kernel. Data are verified; the exit code is 1 if anything was wrong.\n"
    "  --kernel NAME,..  miss     PE 0's pages, got by another node one by one: from the files, from its "
    "node's\n"
    "                             memory, from that of a third node\n"
    "                    gets     PE 0's pages, got by all others at once, in sequence and in random order; "
    "with "
    "pools\n"
    "                             emptied before, and once more\n"
    "                    sharing  all PEs put a byte of their own into one page, again and again\n"
    "                    computing  what the library's threads take of a core beside a program that "
    "computes\n"
    "                    faults   loads and stores of PE 0's own pages that are not mapped\n"
    "                    cached   gets, puts, loads and stores of what is in memory, beside the heap in "
    "memory\n"
    "                    all      (default)\n"
    "  --pages N         of PE 0's data (default: of miss and faults a quarter, of gets half as many as fit "
    "into "
    "memory)\n"
    "  --page BYTES      of a page (default: SHMEM_NVM_PAGE, else 256k)\n"
    "  --pool N          pages that fit into a node's memory (default: by SHMEM_NVM_CACHE)\n"
    "  --bytes BYTES     that each PE has of the page of sharing (default 1)\n"
    "  --size BYTES      of a get or put of cached (default 4k)\n"
    "  --memory BYTES    that cached works on, part by part (default 256k)\n"
    "  --seconds S       length of a round of sharing, computing (at least 0.1) and cached (default 0.05)\n"
    "  --rounds N        a figure is the median of N rounds (default 5)\n"
    "  --dram            all objects in memory\n";

std::size_t NvmOptions::pages_of_miss() const {
  if (pages != 0) return pages;
  const std::size_t most = std::max<std::size_t>(1, kMostOfMiss / page);
  return pool == 0 ? std::min<std::size_t>(64, most) : std::clamp<std::size_t>(pool / 4, 1, most);
}

std::size_t NvmOptions::pages_of_gets() const {
  if (pages != 0) return pages;
  return pool == 0 ? 64 : std::max<std::size_t>(1, pool / 2);
}

Parsed parse(Words words, const JobShape& job, NvmOptions& options, std::string& why) {
  const Parsed parsed = parse_words<NvmOptions>(words, kOptions, kFlags, options, why);
  if (parsed != Parsed::run) return parsed;
  why = take_sizes(job.node_size, options);
  if (why.empty()) why = check(options, job.pes);
  return why.empty() ? Parsed::run : Parsed::wrong;
}

}  // namespace bench
