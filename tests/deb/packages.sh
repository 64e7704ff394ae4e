#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: BUILD=... CMAKE=... WORK=... NM=nm ARCH=x86_64-linux-gnu VERSION=0.2.0 packages.sh packages|chroot
# Makes the Debian packages.  packages: looks at them, unpacks them into a folder, and uses what is there.
# chroot: in a clean system beside Open MPI, installs an older version, upgrades it, uses it, and removes it.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
hello=$here/../install/hello.c
unset OSHCC_CC OSHCC_CXX PKG_CONFIG_PATH CC CXX CFLAGS CXXFLAGS LDFLAGS LD_LIBRARY_PATH
export LC_ALL=C
mkdir -p "$WORK"
out=$(mktemp -d "$WORK/${1:-none}.XXXXXX")
trap 'rm -rf "$out"' EXIT
cd "$out"

fail() { echo "FAILED: $*" >&2; exit 1; }
expect() { [[ $1 == *"$2"* ]] || fail "expected '$2' in: $1"; }
refute() { [[ $1 != *"$2"* ]] || fail "did not expect '$2' in: $1"; }
needs() {
  local program
  for program; do command -v "$program" >/dev/null || { echo "needs $program"; exit 77; }; done
}

# Makes debs/*.deb, and one name for each: $library, $development, $tools.
make_packages() {
  needs dpkg-shlibdeps file
  cpack=$(dirname "$CMAKE")/cpack
  # Compressed as quickly as can be.
  "$cpack" --config "$BUILD/CPackConfig.cmake" -D CPACK_DEBIAN_COMPRESSION_TYPE=gzip -B "$out/made" >log 2>&1 || { cat log; fail "cpack"; }
  mkdir debs
  mv made/*.deb debs
  local machine
  machine=$(dpkg --print-architecture)
  library=$(echo debs/libatoll0_"$VERSION"*-*_"$machine".deb)
  development=$(echo debs/libatoll-dev_"$VERSION"*-*_"$machine".deb)
  tools=$(echo debs/atoll-tools_"$VERSION"*-*_"$machine".deb)
  [ "$(ls debs/* | sort)" = "$(printf '%s\n' "$library" "$development" "$tools" | sort)" ] || fail "made were: $(ls debs)"
}

# What is in a package: files, links, no folders.
contents() { dpkg-deb --fsys-tarfile "$1" | tar -t | grep -v '/$' | sed 's|^\.||' | sort; }
field() { dpkg-deb -f "$1" "$2"; }

check_contents() {
  local package name
  for name in library development tools; do contents "${!name}" >"$name.files"; done
  [ -z "$(cat ./*.files | sort | uniq -d)" ] || fail "in two packages: $(cat ./*.files | sort | uniq -d)"
  # All that is installed is in one of them.
  (cd "$BUILD/deb/tree" && find bin lib* share -not -path '*/man/*' \( -type f -o -type l \)) |
    sed "s|^|/usr/lib/$ARCH/atoll/|" | sort >wanted
  (cd "$BUILD/deb/tree/include" && find . -type f -o -type l) | sed "s|^\.|/usr/include/atoll|" >>wanted
  sort -u ./*.files >have
  [ -z "$(sort wanted | comm -23 - have)" ] || fail "in no package: $(sort wanted | comm -23 - have)"
  [ "$(find "$BUILD/deb/tree" -path '*/man/man*/*' | wc -l)" -eq "$(grep -c '^/usr/share/man/.*\.gz$' have)" ] || fail "manual pages"
  # Nothing is where a package of this system has something, Open MPI's among them.
  cat /var/lib/dpkg/info/*.list | sort -u | comm -12 - have | grep -vE '/(libatoll|atoll-)' >taken || true
  [ ! -s taken ] || fail "other packages have: $(cat taken)"
  for name in "/usr/lib/$ARCH/libatoll.so.0" /usr/share/doc/libatoll0/{copyright,changelog.gz,changelog.Debian.gz}; do
    grep -qx "$name" library.files || fail "$name is not in the library's package"
  done
  for name in /usr/bin/osh{cc,c++}.atoll /usr/include/atoll/shmem.h "/usr/lib/$ARCH/"{libatoll.so,pkgconfig/atoll.pc}; do
    grep -qxF "$name" development.files || fail "$name is not in the development package"
  done
  for name in oshrun.atoll shmem_{info,bench,nvm,memory}; do
    grep -qxF "/usr/bin/$name" tools.files || fail "$name is not in the package of tools"
  done
  package=$(field "$library" Version)
  for name in libfabric1 libpmix2 libc6 libstdc++6; do
    expect "$(field "$library" Depends)" "$name"
  done
  refute "$(field "$library" Depends)" libatoll0
  expect "$(field "$development" Depends)" "libatoll0 (= $package), atoll-tools (= $package)"
  expect "$(field "$tools" Depends)" "libatoll0 (= $package)"
}

# What the package says of the library's symbols is what the library has.
check_symbols() {
  dpkg-deb -e "$library" control
  expect "$(cat control/shlibs)" "libatoll 0 libatoll0 (>= ${VERSION%.*}.0~)"
  [ "$(cat control/triggers)" = "activate-noawait ldconfig" ] || fail "triggers"
  [ "$(head -n 1 control/symbols)" = "libatoll.so.0 libatoll0 #MINVER#" ] || fail "$(head -n 1 control/symbols)"
  sed -E '1d; s/^ ([^ ]+) [0-9.]+~$/\1/' control/symbols | sort >said
  "$NM" -D --defined-only "root/usr/lib/$ARCH/libatoll.so.0" | awk '{ sub("@@", "@", $3); print $3 }' |
    sed -E 's/^(ATOLL_[0-9.]+)$/\1@\1/' | sort >there
  [ "$(wc -l <there)" -gt 4000 ] || fail "the library has $(wc -l <there) symbols"
  diff said there >differences || fail "symbols: $(head differences)"
  grep -qx ' shmem_init@ATOLL_0.1 0.1.0~' control/symbols || fail "shmem_init came with 0.1"
}

check_lintian() {
  needs lintian
  lintian --allow-root --fail-on error,warning debs/*.deb >lintian.log 2>&1 ||
    { cat lintian.log; fail "lintian"; }
}

# What was unpacked into a folder, used there.
check_use() {
  local bin=$out/root/usr/bin lib=$out/root/usr/lib/$ARCH said
  [ "$(CC=oshcc.atoll "$bin/oshcc.atoll" -showme:command)" = cc ] || fail "the wrapper wraps itself"
  "$bin/oshcc.atoll" "$hello" -o hello
  [ "$("$bin/oshrun.atoll" -n 2 --timeout 60 ./hello | sort)" = "$(printf 'C: PE %d of 2\n' 0 1)" ] || fail "oshcc.atoll"
  # As the system's linkers find the library; what it loads lies beside its file.
  cc -I"$out/root/usr/include/atoll" "$hello" -L"$lib" -latoll -o linked
  said=$(LD_LIBRARY_PATH=$lib "$bin/oshrun.atoll" -n 2 --timeout 60 -x SHMEM_TRACE="$out/trace.json" ./linked 2>&1)
  refute "$said" "cannot be loaded"
  [ -s trace.json ] || fail "no trace: $said"
  said=$(LD_LIBRARY_PATH=$lib PKG_CONFIG_LIBDIR=$lib/pkgconfig pkg-config --cflags --libs atoll)
  eval "cc '$hello' -o packaged $said"
  [ "$("$bin/oshrun.atoll" -n 1 --timeout 60 ./packaged)" = "C: PE 0 of 1" ] || fail "pkg-config"
  "$CMAKE" -S "$here/../install/with_package" -B build "-DCMAKE_PREFIX_PATH=$out/root/usr" >log || { cat log; fail "find_package"; }
  expect "$(grep Atoll_DIR build/CMakeCache.txt)" "$lib/cmake/Atoll"
  "$CMAKE" --build build >log || { cat log; fail "find_package"; }
  [ "$("$bin/oshrun.atoll" -n 1 --timeout 60 build/hello_c)" = "C: PE 0 of 1" ] || fail "find_package"
  expect "$(LD_LIBRARY_PATH=$lib "$bin/shmem_bench" atomics --pattern RAND --form blocking --count 10)" RAND_CAS
  expect "$("$bin/shmem_info")" "OpenSHMEM 1.6"
}

case_packages() {
  make_packages
  for package in debs/*.deb; do dpkg-deb -x "$package" root; done
  check_contents
  check_symbols
  check_lintian
  check_use
}

# older_packages: the same as an older version, whose library has another file name.
older_packages() {
  local package new
  mkdir old
  new=$(field "$library" Version)
  for package in debs/*.deb; do
    rm -rf tree
    dpkg-deb -R "$package" tree
    sed -i "s/$new/0.1.9-1/g" tree/DEBIAN/control
    rename_library tree
    (cd tree && find . -path ./DEBIAN -prune -o -type f -printf '%P\n' | xargs -d '\n' md5sum >DEBIAN/md5sums)
    dpkg-deb -Zgzip -b --root-owner-group tree old >/dev/null
  done
}
rename_library() {
  local lib=$1/usr/lib/$ARCH
  [ -f "$lib/atoll/lib/libatoll.so.$VERSION" ] || return 0
  mv "$lib/atoll/lib/libatoll.so.$VERSION" "$lib/atoll/lib/libatoll.so.0.1.9"
  ln -sfn libatoll.so.0.1.9 "$lib/atoll/lib/libatoll.so.0"
  ln -sfn atoll/lib/libatoll.so.0.1.9 "$lib/libatoll.so.0"
}

# in_system COMMAND: in the system of case_chroot
in_system() { in_chroot "$out/system" -- "$@"; }

# Both implementations, side by side: what Open MPI's names mean, and that a program of each runs.
check_open_mpi() {
  expect "$(in_system oshcc -showme:version)" "oshcc: Open SHMEM"
  expect "$(in_system sh -c 'cd /root && mpicc mpi.c -o mpi && mpirun --allow-run-as-root --oversubscribe -n 2 ./mpi')" "MPI: 2"
}

check_atoll() {
  local said
  said=$(in_system sh -c 'cd /root && oshcc.atoll hello.c -o hello && oshrun.atoll -n 2 --timeout 60 ./hello | sort')
  [ "$said" = "$(printf 'C: PE %d of 2\n' 0 1)" ] || fail "hello says: $said"
  said=$(in_system sh -c 'cd /root && cc hello.c -o flat $(pkg-config --cflags --libs atoll) && ldd ./flat && oshrun.atoll -n 1 --timeout 60 ./flat')
  expect "$said" "/libatoll.so.0"
  expect "$said" "C: PE 0 of 1"
  # Under Open MPI's launcher, by way of another address.
  said=$(in_system sh -c 'cd /root && mpirun --allow-run-as-root --oversubscribe -n 2 ./hello | sort')
  [ "$said" = "$(printf 'C: PE %d of 2\n' 0 1)" ] || fail "mpirun says: $said"
  expect "$(in_system shmem_info)" "OpenSHMEM 1.6"
}

case_chroot() {
  # shellcheck source=tests/platforms/chroot.sh
  . "$here/../platforms/chroot.sh"
  can_make_chroots || exit 77
  needs dpkg-deb
  make_packages
  older_packages
  if [ -n "${ATOLL_CHROOT:-}" ]; then # a system like this one, to be copied
    cp -a "$ATOLL_CHROOT" "$out/system"
  else
    make_chroot "$out/system" "$(. /etc/os-release && echo "$VERSION_CODENAME")" \
      openmpi-bin,libopenmpi-dev,gcc,libc6-dev,pkg-config >log 2>&1 || { tail log; fail "mmdebstrap"; }
  fi
  cp "$hello" "$out/system/root/"
  cat >"$out/system/root/mpi.c" <<'END'
#include <mpi.h>
#include <stdio.h>
int main(int argc, char **argv) {
  int size, rank;
  MPI_Init(&argc, &argv);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  if (rank == 0) printf("MPI: %d\n", size);
  MPI_Finalize();
}
END
  mkdir "$out/system/packages"
  cp -r debs old "$out/system/packages/"
  check_open_mpi
  apt_get() { in_system env DEBIAN_FRONTEND=noninteractive apt-get -q -y --no-install-recommends "$@" >log 2>&1 || { tail -n 30 log; fail "apt-get $*"; }; }
  apt_get install $(cd "$out/system" && printf '/%s\n' packages/old/*.deb)
  check_atoll
  in_system sh -c 'cd /root && cp hello old_hello && cp flat old_flat'
  apt_get install $(cd "$out/system" && printf '/%s\n' packages/debs/*.deb)
  [ ! -e "$out/system/usr/lib/$ARCH/atoll/lib/libatoll.so.0.1.9" ] || fail "the older library is there after the upgrade"
  check_atoll
  check_open_mpi
  # Programs of the older version go on.
  [ "$(in_system sh -c 'cd /root && oshrun.atoll -n 1 --timeout 60 ./old_hello')" = "C: PE 0 of 1" ] || fail "old program"
  [ "$(in_system sh -c 'cd /root && oshrun.atoll -n 1 --timeout 60 ./old_flat')" = "C: PE 0 of 1" ] || fail "old program"
  [ -z "$(in_system dpkg --audit)" ] || fail "dpkg --audit"
  [ -z "$(in_system dpkg --verify libatoll0 libatoll-dev atoll-tools)" ] || fail "dpkg --verify"
  apt_get purge libatoll0 libatoll-dev atoll-tools
  [ -z "$(find "$out/system" -xdev -path "$out/system/packages" -prune -o -name '*atoll*' -print)" ] ||
    fail "left behind: $(find "$out/system" -xdev -name '*atoll*')"
  refute "$(in_system ldconfig -p)" libatoll
  check_open_mpi
}

"case_${1:?which case?}"
