#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Holds the manual and the guides against the program and the tree: every command has a page, every option of its help text stands among the
# options of that page and the other way round, the program knows each of them, the page and the help have the same exit statuses and examples,
# and every file that a guide names exists.
#
# usage: check_docs.sh SOURCE_DIR WHYOOM MANUAL       MANUAL is the folder with man1/ and man5/
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

# section NAME FILE: that section of a page, without markup.
section() {
  awk -v want=".SH $1" '/^\.SH /{inside = ($0 == want); next} inside' "$2" |
    sed -e 's/\\-/-/g' -e 's/\\f[A-Z]//g' -e "s/\\\\(aq/'/g" -e 's/\\(ti/~/g' -e 's/\\e/\\/g'
}

# compare COMMAND PAGE: COMMAND is empty for the diagnosis. Both texts may also speak of an option that all commands share. The
# lines of its usage name other commands' options and do not count, nor do examples and options of rg.
section "OPTIONS" "$manual/man1/whyoom.1" | options_of > "$work/shared"
compare() {
  "$program" $1 --help | sed -e '/^usage:/,/^$/d' -e '/^examples:/,$d' -e 's/`rg [^`]*`//' | options_of > "$work/help" || true
  section "OPTIONS" "$2" | options_of > "$work/manual" || true
  sort -u "$work/manual" "$work/shared" > "$work/described"
  for option in $(comm -23 "$work/help" "$work/described"); do complain "whyoom $1: $option is not in ${2##*/}"; done
  sort -u "$work/help" "$work/shared" > "$work/known"
  [ -z "$1" ] && cp "$work/help" "$work/known"
  for option in $(comm -13 "$work/known" "$work/manual"); do complain "whyoom $1: $option of ${2##*/} is not in the help"; done
  for option in $(cat "$work/help"); do
    said=$("$program" $1 "$option" --help 2>&1 < /dev/null || true)
    case $said in *"unknown option"*) complain "whyoom $1: $option is in the help, and unknown" ;; esac
  done
}

# compare_rest COMMAND PAGE: exit statuses (those of the help are numbers behind its words), examples, and the order of the sections.
compare_rest() {
  "$program" $1 --help > "$work/text"
  sed -n '/^exit status/,/^$/p' "$work/text" | grep -oE '(status:|;|pages:) [0-9]+|, [0-9]{3}|[0-9]{3} ' | grep -oE '[0-9]+' | sort -un > "$work/help" || true
  section "EXIT STATUS" "$2" | grep -xE '\.B [0-9]+' | tr -d '.B ' | sort -un > "$work/manual" || true
  diff "$work/help" "$work/manual" > "$work/differ" || complain "exit statuses of whyoom $1 and ${2##*/}: $(tr '\n' ' ' < "$work/differ")"
  sed -n '/^examples:/,/^more:/{s/^  //p;}' "$work/text" | grep -v '^# ' > "$work/help" || true
  section "EXAMPLES" "$2" | grep -vE '^\.' > "$work/manual" || true
  [ -s "$work/help" ] || complain "the help of whyoom $1 has no example"
  while IFS= read -r line; do grep -qxF -e "$line" "$work/manual" || complain "${2##*/} lacks the example: $line"; done < "$work/help"
  page=whyoom${1:+-$1}
  grep -qE "^more: man $page;" "$work/text" || complain "the help of whyoom $1 does not end with its page of the manual"
  grep '^\.SH ' "$2" | sed 's/^\.SH //' | grep -vxE 'COMMANDS|ENVIRONMENT|FILES' | tr '\n' ' ' > "$work/sections"
  [ "$(cat "$work/sections")" = "NAME SYNOPSIS DESCRIPTION OPTIONS EXIT STATUS EXAMPLES SEE ALSO " ] || complain "sections of ${2##*/}: $(cat "$work/sections")"
}

compare "" "$manual/man1/whyoom.1"
compare_rest "" "$manual/man1/whyoom.1"
[ "$(grep -c . "$work/shared")" -ge 10 ] || complain "whyoom.1 has hardly an option"
# The commands, as shells complete them; `version` is in the page of `help`.
for command in $("$program" completion words -- "" | cut -f 1 | grep -vx version); do
  page=$manual/man1/whyoom-$command.1
  if [ ! -e "$page" ]; then complain "whyoom $command has no page"; continue; fi
  compare "$command" "$page"
  compare_rest "$command" "$page"
  grep -qF -e "whyoom\-$command (1)" "$manual/man1/whyoom.1" || complain "whyoom.1 does not name the page of $command"
done
for command in scan report merge budget replay verify record; do
  [ -e "$manual/man1/whyoom-$command.1" ] || continue # which is said above
  section "OPTIONS" "$manual/man1/whyoom-$command.1" | options_of > "$work/manual"
  [ -n "$(comm -13 "$work/shared" "$work/manual")" ] || complain "whyoom-$command.1 has no option of its own"
done
# Pages that a page names are there, and no page is of a command that is gone.
for page in "$manual"/man?/whyoom*; do
  for named in $(sed 's/\\-/-/g' "$page" | grep -oE 'whyoom(-[a-z]+)? ?\([15]\)' | tr -d ' ()' | sort -u); do
    name=${named%[15]}
    section=${named#"$name"}
    [ -e "$manual/man$section/$name.$section" ] || complain "${page##*/} names $name($section), which is not there"
  done
  command=${page##*/whyoom}
  command=${command#-}
  command=${command%.1}
  case ${page##*/} in
  whyoom.1 | *.5) ;;
  *) "$program" "$command" --help | grep "^usage: whyoom $command" > "$work/text" || complain "${page##*/} is of no command" ;;
  esac
done

# Files between backquotes: with a folder they are of the tree, without one some file of the tree has the name.
(cd "$source" && find . -path ./build -prune -o -path ./.git -prune -o -type f -print | sed 's|^\./||') > "$work/tree"
sed 's|.*/||' "$work/tree" | sort -u > "$work/names"
for guide in ARCHITECTURE.md CONTRIBUTING.md README.md docs/*.md docs/guide/*.md docs/decisions/*.md docs/gpu-results/*.md samples/*.md tests/*/*.md; do
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
