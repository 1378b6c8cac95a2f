#!/bin/sh
# Checks the direction of includes: a folder may include only what the table in ARCHITECTURE.md allows.
#
# usage: check_layers.sh SOURCE_DIR [BUILD_DIR COMPILER]
# Reads every #include "..." of ours; with a build folder, also shows for each layer that a forbidden include does not compile there and an
# allowed one does.
set -eu

source=$1
build=${2:-}
compiler=${3:-cc}
failures=0
complain() { echo "layers: $*"; failures=$((failures + 1)); }

# rule FOLDER PATTERN: files directly in FOLDER include nothing of ours but what the extended regular expression matches.
rule() {
  for file in "$source/$1"/*.c "$source/$1"/*.h; do
    [ -f "$file" ] || continue
    wrong=$(grep -nE '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' "$file" | grep -vE "\"($2)/[A-Za-z0-9_]+\\.(h|def)\"" || true)
    [ -z "$wrong" ] || complain "$file: $wrong"
  done
}

rule parsers/base 'parsers/base'
rule parsers 'parsers|parsers/base'
rule rules 'rules|parsers|parsers/base'
rule cuda_replay 'cuda_replay|parsers/base'
# Only main.c may know both flows.
rule analyzer 'analyzer|rules|parsers|parsers/base|cuda_replay'
knows_replay=$(grep -lE '#[[:space:]]*include[[:space:]]*"cuda_replay/' "$source"/analyzer/*.[ch] 2>/dev/null | grep -v '/main\.c$' || true)
[ -z "$knows_replay" ] || complain "only analyzer/main.c may include cuda_replay: $knows_replay"
for file in "$source"/parsers/*.[ch] "$source"/parsers/base/*.[ch] "$source"/rules/*.[ch] "$source"/analyzer/*.[ch]; do
  if [ -f "$file" ] && grep -qE '#[[:space:]]*include[[:space:]]*"tests/' "$file"; then complain "$file includes a test header"; fi
done

# compiles LAYER HEADER: whether a file of that layer may include HEADER. Runs in the layer's folder, since a quoted include also looks
# where the compiler was started.
compiles() {
  (cd "$build/layers/$1" && printf '#include "%s"\n' "$2" |
    "$compiler" -std=c17 -D_POSIX_C_SOURCE=200809L -D_DEFAULT_SOURCE -I . -fsyntax-only -x c - 2>/dev/null)
}
forbidden() { if compiles "$1" "$2"; then complain "$2 can be included from $1"; fi; }
allowed() { compiles "$1" "$2" || complain "$2 cannot be included from $1"; }

if [ -n "$build" ]; then
  allowed wo_base parsers/base/view.h
  forbidden wo_base parsers/event.h
  allowed wo_parsers parsers/base/view.h
  allowed wo_parsers parsers/event.h
  forbidden wo_parsers rules/rule.h
  forbidden wo_parsers analyzer/job.h
  allowed wo_rules parsers/event.h
  forbidden wo_rules analyzer/job.h
  allowed wo_analyzer rules/rule.h
  allowed wo_analyzer analyzer/report.h
  forbidden wo_analyzer tests/support/table.h
  forbidden wo_analyzer cuda_replay/replay.h
  allowed wo_replay parsers/base/view.h
  allowed wo_replay cuda_replay/trace.h
  forbidden wo_replay parsers/event.h
  forbidden wo_replay rules/rule.h
fi

[ "$failures" -eq 0 ] || exit 1
echo "layers: every include points the right way"
