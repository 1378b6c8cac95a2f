#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks tests/gpu/run on a machine without torch: over a stand-in for the driver it replays, names what it left out, and writes all
# of that below the folder that it was given.
#
# usage: check_run.sh RUN WHYOOM STAND_IN_CUDA STAND_IN_NVML
set -eu

run=$1
export WHYOOM="$2" WHYOOM_CUDA_LIBRARY="$3" WHYOOM_NVML_LIBRARY="$4" WHYOOM_PYTHON=/nonexistent/python3
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/nvidia-smi" <<'EOF'
#!/bin/sh
case $1 in
-L) echo "GPU 0: Stand-in (UUID: GPU-abababab-abab-abab-abab-ababababab00)" ;;
--query-gpu=name) echo "Stand-in  Card 1" ;;
*) echo "name, driver_version" ;;
esac
EOF
chmod +x "$folder/nvidia-smi"
fail() { echo "$*"; cat "$folder/said" 2>/dev/null; exit 1; }

# kept NAME FILE: a file out of the archive that was written below the folder NAME.
kept() { tar -xOzf "$folder/$1"/stand-in-card-1-*.tar.gz --wildcards "*/$2"; }

status=0
PATH="$folder:$PATH" bash "$run" -o "$folder/out" 200 >"$folder/said" 2>&1 || status=$?
[ "$status" = 1 ] || fail "exit status $status, not 1: the trainings are missing"
page=$(ls "$folder"/out/stand-in-card-1-*.md) || fail "no page"
grep -q '^- trainings: left out: /nonexistent/python3 has no torch' "$page" || fail "it does not say what it left out"
[ "$(grep -c '^- replay .*: done: the model agrees' "$page")" = 10 ] || fail "not all replays were done"
for report in fragmented made-touched a-million-events; do
  kept out "replays/$report.json" | grep -q '"model_agrees": true' || fail "no report of $report"
done
grep -q '^- verify: done' "$page" || fail "the sample was not verified"
[ "$(ls -A "$folder/out" | wc -l)" = 2 ] || fail "other files: $(ls -A "$folder/out")"

# A card that is lost in the middle: every part is tried, and all of it is written.
status=0
PATH="$folder:$PATH" STAND_IN_LOST=60 bash "$run" -o "$folder/lost" 200 >"$folder/said" 2>&1 || status=$?
[ "$status" = 1 ] || fail "exit status $status of a lost card, not 1"
grep -q '^- replay a-million-events: no result' "$folder"/lost/*.md || fail "a lost card ended the run"

# A run that is killed leaves whole files of what it had.
PATH="$folder:$PATH" setsid bash "$run" -o "$folder/killed" 200 >"$folder/said" 2>&1 &
running=$!
for _ in $(seq 600); do
  grep -q '^- replay fragmented: ' "$folder"/killed/*.md 2>/dev/null && break
  sleep 0.1
done
kill -KILL -"$running" || fail "it ended too early to be killed"
wait "$running" || true
grep -q '^- replay fragmented: done' "$folder"/killed/*.md || fail "a killed run left no page"
kept killed replays/fragmented.json | grep -q '"model_agrees": true' || fail "a killed run left no report"

# Without a whyoom that starts and without time nothing hangs.
status=0
printf '#!/bin/sh\nexit 127\n' >"$folder/broken"
chmod +x "$folder/broken"
PATH="$folder:$PATH" WHYOOM="$folder/broken" CC=/nonexistent/cc bash "$run" -o "$folder/none" 1 >"$folder/said" 2>&1 || status=$?
[ "$status" = 1 ] || fail "exit status $status without whyoom, not 1"
grep -q '^- whyoom: ' "$folder"/none/*.md || fail "it does not say that whyoom is missing"
