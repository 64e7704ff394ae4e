#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: oshrun ... on_one_core.sh <program> [<argument>...]
# Runs all PEs of a job on the first core that oshrun may use.
exec taskset -c "$(taskset -cp $PPID | sed 's/.*: *\([0-9]*\).*/\1/')" "$@"
