#!/usr/bin/env python3
"""From what was measured on a GPU to what it says about the model: agreements, and the largest disagreement.

usage: compare.py RAW.json RESULT.json RESULT.md

RAW.json is what measure.py collected: runs of training with the reports of `whyoom replay` about their recordings. Nothing here needs
a GPU. A comparison for which there is no measurement is counted as not run, never as an agreement.
"""
import json
import os
import sys
import textwrap

sys.path.append(os.path.join(os.path.dirname(os.path.dirname(os.path.realpath(__file__))), "training"))
import truth  # noqa: E402

GIB = 1024 ** 3
NAMED_MAX = 10  # of what was not run


def share_pct(predicted, real):
    """By how much a prediction is off, in percent of what was real; more than 0 = too high."""
    return 100.0 * (predicted - real) / real


def median(numbers):
    ordered = sorted(numbers)
    middle = len(ordered) // 2
    if not ordered:
        return None
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def rows_of_checks(raw):
    """(a), (b): the recording against the model, and the model's peak against PyTorch's own count."""
    rows = []
    for run in raw["runs"]:
        report = run.get("check")
        row = {"run": run["name"], "is_out_of_memory": run["run"]["failed"] is not None, "agrees": None}
        rows.append(row)
        if report is None or report["check"] is None:
            row["why"] = "no report" if report is None else report["why"]
            continue
        check = report["check"]
        real = run["run"]["stats"]["reserved_bytes.all.peak"]
        model = (report["recorded"] or {}).get("peak", {}).get("reserved_bytes")
        row["segment_events"] = check["segment_events"]
        row["segment_events_equal"] = check["segment_events_equal"]
        row["addresses"] = check["allocations"]
        row["addresses_equal"] = check["addresses_equal"]
        row["failed_requests"] = check["refusals"]
        row["failed_requests_equal"] = check["refusals_equal"]
        row["real_peak_reserved_bytes"] = real
        row["model_peak_reserved_bytes"] = model
        # A run that failed must show its failure, or nothing was compared.
        shows_failure = not row["is_out_of_memory"] or check["refusals"] > 0
        row["agrees"] = (check["diverged_at"] is None and check["segment_events"] == check["segment_events_equal"] and
                         check["allocations"] == check["addresses_equal"] and check["refusals"] == check["refusals_equal"] and
                         shows_failure and model == real)
        if not row["agrees"]:
            row["why"] = check["why"] or ("peak reserved" if model != real else "counts differ")
    return rows


def rows_of_predictions(raw):
    """(c): the peak that one run's recording predicts for another run, and the peak that this one had."""
    real_of = {run["name"]: run["run"]["stats"]["reserved_bytes.all.peak"] for run in raw["runs"] if run["run"]["failed"] is None}
    rows = []
    for prediction in raw["predictions"]:
        row = {"from": prediction["from"], "to": prediction["to"], "scale": prediction["scale"], "off_pct": None}
        rows.append(row)
        report = prediction["report"]
        real = real_of.get(prediction["to"])
        bounds = (report or {}).get("scale", {})
        if real is None or "likely" not in bounds:
            row["why"] = "no such run" if real is None else "no prediction"
            continue
        row["real_bytes"] = real
        row["predicted_bytes"] = bounds["likely"]["reserved_hi_bytes"]
        row["low_bytes"] = bounds["interval"]["reserved_lo_bytes"]
        row["high_bytes"] = bounds["interval"]["reserved_hi_bytes"]
        row["is_within"] = row["low_bytes"] <= real <= row["high_bytes"]
        row["off_pct"] = share_pct(row["predicted_bytes"], real)
    return rows


def rows_of_replays(raw):
    """(d), (e): the GPU against the model of it, and how fast."""
    rows = []
    for replay in raw["replays"]:
        report = replay["report"]
        gpu = (report or {}).get("gpu")
        row = {"run": replay["run"], "capacity_bytes": replay["capacity_bytes"], "agrees": None}
        rows.append(row)
        if gpu is None:
            row["why"] = replay.get("error") or "not replayed on the GPU"
            continue
        row["agrees"] = gpu["model_agrees"]
        row["segment_events"] = gpu["segment_events"]
        row["failed_requests"] = gpu["failed_requests"]
        row["refusals"] = gpu["refusals"]
        row["seconds"] = replay["seconds"]
        row["events"] = replay.get("events")
        if not gpu["model_agrees"]:
            row["why"] = gpu["difference"]
    return rows


