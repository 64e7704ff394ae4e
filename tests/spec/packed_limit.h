/* SPDX-License-Identifier: BSD-3-Clause */
/* What travels in packets, for programs in C that must use both sides of it. */
#pragma once

/* Largest put and get that SHMEM_PACK=all packs, in bytes: nic::kLargestPacked, which
 * tests/unit/transports/nic_packing_test.cpp compares with this. */
enum { kPackedUpTo = 4096 };
