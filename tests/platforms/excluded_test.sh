#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: excluded_test.sh BUILD: the lists of tests that run.sh leaves out have tests of this tree, and a reason for each.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
# shellcheck source=tests/platforms/excluded.sh
. "$here/excluded.sh"
fail() { echo "FAILED: $*" >&2; exit 1; }

tests=$("${CTEST:-ctest}" --test-dir "$1" -C all -N | sed -nE 's/^ *Test *#[0-9]+: ([^ ]+).*/\1/p')
# exists NAME: by the sources if it is a unit test, as a program that is not built yet has no tests.
exists() {
  local folder suite test
  if [[ $1 =~ ^unit\.([^.]+)\.([^.]+)\.([^.]+)$ ]]; then
    folder=$here/../unit/${BASH_REMATCH[1]} suite=${BASH_REMATCH[2]} test=${BASH_REMATCH[3]}
    grep -qsE "^TEST(_F|_P)?\($suite, $test\)" "$folder"/*.cpp
  else
    grep -qxF "$1" <<<"$tests"
  fi
}
for list in "$here"/{debian13,arm64}.txt; do
  while read -r name reason; do
    [ -n "$name" ] && [[ $name != \#* ]] || continue
    exists "$name" || fail "$list: there is no test $name"
    [ -n "$reason" ] || fail "$list: $name has no reason"
  done <"$list"
done
for name in $(excluded_names "$here/arm64.txt"); do [[ $name == unit.*.*.* ]] || fail "$name is no unit test"; done
exists platforms.excluded && exists unit.base.Limits.LockedMemoryIsRaised || fail "tests are not found"
if exists unit.base.Limits.Nothing || exists platforms.nothing; then fail "tests are found that are not there"; fi

made=$(mktemp)
trap 'rm -f "$made"' EXIT
printf '# why\n\nunit.base.C.D/0  two words # three\nunit.kv.E.F  one\n' >"$made"
[ "$(excluded_by_ctest "$made")" = '^(unit\.base\.C\.D/0|unit\.kv\.E\.F)$' ] || fail "ctest: $(excluded_by_ctest "$made")"
[ "$(excluded_by_gtest "$made")" = ':C.D/0:E.F' ] || fail "GoogleTest: $(excluded_by_gtest "$made")"
printf '# nothing\n' >"$made"
[ -z "$(excluded_by_ctest "$made")$(excluded_by_gtest "$made")" ] || fail "nothing is left out"
