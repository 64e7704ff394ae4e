#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Named tables that grow (grown.c), in jobs that are killed: at random instants, and while a segment is split.
#
#   grown.sh <folder> <oshrun> <kv_grown> <shmem_nvm>
set -eu
objects=$1 oshrun=$2 program=$3 nvm=$4
export SHMEM_HEAP="nvm:$objects" SHMEM_NVM_PAGE=16k SHMEM_NVM_CACHE=1m
rm -rf "$objects"
mkdir "$objects"

run() { "$oshrun" --timeout 100 "$@"; }

# Has jobs killed until `wanted` of them have said `line`, of at most `most`.
#   killed <wanted> <most> <line> <epochs> <kill>
killed() {
  had=0 jobs=0
  while [ "$had" -lt "$1" ]; do
    if [ "$jobs" -eq "$2" ]; then
      echo "$had of $jobs jobs said '$3', not $1"
      exit 1
    fi
    jobs=$((jobs + 1))
    if run -n 2 --virtual-nodes $((jobs % 2 + 1)) "$program" "$4" "$5" 2>"$objects.said"; then
      continue
    fi
    if ! grep -q SIGALRM "$objects.said"; then
      cat "$objects.said"
      exit 1
    fi
    if grep -q "$3" "$objects.said"; then had=$((had + 1)); fi
  done
  echo "$had of $jobs jobs: $3"
}

# The third epoch has the first split, and the table is not persisted before it ends: each job splits again.
run -n 2 "$program" 2 0
killed 6 10 'dies while it splits' 1 split
killed 4 40 SIGALRM 3 40000
run -n 2 "$program" 3 0
run -n 2 --virtual-nodes 2 "$program" 1 0
run -n 2 "$program" 0 0 >"$objects.found"
cat "$objects.found"
test "$(sed -nE 's/^found .* of ([0-9]+) slots/\1/p' "$objects.found")" -gt 5000
"$nvm" check "$objects"
