#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether the program starts without patching its own data: the loader must not have many addresses to fill in. Rule packs are
# constant tables of distances (rules/files/tree.h); as a tree of pointers they alone cost more than thirty thousand.
#
# usage: check_relocations.sh PROGRAM MOST
set -eu
program=$1
most=$2
command -v readelf >/dev/null 2>&1 || { echo "skipped: no readelf"; exit 77; }
count=$(readelf -rW "$program" | grep -c _RELATIVE || true)
echo "$count relative relocations, at most $most"
[ "$count" -le "$most" ]
