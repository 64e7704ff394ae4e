#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: skipped_test.sh SKIPPED: what .ci/skipped says of logs that are made here.
set -euo pipefail

skipped=$1
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
fail() { echo "FAILED: $*" >&2; exit 1; }
# said CODE: with what is in $out/log and $out/list.
said() {
  local code=0
  text=$("$skipped" "$out/log" "$out/list" 2>&1) || code=$?
  [ $code -eq "$1" ] || fail "exit code $code instead of $1: $text"
}

printf '# names\n\nmpi\\.(a|b)  not installed here\n' >"$out/list"
log() { # the tests that did not run, then one that failed
  { printf '98%% tests passed, 1 tests failed out of 50\n\nThe following tests did not run:\n'
    printf '\t%d - %s (Skipped)\n' "$@"
    printf '\nThe following tests FAILED:\n\t 77 - kv.gets (Failed)\nErrors while running CTest\n'; } >"$out/log"
}
log 9 mpi.a 10 mpi.b
said 0
[ "$text" = "$(printf 'skipped: mpi.%s (not installed here)\n' a b)" ] || fail "$text"
log 9 mpi.a 11 mpi.ab
said 1
[ "$text" = "$(printf 'skipped: mpi.a (not installed here)\nSKIPPED, and not in list: mpi.ab')" ] || fail "$text"
log 1234 other
sed -i 's/^\t/\x1b[0;33m\t/; s/)$/)\x1b[0m/' "$out/log"
said 1
[ "$text" = "SKIPPED, and not in list: other" ] || fail "in colours: $text"
printf '100%% tests passed, 0 tests failed out of 3\n\nTotal Test time (real) = 1.00 sec\n' >"$out/log"
said 0
[ -z "$text" ] || fail "nothing was skipped: $text"
log 9 mpi.a
echo 'mpi\.a' >"$out/list"
said 2
[[ $text == *"has no reason"* ]] || fail "$text"

# What ctest itself writes is read in the same way.
echo 'mpi\.a  not installed here' >"$out/list"
mkdir "$out/tree"
cat >"$out/tree/CTestTestfile.cmake" <<'END'
add_test(passes true)
add_test(cannot sh -c "exit 77")
set_tests_properties(cannot PROPERTIES SKIP_RETURN_CODE 77)
END
(cd "$out/tree" && "${CTEST:-ctest}") >"$out/log"
said 1
[ "$text" = "SKIPPED, and not in list: cannot" ] || fail "$text in $(cat "$out/log")"
# And the list of the tree is one.
"$skipped" "$out/log" >/dev/null 2>"$out/err" || true
[ ! -s "$out/err" ] || fail "$(cat "$out/err")"
