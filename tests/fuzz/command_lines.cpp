// SPDX-License-Identifier: BSD-3-Clause
// Command lines: of oshrun and of the subcommands of shmem_bench.  Each line of the input is a word.
#include "fuzz.hpp"
#include "options.hpp"
#include "tools/bench/atomics_options.hpp"
#include "tools/bench/kv_options.hpp"
#include "tools/bench/nvm_options.hpp"
#include "tools/bench/paging_options.hpp"

namespace shm::fuzz {
namespace {

template <class Parse>
void parse_words_of(std::vector<std::string>& words, Parse parse) {
  std::vector<char*> pointers;
  for (std::string& word : words) pointers.push_back(word.data());
  std::string why;
  static_cast<void>(parse(bench::Words(pointers), why));
}

}  // namespace

void fuzz_one_input(const std::uint8_t* data, std::size_t n) {
  Input input(data, n);
  const unsigned which = input.below(5);
  const std::size_t pes = 1 + input.below(4);
  std::vector<std::string> words = input.lines();
  if (which == 0) {
    const oshrun::ParseResult parsed = oshrun::parse_options(words, pes == 1 ? words.front() : std::string());
    if (parsed.kind == oshrun::ParseResult::Kind::kRun) static_cast<void>(parsed.options.roster());
  } else if (which == 1) {
    bench::AtomicsOptions options;
    parse_words_of(words,
                   [&](bench::Words given, std::string& why) { return parse(given, pes, options, why); });
  } else if (which == 2) {
    bench::KvOptions options;
    parse_words_of(words, [&](bench::Words given, std::string& why) { return parse(given, options, why); });
  } else if (which == 3) {
    bench::NvmOptions options;
    const bench::JobShape job{pes, 1 + pes / 2};
    parse_words_of(words,
                   [&](bench::Words given, std::string& why) { return parse(given, job, options, why); });
  } else {
    bench::PagingOptions options;
    parse_words_of(words, [&](bench::Words given, std::string& why) { return parse(given, options, why); });
  }
}

}  // namespace shm::fuzz
