// SPDX-License-Identifier: BSD-3-Clause
// A target for libFuzzer, which has the main program.
#include "fuzz.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t n) {
  shm::fuzz::fuzz_one_input(data, n);
  return 0;
}
