# SPDX-License-Identifier: BSD-3-Clause
# What a list of tests that are left out (debian13.txt, arm64.txt) means to those who run tests.  To be sourced.

# The names in it.
excluded_names() { sed -E 's/#.*//; /^[[:space:]]*$/d; s/^([^[:space:]]+).*/\1/' "$1"; }

# For `ctest -E`; empty: nothing is left out.
excluded_by_ctest() {
  local names
  names=$(excluded_names "$1" | sed 's/[.+]/\\&/g' | paste -sd'|')
  [ -z "$names" ] || echo "^($names)\$"
}

# To be added to a GTEST_FILTER that leaves out others: unit.FOLDER.SUITE.TEST is SUITE.TEST of a program.
excluded_by_gtest() { excluded_names "$1" | sed -E 's/^unit\.[^.]+\./:/' | paste -sd '\0'; }
