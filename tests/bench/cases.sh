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

# refused MESSAGE ARGUMENTS: exit code 2, and one line of one PE, which has MESSAGE.
refused() {
  local message=$1
  shift
  bench 2 "$@"
  expect "$message"
  [ "$(grep -vc '^oshrun: ' said)" -eq 1 ] || fail "not one line of: $*: $(cat said)"
}

case_usage() {
  bench 0 --help
  expect "  atomics "
  bench 2
  [ "$(grep -c usage said)" -eq 1 ] || fail "not one PE speaks: $(cat said)"
  bench 2 nonsense
  expect "there is no command 'nonsense'"
  bench 0 atomics --help
  expect "--pattern"
  [ "$(grep -c usage said)" -eq 1 ] || fail "not one PE speaks: $(cat said)"
  refused "there is no option '--nonsense'; --help has" atomics --nonsense
  refused "there is no option 'RAND'; --help has" atomics RAND
  refused "--memory needs a value: a number of bytes" atomics --memory
  refused "--pattern must be RAND, STRIDE1, STRIDEN, PTRCHASE, " atomics --pattern RAND,NONE
  refused "--form must be blocking, nonfetching, nbi, or several with commas, not 'all'" atomics --form all
  refused "--rounds must be a number from 1 to 1000000000, not '0'" atomics --rounds 0
  refused "--seconds must be more than 0 and at most 3600, such as 0.02, not '1x'" atomics --seconds=1x
  refused "at most 3600, such as 0.02, not '3601'" atomics --seconds 3601
  refused "--json takes no value" atomics --json=1
  local memory
  for memory in -1 8x m 0 99999999t; do
    refused "8192k, 8m or 1g, not '$memory'" atomics --memory "$memory"
  done
}

# The first and the last value of each option, and those beyond; what follows is looked at only when these are allowed.
case_limits() {
  local all="there is no option '--end'"
  refused "$all" atomics --memory 1024t --iterations 1000000000 --stride 1000000000 --distance 1000000000 --count 1 \
    --rounds 1000000000 --seconds 3600 --end
  refused "--memory must be" atomics --memory 1025t
  refused "--iterations must be" atomics --iterations 1000000001
  refused "--seconds must be" atomics --seconds 3600.1
  refused "--seconds must be" atomics --seconds 0
  refused "--seconds must be" atomics --seconds ""
  refused "$all" kv --elements 100,100000000 --key 65536 --value 1048576 --values 8,1048576 --batch 1,1000000 --end
  refused "$all" kv --threads 256 --depth 4096 --churn 1000000000 --load 0.01,0.96 --zipf 0.999 --ycsb A,F --wait 3600 --end
  refused "$all" kv --zipf 0 --end
  refused "--threads must be a number from 1 to 256, not '257'" kv --threads 257
  refused "--depth must be a number from 1 to 4096, not '4097'" kv --depth 4097
  refused "--churn must be" kv --churn 0
  refused "--load must be" kv --load 0.97
  refused "--load must be" kv --load 0.5,
  refused "--zipf must be" kv --zipf 1
  refused "--wait must be" kv --wait 0
  refused "--elements must be" kv --elements 99
  refused "--elements must be" kv --elements 100000001
  refused "--key must be" kv --key 65544
  refused "--value must be" kv --value 1048584
  refused "--values must be" kv --values 8,1048584
  refused "--values must be multiples of 8 from 8 to 1048576, with commas, not '8,12'" kv --values 8,12
  refused "--batch must be a number from 1 to 1000000, or several with commas, not '1000001'" kv --batch 1000001
  refused "$all" nvm --pages 1000000000 --pool 1000000000 --page 4096 --size 8 --memory 4k --end
  refused "--pool must be a number from 1 to 1000000000, not '1000000001'" nvm --pool 1000000001
  environment=(-x SHMEM_NVM_DIR="$out")
  refused "--page must be a power of two from 4096" nvm --page 2k
}

