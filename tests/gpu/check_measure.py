#!/usr/bin/env python3
"""Runs measure.py without a GPU: a training that only copies a recording, a driver that stands in, an nvidia-smi that says nothing.

usage: check_measure.py WHYOOM STAND_IN_CUDA STAND_IN_NVML

Shows that every step of the measuring works and that its results go through compare.py. What it measures is made up.
"""
import json
import os
import subprocess
import sys
import tarfile
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
RECORDING = os.path.join(HERE, "..", "recordings", "fragmented.jsonl")
PEAK_BYTES = 7759462400  # what that recording reserves

TRAIN = f"""
import json, os, shutil, sys, time
options = dict(zip(sys.argv[1::2], sys.argv[2::2]))
if "--plain" in sys.argv:
    sys.exit("torch.OutOfMemoryError: made up")
if "--model" not in options:
    sys.exit(0)
if options["--model"] == "conv" and options["--micro-batch"] == "1":
    sys.exit("no such model")
if options["--stacks"] == "all":
    time.sleep(float(os.environ.get("NATIVE_STACKS_TAKE_S", 0)))
os.makedirs(options["--out"])
shutil.copy({RECORDING!r}, os.path.join(options["--out"], "trace.pickle"))
failed = None if options["--limit"] == "0" else "out of memory"
run = {{"model": options["--model"], "micro_batch": int(options["--micro-batch"]), "length": int(options["--length"]),
       "settings": os.environ["PYTORCH_CUDA_ALLOC_CONF"], "torch": "0.0", "gpu": "Made up", "failed": failed, "total_bytes": 2 ** 34,
       "stats": {{"reserved_bytes.all.peak": {PEAK_BYTES}}}}}
with open(os.path.join(options["--out"], "run.json"), "w") as file:
    json.dump(run, file)
"""


def prepare(folder):
    """The measuring finds its training beside itself, and nvidia-smi on the path."""
    for name in ("measure.py", "compare.py", "save.sh"):
        os.symlink(os.path.join(HERE, name), os.path.join(folder, name))
    with open(os.path.join(folder, "train.py"), "w", encoding="utf-8") as file:
        file.write(TRAIN)
    smi = os.path.join(folder, "nvidia-smi")
    with open(smi, "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\necho 000.00\n")
    os.chmod(smi, 0o755)
    for name in ("results", "output"):
        os.mkdir(os.path.join(folder, name))
    with open(os.path.join(folder, "results", "parts.txt"), "w", encoding="utf-8") as file:
        file.write("whyoom: done\n")


def environment_of(folder):
    return dict(os.environ, WHYOOM_CUDA_LIBRARY=sys.argv[2], WHYOOM_NVML_LIBRARY=sys.argv[3], PYTHONPATH=folder,
                PATH=folder + os.pathsep + os.environ["PATH"])


def measure(folder, seconds):
    paths = [os.path.join(folder, name) for name in ("results", "output")]
    done = subprocess.run([sys.executable, "-B", os.path.join(folder, "measure.py"), sys.argv[1], *paths, str(seconds)],
                          env=environment_of(folder), check=False, capture_output=True, text=True)
    with open(os.path.join(paths[0], "raw.json"), encoding="utf-8") as file:
        return done.returncode, json.load(file)


def verify_before(folder):
    """What tests/gpu/run leaves of the parts that need no Python."""
    replays = os.path.join(folder, "results", "replays")
    os.mkdir(replays)
    sample = os.path.join(HERE, "..", "..", "samples", "lora-7b-24g")
    names = [os.path.join(sample, name) for name in ("slurm-90817.err", "slurm-90817.out", "run_lora.sh")]
    verify = ["verify", "--accept-by-hand", *names, "--trace", os.path.join(sample, "trace-90817.jsonl")]
    for name, words in (("verify", verify), ("some", ["replay", RECORDING])):
        with open(os.path.join(replays, f"{name}.json"), "w", encoding="utf-8") as out, \
                open(os.path.join(replays, f"{name}.err"), "w", encoding="utf-8") as error:
            status = subprocess.run([sys.argv[1], words[0], "--on", "gpu", "--format", "json", *words[1:]], env=environment_of(folder),
                                    stdout=out, stderr=error, check=False).returncode
        with open(os.path.join(replays, "done.txt"), "a", encoding="utf-8") as file:
            file.write(f"{name} {status} 0.50\n")


