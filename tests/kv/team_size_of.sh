#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# usage: team_size_of.sh <PE> <size> <program> [<arguments>]: that PE has another SHMEM_KV_TEAM_SIZE
if [ "$PMIX_RANK" = "$1" ]; then
  export SHMEM_KV_TEAM_SIZE="$2"
fi
shift 2
exec "$@"
