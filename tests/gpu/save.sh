#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Writes what was measured so far: OUTPUT/NAME.tar.gz, NAME.json and NAME.md, where NAME is that of the folder RESULTS. Each is written beside
# its place and moved there, so that it is whole at every moment.
#
# usage: save.sh RESULTS OUTPUT
set -eu

results=$1 output=$2
name=$(basename "$results")
place() { mv -f "$output/.$name.$1" "$output/$name.$1"; }

tar -C "$(dirname "$results")" -czf "$output/.$name.tar.gz" "$name"
place tar.gz
if [ -s "$results/result.json" ]; then
  cp "$results/result.json" "$output/.$name.json"
  place json
fi
{
  if [ -s "$results/result.md" ]; then cat "$results/result.md"; else echo "# $name"; fi
  printf '\n## Parts\n\n'
  sed 's/^/- /' "$results/parts.txt"
} >"$output/.$name.md"
place md
