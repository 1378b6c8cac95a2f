#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
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
import re
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
OPTIMIZERS = {"adamw-single": "adamw-fused"}  # neither handles all parameters at once


def options_of(run):
    """The settings of a run as options, or None where the budget has none for one of them."""
    case = run["case"]
    if case["kind"] == "inference":
        return ["--model", case["model"], "--dtype", case["dtype"], "--inference", "--micro-batch", str(case["micro_batch"]), "--seq-len", str(case["seq_len"])]
    if case["kind"] == "vision":
        return ["--model", case["model"], "--dtype", case["dtype"], "--micro-batch", str(case["micro_batch"]), "--image", str(case["image"]), "--grad-accum", "1",
                "--optimizer", case["optimizer"]]
    if case["kind"] != "lm":
        return None
    given = ["--model", case["model"], "--dtype", case["dtype"], "--micro-batch", case["micro_batch"], "--seq-len", case["seq_len"],
             *(["--params", run["parameters"]] if case["model"] == "gemma-3-4b" else []),  # of the text alone
             "--grad-accum", case.get("grad_accum", 1), "--checkpointing", "full" if case.get("checkpointing") else "none",
             "--attention", "scores" if case.get("attention") == "eager" else "sdpa"]
    if case.get("trl"):
        given += ["--fused-loss", "--autocast", "on"]
        given[given.index("--micro-batch") + 1] *= 2 if case["trl"] == "dpo" else 1
    optimizer = case.get("optimizer", "adamw-fused" if case.get("trainer") or case.get("trl") else "adamw")
    given += ["--loss", "plain"]
    given += ["--optimizer", OPTIMIZERS.get(optimizer, optimizer)]
    if case["dtype"] != "fp32" or case.get("trainer_bf16"):
        given += ["--autocast", "on"] if case["dtype"] == "amp" and "fsdp" not in case.get("strategy", "") or case.get("trainer_bf16") else []
        if case.get("lora_rank") and not case.get("trainer_bf16") and not case.get("trl"):
            given += ["--autocast", "off"]
    if case["dtype"] == "fp32" and case.get("trainer_bf16"):
        given[given.index("--dtype") + 1] = "amp"
    if case.get("lora_rank"):
        given += ["--adapters", run["trained"], "--lora-rank", case["lora_rank"], "--lora-targets",
                  {"all-linear": "all-linear", "attention": "qv"}[case.get("targets", "all-linear")]]
        given += ["--lora-dropout"] if case.get("lora_dropout") else []
        given += ["--dora"] if case.get("dora") else []
    given += ["--quantize", case["quantize"]] if case.get("quantize") else []
    given += ["--galore-rank", case["galore_rank"]] if case.get("galore_rank") else []
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


# ---- Published runs ----

PUBLISHED_OPTIMIZERS = {"adamw": "adamw", "adam": "adam", "sgd": "sgd", "adafactor": "adafactor"}
FFN_NAMES = {"gate_proj", "up_proj", "down_proj", "w1", "w2", "w3", "mlp", "fc1", "fc2", "c_proj"}


def targets_of(settings):
    targets = settings.get("lora_targets")
    if isinstance(targets, list):
        names = set(targets)
        targets = "all-linear" if names & FFN_NAMES else "attention" if len(names) > 2 or "c_attn" in names else "qv"
    return targets if targets in ("all-linear", "attention", "qv") else None


def published_optimizer(settings):
    name = settings.get("optimizer", "")
    if "8" in name:
        return "paged-adam8bit" if "paged" in name.lower() else "adam8bit"
    if name == "adamw" and settings["framework"] == "torchtune":
        return "adamw-fused"  # fused: True in its configurations
    return PUBLISHED_OPTIMIZERS.get(name)


def loss_of(settings):
    """transformers before 4.46 shifted the logits by a copy."""
    version = re.search(r"transformers (\d+)\.(\d+)", settings.get("versions", ""))
    if version:
        return "plain" if (int(version[1]), int(version[2])) >= (4, 46) else "shifted"
    return "shifted" if settings["framework"] == "ms-swift" else None


