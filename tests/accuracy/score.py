#!/usr/bin/env python3
"""What `whyoom budget` says of the programs that were measured.

usage: score.py WHYOOM [--aside] [--rows]    figures; --aside: of the runs that were put aside; --rows: each run, by its error
       score.py WHYOOM --write               writes docs/accuracy.md
       score.py WHYOOM --check               whether the bars hold, and the page is the one that the data give
"""
import argparse
import collections
import concurrent.futures
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OPTIMIZERS = {"adamw-single": "adamw-fused"}  # neither handles all parameters at once


def options_of(run):
    """The settings of a run as options, or None where the budget has none for one of them."""
    case = run["case"]
    if case["kind"] != "lm" or case.get("dora"):
        return None
    given = ["--model", case["model"], "--dtype", case["dtype"], "--micro-batch", case["micro_batch"], "--seq-len", case["seq_len"],
             "--grad-accum", case.get("grad_accum", 1), "--checkpointing", "full" if case.get("checkpointing") else "none",
             "--attention", "scores" if case.get("attention") == "eager" else "sdpa"]
    optimizer = case.get("optimizer", "adamw-fused" if case.get("trainer") else "adamw")
    given += ["--optimizer", OPTIMIZERS.get(optimizer, optimizer)]
    if case["dtype"] != "fp32" or case.get("trainer_bf16"):
        given += ["--autocast", "on"] if case["dtype"] == "amp" and "fsdp" not in case.get("strategy", "") or case.get("trainer_bf16") else []
        if case.get("lora_rank") and not case.get("trainer_bf16"):
            given += ["--autocast", "off"]
    if case["dtype"] == "fp32" and case.get("trainer_bf16"):
        given[given.index("--dtype") + 1] = "amp"
    if case.get("lora_rank"):
        given += ["--adapters", run["trained"], "--lora-rank", case["lora_rank"], "--lora-targets",
                  {"all-linear": "all-linear", "attention": "qv"}[case.get("targets", "all-linear")]]
        given += ["--lora-dropout"] if case.get("lora_dropout") else []
    given += ["--quantize", case["quantize"]] if case.get("quantize") else []
    given += ["--liger"] if case.get("liger") else []
    given += ["--gpus", case["gpus"]] if case.get("gpus") else []
    strategy = case.get("strategy", "")
    if strategy.startswith("zero"):
        given += ["--zero", strategy[-1]]
    if strategy.startswith("fsdp"):
        given += ["--fsdp", "shard_grad_op" if strategy.endswith("grad") else "full_shard"]
    given += ["--offload-optimizer"] if case.get("offload_optimizer") else []
    given += ["--offload-params"] if case.get("offload_params") else []
    return [str(word) for word in given]


