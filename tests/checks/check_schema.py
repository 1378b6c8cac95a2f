#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks JSON reports against their schemas in docs/schema/: report-1, budget-1, replay-1, replay-diff-1, job-1, fleet-1.

usage: check_schema.py SOURCE_DIR WHYOOM

Validates the standard output of every golden case that asks for JSON, and fresh reports on every sample job, with all its files and with
each log alone. Also checks what a schema cannot say: that every evidence id that a report names is in its evidence, that all evidence has a
line of a file that was read, and that a failure
is found on evidence only. Exit 77 (skipped) when Python's jsonschema is not installed.
"""
import json
import pathlib
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("skipped: Python's jsonschema is not installed")
    sys.exit(77)


def golden_reports(source):
    """(name, text) of each golden case whose arguments ask for JSON and whose output is a report."""
    for case in sorted((source / "tests" / "golden").glob("*/*")):
        cmd = case / "cmd"
        words = cmd.read_text().split("\n") if cmd.is_file() else []
        output = case / "stdout"
        if any(word in ("json", "--format=json") for word in words) and output.is_file() and output.stat().st_size > 0:
            yield "golden " + case.name, output.read_text()


def sample_reports(source, binary):
    """(name, text) of fresh reports on each sample."""
    for folder in sorted(path for path in (source / "samples").iterdir() if path.is_dir()):
        files = sorted(str(path) for path in folder.iterdir() if path.is_file() and path.suffix not in (".md", ".json"))
        logs = [path for path in files if path.endswith((".err", ".out"))]
        for given in [files] + [[log] for log in logs]:
            done = subprocess.run([binary, "--format", "json"] + given, capture_output=True, timeout=60, check=False)
            name = folder.name + ": " + " ".join(pathlib.Path(path).name for path in given)
            if done.returncode not in (0, 1):
                raise SystemExit("%s: exit %d: %s" % (name, done.returncode, done.stderr.decode(errors="replace")))
            yield name, done.stdout.decode()
        done = subprocess.run([binary, "budget", "--format", "json"] + files, capture_output=True, timeout=60, check=False)
        yield folder.name + ": budget", done.stdout.decode()


def named_evidence(value, key=""):
    """Every evidence id that a part of a report names."""
    if isinstance(value, dict):
        for name, item in value.items():
            if name != "id":
                yield from named_evidence(item, name)
    elif isinstance(value, list):
        for item in value:
            yield from named_evidence(item, key)
    elif isinstance(value, str) and key in ("evidence", "where", "consequences", "recovered", "outcome_evidence"):
        yield value


def faults(validators, text):
    """What is wrong with one report."""
    try:
        report = json.loads(text)
    except ValueError as fault:
        return ["not JSON: %s" % fault]
    validator = validators.get(report.get("schema"))
    if validator is None:
        return ["no schema %r" % report.get("schema")]
    found = ["%s: %s" % ("/".join(map(str, error.absolute_path)), error.message[:200]) for error in validator.iter_errors(report)]
    if report["schema"] in ("whyoom.job/1", "whyoom.fleet/1"):
        # names that the schema does not have, which it allows for later versions
        return found + ["%s is not in the schema" % name for name in report if name not in validator.schema["properties"]]
    known = {item.get("id") for item in report.get("evidence", [])}
    rest = {name: part for name, part in report.items() if name != "evidence"}
    found += ["evidence %s is named but not given" % item for item in sorted(set(named_evidence(rest)) - known)]
    if report["schema"] != "whyoom.report/1":
        return found
    lines = {item["path"]: item["lines"] for item in report.get("inputs", [])}
    found += ["evidence %s is at %s:%s, which was not read" % (item["id"], item["path"], item["line"]) for item in report.get("evidence", [])
              if not 1 <= item["line"] <= lines.get(item["path"], 0)]
    found += ["finding %s names no evidence" % item["id"] for item in report.get("findings", [])
              if item["is_failure"] and not report["failure"] and not any(argument["evidence"] for argument in item["for"])]
    return found


def golden_rows(source):
    """(name, text) of the lines of reports over many jobs."""
    for path in sorted((source / "tests/unit/analyzer/table/golden").glob("*.jsonl")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            yield "%s:%d" % (path.name, number), line


def main():
    source, binary = pathlib.Path(sys.argv[1]), sys.argv[2]
    validators = {}
    for name in ("report", "budget", "replay", "replay-diff", "job", "fleet"):
        schema = json.loads((source / "docs" / "schema" / (name + "-1.schema.json")).read_text())
        kind = jsonschema.validators.validator_for(schema)
        kind.check_schema(schema)
        validators["whyoom." + name + "/1"] = kind(schema)
    count = wrong = 0
    for name, text in [*golden_reports(source), *golden_rows(source), *sample_reports(source, binary)]:
        count += 1
        for fault in faults(validators, text)[:8]:
            wrong += 1
            print("%s: %s" % (name, fault))
    print("%d reports, %d faults" % (count, wrong))
    return 1 if wrong or not count else 0


if __name__ == "__main__":
    sys.exit(main())
