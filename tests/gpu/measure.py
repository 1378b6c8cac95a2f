#!/usr/bin/env python3
"""Trains on this machine's GPU, asks whyoom about the recordings, and keeps what both said.

usage: measure.py WHYOOM RESULTS OUTPUT [SECONDS]

Runs are told one line each, several at a time (WHYOOM_GPU_JOBS). After each step RESULTS/raw.json, result.json and result.md are written and
saved into OUTPUT (save.sh). Nothing is begun after SECONDS (450): what was left out is named in raw.json and by compare.py. WHYOOM_GPU_STEPS, a
pattern, chooses steps by the beginnings of their names ("patches [4-7]"). What whyoom says of patches needs tests/training/trial.c, built, in
WHYOOM_TRIAL.
"""
import concurrent.futures
import datetime
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TESTS = os.path.dirname(os.path.dirname(os.path.realpath(__file__)))
SAMPLE = os.path.join(os.path.dirname(TESTS), "samples", "lora-7b-24g")
sys.path += [HERE, os.path.join(TESTS, "training")]
import compare  # noqa: E402
import truth  # noqa: E402

COLUMN_SETS = ("p", "u", "c", "v", "m", "e", "t", "pucvmet")
SETTINGS = ("expandable_segments:True", "max_split_size_mb:128", "roundup_power2_divisions:4")
NATIVE_STACKS_S = 90  # a first run with native stacks that takes longer is done again with those of Python, and so are the others
# Programs of tests/training whose patches are run on the card, those that show most first.
PATCHED = (("gpt", "conv", "unet", "llama"), ("vit", "gpt-accumulate", "encdec", "gpt-expandable"),
           ("llama-checkpoint", "gpt-leak-outputs", "clip", "experts"), ("gpt-momentum", "varying", "vlm", "llama-lora"), ("gpt-written", "growing", "gpt-states", "gpt-generate"),
           ("gpt-deep", "gpt-leak-graph", "gpt-accumulate-4", "encdec-checkpoint"), ("varying-steady", "gpt-evaluate", "vlm-momentum", "gpt-compile"))
KEPT_BYTES = 80 << 20
RANDOM_GROUPS = ("context-alloc", "expandable", "mempools", "graphs", "middle", "gc")


