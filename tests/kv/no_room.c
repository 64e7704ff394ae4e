/* SPDX-License-Identifier: BSD-3-Clause */
/* usage: kv_no_room <value_bytes> <capacity>
 *
 * A table for which there is no memory is refused on all PEs, and a line of PE 0 says why; the next one, which
 * is smaller, is made. */
#include "kv_check.h"

int main(int argc, char** argv) {
  CHECK_EQ(argc, 3);
  shmem_init();
  const shmemx_kv_options_t options = {
      .key_bytes = 8, .value_bytes = strtoul(argv[1], NULL, 10), .capacity = strtoull(argv[2], NULL, 10)};
  shmemx_kv_t kv = NULL;
  memset(&kv, 0xff, sizeof kv);
  CHECK_EQ(shmemx_kv_create(&options, &kv), SHMEMX_KV_FULL);
  CHECK(kv == NULL);
  shmemx_kv_destroy(table_of(8, 8, 100));
  shmem_finalize();
  return 0;
}
