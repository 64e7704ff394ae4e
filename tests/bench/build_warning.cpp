// SPDX-License-Identifier: BSD-3-Clause
// Prints what shmem_bench says of being built as this program is (CMakeLists.txt).
#include <cstdio>

#include "bench/environment.hpp"

namespace bench {
extern const char* const kCommit;
const char* const kCommit = "none";
}  // namespace bench

int main() { std::puts(bench::build_warning()); }
