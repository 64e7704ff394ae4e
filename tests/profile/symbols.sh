#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: symbols.sh NM LIBATOLL LIBSHMEM_PROFILE
# Every function of the library is a weak symbol with a strong twin of the same address, and the tool defines each.
# Which functions these are is the business of tests/headers (counts.c).
set -euo pipefail
nm=$1 library=$2 tool=$3

# Names of C only: libstdc++'s templates are weak, too.
# Without their versions.
defined() { "$nm" -D --defined-only "$1" | grep -vE ' _Z' | sed 's/@.*//'; }

out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT
defined "$library" | awk '$2 == "W" { print $3, $1 }' | sort >"$out/weak"
defined "$library" | awk '$2 == "T" && sub(/^p/, "", $3) { print $3, $1 }' | sort >"$out/strong"
defined "$tool" | awk '$2 == "T" { print $3 }' | sort >"$out/tool"

count=$(wc -l <"$out/weak")
if [ "$count" -lt 1788 ]; then
  echo "FAILED: only $count weak functions"
  exit 1
fi
diff "$out/weak" "$out/strong" || { echo "FAILED: weak functions (<) and strong twins (>) differ"; exit 1; }
cut -d ' ' -f 1 "$out/weak" | diff - "$out/tool" || { echo "FAILED: functions (<) and what the tool defines (>)"; exit 1; }
echo "$count functions"
