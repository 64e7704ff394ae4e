/* SPDX-License-Identifier: BSD-3-Clause */
/* A program for the DLM: its micro-benchmark, small. */
#include <dlm.h>
#include <stdint.h>
#include <stdio.h>

int main(int argc, char** argv) {
  const size_t count = ((size_t)48 << 20) / sizeof(uint64_t), step = ((size_t)1 << 20) / sizeof(uint64_t);
  dlm_startup(&argc, &argv);
  uint64_t* const data = dlm_alloc(count * sizeof *data);
  for (size_t i = 0; i < count; ++i) data[i] = i;
  size_t wrong = 0;
  for (int pass = 0; pass < 3; ++pass) {
    for (size_t i = 0; i < count; i += step) wrong += data[i] != i;
  }
  if (wrong != 0) fprintf(stderr, "%zu words are wrong\n", wrong);
  dlm_shutdown();
  return wrong != 0;
}
