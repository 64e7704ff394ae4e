#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage, under oshrun: fail_at.sh <n> <program> [arguments]
# Runs the program; operation n of PE 0 on other nodes ends with an error.
if [ "$PMIX_RANK" = 0 ]; then
  export SHMEM_FAULT_AT="$1"
fi
shift
exec "$@"
