#!/bin/sh
# Compares docs/rules/ with what the program writes from its rules now.
#
# usage: check_pages.sh WHYOOM PAGES_DIR
set -eu

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
"$1" rules pages "$folder/pages" > "$folder/said"
if ! diff -r "$2" "$folder/pages" > "$folder/differences"; then
  head -n 20 "$folder/differences"
  echo "rules_pages: docs/rules/ is stale; run: rm -r docs/rules && whyoom rules pages docs/rules"
  exit 1
fi
