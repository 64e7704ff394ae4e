#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: BIN=.../bin WORK=... mpi.sh openmpi|mpich oshrun|virtual_nodes|mpirun|alone
# MPI and OpenSHMEM in one program, begun and ended in every order (mpi.c).  Debian keeps several MPIs side by side, as
# mpicc.openmpi and mpicc.mpich.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
mpi=$1 launcher=$2
unset OSHCC_CC
for tool in "mpicc.$mpi" "mpirun.$mpi"; do
  command -v "$tool" >/dev/null || { echo "SKIPPED: $tool is not installed"; exit 77; }
done
out=$(mktemp -d "$WORK/mpi.XXXXXX")
trap 'rm -rf "$out"' EXIT

OSHCC_CC="mpicc.$mpi" "$BIN/oshcc" -O1 -Wall "$here/mpi.c" -o "$out/program"

# Letters as in mpi.c.  Begun and ended in every order; one after the other; one of them twice.
orders="MSms MSsm SMms SMsm SsMm MmSs SsMSsm SMsSms MSsmSs"

# Open MPI joins the job that oshrun starts.  MPICH, which knows no PMIx, is a job of one rank in every PE.
ranks=()
[ "$mpi" = openmpi ] || ranks=(1)

fail() { echo "FAILED: $*" >&2; exit 1; }

# Ranks that wait let others have the core: there may be fewer cores than ranks.
export OMPI_MCA_mpi_yield_when_idle=1

case $mpi.$launcher in
  *.oshrun) run=("$BIN/oshrun" -n 4 --timeout 60) ;;
  *.virtual_nodes) run=("$BIN/oshrun" -n 4 --virtual-nodes 2 --timeout 60) ;;
  *.alone) run=() ;;
  openmpi.mpirun)
    export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
    run=(timeout 60 mpirun.openmpi --oversubscribe --bind-to none -n 4) ;;
  mpich.mpirun)
    # Its launcher cannot start Atoll, which says so instead of becoming four jobs of one PE.
    if timeout 60 mpirun.mpich -n 4 "$out/program" MSsm 4 >"$out/said" 2>&1; then fail "a launcher without PMIx starts jobs"; fi
    grep -q 'PMI-1 launcher.*start the program with oshrun' "$out/said" || fail "$(cat "$out/said")"
    exit 0 ;;
  *) fail "unknown launcher $launcher" ;;
esac

for order in $orders; do
  "${run[@]}" "$out/program" "$order" "${ranks[@]}" || fail "$mpi, $launcher, order $order: exit code $?"
done
