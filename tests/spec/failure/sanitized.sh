#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# sanitized.sh OSHRUN OSHCC PROGRAM.c: a correct program that is compiled with a sanitizer, by somebody who sets nothing,
# ends with 0 and says nothing on standard error.  77: the compiler has no sanitizers.
oshrun=$1 oshcc=$2 program=$3
unset ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
for sanitizer in address thread; do
  "$oshcc" -g "-fsanitize=$sanitizer" "$program" -o "$directory/program" 2>"$directory/err" || exit 77
  for nodes in 1 2; do
    SHMEM_SYMMETRIC_SIZE=16m "$oshrun" -n 2 --virtual-nodes $nodes --timeout 50 "$directory/program" >"$directory/out" 2>"$directory/err"
    status=$?
    [ $status -eq 0 ] && [ ! -s "$directory/err" ] && continue
    echo "$sanitizer on $nodes nodes: exit code $status"
    cat "$directory/out" "$directory/err"
    exit 1
  done
done
