#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: run.sh FUZZER CORPUS FOUND
# Runs a fuzzer from the corpus on: 20,000 inputs, or ATOLL_FUZZ_SECONDS (5), whichever is less; with ATOLL_FUZZ_SECONDS of
# its own the time alone.  New inputs are kept in FOUND, and what crashes in FOUND/crashes: the next run begins with both.
set -euo pipefail

fuzzer=$1 corpus=$2 found=$3
mkdir -p "$found/crashes" "$found/corpus"
limits=(-runs=20000 -max_total_time=5 -seed=1)
[ -z "${ATOLL_FUZZ_SECONDS:-}" ] || limits=(-max_total_time="$ATOLL_FUZZ_SECONDS")
# Without what the library says of each input that it refuses: 2 is standard error, for all but libFuzzer's own reports.
export ASAN_OPTIONS=${ASAN_OPTIONS:-detect_leaks=1:allocator_may_return_null=1}
exec "$fuzzer" "${limits[@]}" -max_len=4096 -timeout=20 -rss_limit_mb=3000 -close_fd_mask=2 -print_final_stats=1 \
  -artifact_prefix="$found/crashes/" "$found/corpus" "$corpus" "$found/crashes"
