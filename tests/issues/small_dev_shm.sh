#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a command with a /dev/shm of 64 MiB of its own; skips where that needs more rights than we have.
unshare --mount true 2>/dev/null || { echo "skipped: no right to unshare mounts"; exit 77; }
exec unshare --mount sh -c '
  mount -t tmpfs -o size=64m tmpfs /dev/shm || exit 77
  "$@"
  status=$?
  [ -z "$(ls -A /dev/shm)" ] || { echo "left in /dev/shm:"; ls -A /dev/shm; exit 1; }
  exit $status' sh "$@"