def published_options(settings):
    """The settings of a published run as options, or None where one of them cannot be said."""
    again, offload = settings.get("checkpointing"), str(settings.get("offload", "")).lower()
    if settings["method"].split()[0] not in ("full", "lora", "qlora", "pretraining") or again not in (None, "full", "none") or "activ" in offload:
        return None
    if settings["dtype"] not in ("fp32", "bf16", "fp16", "amp"):
        return None
    given = {"model": settings["model"], "dtype": settings["dtype"], "micro-batch": settings["micro_batch"], "seq-len": settings["seq_len"],
             "grad-accum": settings.get("grad_accum", 1), "checkpointing": again, "optimizer": published_optimizer(settings),
             "attention": {"eager": "scores"}.get(settings.get("attention"), settings.get("attention")), "quantize": settings.get("quantize"),
             "loss": loss_of(settings), "gpus": settings["gpus"] if settings.get("gpus", 1) > 1 else None, "zero": settings.get("zero") or None}
    if settings["method"] in ("lora", "qlora"):
        given.update({"adapters": settings.get("trainable"), "lora-rank": settings.get("lora_rank"), "lora-targets": targets_of(settings)})
    if settings.get("fsdp"):
        given["fsdp"] = "full_shard" if "full" in settings["fsdp"] else "shard_grad_op" if "grad" in settings["fsdp"] else "no_shard"
    words = [word for name, value in given.items() if value for word in (f"--{name}", str(value))]
    words += ["--offload-optimizer"] if "optim" in offload or "cpu" in offload else []
    words += ["--offload-params"] if "param" in offload or "cpu" in offload else []
    return words + (["--fused-loss"] if settings.get("fused_loss") else [])


# A card with room holds more than the tensors (data/h200.json, data/stub.json: 0.1 to 48 %, 12 in the median).
RESERVED = (1.003, 1.12, 1.4)
CONTEXT = (0.3 * 2 ** 30, 0.5 * 2 ** 30, 0.75 * 2 ** 30)


def score_published(whyoom, run):
    options = run.get("options") or (None if run["doubtful"] else published_options(run["settings"]))
    said = budget(whyoom, options, may_fail=True) if options else None
    if not said:
        return None
    ends = [said["in_use_bytes"][key] for key in ("low", "assumed", "high")]
    if run["measured"] == "card":  # filled to the last token
        ends = [said["total_bytes"][key] for key in ("low", "assumed", "high")]
    elif run["measured"] != "allocated":
        ends = [end * factor for end, factor in zip(ends, RESERVED)]
    if run["measured"] == "device":
        ends = [end + context for end, context in zip(ends, CONTEXT)]
    low, assumed, high = ends
    real = run["bytes"]
    return {"id": run["id"], "error": assumed / real - 1, "width": (high - low) / real, "inside": low <= real <= high, "peak": said["peak"], "real": real,
            "assumed": assumed, "low": low, "high": high, "peaks": {}, "aside": run["aside"], "options": options, "measured": run["measured"],
            "framework": run.get("framework") or run["settings"]["framework"], "source": run["source"]}


def published_rows(whyoom):
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        runs = read("public.json")["published"] + read("megatron.json")["runs"] + read("contexts.json")["runs"]
        return [row for row in pool.map(lambda run: score_published(whyoom, run), runs) if row]


# ---- Our own ----


def budget(whyoom, options, may_fail=False):
    done = subprocess.run([whyoom, "budget", "--format", "json", *options], capture_output=True, text=True, check=False)
    try:
        return json.loads(done.stdout)
    except ValueError:
        if may_fail:
            return None
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


# ---- Others ----


