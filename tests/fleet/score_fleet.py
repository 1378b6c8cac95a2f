#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares what whyoom says about a made archive (make_archive.py) with the truth.

usage: score_fleet.py REPORT.jsonl TRUTH.json [--min SHARE]
       score_fleet.py --logs FOLDER WHYOOM [--min SHARE]

The first form reads the output of `whyoom scan --format jsonl` with the object of the fleet at its end, and prints: jobs found, precision and
recall of failures and of causes, the two bad nodes, the costliest cause and its GPU-hours, the setting of each sweep, the jobs that were
submitted again. The second runs WHYOOM on the log of each planted failure alone (with its .err). Exit status 1: a share is below --min
(0.95), or something planted was not found."""
import argparse
import json
import subprocess
import sys
from collections import Counter
from pathlib import Path


def share(part, whole):
    return part / whole if whole else 1.0


class Score:
    def __init__(self, least):
        self.least, self.is_good = least, True

    def figure(self, words, part, whole):
        self.is_good &= share(part, whole) >= self.least
        print(f"{words:42} {part} of {whole} ({100 * share(part, whole):.1f} %)")

    def found(self, words, is_found, detail=""):
        self.is_good &= is_found
        print(f"{words:42} {'found' if is_found else 'NOT FOUND'}{'  ' + detail if detail else ''}")


def read_report(path):
    """({path: job}, fleet)."""
    jobs, fleet = {}, None
    for line in Path(path).read_text(encoding="utf-8").splitlines():
        item = json.loads(line)
        if item["schema"] == "whyoom.fleet/1":
            fleet = item
        else:
            jobs[item["path"]] = item
    return jobs, fleet


def log_of(path, truth):
    """The log of the truth that a path of the report ends in: a scan names it from wherever it was started; the .err may come first."""
    parts = path.split("/")
    for start in range(len(parts)):
        tail = "/".join(parts[start:])
        for name in (tail, tail.removesuffix(".err") + ".out" if tail.endswith(".err") else tail):
            if name in truth["jobs"]:
                return name
    return None


def score_jobs(score, jobs, truth):
    matched = {}
    for path, job in jobs.items():
        log = log_of(path, truth)
        if log is not None:
            matched[log] = job
    said = [path for path, job in jobs.items() if job["is_failed"] == 1]
    right = sum(1 for path in said if log_of(path, truth) is not None)
    planted = truth["jobs"]
    failed = {log: job for log, job in matched.items() if job["is_failed"] == 1}
    causes = sum(1 for log, job in failed.items() if job["cause"] == planted[log]["cause"])
    score.figure("jobs found (one row for each)", min(len(jobs), truth["counts"]["jobs"]), max(len(jobs), truth["counts"]["jobs"]))
    score.figure("failures: precision", right, len(said))
    score.figure("failures: recall", len(failed), len(planted))
    score.figure("causes: precision", causes, len(said))
    score.figure("causes: recall", causes, len(planted))
    wrong = Counter((planted[log]["cause"], job["cause"]) for log, job in failed.items() if job["cause"] != planted[log]["cause"])
    for (cause, instead), count in wrong.most_common(8):
        print(f"    {cause} was called {instead}: {count}")
    hours = [(job["gpu_s"], planted[log]["gpu_hours"]) for log, job in failed.items() if job["gpu_s"] is not None]
    near = sum(1 for is_s, wanted in hours if abs(is_s / 3600 - wanted) <= 0.02 * wanted + 0.01)
    score.figure("GPU-hours of failed jobs, within 2 %", near, len(planted))


def score_fleet(score, fleet, truth):
    nodes = {(node["node"], node["kind"]) for node in fleet["nodes"]}
    for node, kind in truth["bad_nodes"].items():
        score.found(f"node {node}: {kind}", (node, kind) in nodes)
    extra = sorted(nodes - set(truth["bad_nodes"].items()))
    score.found("no other node is suspect", not extra, str(extra) if extra else "")
    costliest = fleet["by"]["cause"]["items"][0]
    wanted = truth["gpu_hours_lost"][truth["costliest"]]
    score.found(f"costliest cause: {truth['costliest']}", costliest["key"] == truth["costliest"],
                f"{(costliest['lost_gpu_s'] or 0) / 3600:.0f} of {wanted:.0f} GPU-hours")
    for array, sweep in truth["sweeps"].items():
        said = [item for item in fleet["sweeps"] if item["array_job"] == array]
        first = said[0]["splits"][0] if said and said[0]["splits"] else None
        is_right = first is not None and (first["knob"], first["relation"], first["value"]) == (sweep["knob"], sweep["relation"], sweep["value"])
        score.found(f"sweep {array}: {sweep['knob']} {sweep['relation']} {sweep['value']}", is_right,
                    f"{first['failed']} of {first['jobs']} failed, else {first['other_failed']} of {first['other_jobs']}" if first else "no condition")
    for repeat in truth["repeats"]:
        said = [item for item in fleet["repeats"] if (item["user"], item["name"], item["cause"]) == (repeat["user"], repeat["name"], repeat["cause"])]
        count = max((item["submissions"] for item in said), default=0)
        score.found(f"{repeat['user']}'s {repeat['name']}, {repeat['submissions']} times", count == repeat["submissions"], f"{count} times")


def score_logs(score, folder, whyoom, truth):
    right, wrong = 0, Counter()
    for log, planted in truth["jobs"].items():
        path = Path(folder) / "logs" / log
        files = [path] + ([path.with_suffix(".err")] if path.with_suffix(".err").exists() else [])
        done = subprocess.run([whyoom, "--format", "json", *map(str, files)], stdout=subprocess.PIPE, check=False)
        findings = json.loads(done.stdout)["findings"]
        said = findings[0]["id"] if findings else None
        right += said == planted["cause"]
        if said != planted["cause"]:
            wrong[planted["cause"], said, str(path)] += 1
    score.figure("causes of single logs", right, len(truth["jobs"]))
    for (cause, instead, path), _ in sorted(wrong.items(), key=str)[:20]:
        print(f"    {cause} was called {instead}: {path}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--logs", action="store_true")
    parser.add_argument("--min", type=float, default=0.95)
    parser.add_argument("first")
    parser.add_argument("second")
    options = parser.parse_args()
    score = Score(options.min)
    if options.logs:
        truth = json.loads((Path(options.first) / "truth.json").read_text())
        score_logs(score, options.first, options.second, truth)
    else:
        truth = json.loads(Path(options.second).read_text())
        jobs, fleet = read_report(options.first)
        score_jobs(score, jobs, truth)
        score_fleet(score, fleet, truth)
    return 0 if score.is_good else 1


if __name__ == "__main__":
    sys.exit(main())
