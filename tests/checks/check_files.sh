#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No stray file is tracked: at the top level only what is named here, no name that begins with '-', no binary and no large file outside of
# the pictures of the documentation, the samples and the tests' data, no source without its licence.
#
# usage: check_files.sh FOLDER     exit status 77 where FOLDER is no checkout of git
set -eu
cd "$1"
command -v git >/dev/null 2>&1 || { echo "skipped: no git"; exit 77; }
[ "$(git rev-parse --show-toplevel 2>/dev/null)" = "$(pwd -P)" ] || { echo "skipped: no checkout of git"; exit 77; }

most_bytes=200000
list=$(mktemp)
trap 'rm -f "$list"' EXIT
git -c core.quotePath=false ls-files >"$list"

failed=0
refuse() { [ -z "$2" ] || { printf '%s:\n%s\n' "$1" "$2"; failed=1; }; }

refuse "not known at the top level (tests/checks/check_files.sh has the list)" "$(sed 's,/.*,/,' "$list" | sort -u | grep -vxE \
  '(CMakeLists\.txt|CMakePresets\.json|README\.md|ARCHITECTURE\.md|CONTRIBUTING\.md|CHANGELOG\.md|SECURITY\.md|LICENSE|NOTICE|\..*|(analyzer|cuda_replay|docs|packaging|parsers|rules|samples|tests)/)' || true)"
refuse "a name begins with '-'" "$(grep -E '(^|/)-' "$list" || true)"

# Data that comes from elsewhere, or is what a program printed.
data='^(samples|tests/(fuzz/corpus|golden|recordings|oracle/cases|training|gpu))/'
refuse "not text" "$(git -c core.quotePath=false ls-files --eol | grep -E '^i/-text' |
  sed 's/^[^	]*	//' | grep -vE "$data" | grep -vE '^docs/pictures/[a-z0-9.-]*\.webp$' || true)" # made by tests/browser/make_pictures.py
refuse "larger than $most_bytes bytes" "$(grep -vE "$data" "$list" | sed 's,^,./,' | tr '\n' '\0' | xargs -0 wc -c |
  awk -v most=$most_bytes '$1 > most && $2 != "total" { print }')"
# Sources, without those of jobs and recordings, which are data.
refuse "without a line SPDX-License-Identifier" "$(grep -E '\.(c|h|def|py|sh|cmake)$|(^|/)CMakeLists\.txt$|^\.ci/' "$list" |
  grep -vE '^(tests/(golden|recordings|table|judged)/|samples/[a-z0-9.]+-[a-z0-9.-]+/)' |
  tr '\n' '\0' | xargs -0 grep -L 'SPDX-License-Identifier: Apache-2\.0' || true)"
exit $failed
