#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds that the hook of samples/slurm keeps its worker where the hook's process group is killed as soon as it has ended.

slurmd does that (SLURM 22.05), on one busy core often before the worker has run at all: a worker that is still in the group then dies,
and its job waits for a diagnosis until the next job fails. No SLURM is needed here: a worker that finds no `squeue` takes the job from
the queue all the same.

usage: check_hook_group.py EPILOG
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TIMES = 20
TAKEN_WITHIN_S = 10


def use_one_core():
    """The hook and its worker share one core, so that the worker seldom runs before the hook has ended."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


def is_taken(epilog, folder, job):
    """Whether a worker takes the job of a hook whose group is killed at its end."""
    environment = {"PATH": os.environ["PATH"], "SLURM_JOB_ID": job, "SLURM_JOB_EXIT_CODE": "256", "WHYOOM": "/bin/true",
                   "WHYOOM_RUN": f"{folder}/run", "WHYOOM_REPORTS": f"{folder}/reports"}
    hook = subprocess.Popen([epilog], env=environment, start_new_session=True, preexec_fn=use_one_core)
    status = hook.wait()
    try:
        os.killpg(hook.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if status != 0:
        sys.exit(f"FAILED the hook ended with {status}")
    queue = pathlib.Path(folder, "run", "queue")
    if not queue.is_dir():
        sys.exit("FAILED the hook made no queue")
    end = time.monotonic() + TAKEN_WITHIN_S
    while any(queue.iterdir()):
        if time.monotonic() > end:
            return False
        time.sleep(0.01)
    return True


def main():
    folder = tempfile.mkdtemp(prefix="whyoom-hook.")
    try:
        for time_number in range(TIMES):
            if not is_taken(sys.argv[1], folder, str(4711 + time_number)):
                sys.exit(f"FAILED hook {time_number + 1} of {TIMES}: its worker ended with the hook's process group")
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"ok {TIMES} hooks, each with its process group killed at its end")


if __name__ == "__main__":
    main()
