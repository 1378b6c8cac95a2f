#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Whether reading logs, and checking recordings, takes as few instructions as it did: the figure that does not depend on the load of a machine.

usage: check_instructions.py WHYOOM JOBS KEPT.json [--update]

Counts the instructions of `whyoom LOG` for a byte of small logs (make_logs.py), those of a job of 4 KB after the first
(bench_jobs), those of a job that the store of a scan knows (the report included), and those of `whyoom replay --check` for an
entry of a recording (make_recording.py), under valgrind's cachegrind, and compares them with the kept figures. More than a tenth
above one is a failure.
Skipped (exit status 77) where valgrind is not installed, or for a build other than the one that the figures are of.

The figures are those of a build of type RelWithDebInfo; with --update they are written anew, which belongs into a commit that
says why.
"""

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
LOG_BYTES = 6_000_000
JOB_FILES = 25
KNOWN_FILES = (250, 1000)
ENTRIES = (10_000, 40_000)
WORSE = 1.10


def count(command, folder):
    out = os.path.join(folder, "cachegrind.out")
    done = subprocess.run(["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=" + out] + command,
                          capture_output=True, stdin=subprocess.DEVNULL)
    found = re.search(rb"I +refs: +([\d,]+)", done.stderr)
    if not found:
        sys.exit("valgrind gives no count for %s:\n%s" % (command[0], done.stderr.decode(errors="replace")[-600:]))
    return int(found.group(1).replace(b",", b""))


def make(kind, size, path):
    subprocess.run([sys.executable, "-B", os.path.join(HERE, "make_logs.py"), kind, str(size), path], check=True)
    return path


def count_unchanged(whyoom, files, folder):
    """Instructions of a scan that finds all jobs as its store knows them."""
    logs, store = os.path.join(folder, "known-%d" % files), os.path.join(folder, "known-%d.db" % files)
    make("files", files, logs)
    command = [whyoom, "scan", "--threads", "1", "--no-progress", "--store", store, logs]
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, stdin=subprocess.DEVNULL)
    return count(command, folder)


def count_check(whyoom, entries, folder):
    """Instructions of the check of a recording, which must agree: the reading included."""
    path = os.path.join(folder, "recording-%d.pickle" % entries)
    subprocess.run([sys.executable, "-B", os.path.join(HERE, "make_recording.py"), str(entries), path], check=True)
    command = [whyoom, "--no-sandbox", "replay", "--check", path]
    if b"as recorded" not in subprocess.run(command, capture_output=True, check=True).stdout:
        sys.exit("the made-up recording is not reproduced")
    return count(command, folder)


def measure(whyoom, jobs, folder):
    figures = {}
    for kind in ("varied", "quiet", "idle"):
        path = make(kind, LOG_BYTES, os.path.join(folder, kind + ".log"))
        empty = os.path.join(folder, "short.log")
        with open(path, "rb") as whole, open(empty, "wb") as short:
            short.write(whole.read(200))
        spent = count([whyoom, path], folder) - count([whyoom, empty], folder)
        figures[kind + "_per_byte"] = round(spent / os.path.getsize(path), 2)
    make("files", JOB_FILES, os.path.join(folder, "files"))
    paths = sorted(os.path.join(folder, "files", "000", name) for name in os.listdir(os.path.join(folder, "files", "000")))
    spent = count([jobs, "7"] + paths, folder) - count([jobs, "2"] + paths, folder)
    figures["per_small_job"] = round(spent / 5 / len(paths))
    few, many = KNOWN_FILES
    spent = count_unchanged(whyoom, many, folder) - count_unchanged(whyoom, few, folder)
    figures["per_unchanged_job"] = round(spent / (many - few))
    few, many = ENTRIES
    figures["per_checked_entry"] = round((count_check(whyoom, many, folder) - count_check(whyoom, few, folder)) / (many - few))
    return figures


def main():
    whyoom, jobs, kept_path = sys.argv[1:4]
    if not shutil.which("valgrind"):
        print("skipped: valgrind is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory() as folder:
        figures = measure(whyoom, jobs, folder)
    if "--update" in sys.argv[4:]:
        with open(kept_path, "w") as out:
            json.dump(figures, out, indent=2)
            out.write("\n")
    with open(kept_path) as file:
        kept = json.load(file)
    worse = 0
    for name, figure in figures.items():
        is_worse = figure > kept[name] * WORSE
        worse += is_worse
        print("%-18s %10.2f   kept %10.2f   %s" % (name, figure, kept[name], "WORSE" if is_worse else "ok"))
    sys.exit(1 if worse else 0)


if __name__ == "__main__":
    main()
