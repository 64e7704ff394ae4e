#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs the first program on PE 0 and the second on all others, with the remaining arguments.
first=$1 second=$2
shift 2
if [ "$PMIX_RANK" = 0 ]; then exec "$first" "$@"; else exec "$second" "$@"; fi
