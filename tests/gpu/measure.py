#!/usr/bin/env python3
"""Trains on this machine's GPU, asks whyoom about the recordings, and keeps what both said.

usage: measure.py WHYOOM SCRATCH RAW.json [SECONDS]

Runs are told one line each. No run is begun after SECONDS (500): what was left out is named in RAW.json and by compare.py.
"""
import datetime
import glob
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
SAMPLE = os.path.join(os.path.dirname(os.path.dirname(os.path.dirname(os.path.realpath(__file__)))), "samples", "lora-7b-24g")
COLUMN_SETS = ("p", "u", "c", "v", "m", "e", "t", "pucvmet")
SETTINGS = ("expandable_segments:True", "max_split_size_mb:128", "roundup_power2_divisions:4")


class Bench:
    def __init__(self, whyoom, scratch, seconds):
        self.whyoom, self.scratch, self.end = whyoom, scratch, time.monotonic() + seconds
        self.raw = {"runs": [], "predictions": [], "replays": [], "verify": None, "proof": None, "dmon": [], "not_run": [],
                    "date": datetime.date.today().isoformat()}

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
                   str(micro_batch), "--length", str(length), "--limit", str(limit)]
        done = self.call(f"training {name}", command, 120, env=environment, capture_output=True)
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
        done = self.call(f"replay of {name}", [self.whyoom, "replay", "--format", "json", *options, trace or self.trace(name)], 300,
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


def train_sizes(bench):
    """(a): both models at four micro-batches; two lengths."""
    for length in (512, 1024):
        for micro_batch in (1, 2, 4, 8):
            bench.train(f"gpt-{micro_batch}x{length}", "gpt", micro_batch, length)
    for micro_batch in (1, 2, 4, 8):
        bench.train(f"conv-{micro_batch}x256", "conv", micro_batch, 256)


def train_settings(bench):
    for settings in SETTINGS:
        key = settings.split(":", 1)[0]
        bench.train(f"gpt-4x1024-{key}", "gpt", 4, 1024, settings)
        bench.train(f"conv-8x256-{key}", "conv", 8, 256, settings)


def train_into_failure(bench):
    """(b): the same with 70 % of what it needs."""
    whole = [run for run in bench.raw["runs"] if run["name"] in ("gpt-4x1024", "gpt-4x1024-expandable_segments", "conv-8x256")]
    for run in whole:
        facts = run["run"]
        limit = peak_of(run) * 7 // 10
        bench.train(f"{run['name']}-fails", facts["model"], facts["micro_batch"], facts["length"], facts["settings"], limit)


def predict_all(bench):
    """(c): each size from its neighbours."""
    names = {run["name"] for run in bench.raw["runs"]}
    for model, length in (("gpt", 512), ("gpt", 1024), ("conv", 256)):
        for a, b in ((1, 2), (2, 4), (4, 8), (8, 4), (4, 2), (8, 2)):
            pair = (f"{model}-{a}x{length}", f"{model}-{b}x{length}")
            if names.issuperset(pair):
                bench.predict(*pair, f"micro_batch={a}:{b}")
    for micro_batch in (1, 2, 4, 8):
        for a, b in ((512, 1024), (1024, 512)):
            pair = (f"gpt-{micro_batch}x{a}", f"gpt-{micro_batch}x{b}")
            if names.issuperset(pair):
                bench.predict(*pair, f"seq_len={a}:{b}")


def replay_all(bench):
    """(d): each recording with room, short of memory, and with every byte written."""
    for run in list(bench.raw["runs"]):
        peak = peak_of(run)
        for share in (6, 9, 12):
            bench.replay_on_gpu(run["name"], peak * share // 10)
    for run in bench.raw["runs"][:1]:
        bench.replay_on_gpu(run["name"], peak_of(run) * 12 // 10, "--touch")


def replay_many(bench):
    """(e): a million events, as trace lines."""
    path = os.path.join(bench.scratch, "million.jsonl")
    with open(path, "w", encoding="utf-8") as file:
        file.write('{"whyoom_trace": 1, "torch": "2.6"}\n')
        for i in range(500000):
            size = 512 * (1 + i * 7919 % 8192) if i % 16 else 2 ** 20 * (2 + i // 16 % 64)
            file.write(f'{{"alloc": {size}, "id": {i}}}\n')
            if i >= 100:
                file.write(f'{{"free": {i - 100}}}\n')
    bench.replay_on_gpu("a million events", 8 * 2 ** 30, trace=path)


def verify_sample(bench):
    """(f): the sample job that has a recording; a card of 24 GB is stood in for by a limit."""
    if not bench.has_time("verify of the sample on the GPU"):
        return
    names = ("slurm-90817.err", "slurm-90817.out", "run_lora.sh")
    begin = time.monotonic()
    done = bench.call("verify of the sample", [bench.whyoom, "verify", "--on", "gpu", "--format", "json",
                                               *(os.path.join(SAMPLE, name) for name in names), "--trace",
                                               os.path.join(SAMPLE, "trace-90817.jsonl")], 300, capture_output=True)
    seconds = time.monotonic() - begin
    if done is None:
        return
    try:
        verify = json.loads(done.stdout)["verify"]
    except (ValueError, KeyError):
        verify = None
    print(f"verified the sample: exit status {done.returncode}", flush=True)
    bench.raw["verify"] = {"exit": done.returncode, "error": done.stderr.strip() or None, "seconds": seconds, "report": verify}


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
    """(g): what a user does. A job that is too large for the card fails in its first step; a small run of it is recorded; the fix is proven
    on that, written into the job's script, and the job runs."""
    micro_batch = too_large(bench)
    if micro_batch is None or not bench.has_time("the whole way of one job"):
        return
    folder = bench.folder("whole-way")
    os.makedirs(folder)
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
    """(h): what nvidia-smi dmon prints, in all sets of columns, while a training runs."""
    command = [sys.executable, os.path.join(HERE, "train.py"), "--out", bench.folder("watched"), "--steps", "200"]
    if not bench.has_time("nvidia-smi dmon"):
        return
    with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as training:
        for columns in COLUMN_SETS:
            done = subprocess.run(["nvidia-smi", "dmon", "-c", "3", "-o", "DT", "-s", columns], capture_output=True, text=True,
                                  check=False, timeout=60)
            path = os.path.join(bench.scratch, f"dmon-{columns}.txt")
            with open(path, "w", encoding="utf-8") as file:
                file.write(done.stdout)
            bench.raw["dmon"].append({"columns": columns, "exit": done.returncode, "file": os.path.basename(path)})
        training.terminate()


def keep(bench, path):
    """Writes what there is, also where a step broke off."""
    facts = bench.raw["runs"][0]["run"] if bench.raw["runs"] else {}
    version = subprocess.run([bench.whyoom, "version"], capture_output=True, text=True, check=True).stdout.split()
    driver = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"], capture_output=True, text=True,
                            check=False).stdout.split("\n")
    bench.raw.update(whyoom=version[-1], gpu=facts.get("gpu"), torch=facts.get("torch"), driver=driver[0].strip() or None)
    for run in bench.raw["runs"]:
        run["check"] = slim(run["check"])
    with open(path, "w", encoding="utf-8") as file:
        json.dump(bench.raw, file)


def main():
    if len(sys.argv) not in (4, 5):
        print("usage: measure.py WHYOOM SCRATCH RAW.json [SECONDS]", file=sys.stderr)
        return 2
    bench = Bench(os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), float(sys.argv[4]) if len(sys.argv) == 5 else 500)
    try:
        for step in (verify_sample, train_sizes, train_settings, train_into_failure, prove_whole_way, predict_all, replay_all, replay_many,
                     watch_card):
            step(bench)
    finally:
        keep(bench, sys.argv[3])
    return 0 if bench.raw["runs"] else 1


if __name__ == "__main__":
    sys.exit(main())