def other_lines(rows):
    """The same runs with other estimators, and with the budget."""
    file = read("others.json")
    lines = ["\n## Other estimators\n", (HERE / "others.md.in").read_text(),
             "| estimator | runs | its error | largest | the budget's error | largest |\n| --- | ---: | ---: | ---: | ---: | ---: |"]
    for name in ("accelerate", "deepspeed", "llm-analysis", "megatron-lm", "megatron-lm-selective", "cookbook"):
        both = [(file["others"][row["id"]][name] / row["real"] - 1, row["error"]) for row in rows if name in file["others"].get(row["id"], {})]
        cells = [f"{100 * figure:{sign}.1f} %" for at in (0, 1) for figure, sign in
                 ((statistics.median(abs(pair[at]) for pair in both), ""), (max((pair[at] for pair in both), key=abs), "+"))]
        lines.append(f"| {name} {file['about'][name]} | {len(both)} | {' | '.join(cells)} |")
    return lines


# ---- Serving ----

GIB = 2 ** 30


def serving_of(whyoom, start):
    """What a start of an engine printed, beside what the budget says: kind -> (error, inside, width)."""
    said = budget(whyoom, start["options"])
    rows = {row["id"]: row["bytes"] for row in said["components"] if row["bytes"]}
    ends = {"weights": [sum(rows[name][end] for name in ("weights", "embeddings") if name in rows) for end in ("low", "assumed", "high")],
            "forward pass": [rows["activations"][end] for end in ("low", "assumed", "high")]}
    real = {"weights": start["weights_gib"], "forward pass": start["pass_gib"]}
    room = said["kv_cache_room"]
    if room:
        ends["room for the cache"], real["room for the cache"] = [room["bytes"][end] for end in ("low", "assumed", "high")], start["kv_cache_gib"]
        if start["kv_tokens"] and start["kv_cache_gib"]:
            ends["bytes of a token"] = [room["bytes_per_token"]] * 3
            real["bytes of a token"] = start["kv_cache_gib"] / start["kv_tokens"]
    if "--max-num-seqs" in start["options"] and "--max-num-batched-tokens" in start["options"]:
        ends["forward pass, tokens and sequences stated"], real["forward pass, tokens and sequences stated"] = ends["forward pass"], start["pass_gib"]
    return {kind: (ends[kind][1] / (real[kind] * GIB) - 1, ends[kind][0] <= real[kind] * GIB <= ends[kind][2], (ends[kind][2] - ends[kind][0]) / (real[kind] * GIB))
            for kind in ends if real[kind]}


