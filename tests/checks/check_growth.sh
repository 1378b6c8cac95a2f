#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Whether the cost of a replay grows with the recording and not with its square: instructions, counted by valgrind, of recordings of
# 2,000 and of 8,000 lines whose requests do not fit, and of others that make replays slow. 4.6 = 4 ^ 1.1.
#
# usage: check_growth.sh PROGRAM
set -eu
program=$1
command -v valgrind >/dev/null 2>&1 || { echo "skipped: no valgrind"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failed=0

# record KIND LINES: a recording of that many lines. A third of it makes blocks, of which every second one is freed; the rest asks.
record() {
  awk -v kind="$1" -v lines="$2" 'BEGIN {
    print "{\"whyoom_trace\": 1, \"torch\": \"2.6\"}"
    size["refused"] = 1000; size["gaps"] = 20971520; size["streams"] = 200000
    for (; made < lines / 3; made++) printf "{\"alloc\": %d, \"id\": %d, \"stream\": %d}\n", size[kind] + made % 7 * 512, made, stream()
    for (id = 0; id < made; id += 2) printf "{\"free\": %d}\n", id
    for (id = made; id < lines - made / 2; id += 2) {
      printf "{\"alloc\": %d, \"id\": %d, \"stream\": %d}\n", kind == "gaps" ? 23068672 + id % 9 * 2097152 : 9663676416, id, stream()
      printf "{\"alloc\": %d, \"id\": %d, \"stream\": %d}\n", 30000 + id % 11 * 512, id + 1, stream()
    }
  }
  function stream() { return kind == "streams" ? made % 60 : 0 }'
}

# record_ranges LINES: a state with half as many expandable segments, each in a range of its own.
record_ranges() {
  awk -v lines="$1" 'BEGIN {
    print "{\"whyoom_trace\": 1, \"torch\": \"2.6\", \"settings\": \"expandable_segments:True\"}"
    print "{\"device\": 0, \"has_segments\": true}"
    for (at = 0; at < lines / 2; at++) {
      printf "{\"segment\": 2097152, \"addr\": %.0f, \"stream\": %d, \"small\": true, \"expandable\": true}\n", 34359738368 + at * 16777216, at % 2
      print "{\"block\": 2097152, \"state\": \"allocated\", \"requested\": 512}"
    }
    print "{\"segment_map\": 20971520, \"addr\": 17179869184}"
    print "{\"alloc\": 20971520, \"addr\": 17179869184}"
    print "{\"free\": 17179869184}"
    print "{\"segment_unmap\": 20971520, \"addr\": 17179869184}"
  }'
}

# count KIND LINES OPTION...: instructions of a replay.
count() {
  file=$folder/$1-$2.jsonl
  [ -f "$file" ] || if [ "$1" = ranges ]; then record_ranges "$2"; else record "$1" "$2"; fi >"$file"
  shift 2
  valgrind --tool=cachegrind --cache-sim=no --cachegrind-out-file=/dev/null "$program" --no-sandbox replay --exit-zero --no-times "$@" "$file" 2>&1 >/dev/null |
    sed -n 's/.*I *refs: *//p' | tr -d ,
}

# grows KIND OPTION...
grows() {
  kind=$1
  shift
  small=$(count "$kind" 2000 "$@")
  large=$(count "$kind" 8000 "$@")
  growth=$(awk -v a="$small" -v b="$large" 'BEGIN { printf "%.2f", b / a }')
  echo "$kind $*: $small to $large instructions, $growth times"
  awk -v growth="$growth" 'BEGIN { exit !(growth > 1 && growth <= 4.6) }' || failed=1
}

grows refused --capacity 8GiB
grows refused --capacity 8GiB --set expandable_segments:True
grows streams --capacity 8GiB
grows gaps --set expandable_segments:True
grows ranges --check
exit $failed
