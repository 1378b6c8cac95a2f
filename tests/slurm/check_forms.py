#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks samples/ci/convert.py: the required parts of SARIF 2.1.0, annotations that no text of a log can leave, the lines of Prometheus.

usage: check_forms.py WHYOOM
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
from urllib.parse import unquote

SOURCE = pathlib.Path(__file__).resolve().parents[2]
CONVERT = SOURCE / "samples" / "ci" / "convert.py"
HOSTILE = ('{"schema": "whyoom.report/1", "tool": {"name": "whyoom", "version": "0"}, "job": {"id": "1,x=2"}, "failure": null, "evidence": '
           '[{"id": "e0", "path": "a b,c:%/\\u00e9.out", "line": 3}], "findings": [{"id": "x", "headline": "h::\\n::error::", "summary": "s", '
           '"title": "t\\n::set-output name=a::b%0A", "confidence": "likely", "is_failure": true, "fixes": [], "for": [{"evidence": ["e0"]}]}]}')
wrong = []


def expect(condition, text):
    if not condition:
        wrong.append(text)


def run(whyoom, *arguments):
    return subprocess.run([whyoom, *arguments], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, cwd=SOURCE, check=False).stdout


def convert(form, text):
    return subprocess.run([sys.executable, "-B", CONVERT, form], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


def check_sarif(text, findings):
    log = json.loads(text)
    expect(log["version"] == "2.1.0", "version")
    expect(isinstance(log["runs"], list) and len(log["runs"]) == 1, "runs")
    run_ = log["runs"][0]
    driver = run_["tool"]["driver"]
    expect(driver["name"] == "whyoom", "tool.driver.name")
    expect(len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"]), "ids of rules are unique")
    expect(len(run_["results"]) == findings, f"{len(run_['results'])} results of {findings} findings")
    for result in run_["results"]:
        expect(result["message"]["text"], "message.text")
        expect(result["level"] in ("none", "note", "warning", "error"), "level")
        expect(driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"], "ruleIndex")
        for location in result["locations"] + result["relatedLocations"]:
            place = location["physicalLocation"]
            expect(re.fullmatch(r"(?:[A-Za-z0-9._~/-]|%[0-9A-F]{2})+", place["artifactLocation"]["uri"]), "uri: " + place["artifactLocation"]["uri"])
            expect(place["region"]["startLine"] >= 1, "startLine")
    return run_


def main():
    whyoom = str(pathlib.Path(sys.argv[1]).resolve())
    sample = "samples/lora-7b-24g/"
    one = run(whyoom, "--format", "json", *(sample + name for name in ("slurm-90817.err", "slurm-90817.out", "run_lora.sh")))
    many = run(whyoom, "--format", "json", *(str(path.relative_to(SOURCE)) for path in sorted(SOURCE.glob("samples/*/slurm-*.err"))))

    findings = len(json.loads(one)["findings"])
    result = check_sarif(convert("sarif", one), findings)["results"][0]
    place = result["locations"][0]["physicalLocation"]
    expect((place["artifactLocation"]["uri"], place["region"]["startLine"]) == (sample + "run_lora.sh", 32), f"place of the change: {place}")
    expect(len({r["properties"]["job"] for r in check_sarif(convert("sarif", many), many.count('"is_failure"'))["results"]}) == 7, "jobs of a stream")
    check_sarif(convert("sarif", ""), 0)
    place = check_sarif(convert("sarif", HOSTILE), 1)["results"][0]["locations"][0]["physicalLocation"]
    expect(unquote(place["artifactLocation"]["uri"]) == "a b,c:%/\u00e9.out", "a name with signs")

    form = re.compile(r"::(?:error|notice) (?:file=[^,:\r\n]+,line=\d+,)?title=[^,:\r\n]+::[^\r\n]+")
    for text, count in ((one, findings), (HOSTILE, 1)):
        lines = convert("github", text).splitlines()
        expect(len(lines) == count and all(form.fullmatch(line) for line in lines), f"annotations: {lines}")
    expect(convert("github", one).startswith(f"::error file={sample}run_lora.sh,line=32,title=job 90817"), "annotation of the change")

    with tempfile.TemporaryDirectory() as folder:
        store = folder + "/store.db"
        run(whyoom, "scan", "samples", "--store", store)
        text = convert("prometheus", run(whyoom, "report", "--store", store, "--format", "jsonl", "--with-fleet", "--rows", "1000"))
    line = re.compile(r'# (?:HELP [a-z_]+ .+|TYPE [a-z_]+ gauge)|[a-z_]+(?:\{[a-z_]+="(?:[^"\\\n]|\\[\\"n])*"\})? \d+')
    for row in text.splitlines():
        expect(line.fullmatch(row), "line of Prometheus: " + row)
    expect("\nwhyoom_jobs_failed 7\n" in text and 'by_cause{cause="oversized-micro-batch"} 2\n' in text, "counts: " + text)

    for complaint in wrong:
        print("FAILED", complaint)
    return 1 if wrong else 0


sys.exit(main())
