#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks that tests/gpu/run without a GPU ends with 77 and a reason, on this machine or on one whose nvidia-smi shows no card.
#
# usage: check_no_gpu.sh RUN
set -eu

run=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf '#!/bin/sh\nexit 9\n' >"$folder/nvidia-smi"
chmod +x "$folder/nvidia-smi"
status=0
said=$(PATH="$folder:$PATH" bash "$run") || status=$?
[ "$status" = 77 ] || { echo "exit status $status, not 77: $said"; exit 1; }
case $said in
"skipped: no NVIDIA GPU here"*) ;;
*) echo "it says: $said"; exit 1 ;;
esac
