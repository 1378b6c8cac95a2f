#!/usr/bin/env python3
"""The kept recordings of real training programs: as recorded, and right about what other sizes really took. Needs no wheel.

usage: check_cases.py WHYOOM TRIAL    exit status 1 and a line for each thing that is wrong

truth.json says what each run took (torch.cuda.memory_stats) and by how many percent a prediction from another run's recording may be off.
"""
import json
import pathlib
import py_compile
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent


def replay(whyoom, case, *options):
    done = subprocess.run([whyoom, "replay", "--format", "json", "--no-times", *options, HERE / "cases" / f"{case}.jsonl"],
                          capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"{case} {options}: {done.stderr.strip()}") from None


def check_recording(whyoom, case, truth):
    """Every address, every segment event, the layout; and the peaks that torch counted."""
    report = replay(whyoom, case)
    check, peak = report["check"], report["recorded"]["peak"]
    wrong = []
    if check["diverged_at"] is not None or check["addresses_equal"] != check["allocations"]:
        wrong.append(f"{case}: not as recorded")
    if check["segment_events_equal"] != check["segment_events"] or check["allocations"] == 0:
        wrong.append(f"{case}: segment events differ")
    if (peak["reserved_bytes"], peak["allocated_bytes"]) != (truth["reserved_bytes"], truth["allocated_bytes"]):
        wrong.append(f"{case}: its peak is not torch's")
    return wrong


def check_pair(whyoom, pair, truth):
    """The likely peak of another size or program against the run that had it."""
    likely = replay(whyoom, pair["from"], *pair["options"])["scale"]["likely"]
    wrong = []
    for key, predicted in (("reserved", likely["reserved_hi_bytes"]), ("allocated", likely["peak"]["allocated_bytes"])):
        real = truth[f"{key}_bytes"]
        off_pct = 100 * (predicted - real) / real
        print(f"{pair['from']} -> {pair['to']}: {key} {off_pct:+.2f} %")
        if abs(off_pct) > pair[f"{key}_pct"]:
            wrong.append(f"{pair['from']} -> {pair['to']}: {key} is off by {off_pct:+.2f} %, {pair[f'{key}_pct']} % are allowed")
    return wrong


def check_verify(trial, row):
    """What is said of a change to a job that failed, against the changed program on that card: the same as ever, and never the contrary."""
    done = subprocess.run([trial, HERE / "cases" / f"{row['case']}.jsonl", str(row["card_bytes"]), "0", "8", str(row["step"] + 1), str(row["steps"]), "0",
                           str(row["length"])], input=row["change"] + "\n", capture_output=True, text=True, check=False)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    said = lines[1]["fit"] if len(lines) == 2 else done.stderr.strip()
    if len(lines) == 2 and lines[0]["completed"] and said in ("yes", "no") and 0 < lines[1]["hi"] < row["allocated_bytes"]:
        return [f"{row['case']}, {row['change']}: the high end is {lines[1]['hi']}, and {row['allocated_bytes']} bytes are really allocated"]
    print(f"{row['case']}, {row['change']}: {said}; it really {'runs' if row['runs'] else 'fails'}")
    is_contrary = said == ("no" if row["runs"] else "yes")
    return [f"{row['case']}, {row['change']}: {said}, not {row['said']}"] if is_contrary or said != row["said"] else []


def check_scripts():
    """Every script compiles, and the page tells the one command."""
    with tempfile.TemporaryDirectory() as folder:
        for script in [HERE / "run", *HERE.glob("*.py")]:
            py_compile.compile(str(script), cfile=str(pathlib.Path(folder) / "x"), doraise=True)
    return [] if "tests/training/run" in (HERE / "README.md").read_text() else ["README.md does not say how to run this"]


def check_results():
    """The figures that docs/training.md was made of: one row for each prediction, none without its truth."""
    results = json.loads((HERE / "results.json").read_text())
    wrong = []
    for version, part in results.items():
        for row in part["predictions"]:
            known = {row["from"], row["to"]} <= set(part["runs"])
            if not known or (row["reserved_off_pct"] is None) == (row["why"] is None):
                wrong.append(f"results.json: {version} {row['from']} -> {row['to']} is incomplete")
    return wrong


def main():
    whyoom, trial = sys.argv[1:3]
    truth = json.loads((HERE / "cases" / "truth.json").read_text())
    wrong = check_scripts() + check_results()
    for case in sorted({pair["from"] for pair in truth["pairs"]}):
        wrong += check_recording(whyoom, case, truth["runs"][case])
    for pair in truth["pairs"]:
        wrong += check_pair(whyoom, pair, truth["runs"][pair["to"]])
    for row in truth["verify"]:
        wrong += check_verify(trial, row)
    print("\n".join(wrong) or "all right")
    return int(bool(wrong))


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
