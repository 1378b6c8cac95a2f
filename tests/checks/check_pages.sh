#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Holds the pages that the program writes from its rules against what a reader needs of them: each cause and each fix has one and is in
# the index, every link leads to a page, no section is missing, and the same rules give the same bytes. A few pages are compared whole
# with those in tests/checks/rule_pages/; WHYOOM_UPDATE_GOLDEN=1 rewrites them.
#
# usage: check_pages.sh WHYOOM GOLDEN_DIR
set -eu

program=$1
golden=$2
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
failures=0
complain() { echo "rules_pages: $*"; failures=$((failures + 1)); }

"$program" rules pages "$folder/pages" > "$folder/said"
"$program" rules pages "$folder/again" > /dev/null
diff -r "$folder/pages" "$folder/again" > /dev/null || complain "the same rules gave other pages"

# ids SORT: the ids that `rules list` shows under that heading.
ids() { "$program" rules list | awk -v want="$1" '/^[a-z]/{inside = ($1 == want)} inside && /^  /{print $1}'; }

# check SORT HEADING SECTION...: a page for each id, and no other; with those sections, and a row in the index.
check() {
  sort=$1
  heading=$2
  shift 2
  ids "$sort" > "$folder/ids"
  [ -s "$folder/ids" ] || complain "rules list names no $sort"
  ls "$folder/pages/$sort" | sed 's/\.md$//' | sort > "$folder/written"
  sort "$folder/ids" | diff - "$folder/written" > "$folder/differences" || complain "pages and $sort differ: $(cat "$folder/differences")"
  for id in $(cat "$folder/ids"); do
    page=$folder/pages/$sort/$id.md
    read -r title < "$page"
    [ "$title" = "# $id ($heading)" ] || complain "$sort/$id.md begins with another title"
    case $index in *"[$id]($sort/$id.md)"*) ;; *) complain "the index does not name $sort/$id.md" ;; esac
  done
  for section in "$@"; do
    for page in $(cd "$folder/pages" && grep -Lx "## $section" "$sort"/*.md || true); do complain "$page lacks \"$section\""; done
  done
}
index=$(cat "$folder/pages/README.md")
check causes cause "What it means" "How we know" "Looks like but is not" "Examples"
check fixes fix "What it does" "When it is offered" "What it saves" "What it costs" "Proposed for"

# Links to other pages, from the folder of the page that has them.
(cd "$folder/pages" && grep -roE '\]\([A-Za-z0-9_./-]+\.md\)' . | sort -u) | sed 's/:](/ /; s/)$//' > "$folder/links"
[ -s "$folder/links" ] || complain "no page links to another"
while read -r page link; do
  [ -e "$folder/pages/$(dirname "$page")/$link" ] || complain "$page links to $link, which is not there"
done < "$folder/links"

for page in $(cd "$golden" && find . -name '*.md' | sort); do
  [ -z "${WHYOOM_UPDATE_GOLDEN:-}" ] || cp "$folder/pages/$page" "$golden/$page"
  diff "$golden/$page" "$folder/pages/$page" || complain "${page#./} is not what tests/checks/rule_pages/ has"
done

[ "$failures" -eq 0 ] || exit 1
echo "rules_pages: $(sed 's/ written to.*//' "$folder/said") with $(wc -l < "$folder/links") links"
