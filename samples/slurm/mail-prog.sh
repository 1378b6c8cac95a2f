#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# MailProg of SLURM: the mails that users ask for with --mail-type, with the diagnosis in those about a job that failed.
#
# SLURM calls it as mail: -s SUBJECT USER, with the job in its environment. WHYOOM_MAIL is the program that sends.
set -u
here=$(cd "$(dirname "$0")" && pwd -P)
subject=${2:-}
user=${3:-}
case $user in '' | -*) exit 0 ;; esac

job=${SLURM_ARRAY_JOB_ID:-${SLURM_JOB_ID:-}}${SLURM_ARRAY_TASK_ID:+_$SLURM_ARRAY_TASK_ID}
{
  printf '%s\n' "$subject"
  case ${SLURM_JOB_STATE:-} in
    FAILED | OUT_OF_MEMORY | TIMEOUT | NODE_FAIL) echo; "$here/diagnose.sh" "$job" 2>/dev/null | head -c 20000 ;;
  esac
} | "${WHYOOM_MAIL:-/usr/bin/mail}" -s "$subject" -- "$user"
exit 0
