#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a program; on the PE of that number with a limit: -v and so many KiB of address space, -f and so many blocks of
# 512 bytes, or with bash of 1 KiB, of a file.
# usage: limited.sh PE -v|-f NUMBER program [arguments]
[ "$PMIX_RANK" != "$1" ] || ulimit "$2" "$3"
shift 3
exec "$@"
