#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What bash completes with the script that the program prints, and whether zsh and fish can read theirs, where they are installed.
#
# usage: check_completion.sh WHYOOM
set -euo pipefail

program=$1
failures=0
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
complain() { echo "completion: $*"; failures=$((failures + 1)); }

"$program" completion bash >"$work/bash"
source "$work/bash"
[ "$(complete -p whyoom)" = "complete -o default -F _whyoom whyoom" ] || complain "bash knows no completion of whyoom"

# expect WANTED WORD...: what is offered for the last word, sorted, in one line.
expect() {
  local wanted=$1
  shift
  COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
  _whyoom "$program"
  local got
  got=$(printf '%s\n' "${COMPREPLY[@]:-}" | sort | tr '\n' ' ' | sed 's/ *$//')
  [ "$got" = "$wanted" ] || complain "$* gives '$got', not '$wanted'"
}
expect "budget completion explain help merge record replay report rules scan verify version" whyoom ""
expect "record replay report" whyoom re
expect "--sweep" whyoom replay --sw
expect "--sandbox --scale --set --sweep" whyoom replay --s
expect "--recorded-at --reserve" whyoom verify job.err --re
expect "gpu model" whyoom replay --on ""
expect "gpu" whyoom verify --on = g
expect "html json text" whyoom replay --format ""
expect "json" whyoom --format = j
expect "--format" whyoom --fo
expect "fp8" whyoom budget --kv-dtype fp8
expect "list" whyoom rules l
expect "--max-model-len --max-num-batched-tokens --max-num-seqs" whyoom budget --max
expect "" whyoom replay --capacity ""
expect "" whyoom job.err re
expect "bash fish zsh" whyoom -v completion ""
expect "--format=json" whyoom --format=j
expect "--scale" whyoom replay a.pickle --sc

# Every command that is offered has a help text.
COMP_WORDS=(whyoom "") COMP_CWORD=1
_whyoom "$program"
for name in "${COMPREPLY[@]}"; do
  case $("$program" "$name" --help) in "usage: whyoom $name"*) ;; *) complain "$name has no help text" ;; esac
done

for shell in zsh fish; do
  "$program" completion $shell >"$work/$shell"
  if ! command -v $shell >/dev/null 2>&1; then
    echo "completion: $shell is not installed, its script was not read by it"
  elif ! $shell -n "$work/$shell" 2>"$work/said"; then
    complain "$shell does not read its script: $(cat "$work/said")"
  fi
done

[ "$failures" -eq 0 ] || exit 1
echo "completion: as expected"
