#!/bin/sh
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

status=0
PATH="$folder:$PATH" bash "$run" -o "$folder/out" 200 >"$folder/said" 2>&1 || status=$?
[ "$status" = 1 ] || fail "exit status $status, not 1: the trainings are missing"
parts=$(ls "$folder"/out/stand-in-card-1-*-parts.txt) || fail "no parts.txt"
grep -q '^trainings: left out: /nonexistent/python3 has no torch' "$parts" || fail "it does not say what it left out"
[ "$(grep -c '^replay .*: done: the model agrees' "$parts")" = 10 ] || fail "not all replays were done"
for report in fragmented made-touched a-million-events; do
  grep -q '"model_agrees": true' "$folder"/out/stand-in-card-1-*-replays/$report.json || fail "no report of $report"
done
grep -q '^verify: done' "$parts" || fail "the sample was not verified"
[ ! -e "$folder/out/scratch" ] || fail "the scratch folder is still there"

# A card that is lost in the middle: every part is tried, and all of it is written.
status=0
PATH="$folder:$PATH" STAND_IN_LOST=60 bash "$run" -o "$folder/lost" 200 >"$folder/said" 2>&1 || status=$?
[ "$status" = 1 ] || fail "exit status $status of a lost card, not 1"
grep -q '^replay a-million-events: no result' "$folder"/lost/*-parts.txt || fail "a lost card ended the run"

# Without a whyoom that starts and without time nothing hangs.
status=0
printf '#!/bin/sh\nexit 127\n' >"$folder/broken"
chmod +x "$folder/broken"
PATH="$folder:$PATH" WHYOOM="$folder/broken" CC=/nonexistent/cc bash "$run" -o "$folder/none" 1 >"$folder/said" 2>&1 || status=$?
[ "$status" = 1 ] || fail "exit status $status without whyoom, not 1"
grep -q '^whyoom: ' "$folder"/none/*-parts.txt || fail "it does not say that whyoom is missing"
