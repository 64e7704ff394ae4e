// SPDX-License-Identifier: BSD-3-Clause
// What the subcommands of shmem_bench share.  Each is called by all PEs, between shmem_init and
// shmem_finalize.
#pragma once

#include <span>
#include <string_view>

namespace bench {

/// The words that follow the name of the subcommand.
using Words = std::span<char* const>;

/// A subcommand returns the exit code of its PE.
struct Command {
  std::string_view name;
  std::string_view does;
  int (*run)(Words words);
};

int atomics(Words words);
int coll(Words words);
int init(Words words);
int kv(Words words);
int lock(Words words);
int nvm(Words words);
int paging(Words words);
int rma(Words words);
int signal(Words words);

/// The one that is no part of a job.
int compare(Words words);

/// What `init` says of the first start: seconds of this PE.
void note_start(double seconds);

}  // namespace bench
