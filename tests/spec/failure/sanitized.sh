#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# sanitized.sh OSHRUN OSHCC PROGRAM.c: a correct program that is compiled with a sanitizer, by somebody who sets nothing,
# ends with 0 and says nothing on standard error.  77: the compiler, without Atoll, makes no program with sanitizers that runs.
oshrun=$1 oshcc=$2 program=$3
unset ASAN_OPTIONS LSAN_OPTIONS TSAN_OPTIONS
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
compiler=$("$oshcc" -showme:command) || exit 1
echo 'int main(void) { return 0; }' >"$directory/plain.c"
for sanitizer in address thread; do
  if ! $compiler "-fsanitize=$sanitizer" "$directory/plain.c" -o "$directory/plain" || ! "$directory/plain"; then
    echo "$compiler has no -fsanitize=$sanitizer"
    exit 77
  fi
done
for sanitizer in address thread; do
  if ! "$oshcc" -g "-fsanitize=$sanitizer" "$program" -o "$directory/program"; then
    echo "oshcc fails with -fsanitize=$sanitizer, and $compiler alone does not"
    exit 1
  fi
  for nodes in 1 2; do
    SHMEM_SYMMETRIC_SIZE=16m "$oshrun" -n 2 --virtual-nodes $nodes --timeout 50 "$directory/program" >"$directory/out" 2>"$directory/err"
    status=$?
    [ $status -eq 0 ] && [ ! -s "$directory/err" ] && continue
    echo "$sanitizer on $nodes nodes: exit code $status"
    cat "$directory/out" "$directory/err"
    exit 1
  done
done
