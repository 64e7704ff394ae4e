#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: OSHRUN=... BENCH=... WRONG_LIBRARY=... cases.sh CASE
# One test of shmem_bench, in the temporary folder that it makes.
set -euo pipefail

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
cd "$out"
environment=()
quick=(--memory 262144 --iterations 2048 --stride 3 --rounds 2)

fail() { echo "FAILED: $*" >&2; exit 1; }

# bench CODE ARGUMENTS: runs shmem_bench on 2 PEs, expects the exit code; what it says is in `said`.
bench() {
  local code=$1 found=0
  shift
  "$OSHRUN" -n 2 --timeout 60 "${environment[@]}" "$BENCH" "$@" >said 2>&1 || found=$?
  [ "$found" -eq "$code" ] || fail "exit code $found, not $code, of: $*: $(cat said)"
}
expect() { grep -qF -e "$1" said || fail "expected '$1' in: $(cat said)"; }

case_usage() {
  bench 0 --help
  expect "  atomics "
  bench 2
  bench 2 nonsense
  bench 0 atomics --help
  expect "--pattern"
  [ "$(grep -c usage said)" -eq 1 ] || fail "not one PE speaks: $(cat said)"
  local wrong
  for wrong in --nonsense "--pattern RAND,NONE" "--form all" "--rounds 0" "--seconds 1x" "--memory -1" --memory; do
    # shellcheck disable=SC2086
    bench 2 atomics $wrong
    expect "wrong option or value: ${wrong%% *}"
  done
  bench 2 atomics --memory 1024
  expect "no room"
}

# Each pattern has a row in each form that it has, as a table and as JSON.
case_rows() {
  bench 0 atomics "${quick[@]}" --count 3000
  [ "$(grep -cE '^[A-Z0-9]+_(ADD|CAS) ' said)" -eq 37 ] || fail "not 37 rows: $(cat said)"
  bench 0 atomics "${quick[@]}" --count 3000 --json --pattern=SG,PTRCHASE --kind=add
  [ "$(wc -l <said)" -eq 4 ] || fail "not 4 lines: $(cat said)"
  python3 - <<'END'
import json
rows = [json.loads(line) for line in open("said", encoding="utf-8")]
assert [row["form"] for row in rows] == ["blocking", "blocking", "nonfetching", "nbi"], rows
assert [row["atomics"] for row in rows] == [6000, 24000, 24000, 24000], rows
assert all(row["right"] and row["pes"] == 2 and row["mamos"] > 0 for row in rows), rows
END
}

# wrong WHAT PATTERN KIND FORM WORDS: what goes wrong once is found.
wrong() {
  environment=(-x WRONG="$1" -x LD_PRELOAD="$WRONG_LIBRARY")
  bench 1 atomics "${quick[@]}" --count 2000 --pattern "$2" --kind "$3" --form "$4"
  expect "$5"
  expect WRONG
}

case_wrong() {
  wrong lost RAND add nonfetching "RAND_ADD, nonfetching, PE 0: array["
  wrong lost CENTRAL add nonfetching "the change of the word is 3998 instead of 4000"
  wrong lost SG add nonfetching "the change of all arrays"
  wrong fetched STRIDEN add blocking "the sum of fetched values"
  wrong fetched CENTRAL add blocking "the sum of fetched values"
  wrong fetched GATHER add blocking "GATHER_ADD, blocking, PE 0"
  wrong twice SCATTER add nbi "SCATTER_ADD, nbi, PE 0"
  wrong swapped STRIDE1 cas blocking "STRIDE1_CAS, blocking, PE 0"
  wrong swapped PTRCHASE cas blocking "PTRCHASE_CAS, blocking, PE 0"
}

"case_${1:?which case?}"
