// SPDX-License-Identifier: BSD-3-Clause
// main() of each program of unit tests, which also share the compiled headers of GoogleTest that this is
// compiled with.
#include <gmock/gmock.h>

int main(int argc, char** argv) {
  testing::InitGoogleMock(&argc, argv);
  return RUN_ALL_TESTS();
}
