#!/usr/bin/env python3
"""Tests compare.py on sample.json, which is made up: one of each kind of agreement, disagreement and lack of a measurement."""
import copy
import json
import os
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.dont_write_bytecode = True
import compare  # noqa: E402  (beside this file)

failures = []


def expect(what, found, wanted):
    if found != wanted:
        failures.append(f"{what}: {found!r}, not {wanted!r}")


def sample():
    with open(os.path.join(HERE, "sample.json"), encoding="utf-8") as file:
        return json.load(file)


def counts(part):
    return part["compared"], part["agree"], part["not_compared"]


def check_counts(result):
    expect("recordings", counts(result["recordings"]), (3, 1, 2))
    expect("failed runs", counts(result["out_of_memory"]), (2, 1, 0))
    expect("replays", counts(result["gpu_replays"]), (2, 1, 1))
    why = {row["run"]: row.get("why") for row in result["recordings"]["rows"]}
    expect("reasons", why, {"a-1": None, "a-2": "an address", "a-4": "peak reserved", "a-8": "no report",
                            "a-9": "the ring dropped entries"})


def check_predictions(result):
    part = result["predictions"]
    expect("predictions", (part["compared"], part["not_compared"], part["within_interval"]), (3, 2, 2))
    expect("median", round(part["median_off_pct"], 3), 0.5)
    expect("worst", (round(part["worst_off_pct"], 3), part["worst"]), (10.0, "a-2 -> a-4"))


def check_page(result):
    page = page_of(result)
    for line in ("**Made up for a test: no measurement.**", "1 of 3 agree; 2 could not be compared", "1 of 2 agree",
                 "recording a-2: an address", "failed run f-2: counts differ", "call 19: the GPU refuses a segment of 64.00 MiB",
                 "prediction a-2 -> a-4: -10.00 %, outside of its interval", "Not run: nvidia-smi dmon.",
                 "on the GPU: confirmed, a smaller batch (2 runs, 0.75 s)", "| a-1 | 3.00 | 78 | 0 | 0.25 | no |"):
        expect(f"page has {line}", line in page, True)


def check_each_difference():
    """Whatever differs in one comparison takes its agreement away."""
    for key, value in (("segment_events_equal", 49), ("addresses_equal", 129), ("refusals_equal", 1), ("diverged_at", 3)):
        raw = sample()
        raw["runs"][0]["check"]["check"][key] = value
        expect(f"agreement with {key} changed", compare.compare(raw)["recordings"]["agree"], 0)


def page_of(result):
    """The page without its line breaks."""
    return compare.page(result).replace("\n  ", " ")


def check_verify():
    """Whatever is not as a confirmed proof is takes the confirmation away; an error is no measurement."""
    expect("verify", compare.compare(sample())["verify"]["confirmed"], True)
    for change in ({"exit": 3}, {"verdict": "not_confirmed"}, {"fix": "model"}, {"as_it_was": "model"}, {"runs": 1}):
        raw = sample()
        report = raw["verify"]["report"]
        raw["verify"]["exit"] = change.get("exit", 0)
        report["verdict"] = change.get("verdict", "proven")
        report["rows"][1]["on"] = change.get("fix", "gpu")
        report["as_it_was"]["on"] = change.get("as_it_was", "gpu")
        del report["gpu"]["runs"][change.get("runs", 2):]
        result = compare.compare(raw)
        expect(f"verify with {change}", result["verify"]["confirmed"], False)
        expect(f"page with {change}", "- verify of the sample lora-7b-24g on the GPU: not confirmed" in page_of(result), True)
    raw = sample()
    raw["verify"]["report"]["gpu"]["error"] = "no card"
    result = compare.compare(raw)
    expect("verify that failed", result["verify"], {"confirmed": None, "why": "no card"})
    expect("page", "on the GPU: not run (no card)" in page_of(result), True)
    raw["verify"].update(report=None, error="whyoom: it broke")
    expect("verify without a report", compare.compare(raw)["verify"], {"confirmed": None, "why": "whyoom: it broke"})


def check_proof():
    """A proof that does not hold is a disagreement; without a proof there is nothing to hold."""
    rows = [{"title": "no", "chosen": False}, {"title": "a smaller batch", "chosen": True}]
    proof = {"first_exit": 1, "verify_exit": 0, "verify": {"verdict": "proven", "rows": rows}, "second_exit": 0}
    for change, held, text in (({}, True, "it runs (a smaller batch)"), ({"second_exit": 1}, False, "it fails again (a smaller batch)"),
                               ({"second_exit": None}, False, "it fails again"), ({"verify_exit": 3}, None, "not run (verify: proven)"),
                               ({"why": "no snapshot of the small run"}, None, "not run (no snapshot of the small run)")):
        raw = sample()
        raw["proof"] = {**proof, **change}
        result = compare.compare(raw)
        expect(f"proof with {change}", result["proof"]["held"], held)
        expect(f"page with {change}", f"into its script: {text}" in page_of(result), True)
        expect(f"disagreement with {change}", any("a proven fix" in line for line in compare.disagreements(result)), held is False)


def check_nothing_measured():
    raw = copy.deepcopy(sample())
    raw.update(runs=[], predictions=[], replays=[], verify=None, not_run=["all"])
    result = compare.compare(raw)
    expect("empty", (counts(result["recordings"]), result["predictions"]["median_off_pct"], result["predictions"]["worst"]),
           ((0, 0, 0), None, None))
    expect("eight lines say so", page_of(result).count(": not run"), 8)


def check_program():
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("result.json", "result.md")]
        done = subprocess.run([sys.executable, "-B", os.path.join(HERE, "compare.py"), os.path.join(HERE, "sample.json"), *paths], check=False)
        expect("exit status", done.returncode, 0)
        with open(paths[0], encoding="utf-8") as file:
            expect("written", json.load(file)["format"], "whyoom.gpu-results/1")


def main():
    result = compare.compare(sample())
    check_counts(result)
    check_predictions(result)
    check_page(result)
    check_each_difference()
    check_verify()
    check_proof()
    check_nothing_measured()
    check_program()
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