class Bench:
    def __init__(self, whyoom, results, output, seconds):
        self.whyoom, self.results, self.output, self.end = whyoom, results, output, time.monotonic() + seconds
        self.scratch = os.path.join(os.path.dirname(results), "runs")
        self.trial = os.environ.get("WHYOOM_TRIAL")
        self.jobs = int(os.environ.get("WHYOOM_GPU_JOBS", 0)) or max(1, min(6, (os.cpu_count() or 1) // 2))
        self.stacks = "all"
        self.kept_bytes = 0
        self.raw = {"runs": [], "predictions": [], "replays": [], "verify": None, "proof": None, "patches": [], "random": [], "dmon": [],
                    "not_run": [], "seconds": {}, "date": datetime.date.today().isoformat()}

    def many(self, function, items):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            list(pool.map(lambda item: function(*item), items))

    def left_s(self, most):
        return max(1, min(most, int(self.end - time.monotonic())))

    def has_time(self, what):
        if time.monotonic() < self.end:
            return True
        self.raw["not_run"].append(what)
        return False

    def call(self, what, command, seconds, **options):
        """A process that ended, or None where it did not in its time; what was not done is named."""
        try:
            return subprocess.run(command, text=True, check=False, timeout=seconds, **options)
        except subprocess.TimeoutExpired:
            self.raw["not_run"].append(f"{what}: not done after {seconds} s")
            return None

    def folder(self, name):
        return os.path.join(self.scratch, name)

    def trace(self, name):
        return os.path.join(self.folder(name), "trace.pickle")

    def train(self, name, model, micro_batch, length, settings="", limit=0):
        """One run of train.py; None when there is no time for it or it failed otherwise than for memory."""
        if not self.has_time(f"training {name}"):
            return None
        environment = dict(os.environ, PYTORCH_CUDA_ALLOC_CONF=settings)
        command = [sys.executable, os.path.join(HERE, "train.py"), "--out", self.folder(name), "--model", model, "--micro-batch",
                   str(micro_batch), "--length", str(length), "--limit", str(limit), "--stacks", self.stacks]
        done = self.call(f"training {name}, {self.stacks} stacks", command, NATIVE_STACKS_S if self.stacks == "all" else 120, env=environment,
                         capture_output=True)
        if done is None:
            return None
        print(f"trained {name}: exit status {done.returncode}", flush=True)
        if done.returncode != 0:
            self.raw["not_run"].append(f"training {name} failed: {(done.stderr or done.stdout).strip()[-200:]}")
            return None
        with open(os.path.join(self.folder(name), "run.json"), encoding="utf-8") as file:
            run = {"name": name, "run": json.load(file), "check": self.replay(name)[0]}
        self.raw["runs"].append(run)
        return run

    def replay(self, name, *options, trace=None):
        """The report of whyoom replay about a run, what it wrote to standard error, and its seconds."""
        begin = time.monotonic()
        done = self.call(f"replay of {name}", [self.whyoom, "replay", "--format", "json", *options, trace or self.trace(name)], 60,
                         capture_output=True)
        seconds = time.monotonic() - begin
        if done is None:
            return None, "no end in its time", seconds
        try:
            return json.loads(done.stdout), done.stderr.strip(), seconds
        except ValueError:
            return None, done.stderr.strip(), seconds

    def predict(self, source, target, scale):
        if self.has_time(f"prediction {source} -> {target}"):
            report = self.replay(source, "--scale", scale)[0]
            self.raw["predictions"].append({"from": source, "to": target, "scale": scale, "report": slim(report)})

    def replay_on_gpu(self, name, capacity, *options, trace=None):
        if not self.has_time(f"replay of {name} on the GPU"):
            return
        report, error, seconds = self.replay(name, "--on", "gpu", "--capacity", str(capacity), *options, trace=trace)
        gpu = (report or {}).get("gpu")
        print(f"replayed {name} at {capacity / 2 ** 30:.2f} GiB: {'no result: ' + error if gpu is None else gpu['model_agrees']}", flush=True)
        self.raw["replays"].append({"run": name, "capacity_bytes": capacity, "report": slim(report), "error": error or None,
                                    "seconds": seconds, "events": (report or {}).get("trace", {}).get("entries")})


def slim(report):
    """Without the long lists, which nothing here compares."""
    if report is None:
        return None
    return {key: value for key, value in report.items() if key not in ("holders", "fragmentation", "state", "sweep")}


def peak_of(run):
    return run["run"]["stats"]["reserved_bytes.all.peak"]


def train_first(bench):
    """The first run finds out whether native stacks can be had in time."""
    if bench.train("gpt-1x512", "gpt", 1, 512) is None and bench.has_time("native stacks"):
        bench.stacks = "python"
        bench.train("gpt-1x512", "gpt", 1, 512)


def train_all(bench):
    """(a): both models at four micro-batches, two lengths, four settings."""
    runs = [(f"gpt-{micro_batch}x{length}", "gpt", micro_batch, length) for length in (512, 1024) for micro_batch in (1, 2, 4, 8)]
    runs += [(f"conv-{micro_batch}x256", "conv", micro_batch, 256) for micro_batch in (1, 2, 4, 8)]
    for settings in SETTINGS:
        key = settings.split(":", 1)[0]
        runs += [(f"gpt-4x1024-{key}", "gpt", 4, 1024, settings), (f"conv-8x256-{key}", "conv", 8, 256, settings)]
    bench.many(bench.train, runs[1:])


def train_into_failure(bench):
    """(b): the same with 70 % of what it needs."""
    whole = [run for run in bench.raw["runs"] if run["name"] in ("gpt-4x1024", "gpt-4x1024-expandable_segments", "conv-8x256")]
    bench.many(bench.train, [(f"{run['name']}-fails", run["run"]["model"], run["run"]["micro_batch"], run["run"]["length"],
                              run["run"]["settings"], peak_of(run) * 7 // 10) for run in whole])


def keep_trainings(bench):
    for run in bench.raw["runs"]:
        keep_file(bench, bench.trace(run["name"]), f"recordings/{run['name']}.pickle")


def predict_all(bench):
    """(c): each size from its neighbours."""
    names = {run["name"] for run in bench.raw["runs"]}
    wanted = []
    for model, length in (("gpt", 512), ("gpt", 1024), ("conv", 256)):
        for a, b in ((1, 2), (2, 4), (4, 8), (8, 4), (4, 2), (8, 2)):
            wanted.append((f"{model}-{a}x{length}", f"{model}-{b}x{length}", f"micro_batch={a}:{b}"))
    for micro_batch in (1, 2, 4, 8):
        for a, b in ((512, 1024), (1024, 512)):
            wanted.append((f"gpt-{micro_batch}x{a}", f"gpt-{micro_batch}x{b}", f"seq_len={a}:{b}"))
    bench.many(bench.predict, [row for row in wanted if names.issuperset(row[:2])])


def replay_all(bench):
    """(d): each recording with room and short of memory, and one with every byte written."""
    runs = list(bench.raw["runs"])
    bench.many(bench.replay_on_gpu, [(run["name"], peak_of(run) * share // 10) for run in runs for share in (6, 9, 12)] +
               [(run["name"], peak_of(run) * 12 // 10, "--touch") for run in runs[:1]])


def take_replays(bench):
    """(e), (f): what was done with a driver alone."""
    folder = os.path.join(bench.results, "replays")
    path = os.path.join(folder, "done.txt")
    if not os.path.exists(path):
        return
    with open(path, encoding="utf-8") as file:
        lines = [line.split() for line in file]
    for name, status, seconds in lines:
        report, error = read_json(os.path.join(folder, f"{name}.json")), read_text(os.path.join(folder, f"{name}.err")).strip()
        if name == "verify":
            bench.raw["verify"] = {"exit": int(status), "error": error or None, "seconds": float(seconds), "report": (report or {}).get("verify")}
        else:
            bench.raw["replays"].append({"run": name, "capacity_bytes": (report or {}).get("capacity_bytes"),
                                         "report": slim(report), "error": error or None, "seconds": float(seconds),
                                         "events": (report or {}).get("trace", {}).get("entries")})


def read_text(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()


def read_json(path):
    try:
        return json.loads(read_text(path))
    except ValueError:
        return None


def judge_patches(bench, names):
    """(g): jobs on cards on which they fail, what whyoom says of changes, and whether the changed programs run there."""
    missing = [name for name in names if not bench.has_time(f"patches of {name}")]
    if not bench.trial:
        bench.raw["not_run"].append("patches: no trial (WHYOOM_TRIAL)")
    if missing or not bench.trial:
        return
    machine = truth.Machine(os.path.join(TESTS, "training"), bench.folder(f"patches-{names[0]}"), conf, min(8, bench.jobs + 2), bench.end)
    rows = truth.compare(machine, bench.trial, names)
    print(truth.table(rows), flush=True)
    bench.raw["patches"] += [{**row, "verdict": truth.judge(row)} for row in rows]
    odd = [row for row in rows if truth.judge(row) in ("YES THAT FAILS", "no that runs") or row.get("high_mib", 0) > 3 * row.get("low_mib", 0)]
    keep_recordings(bench, odd, machine.folder)


def conf(settings):
    return dict(os.environ, PYTORCH_CUDA_ALLOC_CONF=settings, PYTORCH_ALLOC_CONF=settings)


def keep_recordings(bench, rows, folder):
    """The recordings of answers that were wrong or say little, a few of them."""
    for name in sorted({f"{row['program']}-{row['card_mib']}" for row in rows})[:3]:
        keep_file(bench, os.path.join(folder, name, "trace.pickle"), f"recordings/{name}.pickle")


def keep_file(bench, path, name, most_bytes=4 << 20):
    """A copy among the results. All of them are one archive, which must stay small: recordings shrink to a tenth."""
    if os.path.exists(path) and os.path.getsize(path) <= min(most_bytes, KEPT_BYTES - bench.kept_bytes):
        bench.kept_bytes += os.path.getsize(path)
        place = os.path.join(bench.results, name)
        os.makedirs(os.path.dirname(place), exist_ok=True)
        shutil.copyfile(path, place)


def record_at_random(bench):
    """(h): recordings of random programs on the real allocator: are they reproduced?"""
    if not bench.has_time("recordings of random programs"):
        return
    folder, log = bench.folder("random"), bench.folder("random.txt")
    seconds = bench.left_s(100)
    command = [sys.executable, "-B", os.path.join(TESTS, "training", "random_recordings.py"), bench.whyoom, folder, "--groups", *RANDOM_GROUPS,
               "--count", "60", "--jobs", str(max(1, (os.cpu_count() or 1) - 2)), "--seconds", str(seconds // len(RANDOM_GROUPS))]
    with open(log, "w", encoding="utf-8") as file:
        bench.call("recordings of random programs", command, seconds + 60, stdout=file)
    bench.raw["random"] = [json.loads(line) for line in read_text(log).splitlines() if line.endswith("}")]
    print(read_text(log), flush=True)
    for path in sorted(glob.glob(os.path.join(folder, "*.pickle")))[:40]:
        keep_file(bench, path, f"recordings/{os.path.basename(path)}", 256 << 10)


def run_job(bench, command, log):
    """Runs a command with both its outputs in a log. Its exit status, or None."""
    with open(log, "w", encoding="utf-8") as file:
        done = bench.call(os.path.basename(log), command, 120, stdout=file, stderr=subprocess.STDOUT)
    return None if done is None else done.returncode


def too_large(bench):
    """A micro-batch with which the GPT needs a third more than the card; None when not known."""
    peaks = {run["name"]: peak_of(run) for run in bench.raw["runs"] if run["run"]["failed"] is None}
    if not {"gpt-4x512", "gpt-8x512"} <= peaks.keys():
        return None
    sample = (peaks["gpt-8x512"] - peaks["gpt-4x512"]) / 4
    rest = peaks["gpt-8x512"] - 8 * sample
    total = bench.raw["runs"][0]["run"]["total_bytes"]
    return 8 * round((4 * total / 3 - rest) / sample / 8) if sample > 0 else None


def write_job(path, micro_batch):
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/bash\n#SBATCH --job-name=gpt\n#SBATCH --gres=gpu:1\n\n{sys.executable} {os.path.join(HERE, 'train.py')} "
                   f"--plain --model gpt --length 512 --steps 4 --micro-batch {micro_batch}\n")


def prove_whole_way(bench):
    """(i): what a user does. A job that is too large for the card fails in its first step; a small run of it is recorded; the fix is proven
    on that, written into the job's script, and the job runs."""
    micro_batch = too_large(bench)
    if micro_batch is None or not bench.has_time("the whole way of one job"):
        return
    folder = os.path.join(bench.results, "whole-way")
    os.makedirs(folder, exist_ok=True)
    script, small, log, again = (os.path.join(folder, name) for name in ("job.sh", "small.sh", "job.err", "again.err"))
    write_job(script, micro_batch)
    write_job(small, 8)
    proof = bench.raw["proof"] = {"micro_batch": micro_batch, "first_exit": run_job(bench, ["bash", script], log)}
    run_job(bench, [bench.whyoom, "record", "-o", os.path.join(folder, "traces"), "--", "bash", small], os.path.join(folder, "small.err"))
    traces = sorted(glob.glob(os.path.join(folder, "traces", "*exit.pickle")))
    if proof["first_exit"] == 0 or not traces:
        proof["why"] = "no failure" if traces else "no snapshot of the small run"
        return
    done = bench.call("verify of the job", [bench.whyoom, "verify", "--format", "json", "--patch", "--write", "--recorded-at", "micro_batch=8", log,
                                            script, "--trace", traces[0]], 300, capture_output=True)
    try:
        proof["verify"] = {key: value for key, value in json.loads(done.stdout)["verify"].items() if key not in ("traces", "patch")}
        proof["verify_exit"] = done.returncode
    except (AttributeError, KeyError, ValueError):
        proof["why"] = "no report of verify"
        return
    if done.returncode == 0:
        proof["second_exit"] = run_job(bench, ["bash", script], again)
    print(f"the whole way: verify {proof['verify']['verdict']}, run again: {proof.get('second_exit')}", flush=True)


def watch_card(bench):
    """(j): what nvidia-smi prints in all sets of columns while others train."""
    folder = os.path.join(bench.results, "nvidia-smi")
    os.makedirs(folder, exist_ok=True)
    wanted = [(f"dmon-{columns}", ["dmon", "-c", "3", "-o", "DT", "-s", columns]) for columns in COLUMN_SETS]
    wanted += [("pmon", ["pmon", "-c", "3", "-o", "DT", "-s", "um"]), ("q", ["-q"]), ("table", []),
               ("apps", ["--query-compute-apps=timestamp,gpu_uuid,pid,process_name,used_memory", "--format=csv"]),
               ("gpu", ["--query-gpu=timestamp,index,name,utilization.gpu,memory.used,memory.free,memory.total", "--format=csv", "-lms", "500"])]
    for name, words in wanted:
        try:
            done = subprocess.run(["nvidia-smi", *words], capture_output=True, text=True, check=False, timeout=5 if name == "gpu" else 30)
            text, status = done.stdout, done.returncode
        except subprocess.TimeoutExpired as stopped:
            text, status = (stopped.stdout or b"").decode(), None
        with open(os.path.join(folder, f"{name}.txt"), "w", encoding="utf-8") as file:
            file.write(text)
        bench.raw["dmon"].append({"columns": name, "exit": status, "file": f"nvidia-smi/{name}.txt"})


def name_versions(bench):
    facts = bench.raw["runs"][0]["run"] if bench.raw["runs"] else {}
    version = subprocess.run([bench.whyoom, "version"], capture_output=True, text=True, check=True).stdout.split()
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True,
                            check=False).stdout.split("\n")
    bench.raw.update(whyoom=version[-1], gpu=facts.get("gpu"), torch=facts.get("torch"), driver=driver[0].strip() or None)


def keep(bench):
    """Writes and saves what there is, also where a step broke off."""
    name_versions(bench)
    for run in bench.raw["runs"]:
        run["check"] = slim(run["check"])
    result = compare.compare(bench.raw)
    for name, text in (("raw.json", json.dumps(bench.raw)), ("result.json", json.dumps(result, indent=1)), ("result.md", compare.page(result))):
        with open(os.path.join(bench.results, name), "w", encoding="utf-8") as file:
            file.write(text)
    subprocess.run(["sh", os.path.join(os.path.dirname(os.path.realpath(__file__)), "save.sh"), bench.results, bench.output], check=False)


def do(bench, name, step):
    """A step that breaks off takes nothing else with it."""
    if not re.match(os.environ.get("WHYOOM_GPU_STEPS", ""), name):
        bench.raw["not_run"].append(f"{name}: not chosen")
        return
    begin = time.monotonic()
    try:
        step(bench)
    except Exception as error:  # whatever it is, the other steps are worth more than its cause
        bench.raw["not_run"].append(f"{name} broke off: {error!r}")
    bench.raw["seconds"][name] = round(time.monotonic() - begin, 1)
    print(f"== {name}: {bench.raw['seconds'][name]} s", flush=True)
    keep(bench)


def main():
    if len(sys.argv) not in (4, 5):
        print("usage: measure.py WHYOOM RESULTS OUTPUT [SECONDS]", file=sys.stderr)
        return 2
    bench = Bench(*map(os.path.abspath, sys.argv[1:4]), float(sys.argv[4]) if len(sys.argv) == 5 else 450)
    do(bench, "parts without torch", take_replays)
    do(bench, "a first training", train_first)
    with concurrent.futures.ThreadPoolExecutor(1) as pool:
        watching = pool.submit(watch_card, bench)
        do(bench, "trainings", train_all)
        do(bench, "trainings into failure", train_into_failure)
        do(bench, "recordings kept", keep_trainings)
        do(bench, "predictions", predict_all)
        watching.result()
    do(bench, "patches 1", lambda bench: judge_patches(bench, PATCHED[0]))
    do(bench, "the whole way", prove_whole_way)
    do(bench, "patches 2", lambda bench: judge_patches(bench, PATCHED[1]))
    do(bench, "random recordings", record_at_random)
    do(bench, "replays on the GPU", replay_all)
    for at, names in enumerate(PATCHED[2:], 3):
        do(bench, f"patches {at}", lambda bench, names=names: judge_patches(bench, names))
    return 0 if bench.raw["runs"] and not bench.raw["not_run"] else 1


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
