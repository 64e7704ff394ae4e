#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# usage: BUILD=... CMAKE=... WORK=... LIB=lib cases.sh CASE
# One test of the installed tree.  `prefix` makes it, at a place whose name has a space, by way of another place.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
prefix="$WORK/moved here/atoll"
oshcc=$prefix/bin/oshcc
oshcxx=$prefix/bin/oshc++
oshrun=$prefix/bin/oshrun
unset OSHCC_CC OSHCC_CXX PKG_CONFIG_PATH CC CXX CFLAGS CXXFLAGS LDFLAGS LD_LIBRARY_PATH
out=$(mktemp -d "$WORK/case.XXXXXX")
trap 'rm -rf "$out"' EXIT
cd "$out"

fail() { echo "FAILED: $*" >&2; exit 1; }

# expect TEXT PATTERN / refute TEXT PATTERN: fixed strings.
expect() { [[ $1 == *"$2"* ]] || fail "expected '$2' in: $1"; }
refute() { [[ $1 != *"$2"* ]] || fail "did not expect '$2' in: $1"; }

# human_bytes NUMBER: as the tools print it
human_bytes() {
  awk -v n="$1" 'BEGIN { split("bytes KiB MiB GiB TiB", units); u = 1; while (n >= 1024 && u < 5) { n /= 1024; ++u }
    printf "%.4g %s", n, units[u] }'
}

# Runs a program on 2 PEs and expects both to answer as LANGUAGE.
run() {
  local said
  said=$("$oshrun" -n 2 --timeout 60 "$1")
  expect "$said" "$2: PE 0 of 2"
  expect "$said" "$2: PE 1 of 2"
}

case_prefix() {
  rm -rf "$WORK/first place" "$WORK/moved here"
  "$CMAKE" --install "$BUILD" --prefix "$WORK/first place" >/dev/null
  mkdir "$WORK/moved here"
  mv "$WORK/first place" "$prefix"
}

case_tree() {
  local file
  for file in bin/oshrun bin/oshcc bin/oshc++ bin/shmem_info bin/shmem_memory bin/shmem_nvm bin/shmem_bench "$LIB/libatoll.so" "$LIB/libshmem_profile.so" "$LIB/libshmem_remote.so" include/shmem.h include/shmemx.h \
    include/pshmem.h include/pshmemx.h include/mpp/shmem.h "$LIB/pkgconfig/atoll.pc" "$LIB/cmake/Atoll/AtollConfig.cmake"; do
    [ -e "$prefix/$file" ] || fail "$file is not installed"
  done
  # Neither where it was built nor where it was first installed may matter.
  if grep -rlF -e "$BUILD" -e "$WORK/first place" "$prefix"; then fail "these files know their build tree"; fi
}

case_oshcc_c() {
  "$oshcc" -O2 -Wall -Werror "$here/hello.c" -o hello
  run ./hello C
}

case_oshcc_cxx() {
  "$oshcxx" -std=c++17 -O2 -Wall -Werror "$here/hello.cpp" -o hello
  run ./hello C++
}

case_pkg_config() {
  local flags
  export PKG_CONFIG_PATH="$prefix/$LIB/pkgconfig"
  pkg-config --atleast-version=0.1 atoll
  flags=$(pkg-config --cflags --libs atoll)
  eval "cc \"$here/hello.c\" -o hello $flags"
  run ./hello C
  eval "c++ -std=c++17 \"$here/hello.cpp\" -o hello_cxx $flags"
  run ./hello_cxx C++
}

case_find_package() {
  "$CMAKE" -S "$here/with_package" -B build -DCMAKE_PREFIX_PATH="$prefix" >log || { cat log; return 1; }
  "$CMAKE" --build build >log || { cat log; return 1; }
  run build/hello_c C
  run build/hello_cxx C++
  (cd build && ctest >log) || fail "the package's oshrun does not run"
}

# A build tree serves as the package, too.
case_find_package_in_build_tree() {
  "$CMAKE" -S "$here/with_package" -B build -DAtoll_DIR="$BUILD" >log || { cat log; return 1; }
  "$CMAKE" --build build >log || { cat log; return 1; }
  run build/hello_c C
  run build/hello_cxx C++
}

