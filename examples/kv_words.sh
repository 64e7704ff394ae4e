#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: kv_words.sh OSHRUN KV_WORDS VIRTUAL_NODES SOURCE_DIRECTORY
# A test of kv_words: it finds in the project's texts as many words as tr, grep, sort and uniq do, and gives one line
# for files that cannot be read.
set -euo pipefail
oshrun=$1 program=$2 nodes=$3 source=$4
export LC_ALL=C

fail() { echo "FAILED: $*" >&2; exit 1; }
words() { "$oshrun" -n 4 --virtual-nodes "$nodes" --timeout 50 "$program" "$@" 2>&1; }

texts=("$source"/docs/*.md "$source"/README.md)
[ "${#texts[@]}" -gt 5 ] || fail "no texts in $source"
# A longer word counts as its first 31 letters.
counts=$(cat "${texts[@]}" | tr A-Z a-z | grep -oaE '[a-z0-9]+' | cut -c1-31 | sort | uniq -c | sort -rn)
read -r most word <<<"${counts%%$'\n'*}"
expected="$(wc -l <<<"$counts") different words, '$word' $most times; verified"
said=$(words "${texts[@]}") || fail "exit code $?: $said"
[ "$said" = "$expected" ] || fail "not '$expected': $said"

[ "$(words --help)" = "usage: kv_words [file...]" ] || fail "--help"
for unreadable in "$source" "$source/no such file" ''; do
  code=0
  said=$(words "$source/README.md" "$unreadable" "$source/LICENSE") || code=$?
  [ "$code" -eq 1 ] || fail "exit code $code, not 1, of '$unreadable': $said"
  [ "$(grep -v '^oshrun: ' <<<"$said")" = "kv_words: cannot read $unreadable" ] || fail "of '$unreadable': $said"
done