def part_of_verify(raw):
    """(f): whether the card confirms what the model lets fit. None where nothing came of it."""
    verify = raw.get("verify")
    if verify is None:
        return {"confirmed": None, "why": "not run"}
    report = verify["report"]
    gpu = (report or {}).get("gpu")
    if gpu is None or gpu["error"]:
        return {"confirmed": None, "why": (gpu or {}).get("error") or verify["error"] or "no report"}
    fixes = [row for row in report["rows"] if row["chosen"]]
    differences = [run["difference"] for run in gpu["runs"] if not run["model_agrees"]]
    # Confirmed is what was run on the card and agreed there: the failure first, then the fix.
    is_confirmed = (verify["exit"] == 0 and report["verdict"] == "proven" and report["as_it_was"]["on"] == "gpu" and len(fixes) == 1 and
                    fixes[0]["on"] == "gpu" and len(gpu["runs"]) >= 2)
    return {"confirmed": is_confirmed, "why": None if is_confirmed else "; ".join(differences) or report["verdict"],
            "verdict": report["verdict"], "exit": verify["exit"], "fix": fixes[0]["title"] if fixes else None, "runs": gpu["runs"],
            "seconds": verify["seconds"]}


def part_of_proof(raw):
    """(g): whether the job whose fix was proven then ran. None where there was no such proof: what is not proven may fail."""
    proof = raw.get("proof")
    if proof is None or proof.get("why") or proof.get("verify_exit") != 0:
        why = "not run" if proof is None else proof.get("why") or f"verify: {proof['verify']['verdict']}"
        return {"held": None, "why": why}
    fixes = [row["title"] for row in proof["verify"]["rows"] if row["chosen"]]
    return {"held": proof.get("second_exit") == 0, "why": None if proof.get("second_exit") == 0 else "the changed job failed",
            "fix": fixes[0] if fixes else None}


def count(rows):
    """Agreements of those that could be compared, and how many could not."""
    known = [row for row in rows if row["agrees"] is not None]
    return {"compared": len(known), "agree": sum(row["agrees"] for row in known), "not_compared": len(rows) - len(known)}


def compare(raw):
    checks, predictions, replays = rows_of_checks(raw), rows_of_predictions(raw), rows_of_replays(raw)
    off = [row for row in predictions if row["off_pct"] is not None]
    worst = max(off, key=lambda row: abs(row["off_pct"]), default=None)
    return {
        "format": "whyoom.gpu-results/1", "is_made_up": raw.get("is_made_up", False), "date": raw["date"],
        "whyoom": raw["whyoom"], "gpu": raw["gpu"], "driver": raw["driver"], "torch": raw["torch"],
        "not_run": raw["not_run"],
        "recordings": {**count([row for row in checks if not row["is_out_of_memory"]]), "rows":
                       [row for row in checks if not row["is_out_of_memory"]]},
        "out_of_memory": {**count([row for row in checks if row["is_out_of_memory"]]), "rows":
                          [row for row in checks if row["is_out_of_memory"]]},
        "predictions": {"compared": len(off), "not_compared": len(predictions) - len(off),
                        "within_interval": sum(row["is_within"] for row in off),
                        "median_off_pct": median([abs(row["off_pct"]) for row in off]),
                        "worst_off_pct": abs(worst["off_pct"]) if worst else None,
                        "worst": f"{worst['from']} -> {worst['to']}" if worst else None, "rows": predictions},
        "gpu_replays": {**count(replays), "rows": replays},
        "verify": part_of_verify(raw),
        "proof": part_of_proof(raw),
        "patches": raw.get("patches", []), "random": raw.get("random", []), "seconds": raw.get("seconds", {}),
        "dmon": raw.get("dmon", []),
    }


def disagreements(result):
    """Each as a line, the largest first where they have a size."""
    lines = []
    for part, name in (("recordings", "recording"), ("out_of_memory", "failed run"), ("gpu_replays", "replay on the GPU")):
        for row in result[part]["rows"]:
            if row["agrees"] is False:
                lines.append(f"{name} {row['run']}: {row['why']}")
    for row in result["patches"]:
        if row["verdict"] not in ("right", "not sure", "untried"):
            lines.append(f"patch {row['program']} on {row['card_mib']} MiB, {row.get('change')}: {row.get('error') or row['verdict']}")
    for row in result["random"]:
        lines += [f"recording of a random program, {row['group']}-{example}" for example in row["examples"]]
    if result["verify"]["confirmed"] is False:
        lines.append(f"verify of the sample on the GPU: {result['verify']['why']}")
    if result["proof"]["held"] is False:
        lines.append(f"a proven fix: {result['proof']['why']} ({result['proof']['fix']})")
    rows = [row for row in result["predictions"]["rows"] if row["off_pct"] is not None]
    for row in sorted(rows, key=lambda row: -abs(row["off_pct"])):
        if abs(row["off_pct"]) > 5 or not row["is_within"]:
            lines.append(f"prediction {row['from']} -> {row['to']}: {row['off_pct']:+.2f} %"
                         f"{'' if row['is_within'] else ', outside of its interval'}")
    return lines


def say_count(part, what):
    left = f"; {part['not_compared']} could not be compared" if part["not_compared"] else ""
    if part["compared"] == 0:
        return f"- {what}: not run{left}"
    return f"- {what}: {part['agree']} of {part['compared']} agree{left}"


