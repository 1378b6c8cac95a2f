#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Mails its owner about a failed job. For `whyoom scan --follow /scratch/logs --exec samples/slurm/notify.sh`: the job is one line
# of JSON on standard input, and the variables WHYOOM_* say what most mails need.
#
# Values of these variables come from logs, which are other people's: they stand in quotes, and in no place where a command could
# be. A name that is no user's gets no mail.
set -eu

case ${WHYOOM_USER:-} in
  '' | -* | *[!A-Za-z0-9._-]*) exit 0 ;;
esac

{
  printf '%s\n\n' "${WHYOOM_TITLE:-The job failed.}"
  printf 'log:    %s\n' "$WHYOOM_PATH"
  printf 'cause:  %s\n\n' "${WHYOOM_CAUSE:-not found}"
  printf 'In full, with the lines that show it and what to change:\n\n  whyoom %s\n\nAs data:\n\n' "$WHYOOM_PATH"
  cat
} | mail -s "job $WHYOOM_JOB_ID: $WHYOOM_OUTCOME" -- "$WHYOOM_USER"