case_cmake_with_wrappers() {
  CC=$oshcc CXX=$oshcxx "$CMAKE" -S "$here/with_wrappers" -B build >log || { cat log; return 1; }
  "$CMAKE" --build build >log || { cat log; return 1; }
  run build/hello_c C
  run build/hello_cxx C++
  # The probe saw through the wrapper.
  grep -qE 'CMAKE_C_COMPILER_ID "(GNU|Clang)"' build/CMakeFiles/*/CMakeCCompiler.cmake || fail "compiler not recognised"
}

case_show() {
  local line option
  cp "$here/hello.c" "my hello.c"
  for option in -show --show -showme --showme; do
    line=$("$oshcc" "$option" -DNAME="\"it's\"" "my hello.c" -o "my hello")
    [ "$(wc -l <<<"$line")" -eq 1 ] || fail "not one line: $line"
    [ ! -e "my hello" ] || fail "$option compiled"
    refute "$line" "$option"
    eval "$line"
    run "./my hello" C
    rm "my hello"
  done
  expect "$("$oshcc" -show -DEMPTY "" hello.c)" " '' hello.c "
}

case_showme() {
  local compile link
  compile=$("$oshcc" --showme:compile)
  link=$("$oshcc" --showme:link)
  expect "$compile" "-I"
  refute "$compile" "-latoll"
  expect "$link" "-latoll -lm"
  expect "$link" "-rpath"
  eval "cc $compile -c \"$here/hello.c\" -o hello.o"
  eval "cc hello.o -o hello $link"
  run ./hello C
  [ "$("$oshcc" -showme:compile)" = "$compile" ] || fail "-showme:compile"
  [ "$("$oshcc" -showme:link)" = "$link" ] || fail "-showme:link"
  for dashes in - --; do
    [ "$("$oshcc" ${dashes}showme:command)" = cc ] || fail "${dashes}showme:command"
    [ "$("$oshcxx" ${dashes}showme:command)" = c++ ] || fail "${dashes}showme:command of oshc++"
    expect "$("$oshcc" ${dashes}showme:version)" "OpenSHMEM 1.6"
  done
  [ "$("$oshcc" -showme:libs)" = "atoll m" ] || fail "-showme:libs"
  [ "$(eval "echo $("$oshcc" -showme:incdirs)")" = "$prefix/include" ] || fail "-showme:incdirs"
  [ "$(eval "echo $("$oshcc" --showme:libdirs)")" = "$prefix/$LIB" ] || fail "--showme:libdirs"
  if "$oshcc" -showme:nothing 2>told; then fail "-showme:nothing succeeds"; fi
  expect "$(cat told)" "there is compile, link"
  for option in --help -showme:help --showme:help; do
    expect "$("$oshcc" $option)" "usage: oshcc"
    expect "$("$oshcxx" $option)" "OSHCC_CXX"
  done
  if "$oshcc" >said 2>told; then fail "oshcc without arguments succeeds"; fi
  expect "$(cat told)" "usage: oshcc"
  [ ! -s said ] || fail "wrong usage is told on standard output"
}

case_other_compiler() {
  command -v clang >/dev/null || exit 77
  expect "$(OSHCC_CC=clang "$oshcc" --version)" clang
  OSHCC_CC=clang "$oshcc" -Wall -Werror "$here/hello.c" -o hello
  run ./hello C
  # Flags that a step does not use are an error to clang.
  OSHCC_CC=clang "$oshcc" -Wall -Werror -c "$here/hello.c"
  OSHCC_CC=clang "$oshcc" -Wall -Werror hello.o -o hello
  run ./hello C
  OSHCC_CXX=clang++ "$oshcxx" -std=c++17 "$here/hello.cpp" -o hello
  run ./hello C++
  OSHCC_CC="env LANG=C clang" "$oshcc" "$here/hello.c" -o hello # several words
  run ./hello C
}

# CC says which compiler, but not where a build system was told to take the wrapper.
case_standard_variables() {
  [ "$(CC=gcc "$oshcc" -showme:command)" = gcc ] || fail "CC does not count"
  [ "$(CC=gcc OSHCC_CC=cc "$oshcc" -showme:command)" = cc ] || fail "OSHCC_CC does not count"
  [ "$(CC=$oshcc "$oshcc" -showme:command)" = cc ] || fail "the wrapper wraps itself"
  [ "$(CC="oshcc -O2" "$oshcc" -showme:command)" = cc ] || fail "the wrapper wraps itself, with options"
  [ "$(CXX=g++ "$oshcxx" -showme:command)" = g++ ] || fail "CXX does not count"
  if CC=no-such-compiler "$oshcc" "$here/hello.c" 2>told; then fail "no-such-compiler compiles"; fi
  expect "$(cat told)" "no compiler 'no-such-compiler' (from CC)"
}

case_static() {
  local how
  for how in "$here/hello.c" "-show $here/hello.c" -show; do
    # shellcheck disable=SC2086
    if "$oshcc" -static $how -o hello 2>told; then fail "-static $how links"; fi
    expect "$(cat told)" "-static: Atoll is a shared library; leave -static out"
  done
  # Where nothing is linked it is as good as not there.
  "$oshcc" -static -c "$here/hello.c" -o hello.o
  "$oshcc" hello.o -o hello
  run ./hello C
  "$oshcc" -c -static -Wl,-z,now "$here/hello.c" -o again.o
  "$oshcc" -static -E "$here/hello.c" >hello.i
  expect "$("$oshcc" -show -static -c "$here/hello.c")" " -static -c "
}

# What other implementations call these, where PATH has the folder of such names.
case_names_of_others() {
  local names=$prefix/$LIB/atoll/compat/bin
  "$names/shmemcc" "$here/hello.c" -o hello
  [ "$("$names/shmemrun" -n 1 --timeout 60 ./hello)" = "C: PE 0 of 1" ] || fail "shmemrun"
  for name in oshCC oshcxx shmemcxx; do
    [ "$("$names/$name" -showme:command)" = c++ ] || fail "$name"
  done
  expect "$("$names/oshmem_info")" "OpenSHMEM 1.6"
}

# What pkg-config and the wrapper add to a command is the same, word for word.
case_equal_flags() {
  local of_wrapper of_package
  export PKG_CONFIG_PATH="$prefix/$LIB/pkgconfig"
  words() { eval "printf '%s\n' $1"; }
  of_package=$(words "$(pkg-config --cflags --libs atoll)" | while read -r word; do
    # pkg-config writes a path by way of the folder that it is in
    case $word in *"/pkgconfig/"*) word=${word%%/*}$(realpath -m "/${word#*/}") ;; esac
    echo "$word"
  done)
  of_wrapper=$(words "$("$oshcc" -show)" | sed 1d)
  [ "$of_package" = "$of_wrapper" ] || fail "pkg-config: $of_package; oshcc: $of_wrapper"
  [ "$(words "$("$oshcc" -showme:compile) $("$oshcc" -showme:link)")" = "$of_wrapper" ] || fail "-showme and -show differ"
}

