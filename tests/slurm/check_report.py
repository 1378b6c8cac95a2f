#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares a JSON report with what is expected of it.

usage: check_report.py REPORT KEY=VALUE...

Keys: outcome, kind, rank, host, family (of the first finding), job. VALUE "null" is the absence of knowledge; "a|b" allows either.
consequences=N: at least N pieces of evidence are told as consequences. Also, always: no consequence is the failure itself.
Prints what differs, and fails when something does.
"""
import json
import sys


def main():
    with open(sys.argv[1], encoding="utf-8") as file:
        report = json.load(file)
    failure = report["failure"] or {}
    findings = report["findings"]
    consequences = failure.get("consequences", [])
    actual = {
        "outcome": report["job"]["outcome"],
        "job": report["job"]["id"],
        "kind": failure.get("kind"),
        "rank": failure.get("rank"),
        "host": failure.get("host"),
        "family": findings[0]["family"] if findings else None,
    }
    wrong = []
    for argument in sys.argv[2:]:
        key, expected = argument.split("=", 1)
        if key == "consequences":
            if len(consequences) < int(expected):
                wrong.append(f"{len(consequences)} consequences, expected at least {expected}")
            continue
        value = actual[key]
        text = "null" if value is None else str(value)
        if text not in expected.split("|"):
            wrong.append(f"{key} is {text}, expected {expected}")
    if failure.get("evidence") in consequences:
        wrong.append("the failure is among its own consequences")
    for line in wrong:
        print("  " + line)
    return 1 if wrong else 0


sys.exit(main())
