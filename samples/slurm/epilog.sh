#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A hook of SLURM for the end of each job: Epilog on the nodes, or EpilogSlurmctld on the controller (README.md says which, and how to
# install it). It leaves a diagnosis of each failed job in a folder.
#
# It holds nothing up and changes nothing of the job: it puts the job's number into a queue and ends, always with 0. A worker in the
# background does the rest. No more than a few workers run at once, however many jobs fail, and diagnose.sh limits each diagnosis.
#
# Settings, from the environment or from /etc/whyoom/slurm: WHYOOM, the program; WHYOOM_REPORTS and WHYOOM_RUN, the folders of reports
# and of the queue, in which only root and SlurmUser may write; WHYOOM_WORKERS; and SLURM_CONF where it is not the default.
set -u
export PATH="/usr/sbin:/usr/bin:/sbin:/bin:${PATH:-}"
umask 077
set -a
if [ -r /etc/whyoom/slurm ]; then . /etc/whyoom/slurm; fi
WHYOOM=${WHYOOM:-/usr/bin/whyoom}
set +a
reports=${WHYOOM_REPORTS:-/var/lib/whyoom}
run=${WHYOOM_RUN:-/run/whyoom}
workers=${WHYOOM_WORKERS:-2}
queue_most=1000 # jobs that wait; further ones get no diagnosis
case $0 in */*) here=${0%/*} ;; *) here=. ;; esac

# ---- In the hook

# Each node of a job runs Epilog: the first one does the work.
is_first_node() {
  [ -n "${SLURMD_NODENAME:-}" ] && [ -n "${SLURM_JOB_NODELIST:-}" ] || return 0
  [ "$SLURMD_NODENAME" = "$SLURM_JOB_NODELIST" ] || [ "$SLURMD_NODENAME" = "$(scontrol show hostnames "$SLURM_JOB_NODELIST" | head -n 1)" ]
}

enter() {
  local waiting
  [ "${SLURM_JOB_EXIT_CODE:-0}" != 0 ] || [ "${SLURM_JOB_DERIVED_EC:-0}" != 0 ] || return
  is_first_node || return
  mkdir -p "$run/queue" || return
  waiting=("$run"/queue/*)
  [ ${#waiting[@]} -lt $queue_most ] || return
  : >"$run/queue/$SLURM_JOB_ID" || return
  # slurmd kills the process group of a hook that has ended. Waiting for setsid, which leaves the group before it starts the worker,
  # keeps that from a worker that is still on its way out.
  setsid "$BASH" -c '"$0" --work &' "$0"
}

# ---- In the background

diagnose() { # JOB
  local id owner array task name='' new=$reports/.new.$HOSTNAME.$slot status=0
  while read -r id owner array task; do
    if [ "$id" = "$1" ]; then name=$id; break; fi
  done < <(timeout 5 squeue --noheader --states=all --jobs="$1" --format='%A %U %F %K')
  [ -n "$name" ] || return
  case $task in *[!0-9]*) ;; *) name=${array}_$task ;; esac
  rm -f "$new" # of a worker that was killed, whose diagnosis may go on for a while
  : >"$new" || return
  if [ "$(id -u)" -eq 0 ]; then chown "$owner" "$new"; fi
  timeout --kill-after=2 60 "$here/diagnose.sh" "$name" >"$new" 2>"$run/messages.$slot" 8>&- || status=$?
  # A report that is not whole replaces none.
  if [ $status -le 2 ] && [ -s "$new" ]; then mv -f "$new" "$reports/$name.txt"; else rm -f "$new"; fi
}

# Takes jobs until there are none; fails if there was none.
empty_queue() {
  local entry is_any=1
  for entry in "$run"/queue/*; do
    mv "$entry" "$run/taken.$slot" 2>/dev/null || continue # another worker was first
    is_any=0
    diagnose "${entry##*/}"
  done
  return $is_any
}

has_queue() { compgen -G "$run/queue/*" >/dev/null; }

# The lock of a slot ends with the process that holds it. A job may enter between a worker's last look and the end of its lock, while its
# own worker finds all slots taken: therefore each looks again after it has let go.
work() {
  local slot idle=0
  while [ $idle -lt 3 ] && has_queue; do
    idle=$((idle + 1))
    for ((slot = 1; slot <= workers; slot++)); do
      exec 8>"$run/slot.$slot" || return
      if flock --nonblock 8; then
        if empty_queue; then idle=0; fi
        exec 8>&-
        continue 2
      fi
      exec 8>&-
    done
    return
  done
}

case ${1:-} in
  --work) work ;;
  *) if [ -n "${SLURM_JOB_ID:-}" ]; then enter </dev/null >/dev/null 2>&1; fi ;;
esac
exit 0
