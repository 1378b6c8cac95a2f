#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The pages of the manual, as formatters and their lints see them; skipped where there is none of them.
#
# usage: check_manual.sh MANUAL       MANUAL is the folder with man1/ and man5/. exit status 0: clean; 1: not; 77: skipped
set -euo pipefail

cd "${1:?usage: check_manual.sh MANUAL}"
failures=0
checked=()
complain() { echo "manual: $*"; failures=$((failures + 1)); }
if command -v mandoc >/dev/null; then
  checked+=(mandoc)
  # Long lines of a source harm nobody who reads the page.
  for page in man?/*; do
    said=$(mandoc -T lint -W style "$page" | grep -v 'STYLE: input text line longer than 80 bytes' || true)
    [ -z "$said" ] || complain "$said"
  done
fi
if command -v groff >/dev/null; then
  checked+=(groff)
  for page in man?/*; do
    said=$(groff -man -ww -z "$page" 2>&1) || said="groff: $said"
    [ -z "$said" ] || complain "$said"
    # No line of a page is wider than a terminal: lines of examples are not folded.
    wide=$(groff -man -T ascii -P -cbou -r LL=80n "$page" 2>/dev/null | awk 'length > 80' | head -n 3)
    [ -z "$wide" ] || complain "$page: wider than 80 columns: $wide"
  done
fi
[ ${#checked[@]} -gt 0 ] || { echo "skipped: neither mandoc nor groff is installed"; exit 77; }
echo "manual: $(ls man?/* | wc -l) pages by ${checked[*]}, $failures complaints"
[ $failures -eq 0 ]