def budget(whyoom, options):
    done = subprocess.run([whyoom, "budget", "--format", "json", *options], capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        raise SystemExit(f"{' '.join(options)}: {done.stderr}") from None


def score(whyoom, run):
    options = options_of(run)
    if options is None:
        return None
    said = budget(whyoom, options)
    low, assumed, high = (said["in_use_bytes"][key] for key in ("low", "assumed", "high"))
    real = run["allocated_bytes"]
    return {"id": run["id"], "error": assumed / real - 1, "width": (high - low) / real, "inside": low <= real <= high, "peak": said["peak"],
            "real": real, "assumed": assumed, "low": low, "high": high, "peaks": run["peaks"], "options": options, "aside": run["aside"], "case": run["case"]}


def read(name):
    path = HERE / "data" / name
    return json.loads(path.read_text()) if path.exists() else None


def all_rows(whyoom):
    """Each measured run that options can say, with what the budget says of it, by file."""
    files = {}
    for name in ("h200.json", "stub.json"):
        runs = (read(name) or {"runs": []})["runs"]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            files[name] = [row for row in pool.map(lambda run: score(whyoom, run), runs) if row]
    return files


def figures(rows):
    """Of some rows: how many, how many inside, medians of width and error, the worst error."""
    if not rows:
        return None
    return {"runs": len(rows), "inside": sum(row["inside"] for row in rows), "width": statistics.median(row["width"] for row in rows),
            "error": statistics.median(abs(row["error"]) for row in rows), "worst": max((row["error"] for row in rows), key=abs)}


def figures_text(rows):
    got = figures(rows)
    if not got:
        return "0 | | | |"
    return (f"{got['runs']} | {got['inside']} ({100 * got['inside'] / got['runs']:.1f} %) | {100 * got['width']:.1f} % | {100 * got['error']:.1f} % | "
            f"{100 * got['worst']:+.1f} %")


# ---- Cards that are too small ----

CONTEXT_BYTES = 619 << 20  # outside the allocator, as on the H200; the stub card has none of it


def verdicts(whyoom, rows):
    """For each limit at which a program ran or failed: the verdict on a card of that size. (verdict, ran) -> ids."""
    by_id = {row["id"]: row for rows_of in rows.values() for row in rows_of}
    tried = [(by_id[limit["id"]], limit["allocated_bytes"] * factor, factor, ran) for limit in read("room.json")["limits"] if limit["id"] in by_id
             for ran, key in ((True, "ran"), (False, "failed")) for factor in limit[key]]

    def judge(one):
        row, capacity, factor, ran = one
        said = budget(whyoom, [*row["options"], "--capacity", str(int(capacity) + CONTEXT_BYTES)])
        return said["verdict"], ran, f"{row['id']} at {factor}"

    counts = collections.defaultdict(list)
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for verdict, ran, name in pool.map(judge, tried):
            counts[verdict, ran].append(name)
    return counts


# ---- The page ----

PAGE = HERE.parent.parent / "docs" / "accuracy.md"


def gib(count):
    return f"{count / 2 ** 30:.2f}"


def name_of(case):
    """Short, and with all that tells two cases apart: "llama-2-7b 1x2048 bf16 4bit r16 again"."""
    words = [case["dtype"]]
    words += [case["quantize"] + ("" if case.get("double_quant", True) else " single")] if case.get("quantize") else []
    words += [f"r{case['lora_rank']}" + (" qv" if case.get("targets") == "attention" else "") + (" dropout" if case.get("lora_dropout") else "")] if case.get("lora_rank") else []
    words += [f"{case['strategy']}/{case['gpus']}"] if case.get("strategy") else []
    words += [case["optimizer"].replace("paged-adam8bit", "paged8")] if case.get("optimizer") else []
    words += [f"{case['grad_accum']} passes"] if case.get("grad_accum") else []
    short = {"checkpointing": "again", "trainer": "Trainer", "liger": "Liger", "padding": "padded", "offload_optimizer": "offload", "offload_params": "all of it"}
    words += [short[key] for key in short if case.get(key)]
    words += ["scores"] if case.get("attention") == "eager" else []
    return f"{case['model']} {case['micro_batch']}x{case['seq_len']} {' '.join(words)}"


def groups_of(row):
    case = row["case"]
    if case.get("strategy"):
        return "DeepSpeed's ZeRO" if case["strategy"].startswith("zero") else "FSDP" if case["strategy"].startswith("fsdp") else "DDP"
    if case.get("quantize"):
        return f"QLoRA, {case['quantize'][0]} bits"
    if case.get("lora_rank"):
        return "LoRA"
    return {"bf16": "all weights, 16 bits", "fp32": "all weights, fp32", "amp": "all weights, autocast"}[case["dtype"]]


def page(whyoom):
    rows = all_rows(whyoom)
    every = [row for rows_of in rows.values() for row in rows_of]
    lines = [(HERE / "accuracy.md.in").read_text()]
    lines.append("## In figures\n")
    lines.append("| runs | | inside | width | error | worst |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    for name, text in (("h200.json", "on an H200"), ("stub.json", "over the stubs")):
        lines.append(f"| {text} | {figures_text([row for row in rows[name] if not row['aside']])} |")
    lines.append(f"| **together** | {figures_text([row for row in every if not row['aside']])} |")
    lines.append(f"| **put aside before the work, counted at its end** | {figures_text([row for row in every if row['aside']])} |\n")
    lines.append("By kind, both sets:\n\n| kind | runs | inside | width | error | worst |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    kinds = collections.defaultdict(list)
    for row in every:
        kinds[groups_of(row)].append(row)
    lines += [f"| {kind} | {figures_text(kinds[kind])} |" for kind in sorted(kinds)]
    counts = verdicts(whyoom, rows)
    lines.append("\n## Cards that are just too small\n")
    lines.append("| verdict | the program ran | it did not |\n| --- | ---: | ---: |")
    for verdict in ("fits", "tight", "does_not_fit"):
        lines.append(f"| {verdict.replace('_', ' ')} | {len(counts[verdict, True])} | {len(counts[verdict, False])} |")
    if counts["fits", False]:
        lines.append("\n*fits* and did not run: " + ", ".join(f"`{name}`" for name in counts["fits", False]) + ".")
    lines.append("\n## Every run\n\nGiB. Names: model, micro-batch x length, number format, 4bit or 8bit, rank of LoRA, sharding/cards,\n"
                 "optimizer, *again*: full checkpointing, *qv*: adapters of queries and values only, *paged8*: paged\n8-bit Adam.\n")
    lines.append("| run | measured | low to high | off |\n| --- | ---: | ---: | ---: |")
    for row in sorted(every, key=lambda row: row["id"]):
        mark = "" if row["inside"] else " out"
        aside = "*" if row["aside"] else ""
        lines.append(f"| {name_of(row['case'])}{aside} | {gib(row['real'])} | {gib(row['low'])} to {gib(row['high'])} | {100 * row['error']:+.1f} %{mark} |")
    return "\n".join(lines) + "\n", figures([row for row in every if not row["aside"]]), figures([row for row in every if row["aside"]]), counts


def check(whyoom):
    """The bars, and that the page is the one that this makes."""
    text, seen, aside, counts = page(whyoom)
    faults = []
    for name, got in (("runs", seen), ("runs put aside", aside)):
        if got["inside"] < 0.9 * got["runs"] or got["width"] > 0.2 or got["error"] > 0.05:
            faults.append(f"{name}: {got}")
    if counts["fits", False]:
        faults.append("fits, and did not run: " + ", ".join(counts["fits", False]))
    if text != PAGE.read_text():
        faults.append("docs/accuracy.md is not what the data give: write it with tests/accuracy/score.py WHYOOM --write")
    print("\n".join(faults) or "accuracy: as docs/accuracy.md says")
    return 1 if faults else 0


def show(rows, whole):
    rows.sort(key=lambda row: row["error"])
    for row in rows if whole else []:
        marks = " ".join(f"{part} {gib(peak)}" for part, peak in row["peaks"].items())
        print(f"{100 * row['error']:+6.1f} % {'' if row['inside'] else 'OUT'} width {100 * row['width']:.0f} % {row['id']}: {gib(row['real'])}, said "
              f"{gib(row['assumed'])} ({gib(row['low'])} to {gib(row['high'])}) {row['peak']}; {marks}")
    print("runs | inside | width | error | worst:", figures_text(rows))


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("whyoom")
    parser.add_argument("--aside", action="store_true")
    parser.add_argument("--rows", action="store_true")
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--check", action="store_true")
    args = parser.parse_args()
    if args.check:
        sys.exit(check(args.whyoom))
    if args.write:
        PAGE.write_text(page(args.whyoom)[0])
        return
    show([row for rows in all_rows(args.whyoom).values() for row in rows if row["aside"] == args.aside], args.rows)


if __name__ == "__main__":
    main()