# Makes a folder with another implementation's files, which nobody may find.
make_rival() {
  local name
  mkdir -p rival/include rival/lib/pkgconfig rival/bin
  echo '#error the headers of another implementation' | tee rival/include/shmem.h >rival/include/shmemx.h
  for name in oshmem sma openshmem; do
    echo 'int shmem_of_another;' | cc -shared -x c - -o rival/lib/lib$name.so
    printf 'Name: %s\nDescription: another\nVersion: 9\nLibs: -L%s -l%s\n' $name "$out/rival/lib" $name >rival/lib/pkgconfig/$name.pc
  done
  printf '#!/bin/sh\nexit 1\n' | tee rival/bin/oshcc >rival/bin/oshrun
  chmod +x rival/bin/*
}

# whole PROGRAM: has Atoll and no other implementation, and runs.
whole() {
  expect "$(readelf -d "$1")" "[libatoll.so.0]"
  if readelf -d "$1" | grep -E 'NEEDED.*(shmem|sma)'; then fail "another implementation is in $1"; fi
  run "$1" "$2"
}

# A project that looks for OpenSHMEM by a name gets all of Atoll from the folder for that, beside another implementation:
# the one made here, and Open MPI, whose liboshmem Debian has among the system's libraries.
case_other_names() {
  local name compat=$prefix/$LIB/atoll/compat
  make_rival
  unset PKG_CONFIG_PATH
  "$CMAKE" -S "$here/with_names" -B build "-DNAMES=oshmem;sma;openshmem" "-DCMAKE_PREFIX_PATH=$compat;$out/rival" >log 2>&1 ||
    { cat log; fail "not found"; }
  expect "$(cat log)" "version 1.6 include $prefix/include run $prefix/bin/oshrun"
  expect "$(cat log)" "headers $compat/include compiler $compat/bin/oshcc"
  for name in oshmem sma openshmem; do
    expect "$(cat log)" "library $compat/lib/lib$name.so"
  done
  "$CMAKE" --build build >log 2>&1 || { cat log; fail "does not link"; }
  for name in target variable oshmem sma openshmem pc_oshmem pc_sma pc_openshmem; do
    whole build/hello_$name C
  done
  # As a module, where the project has none.
  "$CMAKE" -S "$here/with_names" -B module "-DCMAKE_MODULE_PATH=$compat/lib/cmake/OpenSHMEM" "-DCMAKE_PREFIX_PATH=$out/rival" \
    >log 2>&1 || { cat log; fail "the module is not found"; }
  "$CMAKE" --build module >log 2>&1 || { cat log; fail "does not link with the module"; }
  whole module/hello_target C
}

# The same by hand, as a configure script does it: with every linker that is there.
case_other_names_by_hand() {
  local linker name compat=$prefix/$LIB/atoll/compat
  make_rival
  for linker in bfd gold lld; do
    command -v ld.$linker >/dev/null || continue
    for name in oshmem sma openshmem; do
      cc -fuse-ld=$linker -I"$compat/include" -Irival/include "$here/hello.c" -L"$compat/lib" -Lrival/lib -l$name \
        -Wl,-rpath,"$compat/lib" -o hello || fail "$linker, $name"
      whole ./hello C
    done
  done
  # By whole path, and without a folder to look in.
  cc -I"$compat/include" "$here/hello.c" "$compat/lib/libsma.so" -Wl,-rpath,"$compat/lib" -o hello
  whole ./hello C
  "$compat/bin/oshcc" "$here/hello.c" -o hello
  [ "$("$compat/bin/oshrun" -n 1 --timeout 60 ./hello)" = "C: PE 0 of 1" ] || fail "oshrun of $compat/bin"
}

case_missing_compiler() {
  local said code
  for compiler in no-such-compiler /nonexistent/cc "no-such-compiler -O2"; do
    code=0
    said=$(OSHCC_CC=$compiler "$oshcc" "$here/hello.c" -o hello 2>&1) || code=$?
    [ "$code" -eq 127 ] || fail "exit code $code"
    [ "$(wc -l <<<"$said")" -eq 1 ] || fail "not one line: $said"
    expect "$said" "oshcc: there is no compiler '${compiler%% *}' (from OSHCC_CC)"
  done
}

# The profiling tool, with the two commands of the README.
case_profile() {
  local said
  "$oshcc" "$here/hello.c" -lshmem_profile -o linked
  said=$("$oshrun" -n 2 --timeout 60 ./linked 2>&1)
  expect "$said" "shmem_profile: 2 PEs"
  expect "$said" "shmem_int_p "
  "$oshcc" "$here/hello.c" -o plain
  ln -s "$prefix/$LIB" lib # LD_PRELOAD takes no spaces
  said=$("$oshrun" -n 2 --timeout 60 -x LD_PRELOAD=./lib/libshmem_profile.so ./plain 2>&1)
  expect "$said" "shmem_profile: 2 PEs"
}

# The scripts of the source tree say what they do, and do nothing, when asked.
case_script_help() {
  local script said
  for script in setup check quickstart; do
    for option in -h --help; do
      said=$("$here/../../tools/$script" "$option")
      expect "$said" "usage: tools/$script"
      [ "$(wc -l <<<"$said")" -le 6 ] || fail "tools/$script $option says more than its usage: $said"
    done
  done
  for script in setup quickstart; do
    if "$here/../../tools/$script" --nonsense >said 2>&1; then fail "a wrong argument goes unnoticed"; fi
    expect "$(cat said)" "tools/$script: unknown argument '--nonsense'"
  done
}

case_compile_then_link() {
  "$oshcc" -c "$here/hello.c" -o hello.o
  "$oshcc" hello.o -o hello
  run ./hello C
  "$oshcxx" -c "$here/hello.cpp" -o hello_cxx.o
  "$oshcxx" -o hello_cxx hello_cxx.o
  run ./hello_cxx C++
  echo 'int main(void) { return 0; }' >plain.c
  "$oshcc" -x c - -o from_stdin <plain.c
  ./from_stdin
}

case_stops_before_linking() {
  local stop
  for stop in -c -S -E -M -MM -r -fsyntax-only; do
    refute "$("$oshcc" -show "$stop" "$here/hello.c")" "-latoll"
  done
  expect "$("$oshcc" -E "$here/hello.c")" "shmem_init"
  expect "$("$oshcc" -MM "$here/hello.c")" "hello.o:"
}

case_spaces_in_paths() {
  mkdir "some folder"
  cp "$here/hello.c" "some folder/my program.c"
  echo '#define ANSWER 42' >"some folder/answer.h"
  "$oshcc" "-Isome folder" -include answer.h "some folder/my program.c" -o "some folder/my program"
  run "some folder/my program" C
  ln -s "$oshcc" "linked oshcc" # finds its tree through a link
  "./linked oshcc" "some folder/my program.c" -o linked
  run ./linked C
  ln -s "$(command -v cc)" "some folder/my compiler"
  OSHCC_CC="$out/some folder/my compiler" "$oshcc" "some folder/my program.c" -o compiled
  run ./compiled C
}

case_compiler_options() {
  expect "$("$oshcc" --version)" "$(cc --version | head -n 1)"
  [ "$("$oshcc" -dumpversion)" = "$(cc -dumpversion)" ] || fail "-dumpversion"
  "$oshcc" -v >/dev/null 2>&1
  "$oshcc" -print-search-dirs >/dev/null
  echo 'int main(void) { return no_such_thing; }' >wrong.c
  if "$oshcc" wrong.c -o wrong 2>/dev/null; then fail "the compiler's exit code is lost"; fi
}

# The program finds the library without help, the library and oshrun know nothing of the build tree.
case_run_path() {
  local file
  "$oshcc" "$here/hello.c" -o hello
  expect "$(readelf -d hello)" "$prefix/$LIB"
  (cd / && env -i PATH=/usr/bin:/bin "$oshrun" -n 2 --timeout 60 "$out/hello") >/dev/null
  expect "$(env -i "$prefix/bin/shmem_memory" --help)" "--memory-servers"
  for file in bin/oshrun bin/shmem_info bin/shmem_memory bin/shmem_nvm bin/shmem_bench "$LIB/libatoll.so" "$LIB/libshmem_profile.so" "$LIB/libshmem_remote.so"; do
    refute "$(readelf -d "$prefix/$file" | grep -E 'RPATH|RUNPATH' || true)" "$BUILD"
  done
}

case_shmem_info() {
  local said
  said=$("$prefix/bin/shmem_info")
  expect "$said" "OpenSHMEM 1.6"
  expect "$said" "SHMEM_SYMMETRIC_SIZE"
  expect "$said" "cores"
  said=$(ulimit -Sn 200 && ulimit -Hn 300 && "$prefix/bin/shmem_info")
  expect "$said" "200, at most 300"
  # The limits are those that the shell has set, the sizes those that the system tells.
  local room
  room=$(df -B 1 --output=size /dev/shm | tail -n 1)
  fallocate -l $((room / 256)) /dev/shm/atoll.test.$$ # or as much would be free as there is
  trap 'rm -rf "$out" /dev/shm/atoll.test.$$' EXIT
  said=$(ulimit -l 16 && ulimit -v 8388608 && "$prefix/bin/shmem_info")
  expect "$said" "  locked memory          16 KiB, "
  expect "$said" "  address space          8 GiB"
  expect "$said" "  cores                  $(getconf _NPROCESSORS_ONLN)"
  expect "$said" "  memory                 $(human_bytes $(($(getconf _PHYS_PAGES) * $(getconf PAGESIZE))))"
  expect "$said" " free of $(human_bytes "$room") (used by"
  # A segment is half as much again, and 8 MiB, and what the library keeps there.
  said=$(SHMEM_SYMMETRIC_SIZE=16m SHMEM_KV_TEAM_SIZE=0 "$prefix/bin/shmem_info")
  expect "$said" "  pinned by a PE         "
  expect "$said" " MiB if it is alone on this host and the provider pins (InfiniBand and its like); "
  said=$(SHMEM_SYMMETRIC_SIZE=16t "$prefix/bin/shmem_info")
  expect "$said" " if it is alone on this host and the provider pins (InfiniBand and its like); too much: that is "
  if SHMEM_MAPPER=nonsense "$prefix/bin/shmem_info" >said; then fail "a wrong variable goes unnoticed"; fi
  expect "$(cat said)" "SHMEM_MAPPER=nonsense"
  refute "$said" "NOT FOUND"
  refute "$said" "opens here"
  local code=0
  "$prefix/bin/shmem_info" --nonsense >said 2>told || code=$?
  [ "$code" -eq 2 ] || fail "a wrong option has exit code $code"
  expect "$(cat told)" "usage: shmem_info"
  [ ! -s said ] || fail "wrong usage is told on standard output"
  for option in -h --help; do
    expect "$("$prefix/bin/shmem_info" $option)" "usage: shmem_info [--providers]"
  done
  said=$(FI_PROVIDER=tcp,ofi_rxm "$prefix/bin/shmem_info" --providers)
  expect "$said" "opens here, as "
}

# Runs with the library beside it.
case_shmem_bench() {
  local said
  said=$("$oshrun" -n 2 --timeout 60 "$prefix/bin/shmem_bench" atomics --pattern RAND --form blocking --count 1000)
  expect "$said" "RAND_CAS"
  refute "$said" WRONG
}

"case_${1:?which case?}"