def say_verify(verify):
    what = "- verify of the sample lora-7b-24g on the GPU"
    if verify["confirmed"] is None:
        return f"{what}: not run ({verify['why']})" if verify["why"] != "not run" else f"{what}: not run"
    if not verify["confirmed"]:
        return f"{what}: not confirmed"
    return f"{what}: confirmed, {verify['fix']} ({len(verify['runs'])} runs, {verify['seconds']:.2f} s)"


def say_proof(proof):
    what = "- a job that failed, its recording, its proven fix written into its script"
    if proof["held"] is None:
        return f"{what}: not run" + (f" ({proof['why']})" if proof["why"] != "not run" else "")
    return f"{what}: {'it runs' if proof['held'] else 'it fails again'} ({proof['fix']})"


def say_random(rows):
    if not rows:
        return "- recordings of random programs: not run"
    return "- recordings of random programs that are not reproduced: " + ", ".join(
        f"{row['not_reproduced']} of {row['programs']} ({row['group']})" for row in rows)


def say_patches(rows):
    rows = [row for row in rows if "error" not in row]
    if not rows:
        return "- patched programs, really run: not run"
    counts = {verdict: sum(row["verdict"] == verdict for row in rows) for verdict in ("right", "YES THAT FAILS", "no that runs")}
    return (f"- patched programs, really run: {len(rows)} answers, {counts['right']} right, {counts['YES THAT FAILS']} yes that fail, "
            f"{counts['no that runs']} no that run, {len(rows) - sum(counts.values())} not sure")


def page(result):
    made_up = "**Made up for a test: no measurement.**\n\n" if result["is_made_up"] else ""
    predictions = result["predictions"]
    lines = [f"# {result['gpu']}, {result['date']}", "",
             f"{made_up}whyoom {result['whyoom']}, driver {result['driver']}, torch {result['torch']}. Made by `tests/gpu/run`.", "",
             say_count(result["recordings"], "recordings against the model (addresses, segment events, peak reserved)"),
             say_count(result["out_of_memory"], "runs out of memory (the same failing entry)"),
             say_count(result["gpu_replays"], "replays on the GPU against the model of it"), say_verify(result["verify"]),
             say_proof(result["proof"]), say_patches(result["patches"]), say_random(result["random"])]
    if predictions["compared"]:
        lines.append(f"- predicted peak of another size: {predictions['compared']} predictions, off by {predictions['median_off_pct']:.2f} % "
                     f"(median) and {predictions['worst_off_pct']:.2f} % (worst, {predictions['worst']}), "
                     f"{predictions['within_interval']} within their interval")
    else:
        lines.append("- predicted peak of another size: not run")
    if result["not_run"]:
        left = list(dict.fromkeys(result["not_run"]))
        lines += ["", "Not run: " + "; ".join(left[:NAMED_MAX]) + (f"; and {len(left) - NAMED_MAX} more." if len(left) > NAMED_MAX else ".")]
    found = disagreements(result)
    lines += ["", "## Disagreements", ""] + ([f"- {line}" for line in found] or ["None."])
    if result["patches"]:
        lines += ["", "## Answers of `whyoom verify`, and the truth", "", truth.table(result["patches"]).rstrip()]
    lines += ["", "## Predictions", "", "| from | to | real GiB | predicted GiB | off |", "| --- | --- | --- | --- | --- |"]
    for row in predictions["rows"]:
        if row["off_pct"] is not None:
            lines.append(f"| {row['from']} | {row['to']} | {row['real_bytes'] / GIB:.2f} | {row['predicted_bytes'] / GIB:.2f} | "
                         f"{row['off_pct']:+.2f} % |")
    lines += ["", "## Replays on the GPU", "", "| run | capacity GiB | segment events | failed | seconds | agrees |",
              "| --- | --- | --- | --- | --- | --- |"]
    for row in result["gpu_replays"]["rows"]:
        if row["agrees"] is not None:
            lines.append(f"| {row['run']} | {(row['capacity_bytes'] or 0) / GIB:.2f} | {row['segment_events']} | {row['failed_requests']} | "
                         f"{row['seconds']:.2f} | {'yes' if row['agrees'] else 'no'} |")
    return "\n".join(wrap(line) for line in lines) + "\n"


def wrap(line):
    """Lines of at most 100 columns; a table stays as it is."""
    if line.startswith("|"):
        return line
    return textwrap.fill(line, 100, subsequent_indent="  " if line.startswith("- ") else "", break_long_words=False, break_on_hyphens=False)


def main():
    if len(sys.argv) != 4:
        print("usage: compare.py RAW.json RESULT.json RESULT.md", file=sys.stderr)
        return 2
    with open(sys.argv[1], encoding="utf-8") as file:
        result = compare(json.load(file))
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    with open(sys.argv[3], "w", encoding="utf-8") as file:
        file.write(page(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