# Options that are right one by one and do not fit together.
case_together() {
  refused "2048 iterations with a stride of 9 words need 147392 bytes" atomics --memory 147391 --iterations 2048
  refused "2048 iterations need 16384 bytes" atomics --memory 8 --iterations 2048 --pattern RAND
  bench 0 atomics --memory 16k --iterations 2048 --pattern RAND --count 100
  refused "--distance 2 is not less than the number of PEs, 2" atomics --distance 2
  refused "nothing to measure: PTRCHASE has only --form blocking" atomics --pattern PTRCHASE --form nbi
  refused "nothing to measure: --kind cas has no" atomics --pattern RAND --kind cas --form nonfetching
  bench 1 atomics --memory 1t
  expect "need 1099512676360 bytes, for which the symmetric heap has no room"
}

# What is said beside the rows fits what runs.
case_words() {
  bench 0 atomics --memory 1M --iterations 2048 --count 100 --rounds 1 --pattern RAND --form blocking
  expect "2 PEs on 1 node; --memory 1048576 --iterations 2048 --stride 9 --distance 1"
  expect "median of 1 round"
  expect "kernel        form             all PEs        GAMS        best  slowest PE quickest PE"
  bench 0 atomics --count 10 --pattern CENTRAL --kind add --form blocking --session --distance 0 # and the usage's defaults
  expect "2 PEs on 1 node, in a session; --memory 8388608 --iterations 65536 --stride 9 --distance 0"
  expect "median of 3 rounds"
  if grep -q -e PTRCHASE -e "1 rounds" said; then fail "says too much: $(cat said)"; fi
  bench 0 atomics "${quick[@]}" --count 100 --pattern RAND
  expect "--kind cas has no --form nonfetching"
  if grep -q PTRCHASE said; then fail "says too much: $(cat said)"; fi
  environment=(-n 1 -x SHMEM_AMO=)
  bench 0 atomics "${quick[@]}" --count 100 --pattern RAND
  expect "1 PE on 1 node;"
  environment=(--virtual-nodes 2 -x SHMEM_AMO=)
  bench 0 atomics "${quick[@]}" --count 100 --pattern RAND
  expect "2 PEs on 2 nodes, SHMEM_AMO=auto;"
  bench 0 atomics "${quick[@]}" --count 100 --pattern RAND --json
  expect '"amo": "auto"'
  environment=(--virtual-nodes 2 -x SHMEM_AMO=native)
  bench 0 atomics "${quick[@]}" --count 100 --pattern RAND --json
  expect '"amo": "native"'
}

# Each pattern has a row in each form that it has, as a table and as JSON.
case_rows() {
  bench 0 atomics "${quick[@]}" --count 3000
  [ "$(grep -cE '^[A-Z0-9]+_(ADD|CAS) ' said)" -eq 37 ] || fail "not 37 rows: $(cat said)"
  bench 0 atomics "${quick[@]}" --count 3000 --rounds 3 --json --pattern=SG,PTRCHASE --kind=add
  [ "$(grep -c '^{' said)" -eq 5 ] || fail "not 4 lines and the environment: $(cat said)"
  python3 - <<'END'
import json
rows = [json.loads(line) for line in open("said", encoding="utf-8") if line.startswith('{"kernel"')]
assert [row["form"] for row in rows] == ["blocking", "blocking", "nonfetching", "nbi"], rows
assert [row["atomics"] for row in rows] == [6000, 24000, 24000, 24000], rows
assert all(row["right"] and row["pes"] == 2 and row["mamos"] > 0 and not row["session"] for row in rows), rows
for row in rows:
    assert abs(row["gams"] * 1000 - row["mamos"]) <= 1e-5 * row["mamos"], row
    assert row["mamos"] <= row["best_mamos"] and row["slowest_pe_mamos"] <= row["quickest_pe_mamos"], row
    assert row["mamos"] <= 2.00001 * row["slowest_pe_mamos"], row  # of both PEs, with the barrier
END
}

