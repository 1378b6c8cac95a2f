#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# A machine that lacks something: CMake and .ci/setup name it, the packages that bring it, and the way out without root. Builds nothing.
#
# usage: check_missing.sh SOURCE_DIR
set -eu
source=$1
cmake=$(command -v cmake)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
failures=0

# expect STATUS CASE WORDS... -- COMMAND...: the exit status (0, or 1 for any other), and all of the words.
expect() {
  wanted=$1 case=$2 words=$scratch/words status=0
  shift 2
  : >"$words"
  while [ "$1" != -- ]; do printf '%s\n' "$1" >>"$words"; shift; done
  shift
  "$@" >"$scratch/said" 2>&1 || status=$?
  tr -s ' \n' ' ' <"$scratch/said" >"$scratch/line" # CMake wraps its messages
  [ "$status" = "$wanted" ] || { echo "$case: exit status $status and not $wanted"; cat "$scratch/said"; failures=$((failures + 1)); return; }
  while read -r word; do
    grep -F -e "$word" "$scratch/line" >/dev/null || { echo "$case: does not say: $word"; cat "$scratch/said"; failures=$((failures + 1)); return; }
  done <"$words"
  echo "ok     $case"
}
configure() { rm -rf "$scratch/build" && "$cmake" -S "$source" -B "$scratch/build" -DWHYOOM_TESTS=OFF "$@"; }

# A PATH with nothing that builds, and one with make alone.
mkdir "$scratch/bare" "$scratch/make"
: >"$scratch/make/make"
chmod +x "$scratch/make/make"
unset CC CMAKE_GENERATOR
without_make() { (PATH=$scratch/bare:/nowhere; "$cmake" -S "$source" -B "$scratch/1" -G "Unix Makefiles" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF); }
without_compiler() { (PATH=$scratch/make:/nowhere; "$cmake" -S "$source" -B "$scratch/2" -G "Unix Makefiles" -DCMAKE_FIND_USE_CMAKE_SYSTEM_PATH=OFF); }
expect 1 "neither make nor ninja" "Neither make nor" ninja-build "module avail" "static program" -- without_make
expect 1 "no compiler" "No C compiler" "gcc libc6-dev" conda "static program" -- without_compiler

without_headers() { (export PKG_CONFIG_LIBDIR="$scratch/bare" PKG_CONFIG_PATH=; configure "$@"); }
expect 1 "no headers" "Not found: PCRE2, cJSON, SQLite" "apt-get install libpcre2-dev libcjson-dev libsqlite3-dev" \
  "dnf install pcre2-devel cjson-devel sqlite-devel" "conda-forge pcre2 cjson sqlite" "-DWHYOOM_BUNDLED=ON" -- without_headers
expect 1 "no pkg-config" "Not found: pkg-config" "apt-get install pkg-config" "pkgconf-pkg-config" "-DWHYOOM_BUNDLED=ON" \
  -- configure -DCMAKE_DISABLE_FIND_PACKAGE_PkgConfig=ON
mkdir "$scratch/sources"
without_sources() { (export WHYOOM_NO_DOWNLOAD=1; configure -DWHYOOM_BUNDLED=ON -DWHYOOM_SOURCES="$scratch/sources"); }
expect 1 "no sources" "missing: zlib" "missing: sqlite" "WHYOOM_SOURCES" "static program" -- without_sources
! grep -F "missing: musl" "$scratch/said" || { echo "no sources: musl is not needed"; failures=$((failures + 1)); }

# .ci/setup, as somebody who is not root, and whose sudo is not for him.
mkdir "$scratch/user" "$scratch/old"
printf '#!/bin/sh\n[ "$1" = -u ] && echo 1000\n' >"$scratch/user/id"
printf '#!/bin/sh\nexit 1\n' >"$scratch/user/sudo"
cp "$scratch/user/sudo" "$scratch/user/pkg-config"
cp "$scratch/user/id" "$scratch/user/sudo" "$scratch/old"
printf '#!/bin/sh\necho cmake version 3.10.2\n' >"$scratch/old/cmake"
chmod +x "$scratch/user/"* "$scratch/old/"*
setup() { (PATH=$1:$PATH; "$source/.ci/setup" "$2" </dev/null); }
expect 3 "set-up by a user" libpcre2-dev "-DWHYOOM_BUNDLED=ON" -- setup "$scratch/user" build
expect 1 "set-up of the tests by a user" libcmocka-dev ".ci/demo" "-DWHYOOM_BUNDLED=ON" -- setup "$scratch/user" test
expect 1 "set-up by a user with an old CMake" "tools (cmake)" "module avail" "CMake 3.18" "static program" -- setup "$scratch/old" build

echo "$failures failed"
[ "$failures" -eq 0 ]
