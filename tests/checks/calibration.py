#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Are findings as often right as their confidence says?

usage: calibration.py WHYOOM CORPUS_ROOT

Reads the labelled corpora below CORPUS_ROOT, counts the findings that tell of a failure by their
confidence, and fails when one of them is right less often than its bar. Notes (is_failure false) are no diagnoses and do not
count. A finding is right when its family is one that the label accepts; "unclear" is right when the label does not decide.
Exit 77 without the corpora: skipped.

All findings count for "certain" and "likely", which stand by themselves. Of "possible" ones the first two count together: they
are a short list of what to look at, right when one of them is.
"""
import collections
import json
import os
import subprocess
import sys

BARS = {"certain": 0.99, "likely": 0.85, "possible": 0.50}
HOST = "host_memory"
OUTCOME_FAMILY = {"host_oom": HOST, "host_oom_cgroup": HOST, "host_oom_kernel": HOST, "out_of_memory": HOST}


def report_of(binary, path):
    done = subprocess.run([binary, "--format", "json", path], capture_output=True, timeout=120, check=False)
    return json.loads(done.stdout)


def is_right_message(label, family):
    """Labels of messages: `accept` lists families, `text_cause` is what the text alone decides."""
    if family == "unclear":
        return not label.get("decidable") or label.get("text_cause") == "unclear"
    if label["kind"] == "not_oom":
        return family in ("not_memory", "secondary")
    return family in label.get("accept", [])


def is_right_log(label, family):
    """Labels of logs: an outcome. Which of the causes of GPU memory is right they do not say."""
    outcome = label["outcome"]
    if outcome in OUTCOME_FAMILY:
        return family == HOST
    if outcome == "gpu_oom":
        return family not in (HOST, "not_memory", "secondary")
    if outcome in ("completed", "success"):
        return False
    return family in ("not_memory", "secondary", "unclear")


def is_right_whole(label, family):
    """Labels of whole logs: the families that are as good, none for a good or unknown end."""
    return family in label["families"]


def is_right_trace(_label, _family):
    """A monitoring trace alone shows no failure."""
    return False


def is_counted(label):
    if "format" in label:
        return True
    if "kind" in label:
        return label["kind"] == "not_oom" or bool(label.get("accept")) or bool(label.get("decidable"))
    return label.get("decidable", True) and label["outcome"] not in ("unclear", "failed", "rejected")


def judge_of(label):
    if "kind" in label:
        return is_right_message
    if "format" in label:
        return is_right_trace
    return is_right_whole if "root_lines" in label else is_right_log


def judge(label, findings, counts, wrong):
    is_right = judge_of(label)
    possible = []
    for at, finding in enumerate(findings):
        if not finding.get("is_failure", True):
            continue
        if finding["confidence"] == "possible":
            if at < 2:
                possible.append(finding)
            continue
        right = is_right(label, finding["family"])
        counts[finding["confidence"]][right] += 1
        if not right:
            wrong.append((finding["confidence"], label["file"], finding["id"]))
    # A short list counts once, and only where nothing surer stands before it.
    if possible and findings[0]["confidence"] == "possible":
        right = any(is_right(label, finding["family"]) for finding in possible if finding["family"] != "unclear")
        if len(possible) == 1:
            right = is_right(label, possible[0]["family"])
        counts["possible"][right] += 1
        if not right:
            wrong.append(("possible", label["file"], ", ".join(finding["id"] for finding in possible)))


def main():
    if len(sys.argv) != 3:
        print(__doc__)
        return 2
    binary, root = sys.argv[1:]
    counts = collections.defaultdict(lambda: {True: 0, False: 0})
    wrong = []
    folders = [name for name in sorted(os.listdir(root)) if os.path.exists(os.path.join(root, name, "labels.jsonl"))] if os.path.isdir(root) else []
    if not folders:
        print("no labelled corpus below %s: skipped" % root)
        return 77
    for corpus in folders:
        with open(os.path.join(root, corpus, "labels.jsonl"), encoding="utf-8") as lines:
            labels = [json.loads(line) for line in lines if line.strip()]
        for label in labels:
            if is_counted(label):
                judge(label, report_of(binary, os.path.join(root, corpus, label["file"]))["findings"], counts, wrong)
    failed = False
    for confidence, bar in BARS.items():
        right, of = counts[confidence][True], sum(counts[confidence].values())
        share = right / of if of else 1.0
        failed = failed or share < bar
        print("%-9s %4d of %4d right  %6.2f %%  (bar %2.0f %%)%s" % (confidence, right, of, 100 * share, 100 * bar, "" if share >= bar else "  BELOW"))
    for row in wrong:
        print("  wrong, %-8s %s: %s" % row)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