# wrong WHAT PATTERN KIND FORM WORDS: what goes wrong once is found.
wrong() {
  environment=(-x WRONG="$1" -x LD_PRELOAD="$WRONG_LIBRARY")
  bench 1 atomics "${quick[@]}" --count 2000 --pattern "$2" --kind "$3" --form "$4"
  expect "$5"
  expect WRONG
  expect "shmem_bench: 1 results are wrong"
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

on_nvm() { environment=(-x SHMEM_NVM_DIR="$out" -x SHMEM_NVM_PAGE=16k -x SHMEM_NVM_CACHE=256k -x SHMEM_NVM_SIZE=16m "$@"); }
quick_nvm=(--seconds 0.001 --rounds 2 --memory 32k)

case_nvm_usage() {
  bench 0 nvm --help
  expect "--kernel"
  refused "nothing is on NVM: set SHMEM_NVM_DIR=<folder>" nvm
  refused "--kernel must be miss, gets, sharing, computing, faults, cached, several with commas, or all, not 'x'" nvm --kernel x
  refused "--dram takes no value" nvm --dram=1
  environment=(-x SHMEM_NVM_DIR="$out")
  refused "must know how many pages fit into memory: set SHMEM_NVM_CACHE" nvm --kernel miss
  bench 0 nvm --kernel sharing "${quick_nvm[@]}"
  environment=(-x SHMEM_NVM_DIR="$out" -x SHMEM_NVM_CACHE=1.5g)
  refused "SHMEM_NVM_CACHE is '1.5g', but what is measured must know it: write it as a number of bytes such as 8388608, \
8192k, 8m or 1g, or add --pool" nvm
  environment=(-x SHMEM_NVM_DIR="$out" -x SHMEM_NVM_PAGE=0.25m)
  refused "SHMEM_NVM_PAGE is '0.25m', but what is measured must know it" nvm
  expect "or add --page"
  on_nvm
  refused "--pages 9 is too many for miss and faults: half of the pool, 8 pages, at most" nvm --pages 9
  refused "--page must be a power of two from 4096" nvm --page 10k
  refused "--size must be a multiple of 8 bytes" nvm --size 9
  refused "--bytes must be from 1 to 8192, as all PEs share a page" nvm --kernel sharing --bytes 16385
  bench 0 nvm --kernel sharing --bytes 8k "${quick_nvm[@]}"
  refused "--size must be a multiple of 8 bytes, and --memory one of --size" nvm --size 3k --memory 16k
  bench 1 nvm --kernel gets --pages 10000
  expect "the symmetric heap has no room for 10000 pages of 16384 bytes"
  # Not the files of the heap, only what is said.
  [ "$(ls)" = said ] || fail "leaves files: $(ls)"
}

# The rows that each job has, and that what is measured is what it is called.
case_nvm_rows() {
  on_nvm -n 3 --virtual-nodes 3
  bench 0 nvm "${quick_nvm[@]}"
  expect "3 PEs on 3 nodes, on NVM; pages of 16384 bytes, 16 of a node in memory; median of 2 rounds"
  expect "$(printf '%-36s %12s %12s %12s' "miss, 4 pages" MB/s us/page "NVM reads")"
  expect "$(printf '%-36s %12s %12s %12s' "gets, 8 pages" MB/s us/page "NVM reads")"
  expect "$(printf '%-36s %12s %12s' "sharing, 1 page" "1000 puts/s" us/put)"
  expect "$(printf '%-36s %12s %12s' "computing, 8 pages" million/s "% of a core")"
  expect "$(printf '%-36s %12s %12s %12s' "faults, 4 pages" 1000/s us/access "by the pager")"
  expect "$(printf '%-36s %12s %12s %12s' "cached, 2 pages" MB/s ns "in memory ns")"
  bench 0 nvm "${quick_nvm[@]}" --json --kernel=all
  python3 - <<'END'
import json
rows = {(row["kernel"], row["what"]): row for row in (
    json.loads(line) for line in open("said", encoding="utf-8") if line.startswith('{"kernel"'))}
assert len(rows) == 20, rows
assert all(row["right"] and row["nvm"] and row["pes"] == 3 and row["rate"] > 0 for row in rows.values()), rows
assert rows["miss", "from NVM"]["nvm_reads"] > 0.9, rows
assert rows["miss", "from home's memory"]["nvm_reads"] < 0.5, rows
# Two PEs get each page: one read for both is the least, and what either of them gets is read for it at most once.
assert 0.4 < rows["gets", "sequential"]["nvm_reads"] <= 1, rows
assert all(row["beside"] > 0 for row in rows.values() if row["kernel"] == "cached"), rows
assert all(row["page"] == 16384 and row["pool"] == 16 for row in rows.values()), rows
END
  on_nvm
  bench 0 nvm "${quick_nvm[@]}" --kernel miss
  expect "from a third node's memory: needs 3 nodes"
  environment=()
  bench 0 nvm "${quick_nvm[@]}" --dram --json
  [ "$(grep -c '^{' said)" -eq 18 ] || fail "not 17 lines and the environment: $(cat said)"
  bench 0 nvm "${quick_nvm[@]}" --dram --kernel miss
  if grep -q "third node" said; then fail "says too much: $(cat said)"; fi
}

# wrong_nvm WHAT KERNEL WORDS
wrong_nvm() {
  on_nvm -x WRONG="$1" -x LD_PRELOAD="$WRONG_LIBRARY"
  bench 1 nvm "${quick_nvm[@]}" --kernel "$2"
  expect "$3"
  expect WRONG
}

case_nvm_wrong() {
  wrong_nvm got miss "of page "
  wrong_nvm got gets "of page "
  wrong_nvm forgotten sharing "of the shared page is "
  wrong_nvm got cached "left or saw wrong data"
  wrong_nvm stale cached "left or saw wrong data"
}

quick_kv=(--seconds 0.001 --rounds 1 --elements 500 --batch 1,16 --churn 5000 --wait 0.01)

case_kv_usage() {
  bench 0 kv --help
  expect "--kernel"
  refused "--kernel must be pingpong, get, insert, update, mixed, batch, scale, throughput, latency, threads, nbi, tail, wait, load, churn, full, ycsb, several" kv --kernel x
  refused "--elements must be a number from 100 to 100000000, or several with commas, not '1000,50'" kv --elements 1000,50
  refused "--value must be a multiple of 8 from 8 to 1048576, not '12'" kv --value 12
  refused "--key must be a multiple of 8 from 8 to 65536, not '0'" kv --key 0
  refused "--values must be multiples of 8" kv --values 8,
  refused "--batch must be a number from 1 to 1000000" kv --batch 0
  refused "--load must be a part from 0.01 to 0.96, or several with commas, not '0.5,1'" kv --load 0.5,1
  refused "--load must be a part" kv --load 0x1p-1
  refused "--zipf must be an exponent from 0 to 0.999, not '-1'" kv --zipf -1
  refused "--ycsb must be A, B, C, D, E, F, or several with commas, not 'G'" kv --ycsb G
  environment=(-x SHMEM_SYMMETRIC_SIZE=4m)
  bench 1 kv --kernel get --elements 1000000
  expect "there is no table with so many elements, with keys of 8 bytes;"
}

# The rows that each job has, as a table and as JSON.
case_kv_rows() {
  bench 0 kv "${quick_kv[@]}"
  expect "2 PEs on 1 node; keys of 8 bytes, values of 8; median of 1 round"
  expect "get, absent, on node"
  if grep -q "off node" said; then fail "there is one node: $(cat said)"; fi
  bench 0 kv "${quick_kv[@]}" --kernel update --key 16 --value 24 --rounds 2
  expect "keys of 16 bytes, values of 24; median of 2 rounds"
  expect "update                      elements   value  batch  readers      ns each    million/s"
  bench 0 kv "${quick_kv[@]}" --kernel threads --threads=3
  [ "$(grep -c "get, on node" said)" -eq 3 ] || fail "not 1, 2, 3 threads: $(cat said)"
  bench 0 kv "${quick_kv[@]}" --kernel load,churn --load 0.25,0.9 --key 24 --value 40 # in blocks
  [ "$(grep -c "on node" said)" -eq 16 ] || fail "not 16 rows: $(cat said)"
  bench 0 kv "${quick_kv[@]}" --kernel ycsb --ycsb=A,E --zipf 0
  [ "$(grep -c "on node" said)" -eq 2 ] || fail "not 2 rows: $(cat said)"
  environment=(-n 4 --virtual-nodes 2)
  bench 0 kv "${quick_kv[@]}" --key 16 --value 24 --values 8,512 --json
  python3 - <<'END'
import collections, json
rows = [json.loads(line) for line in open("said", encoding="utf-8") if line.startswith('{"kernel"')]
assert all(row["right"] and row["pes"] == 4 and row["nodes"] == 2 and row["ns"] > 0 for row in rows), rows
assert all(row["key"] == 16 and row["elements"] == 500 for row in rows
           if row["kernel"] not in ("pingpong", "load", "churn", "full")), rows
assert all(abs(row["rate"] * row["ns"] - 1000 * row["readers"]) <= 0.1 for row in rows), rows
found = collections.Counter((row["kernel"], row["where"]) for row in rows)
expected = {("throughput", "off node"): 1, ("mixed", "off node"): 1, ("scale", "on node"): 2, ("threads", "on node"): 1,
            ("load", "on node"): 12, ("churn", "on node"): 20, ("full", "on node"): 4, ("ycsb", "off node"): 6}
for where in ("on node", "off node"):
    expected |= {(kernel, where): count for kernel, count in
                 (("pingpong", 3), ("get", 3), ("insert", 1), ("update", 1), ("batch", 6), ("latency", 2), ("nbi", 3), ("tail", 2),
                  ("wait", 1))}
assert found == expected, found
assert [row["value"] for row in rows if row["kernel"] == "latency"] == [8, 8, 512, 512], rows
assert [row["readers"] for row in rows if row["kernel"] == "scale"] == [1, 2], rows
assert all(0 < row["median"] <= row["p99"] <= row["p99_9"] <= row["p99_99"] <= row["longest"] for row in rows
           if row["kernel"] == "tail"), rows
assert all(row["ns"] >= 1e7 for row in rows if row["kernel"] == "wait"), rows
assert all(row["ratio"] <= 4 for row in rows if row["kernel"] == "wait" and row["where"] == "off node"), rows
loads = [row for row in rows if row["kernel"] == "load"]
assert [round(row["ratio"], 2) for row in loads[::3]] == [0.5, 0.75, 0.9, 0.95], loads
full = [row for row in rows if row["kernel"] == "full"]
assert full[0]["elements"] == full[1]["elements"] and "ratio" not in full[0] and full[1]["ratio"] > 0, full
END
}

# wrong_kv WHAT KERNEL WORDS
wrong_kv() {
  environment=(-x WRONG="$1" -x LD_PRELOAD="$WRONG_LIBRARY")
  bench 1 kv "${quick_kv[@]}" --kernel "$2"
  expect "$3"
  expect WRONG
  [ "$(grep -cF "PE 0: $3" said)" -le "$(grep -c WRONG said)" ] || fail "says it more than once: $(cat said)"
}

case_kv_wrong() {
  wrong_kv kv_ball pingpong "a ball had a wrong value"
  wrong_kv kv_got get "a get had a wrong status or value"
  wrong_kv kv_got scale "a get had a wrong status or value"
  wrong_kv kv_got throughput "a get had a wrong status or value"
  wrong_kv kv_got latency "a get had a wrong status or value"
  wrong_kv kv_found get "a key was found that nobody has put"
  wrong_kv kv_lost insert "an insert left a wrong value"
  wrong_kv kv_stale update "an update left a wrong value"
  wrong_kv kv_stale mixed "changes left a wrong value"
  wrong_kv kv_batch batch "a batch had a wrong status or value"
  wrong_kv kv_short batch "an insert left a wrong value"
  wrong_kv kv_got threads "a get of a thread had a wrong status or value"
  wrong_kv kv_later nbi "a nonblocking get had a wrong status or value"
  wrong_kv kv_got tail "a timed call had a wrong status or value"
  wrong_kv kv_stale tail "get of key"
  wrong_kv kv_waited wait "a get that waited had a wrong status or value"
  wrong_kv kv_got load "a get had a wrong status or value"
  wrong_kv kv_lost load "there is a wrong number of elements"
  wrong_kv kv_kept churn "there is a wrong number of elements"
  wrong_kv kv_kept full "there is a wrong number of elements"
  wrong_kv kv_found full "a key was found that nobody has put"
  wrong_kv kv_got ycsb "a wrong status or value"
  wrong_kv kv_lost ycsb "D: 5 % inserts: a wrong status or value"
}

"case_${1:?which case?}"