def check_all(folder, failures):
    prepare(folder)
    verify_before(folder)
    status, raw = measure(folder, 250)
    if status != 1:  # one model is missing, and there is no torch
        failures.append(f"exit status {status}")
    if len(raw["runs"]) != 20 or not any("conv-1x256" in line for line in raw["not_run"]):
        failures.append(f"{len(raw['runs'])} runs; not run: {raw['not_run']}")
    if not any("no trial" in line for line in raw["not_run"]):
        failures.append(f"patches: {raw['not_run']}")
    wrong = [replay for replay in raw["replays"] if replay["error"] or not replay["report"]["gpu"]["model_agrees"]]
    if wrong or len(raw["replays"]) != 3 * 20 + 2:
        failures.append(f"{len(raw['replays'])} replays, wrong: {wrong[:1]}")
    verify = raw["verify"]
    if verify is None or verify["exit"] != 0 or verify["report"]["verdict"] != "proven" or len(verify["report"]["gpu"]["runs"]) < 2:
        failures.append(f"verify: {verify}")
    if raw["proof"] is not None:  # the peaks are all the same, so that no size is known that fails
        failures.append(f"proof: {raw['proof']}")
    if len(raw["dmon"]) != 13:
        failures.append(f"nvidia-smi: {raw['dmon']}")
    with open(os.path.join(folder, "output", "results.json"), encoding="utf-8") as file:
        result = json.load(file)
    # The same recording stands for every run, so all of them agree, and no prediction can.
    if result["verify"]["confirmed"] is not True:
        failures.append(f"confirmed: {result['verify']}")
    if result["recordings"]["agree"] != 17 or result["out_of_memory"]["agree"] != 3:
        failures.append(f"agreements: {result['recordings']['agree']}, {result['out_of_memory']['agree']}")
    with tarfile.open(os.path.join(folder, "output", "results.tar.gz")) as archive:
        kept = archive.getnames()
    if sum(name.startswith("results/recordings/") for name in kept) != 20 or "results/raw.json" not in kept:
        failures.append(f"kept: {kept}")


def check_native_stacks(folder, failures):
    """A first run whose native stacks take too long is done again with those of Python, and so are all others."""
    prepare(folder)
    code = """
import measure, os, sys
measure.NATIVE_STACKS_S = 2
bench = measure.Bench(sys.argv[1], sys.argv[2], sys.argv[2], 100)
measure.train_first(bench)
print(bench.stacks, [run["name"] for run in bench.raw["runs"]], bench.raw["not_run"])
"""
    done = subprocess.run([sys.executable, "-B", "-c", code, sys.argv[1], os.path.join(folder, "results")], cwd=folder, capture_output=True,
                          text=True, check=False, env={**environment_of(folder), "NATIVE_STACKS_TAKE_S": "20"})
    if done.stdout.strip().split("\n")[-1] != "python ['gpt-1x512'] ['training gpt-1x512, all stacks: not done after 2 s']":
        failures.append(f"native stacks: {done.stdout} {done.stderr}")


def check_whole_way(folder, failures):
    """The size that fails follows from two peaks; a job that leaves no snapshot proves nothing."""
    prepare(folder)
    code = """
import json, measure, sys
bench = measure.Bench(sys.argv[1], sys.argv[2], sys.argv[2], 100)
for count, gib in ((4, 4), (8, 6)):
    bench.raw["runs"].append({"name": f"gpt-{count}x512", "run": {"failed": None, "total_bytes": 2 ** 34,
                                                                  "stats": {"reserved_bytes.all.peak": gib * 2 ** 30}}})
measure.prove_whole_way(bench)
print(json.dumps(bench.raw["proof"]))
"""
    scratch = os.path.join(folder, "results")
    done = subprocess.run([sys.executable, "-B", "-c", code, sys.argv[1], scratch], cwd=folder, capture_output=True, text=True, check=False,
                          env=dict(os.environ, PYTHONPATH=folder))
    if done.stdout.strip() != '{"micro_batch": 40, "first_exit": 1, "why": "no snapshot of the small run"}':
        failures.append(f"whole way: {done.stdout} {done.stderr}")
    with open(os.path.join(scratch, "whole-way", "job.sh"), encoding="utf-8") as file:
        if "--micro-batch 40\n" not in file.read():
            failures.append("whole way: another micro-batch")


def check_without_time(folder, failures):
    prepare(folder)
    status, raw = measure(folder, 0)
    if status != 1 or raw["runs"] or len(raw["not_run"]) < 18:
        failures.append(f"without time: exit status {status}, {len(raw['not_run'])} not run")


def main():
    failures = []
    for check in (check_all, check_native_stacks, check_whole_way, check_without_time):
        with tempfile.TemporaryDirectory() as folder:
            check(folder, failures)
    for failure in failures:
        print(failure)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
