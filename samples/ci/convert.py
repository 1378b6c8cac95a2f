#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes what whyoom found in the form that a CI system or a monitor reads.

usage: whyoom --format json FILES | convert.py github        annotations: the failed job is marked in a run of GitHub Actions
       whyoom --format json FILES | convert.py sarif         SARIF 2.1.0, for code scanning
       whyoom report --store FILE --format jsonl --with-fleet --rows 1000 | convert.py prometheus
                                                             a file for the textfile collector of node_exporter

Text of a log is quoted as each form wants it, so that none becomes a command, a markup or a label of its own.
"""
import json
import sys
from urllib.parse import quote


def reports_of(text):
    """All reports of a stream: one JSON object behind another."""
    decoder, at = json.JSONDecoder(), 0
    while text[at:].strip():
        at += len(text[at:]) - len(text[at:].lstrip())
        report, at = decoder.raw_decode(text, at)
        yield report


def places_of(report, finding):
    """(path, line) of the settings to change, then those of the evidence: the failure's own first."""
    evidence = {item["id"]: item for item in report["evidence"]}
    ids = [change["where"] for fix in finding["fixes"][:1] for change in fix["changes"]]
    if finding.get("is_failure") and report["failure"]:
        ids.append(report["failure"]["evidence"])
    ids += [name for reason in finding["for"] for name in reason["evidence"]]
    places = []
    for name in ids:
        item = evidence.get(name)
        if item and item.get("path") and item.get("line") and (item["path"], item["line"]) not in places:
            places.append((item["path"], item["line"]))
    return places


def headline_of(finding):
    return finding.get("headline") or finding["title"]


def advice_of(finding):
    """The finding and the first change."""
    lines = [finding["title"]]
    for fix in finding["fixes"][:1]:
        lines.append("Change first: " + fix["title"])
        lines += ["  " + change["spelled"] for change in fix["changes"] if change.get("spelled")]
    return "\n".join(lines)


def github(text):
    def quoted(value, is_property=False):
        for sign in "%\r\n" + (":," if is_property else ""):
            value = value.replace(sign, f"%{ord(sign):02X}")
        return value

    for report in reports_of(text):
        for finding in report["findings"]:
            level = "error" if finding.get("is_failure") else "notice"
            properties = [f"title={quoted('job ' + str(report['job']['id']) + ': ' + headline_of(finding), True)}"]
            places = places_of(report, finding)
            if places:
                properties.insert(0, f"file={quoted(places[0][0], True)},line={places[0][1]}")
            print(f"::{level} {','.join(properties)}::{quoted(advice_of(finding))}")


def sarif(text):
    def location(place):
        path, line = place
        return {"physicalLocation": {"artifactLocation": {"uri": quote(path)}, "region": {"startLine": line}}}

    rules, results, version = [], [], None
    for report in reports_of(text):
        version = report["tool"]["version"]
        for finding in report["findings"]:
            if finding["id"] not in [rule["id"] for rule in rules]:
                rules.append({"id": finding["id"], "shortDescription": {"text": headline_of(finding)}, "help": {"text": finding["summary"]}})
            places = places_of(report, finding)
            results.append({
                "ruleId": finding["id"],
                "ruleIndex": [rule["id"] for rule in rules].index(finding["id"]),
                "level": "error" if finding.get("is_failure") else "note",
                "message": {"text": advice_of(finding)},
                "locations": [location(place) for place in places[:1]],
                "relatedLocations": [location(place) for place in places[1:5]],
                "properties": {"job": report["job"]["id"], "confidence": finding["confidence"]},
            })
    driver = {"name": "whyoom", "rules": rules}
    if version:
        driver["version"] = version
    json.dump({"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
               "runs": [{"tool": {"driver": driver}, "results": results}]}, sys.stdout, indent=2)
    print()


def prometheus(text):
    def label(value):
        return str(value).replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")

    fleet = json.loads(text.strip().splitlines()[-1])
    if fleet.get("schema") != "whyoom.fleet/1":
        sys.exit("convert.py: the last line is no fleet: --with-fleet is missing")
    totals = fleet["totals"]
    for name, value, about in (
            ("jobs", totals["jobs"], "jobs of the store"),
            ("jobs_failed", totals["failed"], "jobs that failed"),
            ("jobs_ok", totals["ok"], "jobs that show a good end"),
            ("gpu_seconds_lost", totals["lost_gpu_s"], "GPU-seconds of failed jobs, where they are known")):
        if value is not None:
            print(f"# HELP whyoom_{name} {about}\n# TYPE whyoom_{name} gauge\nwhyoom_{name} {value}")
    for by in ("cause", "outcome", "partition"):
        print(f"# HELP whyoom_jobs_failed_by_{by} jobs that failed, by {by}\n# TYPE whyoom_jobs_failed_by_{by} gauge")
        for entry in fleet["by"][by]["items"]:
            print(f'whyoom_jobs_failed_by_{by}{{{by}="{label(entry["key"] or "unknown")}"}} {entry["failed"]}')


def main():
    forms = {"github": github, "sarif": sarif, "prometheus": prometheus}
    if len(sys.argv) != 2 or sys.argv[1] not in forms:
        sys.exit(__doc__)
    forms[sys.argv[1]](sys.stdin.read())


if __name__ == "__main__":
    main()