def pipeline_lines(whyoom):
    """Published peaks of pipelines that make images and films."""
    runs = read("diffusion.json")["runs"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        rows = list(pool.map(lambda run: score_published(whyoom, run), runs))
    return ["\n## Pipelines of images\n", (HERE / "diffusion.md.in").read_text(),
            "| runs | inside | width | error | worst |\n| ---: | ---: | ---: | ---: | ---: |", f"| {figures_text(rows)} |",
            "\n| run | measured | low to high | off |\n| --- | ---: | ---: | ---: |", *(line_of(row, row["id"]) for row in rows)]


def serving_lines(whyoom):
    starts = read("serving.json")["starts"]
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        scored = list(pool.map(lambda start: serving_of(whyoom, start), starts))
    lines = ["\n## Serving engines\n", (HERE / "serving.md.in").read_text(),
             "| | starts | inside | error | width |\n| --- | ---: | ---: | ---: | ---: |"]
    for kind in ("weights", "bytes of a token", "forward pass", "forward pass, tokens and sequences stated", "room for the cache"):
        got = [one[kind] for one in scored if kind in one]
        inside = "" if kind in ("weights", "bytes of a token") else sum(one[1] for one in got)
        lines.append(f"| {kind} | {len(got)} | {inside} | {100 * statistics.median(abs(one[0]) for one in got):.1f} % | "
                     f"{100 * statistics.median(one[2] for one in got):.0f} % |")
    return lines


# ---- The page ----

PAGE = HERE.parent.parent / "docs" / "accuracy.md"


def gib(count):
    return f"{count / 2 ** 30:.2f}"


def name_of(case):
    """Short, and with all that tells two cases apart: "llama-2-7b 1x2048 bf16 4bit r16 again"."""
    words = [case["dtype"]] + (["served"] if case["kind"] == "inference" else [])
    words += [case["quantize"] + ("" if case.get("double_quant", True) else " single")] if case.get("quantize") else []
    words += [f"r{case['lora_rank']}" + (" qv" if case.get("targets") == "attention" else "") + (" dropout" if case.get("lora_dropout") else "")] if case.get("lora_rank") else []
    words += [f"{case['strategy']}/{case['gpus']}"] if case.get("strategy") else []
    words += [case["optimizer"].replace("paged-adam8bit", "paged8")] if case.get("optimizer") else []
    words += ["TRL " + case["trl"]] if case.get("trl") else []
    words += [f"{case['grad_accum']} passes"] if case.get("grad_accum") else []
    short = {"checkpointing": "again", "trainer": "Trainer", "liger": "Liger", "padding": "padded", "offload_optimizer": "offload", "offload_params": "all of it"}
    words += [short[key] for key in short if case.get(key)]
    words += ["scores"] if case.get("attention") == "eager" else []
    return f"{case['model']} {case['micro_batch']}x{case.get('seq_len') or case['image']} {' '.join(words)}"


def line_of(row, name):
    mark, aside = "" if row["inside"] else " out", "*" if row["aside"] else ""
    return f"| {name}{aside} | {gib(row['real'])} | {gib(row['low'])} to {gib(row['high'])} | {100 * row['error']:+.1f} %{mark} |"


def groups_of(row):
    case = row["case"]
    if case["kind"] == "inference":
        return "a prompt and 8 tokens more"
    if case["kind"] == "vision":
        return "networks of images"
    if case.get("strategy"):
        return "DeepSpeed's ZeRO" if case["strategy"].startswith("zero") else "FSDP" if case["strategy"].startswith("fsdp") else "DDP"
    if case["model"].startswith(("mixtral", "qwen3-30b", "qwen1.5-moe", "olmoe", "deepseek-v2")):
        return "mixtures of experts"
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
    lines.append(f"| **put aside before the formulas were written** | {figures_text([row for row in every if row['aside']])} |\n")
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
    lines += other_lines(every)
    lines += serving_lines(whyoom)
    lines += pipeline_lines(whyoom)
    published = published_rows(whyoom)
    lines.append("\n## Published by others\n\n" + (HERE / "published.md.in").read_text())
    lines.append("| framework | runs | inside | width | error | worst |\n| --- | ---: | ---: | ---: | ---: | ---: |")
    frames = collections.defaultdict(list)
    for row in published:
        frames[row["framework"], row["measured"]].append(row)
    lines += [f"| {framework}, {measured} | {figures_text(frames[framework, measured])} |" for framework, measured in sorted(frames)]
    lines.append(f"| all, not put aside | {figures_text([row for row in published if not row['aside']])} |")
    lines.append(f"| all, put aside | {figures_text([row for row in published if row['aside']])} |")
    lines.append(f"| **ours and theirs, not put aside** | {figures_text([row for row in every + published if not row['aside']])} |")
    lines.append(f"| **ours and theirs, put aside** | {figures_text([row for row in every + published if row['aside']])} |")
    lines.append("\n| run | measured | low to high | off |\n| --- | ---: | ---: | ---: |")
    lines += [line_of(row, row["id"]) for row in published]
    lines.append("\n## Every run\n\nGiB. Names: model, micro-batch x length, number format, 4bit or 8bit, rank of LoRA, sharding/cards,\n"
                 "optimizer, *again*: full checkpointing, *qv*: adapters of queries and values only, *paged8*: paged\n8-bit Adam.\n")
    lines.append("| run | measured | low to high | off |\n| --- | ---: | ---: | ---: |")
    lines += [line_of(row, name_of(row["case"])) for row in sorted(every, key=lambda row: row["id"])]
    every += published
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
