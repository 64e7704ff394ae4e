// SPDX-License-Identifier: BSD-3-Clause
// The start of the program: behind its constructors, before its main.
#include "next.hpp"
#include "statics.hpp"

namespace remote_malloc {
namespace {

using Main = int(int, char**, char**);
constinit Next<int(Main*, int, char**, void (*)(), void (*)(), void (*)(), void*)> next_libc_start_main(
    "__libc_start_main");
constinit Main* programs_main = nullptr;

int begin(int count, char** arguments, char** environment) {
  statics::before_main();
  return programs_main(count, arguments, environment);
}

}  // namespace
}  // namespace remote_malloc

REMOTE_MALLOC_WRAPPER int __libc_start_main(int (*program)(int, char**, char**), int count, char** arguments,
                                            void (*construct)(), void (*destruct)(), void (*end_linker)(),
                                            void* stack) {
  using namespace remote_malloc;
  programs_main = program;
  return next_libc_start_main(begin, count, arguments, construct, destruct, end_linker, stack);
}
