#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# check_death.sh CODE PATTERN LAUNCHER ARGUMENTS...: runs a job one of whose PEs dies (dying.c), and checks that it
# ends by itself with CODE and one line that matches PATTERN, and leaves nothing behind.
code=$1 pattern=$2
shift 2
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

give_up() {
  echo "$1"
  cat "$directory/out" "$directory/err"
  exit 1
}

"$@" >"$directory/out" 2>"$directory/err"
status=$?

[ $status -eq "$code" ] || give_up "the exit code is $status and should be $code"
# The report of the crash (crash_test.py) comes before that line.
crash='^atoll: [^:]*: (  [#(]|SIG[A-Z]*( in [a-z_0-9]*)?: )'
said=$(grep -E '^(oshrun|atoll):' "$directory/err" | grep -cvE "$crash")
[ "$said" -eq 1 ] || give_up "one line should have been said, not $said"
grep -E '^(oshrun|atoll):' "$directory/err" | grep -vE "$crash" | grep -qE "$pattern" || give_up "the line should match: $pattern"

case $* in
  *" exit"*) [ "$(grep -c '^last words$' "$directory/out")" -eq 1 ] || give_up "what exit() should write is not there" ;;
esac

job=$(sed -n 's/^job //p' "$directory/out")
[ -n "$job" ] || give_up "the job did not say its name"
left=$(find /dev/shm "${TMPDIR:-/tmp}" -maxdepth 1 -name "*$job*" 2>/dev/null)
[ -z "$left" ] || give_up "files are left: $left"
for process in $(sed -n 's/^process //p' "$directory/out"); do
  # A process that is gone or waits for its parent to take notice is fine.
  case $(sed -n 's/^State:[[:space:]]*//p' "/proc/$process/status" 2>/dev/null) in
    '' | Z*) ;;
    *) give_up "process $process is left" ;;
  esac
done
exit 0
