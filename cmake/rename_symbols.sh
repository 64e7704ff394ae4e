#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# rename_symbols.sh IN.a OUT.a PREFIX NM OBJCOPY
# Copies a static archive with PREFIX before the name of every symbol that it defines.  C++ type information and
# std:: symbols are shared with the rest of the program and keep their names.
set -eu
in=$1 out=$2 prefix=$3 nm=$4 objcopy=$5
map=$out.symbols
"$nm" --defined-only --extern-only --format=posix "$in" |
  awk -v p="$prefix" 'NF > 1 && $1 !~ /^_Z(T|St|NSt|NKSt)/ { print $1, p $1 }' | sort -u >"$map"
"$objcopy" --redefine-syms="$map" "$in" "$out"
