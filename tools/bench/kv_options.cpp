// SPDX-License-Identifier: BSD-3-Clause
#include "kv_options.hpp"

#include <algorithm>
#include <cstdlib>

namespace bench {
namespace {

constexpr std::string_view kKernels[] = {"pingpong", "get",        "insert",  "update",  "mixed", "batch",
                                         "scale",    "throughput", "latency", "threads", "nbi",   "tail",
                                         "wait",     "load",       "churn",   "full",    "ycsb"};
constexpr std::string_view kMixes[] = {"A", "B", "C", "D", "E", "F"};
constexpr std::size_t kMostElements = 100000000, kMostValue = std::size_t{1} << 20, kMostKey = 65536;
constexpr std::size_t kMostBatch = 1000000, kMostThreads = 256, kMostDepth = 4096;
constexpr const char* kElementsAllowed = "a number from 100 to 100000000, or several with commas";
constexpr const char* kValueAllowed = "a multiple of 8 from 8 to 1048576";
constexpr const char* kValuesAllowed = "multiples of 8 from 8 to 1048576, with commas";
constexpr const char* kKeyAllowed = "a multiple of 8 from 8 to 65536";
constexpr const char* kBatchAllowed = "a number from 1 to 1000000, or several with commas";

/// What stands between commas, if read(part, value) takes all of it.
template <class Value, class Read>
bool between_commas(const std::string& text, std::vector<Value>& found, Read read) {
  std::vector<Value> values;
  for (std::size_t from = 0; from <= text.size();) {
    const std::size_t comma = std::min(text.find(',', from), text.size());
    Value value{};
    if (!read(text.substr(from, comma - from), value)) return false;
    values.push_back(value);
    from = comma + 1;
  }
  found = values;
  return true;
}

/// Each from 1 to `most` and a multiple of `unit`.
bool numbers(const std::string& text, std::size_t most, std::size_t unit, Numbers& found) {
  return between_commas(text, found, [&](const std::string& part, std::size_t& value) {
    return number(part, most, value) && value % unit == 0;
  });
}

std::size_t fewest(const Numbers& numbers) { return *std::min_element(numbers.begin(), numbers.end()); }

/// A decimal fraction.
bool fraction(const std::string& text, double least, double most, double& value) {
  if (text.empty() || text.find_first_not_of("0123456789.") != std::string::npos) return false;
  char* end = nullptr;
  const double read = std::strtod(text.c_str(), &end);
  if (*end != '\0' || read < least || read > most) return false;
  value = read;
  return true;
}

bool fractions(const std::string& text, double least, double most, std::vector<double>& found) {
  return between_commas(text, found, [&](const std::string& part, double& value) {
    return fraction(part, least, most, value);
  });
}

bool words_of_8(const std::string& text, std::size_t most, std::size_t& value) {
  return number(text, most, value) && value % 8 == 0;
}

constexpr Option<KvOptions> kOptions[] = {
    {"--kernel",
     "pingpong, get, insert, update, mixed, batch, scale, throughput, latency, threads, nbi, tail, wait, "
     "load, churn, full, ycsb, several with commas, or all",
     [](const std::string& value, KvOptions& o) {
       return value == "all" || split(value, kKernels, o.kernels);
     }},
    {"--elements", kElementsAllowed,
     [](const std::string& value, KvOptions& o) {
       return numbers(value, kMostElements, 1, o.elements) && fewest(o.elements) >= 100;
     }},
    {"--key", kKeyAllowed,
     [](const std::string& value, KvOptions& o) { return words_of_8(value, kMostKey, o.key); }},
    {"--value", kValueAllowed,
     [](const std::string& value, KvOptions& o) { return words_of_8(value, kMostValue, o.value); }},
    {"--values", kValuesAllowed,
     [](const std::string& value, KvOptions& o) { return numbers(value, kMostValue, 8, o.values); }},
    {"--batch", kBatchAllowed,
     [](const std::string& value, KvOptions& o) { return numbers(value, kMostBatch, 1, o.batches); }},
    {"--seconds", kDurationAllowed,
     [](const std::string& value, KvOptions& o) { return duration(value, o.seconds); }},
    {"--rounds", kNumberAllowed,
     [](const std::string& value, KvOptions& o) { return number(value, kMostNumber, o.rounds); }},
    {"--threads", "a number from 1 to 256",
     [](const std::string& value, KvOptions& o) { return number(value, kMostThreads, o.threads); }},
    {"--depth", "a number from 1 to 4096",
     [](const std::string& value, KvOptions& o) { return number(value, kMostDepth, o.depth); }},
    {"--churn", kNumberAllowed,
     [](const std::string& value, KvOptions& o) { return number(value, kMostNumber, o.changes); }},
    {"--load", "a part from 0.01 to 0.96, or several with commas",
     [](const std::string& value, KvOptions& o) { return fractions(value, 0.01, 0.96, o.loads); }},
    {"--zipf", "an exponent from 0 to 0.999",
     [](const std::string& value, KvOptions& o) { return fraction(value, 0, 0.999, o.zipf); }},
    {"--ycsb", "A, B, C, D, E, F, or several with commas",
     [](const std::string& value, KvOptions& o) { return split(value, kMixes, o.mixes); }},
    {"--wait", kDurationAllowed,
     [](const std::string& value, KvOptions& o) { return duration(value, o.wait); }},
    plot_option<KvOptions>(),
};

constexpr Flag<KvOptions> kFlags[] = {{"--json", &KvOptions::json}};

}  // namespace

const char kKvUsage[] =
    "usage: oshrun -n 4 [--virtual-nodes 2] shmem_bench kv [options]\n"
    "What the key/value store takes, by kernel; from PE 0 to the next PE of its node, and of the next node "
    "if "
    "there is\n"
    "one. Whatever is read is verified; the exit code is 1 if anything was wrong. All kernels\n"
    "together take about two minutes.\n"
    "  --kernel NAME,..  pingpong    a put and its answer, with a signal or without, and a get of the "
    "other's memory: the "
    "network\n"
    "                                without the store\n"
    "                    get         single gets, of keys that are there and of keys that are not\n"
    "                    insert      of new keys\n"
    "                    update      of keys that are there\n"
    "                    mixed       all PEs remove, insert and update elements of all PEs at once\n"
    "                    batch       gets and inserts, by the number of keys of a call\n"
    "                    scale       gets by 1, 2, 4, ... and all PEs of a node at once\n"
    "                    throughput  all PEs get the elements of the next node's, or of the next, PE\n"
    "                    latency     single gets by the size of the value and the number of elements\n"
    "                    threads     gets by 1, 2, 4, ... and --threads threads of PE 0 at once\n"
    "                    nbi         gets in nonblocking batches, --depth of them under way\n"
    "                    tail        how long single gets and updates take, by percentiles\n"
    "                    wait        a get that waits for --wait seconds, and its messages\n"
    "                    load        gets and updates by how full the table is\n"
    "                    churn       inserts and removes of as many elements, and gets before and after\n"
    "                    full        gets of absent keys, after the table was full and has kept a tenth\n"
    "                    ycsb        all PEs do what the mixes of YCSB say, on keys of all PEs\n"
    "                    all         (default)\n"
    "  --elements N,..   of each PE (default: of get 1000 to 1000000, of throughput 10000 to 50000, of "
    "latency "
    "1000 to\n"
    "                    50000, of the others 100000)\n"
    "  --key BYTES       (default 8)\n"
    "  --value BYTES     (default 8)\n"
    "  --values BYTES,.. of latency (default 8,64,1024)\n"
    "  --batch N,..      keys of a call (default 1,4,16,64,256,1024,4096)\n"
    "  --seconds S       length of a round (default 0.05)\n"
    "  --rounds N        a figure is the median of N rounds (default 5)\n"
    "  --threads N       of PE 0 (default 1); with it the job has SHMEM_THREAD_MULTIPLE\n"
    "  --depth N         requests under way, of nbi (default 16)\n"
    "  --load PART,..    slots that are taken, of load and churn (default 0.5,0.75,0.9,0.95)\n"
    "  --churn N         inserts, and as many removes, of churn (default 1000000)\n"
    "  --zipf EXPONENT   of the keys of ycsb (default 0.99); 0: all alike\n"
    "  --ycsb MIX,..     of A to F (default A,B,C,D,E,F)\n"
    "  --wait S          of wait (default 0.2)\n";

Parsed parse(Words words, KvOptions& options, std::string& why) {
  options.values = {8, 64, 1024};
  options.loads = {0.5, 0.75, 0.9, 0.95};
  options.batches = {1, 4, 16, 64, 256, 1024, 4096};
  return parse_words<KvOptions>(words, kOptions, kFlags, options, why);
}

}  // namespace bench
