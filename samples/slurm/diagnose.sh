#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Diagnoses a job of SLURM by its number, with limits on time, memory and output. The other recipes of this folder call it.
#
# usage: samples/slurm/diagnose.sh JOB [OPTION...]     JOB is 4711 or 4711_3; the options are whyoom's; the report goes to standard output
#
# The job's owner chooses which paths its logs have, and may replace a log by a link to any file. Root therefore becomes the owner before
# it opens one; another user, such as SlurmUser, reads only files that belong to the owner. WHYOOM is the program, from the environment or
# from /etc/whyoom/slurm.
#
# exit status: that of whyoom; 3: no log to read, the owner is not known, or the report could not be written; 124, 137: the time was up
set -u
export PATH="/usr/sbin:/usr/bin:/sbin:/bin:${PATH:-}"
shopt -s extglob
set -a
if [ -r /etc/whyoom/slurm ]; then . /etc/whyoom/slurm; fi
set +a

whyoom=${WHYOOM:-whyoom}
seconds=30
memory_kib=2097152
report_bytes=1048576
files_most=64

job=${1:-}
case $job in '' | *[!0-9_]*) sed -n '5p' "$0" >&2; exit 3 ;; esac
shift

complain() { echo "diagnose.sh: job $job: $*" >&2; exit 3; }

# Numbers alone, which no name of a job can imitate, as it could in the text of scontrol.
read -r owner group _ < <(timeout 5 squeue --noheader --states=all --jobs="$job" --format='%U %G') || complain "no such job"
case $owner$group in '' | *[!0-9]*) complain "the owner is not known" ;; esac
if [ "$(id -u)" -eq 0 ] && [ "$owner" -ne 0 ]; then
  exec setpriv --reuid="$owner" --regid="$group" --init-groups -- "$0" "$job" "$@"
fi

# The id of an array is also that of one of its tasks, and gives them all.
text=$(timeout 5 scontrol show job "$job" | awk -v id="JobId=$job" 'BEGIN { RS = "" } NR == 1 || $1 == id { text = $0 } END { print text }')
[ -n "$text" ] || complain "scontrol does not know it"
value() { printf '%s\n' "$text" | sed -n "s/^ *$1=//p" | head -n 1; }

# Another user checks the file that it has opened, not the path, which may lead elsewhere a moment later; and whyoom gets no path, beside
# which it would look for further logs.
files=()
add() {
  local file
  [ -f "$1" ] && [ -r "$1" ] && [ ${#files[@]} -lt $files_most ] || return 0
  case " ${seen-} " in *" $1 "*) return 0 ;; esac
  seen="${seen-} $1"
  if [ "$(id -u)" -eq "$owner" ]; then
    files+=("$1")
  elif exec {file}<"$1"; then
    if [ "$(stat -L -c '%u %F' "/proc/self/fd/$file")" = "$owner regular file" ]; then files+=("/dev/fd/$file"); else exec {file}<&-; fi
  fi
}

# SLURM leaves the node and the task (%N, %t) in a path as they are.
for name in StdErr StdOut; do
  path=$(value "$name")
  case $path in
    *%*) while IFS= read -r file; do add "$file"; done < <(compgen -G "${path//%*([0-9])[A-Za-z]/*}" | sort) ;;
    *) add "$path" ;;
  esac
done
[ ${#files[@]} -gt 0 ] || complain "no log that can be read"
add "$(value Command)"

ulimit -c 0
ulimit -t $seconds
ulimit -v $memory_kib
printf '%s\n' "$text" |
  nice -n 19 timeout --kill-after=2 $seconds "$whyoom" --time-limit $((seconds / 2)) "$@" - "${files[@]}" |
  head -c $report_bytes
statuses=("${PIPESTATUS[@]}")
[ "${statuses[2]}" -eq 0 ] || exit 3
exit "${statuses[1]}"
