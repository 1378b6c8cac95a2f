#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# libwhyoom as its users meet it: installed into an empty folder, found by pkg-config and by CMake, linked shared and static, from C
# and C++; only the public names are visible, and nothing in it prints, ends the process, or reads the environment.
#
# usage: check_library.sh SOURCE_DIR BUILD_DIR COMPILER PROGRAM
set -eu
source=$1
build=$2
compiler=$3
program=$4
command -v pkg-config >/dev/null 2>&1 || { echo "skipped: no pkg-config"; exit 77; }
command -v nm >/dev/null 2>&1 || { echo "skipped: no nm"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "FAILED: $*"; exit 1; }

cmake --install "$build" --prefix "$folder/root" >/dev/null
lib=$(dirname "$(find "$folder/root" -name libwhyoom.so)")
log=$source/samples/kept-losses/slurm-734912.err

# --- Names ---
visible=$(nm -D --defined-only "$lib/libwhyoom.so" | awk '$2 == "T" {sub("@.*", "", $3); print $3}' | sort)
declared=$(grep -o 'whyoom_[a-z_]*(' "$folder/root/include/whyoom.h" | tr -d '(' | sort -u)
[ "$visible" = "$declared" ] || fail "visible: $visible; declared: $declared"
nm -D "$lib/libwhyoom.so" | grep -q 'whyoom_diagnose@@WHYOOM_0' || fail "the names have no versions"
if [ -f "$lib/libwhyoom.a" ]; then
  [ "$(nm -g --defined-only "$lib/libwhyoom.a" 2>/dev/null | awk 'NF == 3 {print $3}' | sort)" = "$declared" ] || fail "other names in libwhyoom.a"
  reaches=$(nm -u "$lib/libwhyoom.a" 2>/dev/null | awk '{print $NF}' | grep -Ex \
    '(stdout|stderr|v?f?printf|__f?printf_chk|puts|putchar|exit|_exit|abort|(secure_)?getenv|setenv|signal|sigaction|setlocale|fork|system|chdir|umask)' || true)
  [ -z "$reaches" ] || fail "libwhyoom.a reaches $reaches"
  data=$(nm "$lib/libwhyoom.a" 2>/dev/null | awk '$2 ~ /^[bBC]$/ {print $3}')
  [ -z "$data" ] || fail "variables: $data"
fi
echo "names: $(echo "$visible" | wc -l), no other"

# --- Programs ---
code=0
"$program" --json "$log" >"$folder/expected" || code=$?
[ "$code" = 1 ] || fail "whyoom ended with $code"
# expect PROGRAM: diagnoses the sample and exits with the code of a failure.
expect() {
  code=0
  LD_LIBRARY_PATH=$lib "$1" "$log" >"$folder/out" || code=$?
  [ "$code" = 1 ] && grep -q '^job 734912: ' "$folder/out" && grep -q '^  fix: ' "$folder/out" || { cat "$folder/out"; fail "$1 ended with $code"; }
  echo "$1: $(head -n 1 "$folder/out")"
}
export PKG_CONFIG_PATH=$lib/pkgconfig${PKG_CONFIG_PATH:+:$PKG_CONFIG_PATH}
# The installed .pc file names the prefix of the build; this one is elsewhere.
sed -i "s|^prefix=.*|prefix=$folder/root|; s|^libdir=.*|libdir=$lib|; s|^includedir=.*|includedir=$folder/root/include|" "$lib/pkgconfig/whyoom.pc"
"$compiler" -std=c99 -Wall -Wextra -Wpedantic -Werror "$source/samples/library/diagnose.c" $(pkg-config --cflags --libs whyoom) -o "$folder/shared"
expect "$folder/shared"
if [ -f "$lib/libwhyoom.a" ]; then
  "$compiler" "$source/samples/library/diagnose.c" $(pkg-config --cflags whyoom) "$lib/libwhyoom.a" $(pkg-config --libs --static whyoom | sed 's/-lwhyoom//') -o "$folder/static"
  expect "$folder/static"
fi
if command -v c++ >/dev/null 2>&1; then
  c++ -x c++ -Wall -Wextra -Werror "$source/samples/library/diagnose.c" $(pkg-config --cflags --libs whyoom) -o "$folder/cpp"
  expect "$folder/cpp"
fi
cmake -S "$source/samples/library" -B "$folder/build" -DCMAKE_C_COMPILER="$compiler" -DCMAKE_PREFIX_PATH="$folder/root" >"$folder/log" 2>&1 &&
  cmake --build "$folder/build" >>"$folder/log" 2>&1 || { cat "$folder/log"; fail "a program by CMake"; }
expect "$folder/build/diagnose"
if [ -f "$folder/build/diagnose_static" ]; then expect "$folder/build/diagnose_static"; fi
