#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: tests/platforms/run.sh debian13 [arguments of tools/check]
#        tests/platforms/run.sh arm64 [arguments of ctest]
# The tests on another platform than this machine's.  Debian 13: in a system of its own, which tools/setup completes,
# tools/check as anywhere.  arm64: a cross build, and the unit tests under qemu-user.  Without arguments all tests but those
# in debian13.txt and arm64.txt, which say why.
# The system is kept in build/platforms (ATOLL_PLATFORMS=folder); remove it to have it made anew.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../.." && pwd)
platforms=${ATOLL_PLATFORMS:-$root/build/platforms}
case ${1:-} in
  debian13 | arm64) platform=$1; shift ;;
  *) sed -n '3,8s/^# //p' "$0"; [[ ${1:-} =~ ^(-h|--help)$ ]] || exit 2; exit 0 ;;
esac
# shellcheck source=tests/platforms/chroot.sh
. "$here/chroot.sh"
# shellcheck source=tests/platforms/excluded.sh
. "$here/excluded.sh"
can_make_chroots || exit 77
system=$platforms/$platform
mkdir -p "$platforms"

# Only a whole system has its name.
make_system() {
  [ -d "$system" ] && return
  rm -rf "$system.new"
  make_chroot "$system.new" "$@"
  mv "$system.new" "$system"
}

run_debian13() {
  local without
  make_system trixie ca-certificates,ccache
  if [ $# -eq 0 ]; then
    without=$(excluded_by_ctest "$here/debian13.txt")
    set -- release ${without:+-E "$without"}
  fi
  mkdir -p "$system.build" "$platforms/ccache"
  in_chroot "$system" "$root=/atoll" "$system.build=/atoll/build" "$platforms/ccache=/ccache" -- \
    env CCACHE_DIR=/ccache CMAKE_C_COMPILER_LAUNCHER=ccache CMAKE_CXX_COMPILER_LAUNCHER=ccache \
    DEBIAN_FRONTEND=noninteractive ${ATOLL_STRESS_SECONDS:+ATOLL_STRESS_SECONDS=$ATOLL_STRESS_SECONDS} \
    /atoll/tools/check "$@"
}

# Nothing of the system runs while it is made.
run_arm64() {
  local program packages without= build=$platforms/build.arm64  # CMake takes what begins like the system for a part of it
  for program in aarch64-linux-gnu-g++ qemu-aarch64-static; do
    command -v $program >/dev/null && continue
    echo "needs $program (packages crossbuild-essential-arm64, qemu-user-static)"
    exit 77
  done
  packages=libc6-dev,libstdc++-$(aarch64-linux-gnu-gcc -dumpversion)-dev,libfabric-dev,libhwloc-dev,libjemalloc-dev
  packages+=,libpmix-dev,liburing-dev,libxxhash-dev,libgmock-dev,libgtest-dev
  make_system "$(. /etc/os-release && echo "$VERSION_CODENAME")" $packages --architectures=arm64 --variant=extract \
    --hook-dir=/usr/share/mmdebstrap/hooks/merged-usr
  [ $# -gt 0 ] || without=$(excluded_by_gtest "$here/arm64.txt")
  export ATOLL_SYSROOT=$system GTEST_FILTER=-
  cmake -S "$root" -B "$build" -G Ninja -DCMAKE_TOOLCHAIN_FILE="$here/arm64.cmake" -DCMAKE_BUILD_TYPE=Release \
    -DCMAKE_CXX_FLAGS_RELEASE=-O1 -DATOLL_WERROR=ON -DATOLL_UNITY=ON -DATOLL_TESTS=ON -DATOLL_LEAVE_OUT="$without"
  # All tests of a program in one process: to start one takes qemu longer than most of them.
  mapfile -t programs < <(ctest --test-dir "$build" -C listed -N -R '^quick\.' | sed -nE 's/^.*: quick\.(.*)$/\1/p')
  cmake --build "$build" --target "${programs[@]}"
  [ $# -gt 0 ] || set -- -C listed -R '^quick\.'
  ctest --test-dir "$build" --output-on-failure --no-tests=error "$@" </dev/null
}

"run_$platform" "$@"
