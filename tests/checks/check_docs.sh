#!/bin/sh
# Holds the manual and the guides against the program and the tree: every option of a help text stands in the section of
# the manual for that command and the other way round, the program knows each of them, and every file that a guide names exists.
#
# usage: check_docs.sh SOURCE_DIR WHYOOM MANUAL
set -eu

source=$1
program=$2
manual=$3
failures=0
complain() { echo "docs: $*"; failures=$((failures + 1)); }
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# options_of: the options in a text, one a line, each once.
options_of() { tr -cs 'A-Za-z0-9_-' '\n' | grep -xE -e '--[a-z0-9][a-z0-9-]*|-[a-z]' | sort -u; }

# section NAME: that section of the manual, without markup.
section() {
  awk -v want=".SH $1" '/^\.SH /{inside = ($0 == want)} inside' "$manual" | sed -e 's/\\-/-/g' -e 's/\\f[A-Z]//g'
}

# compare COMMAND SECTION: COMMAND is empty for the diagnosis. Both texts may also speak of an option that all commands share. The
# lines of its usage name other commands' options and do not count.
section "OPTIONS" | options_of > "$work/shared"
compare() {
  "$program" $1 --help | sed '/^usage:/,/^$/d' | options_of > "$work/help"
  section "$2" | options_of > "$work/manual"
  sort -u "$work/manual" "$work/shared" > "$work/described"
  [ -s "$work/help" ] || complain "the help of whyoom $1 has no options"
  for option in $(comm -23 "$work/help" "$work/described"); do complain "whyoom $1: $option is not in $2 of the manual"; done
  sort -u "$work/help" "$work/shared" > "$work/known"
  [ -z "$1" ] && cp "$work/help" "$work/known"
  for option in $(comm -13 "$work/known" "$work/manual"); do complain "whyoom $1: $option of $2 in the manual is not in the help"; done
  for option in $(cat "$work/help"); do
    said=$("$program" $1 "$option" --help 2>&1 < /dev/null || true)
    case $said in *"unknown option"*) complain "whyoom $1: $option is in the help, and unknown" ;; esac
  done
}

compare "" "OPTIONS"
compare budget "BUDGET OPTIONS"
compare replay "REPLAY OPTIONS"
compare verify "VERIFY OPTIONS"
compare record "RECORD OPTIONS"

# Files between backquotes: with a folder they are of the tree, without one some file of the tree has the name.
(cd "$source" && find . -path ./build -prune -o -path ./.git -prune -o -type f -print | sed 's|^\./||') > "$work/tree"
sed 's|.*/||' "$work/tree" | sort -u > "$work/names"
for guide in ARCHITECTURE.md CONTRIBUTING.md README.md docs/*.md docs/decisions/*.md docs/gpu-results/*.md samples/*.md tests/*/*.md; do
  for page in "$source"/$guide; do
    grep -oE '`[A-Za-z0-9_./-]+\.(h|c|def|md|sh|py|cmake|txt)`' "$page" | tr -d '`' | sort -u > "$work/named" || true
    while read -r name; do
      case $name in
      sitecustomize.py) ;; # what record_sitecustomize.py is called in a recorded process
      -*) ;;              # the end of a name
      */*) [ -e "$source/$name" ] || complain "${page#"$source"/} names $name, which is not there" ;;
      *) grep -qxF -e "$name" "$work/names" || complain "${page#"$source"/} names $name, which is not there" ;;
      esac
    done < "$work/named"
  done
done

[ "$failures" -eq 0 ] || exit 1
echo "docs: options and files are as the manual and the guides say"
