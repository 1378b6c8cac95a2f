#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether the program has the hardening that CMakeLists.txt asks for: a program at any address, whose stack holds no code, whose
# imported addresses are read-only, with checks of the stack and (OPTIMISED is 1, and the C library is glibc) of the C library's
# writes into arrays.
#
# usage: check_hardening.sh PROGRAM OPTIMISED
set -u
program=$1
optimised=$2
command -v readelf >/dev/null 2>&1 || { echo "skipped: no readelf"; exit 77; }
failed=0

# require WHAT OPTION PATTERN: the tables that readelf OPTION prints have a line of that pattern.
require() {
  if readelf -W "$2" "$program" | grep -Eq "$3"; then
    echo "has $1"
  else
    echo "lacks $1"
    failed=1
  fi
}

require "an address that is drawn at its start" -h 'Type: *DYN'
require "a stack without code" -l 'GNU_STACK .* RW +0x'
require "a part that becomes read-only" -l 'GNU_RELRO'
require "all imports bound at its start" -d 'BIND_NOW|Flags:.* NOW'
require "checks of the stack" -s '__stack_chk_(fail|guard)'
if [ "$optimised" = 1 ] && readelf -W -V "$program" | grep -q GLIBC_; then
  require "checks of arrays" -s '__[a-z]+_chk@?'
fi
exit $failed
