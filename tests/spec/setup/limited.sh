#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Runs a program; on the PE of that number with so many KiB of address space.
# usage: limited.sh PE KIB program [arguments]
[ "$PMIX_RANK" != "$1" ] || ulimit -v "$2"
shift 2
exec "$@"
