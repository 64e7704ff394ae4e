#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: release_test.sh COMPILER
# tools/release in a copy of the sources: what it refuses, and what it makes.
set -euo pipefail

export CC=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
command -v abidw >/dev/null && [ "$(uname -m)" = x86_64 ] || { echo "needs abidw (package abigail-tools)"; exit 77; }
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
export HOME=$out GIT_AUTHOR_NAME=test GIT_COMMITTER_NAME=test GIT_AUTHOR_EMAIL=test@localhost GIT_COMMITTER_EMAIL=test@localhost
unset GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE
mkdir "$out/atoll"
cd "$out/atoll"
(cd "$root" && tar -c --exclude=./build --exclude=./.git .) | tar -x
version=$(sed -nE 's/^project\(Atoll VERSION ([0-9.]+) .*/\1/p' CMakeLists.txt)
rm -f "tests/abi/$version.abi.gz" # of this version, where it has been released just now
git init -q .
git add -A
git commit -q -m "As it is"

fail() { echo "FAILED: $*" >&2; exit 1; }

# refused VERSION WHY
refused() {
  if tools/release "$1" "$out/made" >"$out/said" 2>&1; then fail "$1 is released: $2 expected"; fi
  grep -qF -- "$2" "$out/said" || fail "expected '$2' in: $(cat "$out/said")"
  [ ! -e "$out/made" ] && [ -z "$(git tag)" ] || fail "something was made"
}

refused "" "say which version"
refused 77.0.0 "CMakeLists.txt has another version"
sed -i "0,/^## .*/s//## $version, not released/" docs/changelog.md
refused "$version" "docs/changelog.md begins with"
sed -i "0,/^## .*/s//## $version, 2001-02-03/" docs/changelog.md
refused "$version" "not committed"
git commit -q -a -m "Changelog"
sed -i 's/  int num_contexts; /  int more, num_contexts; /' include/shmem.h
git commit -q -a -m "Another structure"
refused "$version" "incompatible with"
git reset -q --hard HEAD~

tools/release "$version" "$out/made" >"$out/said"
[ "$(tail -n 1 "$out/said")" = "$out/made/atoll-$version.tar.gz" ] || fail "it said $(cat "$out/said")"
(cd "$out/made" && sha256sum --quiet -c "atoll-$version.tar.gz.sha256")
[ "$(git describe)" = "v$version" ] && [ -z "$(git status --porcelain)" ] || fail "the tag is not the last commit"
mkdir "$out/unpacked"
tar -xzf "$out/made/atoll-$version.tar.gz" -C "$out/unpacked"
cd "$out/unpacked/atoll-$version"
for file in CMakeLists.txt include/shmem.h docs/changelog.md "tests/abi/$version.abi.gz"; do
  [ -s "$file" ] || fail "$file is not in the archive"
done
# What was released is compatible with itself, and what comes after is compared with it.
[ "$(python3 tests/abi/abi.py check "$CC" "$version")" = "compatible with $version.abi.gz" ] || fail "with itself"
