#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: arguments.sh OSHRUN PROGRAM
# A test of the examples of graphs: wrong arguments give one line of one PE and exit code 2, right ones a result.
set -euo pipefail
oshrun=$1 program=$2

fail() { echo "FAILED: $*" >&2; exit 1; }

for arguments in --help abc -1 0 25 40 "4 0" "4 65" "4 4 0" "4 4 4 4" "4x" "''"; do
  [ "$arguments" = "''" ] && words=('') || read -ra words <<<"$arguments"
  code=0
  said=$("$oshrun" -n 2 --timeout 20 "$program" "${words[@]}" 2>&1) || code=$?
  [ "$code" -eq 2 ] || fail "exit code $code, not 2, of: $arguments: $said"
  [ "$(grep -c '^usage: .*1 to 24 .*1 to 64' <<<"$said")" -eq 1 ] || fail "not one usage line of: $arguments: $said"
done
said=$("$oshrun" -n 2 --timeout 20 "$program" 4 4) || fail "4 4: $said"
code=0
said=$("$oshrun" -n 2 --timeout 20 -x SHMEM_SYMMETRIC_SIZE=1m "$program" 20 1 2>&1) || code=$?
[ "$code" -eq 1 ] || fail "exit code $code, not 1, without room: $said"
[ "$(grep -c '^no room for .* bytes' <<<"$said")" -eq 1 ] || fail "not one line about the room: $said"
