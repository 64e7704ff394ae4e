// SPDX-License-Identifier: BSD-3-Clause
// shmem_bench: how fast things are here.  A subcommand for each thing; PE 0 prints.
#include <shmem.h>

#include <cstdio>
#include <cstdlib>

#include "command.hpp"
#include "measure.hpp"

namespace {

constexpr bench::Command kCommands[] = {
    {"rma", "puts and gets, by size", bench::rma},
    {"signal", "messages there and back, by size", bench::signal},
    {"coll", "collective operations, by size", bench::coll},
    {"lock", "locks, wanted by one and by all", bench::lock},
    {"init", "starting the library, and what is made then", bench::init},
    {"atomics", "atomic operations in eight access patterns", bench::atomics},
    {"kv", "the key/value store: gets, inserts, batches, how they scale, by the number of elements",
     bench::kv},
    {"nvm", "pages of the heap on NVM: misses, gets, false sharing, and what is in memory", bench::nvm},
    {"paging", "memory on memory servers: faults, the micro-benchmark of the paper, STREAM", bench::paging},
    {"compare", "what two runs with --json have measured; without a job", bench::compare},
};

bool is_help(const char* word) {
  return std::string_view(word) == "-h" || std::string_view(word) == "--help";
}

void print_usage(FILE* out) {
  std::fputs("usage: oshrun -n 4 [--virtual-nodes 2] shmem_bench COMMAND [options]\n", out);
  for (const bench::Command& command : kCommands) {
    std::fprintf(out, "  %-10.*s %.*s\n", static_cast<int>(command.name.size()), command.name.data(),
                 static_cast<int>(command.does.size()), command.does.data());
  }
  std::fputs("'shmem_bench COMMAND --help' has the options.\n", out);
}

int usage(FILE* out, int code) {
  if (shmem_my_pe() == 0) print_usage(out);
  return code;
}

int dispatch(bench::Words words) {
  if (words.size() < 2) return usage(stderr, 2);
  const std::string_view name = words[1];
  for (const bench::Command& command : kCommands) {
    if (name == command.name) return command.run(words.subspan(2));
  }
  if (is_help(words[1])) return usage(stdout, 0);
  if (shmem_my_pe() == 0) std::fprintf(stderr, "shmem_bench: there is no command '%s'\n", words[1]);
  return usage(stderr, 2);
}

/// Threads of a PE call the library where --threads of `kv` says so; what else is measured needs no more than
/// what shmem_init gives.
bool has_threads(bench::Words words) {
  if (words.size() < 2 || std::string_view(words[1]) != "kv") return false;
  for (const char* word : words.subspan(2)) {
    if (std::string_view(word).substr(0, 9) == "--threads") return true;
  }
  return false;
}

}  // namespace

int main(int argc, char** argv) {
  const bench::Words words{argv, static_cast<std::size_t>(argc)};
  if (argc > 1 && std::string_view(argv[1]) == "compare") return bench::compare(words.subspan(2));
  if (argc > 1 && is_help(argv[1]) && std::getenv("PMIX_NAMESPACE") == nullptr) {  // nobody else says it
    print_usage(stdout);
    return 0;
  }
  const bool times_start = argc > 1 && std::string_view(argv[1]) == "init";
  const double begin = times_start ? bench::now() : 0;
  int provided = SHMEM_THREAD_SINGLE;
  if (has_threads(words)) {
    shmem_init_thread(SHMEM_THREAD_MULTIPLE, &provided);
  } else {
    shmem_init();
  }
  if (times_start) bench::note_start(bench::now() - begin);
  const int code = dispatch(words);
  shmem_finalize();
  return code;
}
