#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes an archive of job logs whose truth is known, for `whyoom scan`.

usage: make_archive.py FOLDER [--jobs N] [--seed S] [--failed PERCENT]      20 000 jobs, seed 1 and 2 % by default

Writes below FOLDER/logs what a cluster has: folders of users and projects, slurm-ID.out and .err, arrays name_%A_%a.out, batch scripts, text
of sacct by user or by day, some logs compressed, some traces of a monitor. FOLDER/truth.json (beside the logs, so that no scan meets it) says
what was planted:

  jobs        {log relative to FOLDER/logs: {id, cause, user, name, node, gpu_hours, submission}} of each failed job
  counts      jobs, failed, ok
  bad_nodes   {node: "hardware" or "other_process"}
  costliest   the cause that lost most GPU-hours
  sweeps      {array: {knob, relation, value, failed, jobs}}
  repeats     [{user, name, cause, submissions}]

The same arguments give the same bytes. Messages are in the true formats of their programs, written for this file; users, hosts and paths are
invented. Causes are ids of whyoom's rules; each planted log alone must be diagnosed as its cause (score_fleet.py --logs)."""
import argparse
import gzip
import json
import random
from datetime import datetime, timedelta, timezone
from pathlib import Path

START = datetime(2025, 9, 1, tzinfo=timezone.utc)
DAYS = 75
USERS = ("aoki", "bauer", "castro", "dubois", "eklund", "farah", "gruber", "haddad", "ivanov", "jensen", "kaya", "lopez", "meyer", "nkosi",
         "okafor", "petrov", "quinn", "rossi", "sato", "tanaka")
ACCOUNTS = ("nlp", "vision", "bio", "physics")
PARTITIONS = {"a100": ("NVIDIA A100-SXM4-80GB", "79.15 GiB"), "h100": ("NVIDIA H100 80GB HBM3", "79.11 GiB"), "l40s": ("NVIDIA L40S", "44.40 GiB")}
NODES = [f"gpu{number:03}" for number in range(1, 81)]
HARDWARE_NODE, TAKEN_NODE = "gpu023", "gpu057"
SITE = "/sw/miniforge/envs/torch/lib/python3.11/site-packages"
ADVICE = ("If reserved but unallocated memory is large try setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True to avoid fragmentation.  "
          "See documentation for Memory Management  (https://pytorch.org/docs/stable/notes/cuda.html#environment-variables)")


class Job:
    """A job on its way to disk. Texts of its log and error log grow line by line; `clock` runs with them."""

    def __init__(self, rng, ident, user, name, **more):
        self.rng, self.ident, self.user, self.name = rng, ident, user, name
        self.account = ACCOUNTS[USERS.index(user) % len(ACCOUNTS)]
        self.partition = rng.choice(sorted(PARTITIONS))
        self.gpus = rng.choice((1, 1, 2, 4, 8))
        self.node = rng.choice([node for node in NODES if node not in (HARDWARE_NODE, TAKEN_NODE)] + [HARDWARE_NODE] + [TAKEN_NODE])
        self.array = self.task = None
        self.out, self.err = [], []
        self.state, self.exit_code = "COMPLETED", "0:0"
        self.cause = None
        self.hours = rng.uniform(0.3, 9)
        self.submission = 0
        self.parameters = rng.choice((304351232, 1544732672, 6738415616))
        self.work = f"/home/{user}/{name}"
        self.script = "train.py"
        self.settings = {"micro_batch": rng.choice((2, 4, 8)), "grad_accum": rng.choice((2, 4, 8)), "seq_len": rng.choice((1024, 2048)),
                         "lr": rng.choice(("1e-4", "2e-4", "3e-4"))}
        self.has_batch_script = rng.random() < 0.3
        self.start = START + timedelta(seconds=rng.uniform(0, DAYS * 86400))
        for key, value in more.items():
            setattr(self, key, value)

    @property
    def end(self):
        return self.start + timedelta(hours=self.hours)

    @property
    def gpu_hours(self):
        return int(self.hours * 3600) * self.gpus / 3600

    @property
    def card(self):
        return PARTITIONS[self.partition]


# ---- What programs print ----


def stamp(when):
    return when.strftime("%Y-%m-%d %H:%M:%S")


def print_head(job):
    """The beginning of a training log: arguments as argparse echoes them, the model, the card."""
    values = ", ".join((f"micro_batch_size={job.settings['micro_batch']}", f"gradient_accumulation_steps={job.settings['grad_accum']}",
                        f"max_seq_length={job.settings['seq_len']}", f"learning_rate={job.settings['lr']}", *job.settings.get("more", ())))
    job.out.append(f"{stamp(job.start)},101 INFO args: Namespace({values})")
    job.out.append(f"{stamp(job.start + timedelta(seconds=2))},344 INFO host {job.node}, {job.gpus} x {job.card[0]}")
    job.out.append(f"{stamp(job.start + timedelta(seconds=41))},020 INFO model: {job.parameters:,} parameters")


def print_steps(job, share=1.0, steps=None):
    """Steps up to a share of the whole run; the last lines of it when it went well."""
    steps = steps or job.rng.randint(8, 24)
    total = steps * 100
    for number in range(1, int(steps * share) + 1):
        when = job.start + timedelta(hours=job.hours * number / (steps + 1))
        job.out.append(f"{stamp(when)},{job.rng.randint(0, 999):03} INFO step {number * 100}/{total} | loss {2.4 / (1 + number / 9):.4f} | "
                       f"{job.rng.uniform(0.4, 2.5):.2f} s/step")


def print_good_end(job):
    job.out.append(f"{stamp(job.end - timedelta(seconds=20))},512 INFO saved checkpoint to {job.work}/out/final")
    job.out.append(f"{stamp(job.end - timedelta(seconds=2))},002 INFO training finished")


def traceback(job, frames, message):
    """A traceback of the user's script through `frames` [(file, line, function, code)]."""
    job.err.append("Traceback (most recent call last):")
    own = [(f"{job.work}/{job.script}", 212, "<module>", "main()"), (f"{job.work}/{job.script}", 187, "main", "loss = train_step(model, batch)")]
    for path, line, function, code in own + frames:
        job.err += [f'  File "{path}", line {line}, in {function}', f"    {code}"]
    job.err.append(message)


def exit_by_error(job, code=1):
    job.err.append(f"srun: error: {job.node}: task 0: Exited with exit code {code}")
    job.state, job.exit_code = "FAILED", f"{code}:0"


def capacity(job):
    return float(job.card[1].split()[0])


def torch_oom(job, tried, allocated, idle, free=0.31, others=0.0, gpu=0):
    """PyTorch's message; sizes in GiB, the rest of the card is the context's."""
    process = capacity(job) - free - others
    text = f"torch.OutOfMemoryError: CUDA out of memory. Tried to allocate {tried:.2f} GiB. GPU {gpu} has a total capacity of {job.card[1]} of which {free:.2f} GiB is free. "
    if others:
        text += f"Process {job.rng.randint(2000, 900000)} has {others:.2f} GiB memory in use. "
    text += f"Including non-PyTorch memory, this process has {process:.2f} GiB memory in use. "
    return text + f"Of the allocated memory {allocated:.2f} GiB is allocated by PyTorch, and {idle:.2f} GiB is reserved by PyTorch but unallocated. {ADVICE}"


MODEL_FRAMES = [(f"{SITE}/torch/nn/modules/module.py", 1739, "_wrapped_call_impl", "return self._call_impl(*args, **kwargs)"),
                (f"{SITE}/torch/nn/modules/module.py", 1750, "_call_impl", "return forward_call(*args, **kwargs)")]


# ---- Failures: each plants one cause ----


def fail_micro_batch(job):
    """A batch that needs more than the card, early in the first step, by a model whose states fit any card."""
    job.parameters = 304351232
    print_head(job)
    use = capacity(job) - 1.2
    traceback(job, [(f"{job.work}/model.py", 88, "forward", "x = self.mlp(x)"), *MODEL_FRAMES], torch_oom(job, 2.0 + job.settings["micro_batch"] / 8, use - 0.9, 0.3))
    exit_by_error(job)


def fail_fragmentation(job):
    print_head(job)
    print_steps(job, 0.6)
    use = capacity(job) - 0.9
    traceback(job, [(f"{job.work}/model.py", 131, "forward", "y = torch.cat(parts, dim=1)")], torch_oom(job, 2.0, use - 14.4, 13.9, free=0.4))
    exit_by_error(job)


def fail_taken_card(job):
    """Another process holds most of the card."""
    print_head(job)
    others = round(capacity(job) * job.rng.uniform(0.7, 0.88), 2)
    rest = capacity(job) - others
    traceback(job, [(f"{job.work}/{job.script}", 96, "build", "model = model.cuda()")], torch_oom(job, 1.5, rest - 1.4, 0.2, free=0.3, others=others))
    exit_by_error(job)


def fail_host_memory(job):
    print_head(job)
    print_steps(job, 0.4)
    job.err.append(f"slurmstepd: error: Detected 1 oom_kill event in StepId={job.ident}.batch. Some of the step tasks have been OOM Killed.")
    job.err.append(f"srun: error: {job.node}: task 0: Out Of Memory")
    job.state, job.exit_code = "OUT_OF_MEMORY", "0:125"


def fail_time_limit(job):
    print_head(job)
    print_steps(job, 0.8)
    job.err.append(f"slurmstepd: error: *** JOB {job.ident} ON {job.node} CANCELLED AT {job.end.strftime('%Y-%m-%dT%H:%M:%S')} DUE TO TIME LIMIT ***")
    job.state, job.exit_code = "TIMEOUT", "0:0"


def fail_bus(job):
    print_head(job)
    print_steps(job, 0.5)
    job.err.append(f"[{job.rng.uniform(1e5, 9e6):.6f}] NVRM: Xid (PCI:0000:c1:00): 79, pid={job.rng.randint(2000, 90000)}, name=python, GPU has fallen off the bus.")
    traceback(job, [], "RuntimeError: CUDA error: unspecified launch failure")
    exit_by_error(job)


def fail_ecc(job):
    print_head(job)
    print_steps(job, 0.3)
    traceback(job, [], "RuntimeError: CUDA error: uncorrectable ECC error encountered\nCUDA kernel errors might be asynchronously reported at some other API call, so the stacktrace below might be incorrect.")
    exit_by_error(job)


def fail_exception(job):
    print_head(job)
    print_steps(job, 0.2)
    traceback(job, [(f"{job.work}/data.py", 41, "collate", 'return batch["labels"]')], "KeyError: 'labels'")
    exit_by_error(job)


def fail_module(job):
    job.err += ["Traceback (most recent call last):", f'  File "{job.work}/{job.script}", line 7, in <module>', "    import flash_attn", "ModuleNotFoundError: No module named 'flash_attn'"]
    exit_by_error(job)


def fail_disk_quota(job):
    print_head(job)
    print_steps(job, 0.5)
    traceback(job, [(f"{SITE}/torch/serialization.py", 850, "save", "_save(obj, opened_zipfile, pickle_module, pickle_protocol)")],
              f"OSError: [Errno 122] Disk quota exceeded: '{job.work}/out/step_800.pt'")
    exit_by_error(job)


def fail_nccl(job):
    print_head(job)
    print_steps(job, 0.5)
    job.err.append("[rank1]:[E1014 04:11:38.071526398 ProcessGroupNCCL.cpp:616] [Rank 1] Watchdog caught collective operation timeout: "
                   "WorkNCCL(SeqNum=18211, OpType=ALLREDUCE, NumelIn=26214400, NumelOut=26214400, Timeout(ms)=600000) ran for 600043 milliseconds before timing out.")
    job.err.append("terminate called after throwing an instance of 'c10::DistBackendError'")
    exit_by_error(job, 134)


def fail_assert(job):
    print_head(job)
    job.err.append("../aten/src/ATen/native/cuda/Indexing.cu:1292: indexSelectLargeIndex: block: [212,0,0], thread: [64,0,0] Assertion `srcIndex < srcSelectDimSize` failed.")
    traceback(job, [(f"{job.work}/model.py", 52, "forward", "x = self.embed(ids)")], "RuntimeError: CUDA error: device-side assert triggered")
    exit_by_error(job)


def fail_segfault(job):
    print_head(job)
    print_steps(job, 0.3)
    job.err.append(f"srun: error: {job.node}: task 0: Segmentation fault (core dumped)")
    job.state, job.exit_code = "FAILED", "0:11"


def fail_nan(job):
    print_head(job)
    print_steps(job, 0.4)
    traceback(job, [(f"{job.work}/{job.script}", 140, "train_step", "raise FloatingPointError(f\"loss is {loss}\")")], "FloatingPointError: loss is nan")
    exit_by_error(job)


def fail_port(job):
    traceback(job, [(f"{SITE}/torch/distributed/rendezvous.py", 185, "_create_c10d_store", "return TCPStore(")],
              "torch.distributed.DistNetworkError: The server socket has failed to listen on any local network address. port: 29500, useIpv6: false, code: -98, name: EADDRINUSE, message: address already in use")
    exit_by_error(job)


def fail_preempted(job):
    print_head(job)
    print_steps(job, 0.5)
    job.err.append(f"slurmstepd: error: *** JOB {job.ident} ON {job.node} CANCELLED AT {job.end.strftime('%Y-%m-%dT%H:%M:%S')} DUE TO PREEMPTION ***")
    job.state, job.exit_code = "PREEMPTED", "0:15"


def fail_file(job):
    print_head(job)
    traceback(job, [(f"{job.work}/data.py", 19, "load", "with open(path) as handle:")], f"FileNotFoundError: [Errno 2] No such file or directory: '/data/{job.user}/train.jsonl'")
    exit_by_error(job)


# cause: (failure, how often of 100, hours)
FAILURES = {
    "oversized-micro-batch": (fail_micro_batch, 16, (0.1, 1.5)),
    "fragmentation": (fail_fragmentation, 8, (2, 9)),
    "host-memory-cgroup": (fail_host_memory, 10, (1, 6)),
    "time-limit": (fail_time_limit, 12, (10, 24)),
    "python-exception": (fail_exception, 14, (0.1, 3)),
    "missing-python-module": (fail_module, 8, (0.01, 0.05)),
    "disk-quota": (fail_disk_quota, 5, (1, 8)),
    "nccl-timeout": (fail_nccl, 4, (2, 12)),
    "device-side-assert": (fail_assert, 5, (0.05, 0.5)),
    "segmentation-fault": (fail_segfault, 4, (0.5, 5)),
    "nan-or-infinite": (fail_nan, 3, (0.5, 5)),
    "port-in-use": (fail_port, 3, (0.01, 0.05)),
    "preempted": (fail_preempted, 4, (0.5, 6)),
    "missing-file": (fail_file, 4, (0.02, 0.1)),
}


def fail(job, cause, hours=None):
    failure, _, usual = FAILURES[cause]
    job.cause = cause
    job.hours = hours or job.rng.uniform(*usual)
    failure(job)


# ---- The archive ----


def batch_script(job):
    settings = job.settings
    return "\n".join(("#!/bin/bash", f"#SBATCH --job-name={job.name}", f"#SBATCH --partition={job.partition}", f"#SBATCH --account={job.account}", "#SBATCH --nodes=1",
                      f"#SBATCH --gres=gpu:{job.gpus}", "#SBATCH --mem=120G", "#SBATCH --time=1-00:00:00", "",
                      f"srun python {job.script} --micro_batch_size {settings['micro_batch']} --gradient_accumulation_steps {settings['grad_accum']} "
                      f"--max_seq_length {settings['seq_len']} --learning_rate {settings['lr']}", ""))


def write_text(path, lines, packed=False):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = ("\n".join(lines) + "\n").encode()
    if packed:
        # no name and no time in the head: the same bytes every time
        with open(str(path) + ".gz", "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as handle:
            handle.write(data)
    else:
        path.write_bytes(data)


def write_job(root, job):
    """Writes a job's files; returns the path of its log, relative to the root."""
    folder = root / "logs" / job.user / job.name
    packed = job.cause is None and job.rng.random() < 0.06
    if job.array:
        log = folder / f"{job.name}_{job.array}_{job.task}.out"
        write_text(log, job.out + job.err, packed)
    elif job.rng.random() < 0.25 or not job.out:
        log = folder / f"slurm-{job.ident}.out"
        write_text(log, job.out + job.err, packed)
    else:
        log = folder / f"slurm-{job.ident}.out"
        write_text(log, job.out, packed)
        if job.err or job.rng.random() < 0.5:
            write_text(folder / f"slurm-{job.ident}.err", job.err or ["/home/%s/.bashrc: line 12: module: command not found" % job.user])
    if job.has_batch_script and not job.array:
        (folder / f"{job.name}.sbatch").write_text(batch_script(job))
    if job.cause is None and not job.array and job.rng.random() < 0.02:
        write_monitor(folder / f"dmon-{job.ident}.txt", job)
    return str(log.relative_to(root / "logs")) + (".gz" if packed else "")


def write_monitor(path, job):
    lines = ["# gpu     fb   bar1   ccpm     sm    mem    enc    dec    jpg    ofa ", "# Idx     MB     MB     MB      %      %      %      %      %      % "]
    used = job.rng.randint(20000, 38000)
    lines += [f"    0  {used + job.rng.randint(0, 90):5}      5      0  {job.rng.randint(80, 99):5}  {job.rng.randint(20, 60):5}      0      0      0      0 " for _ in range(40)]
    write_text(path, lines)


SACCT_HEAD = "JobID|JobName|User|Account|Partition|State|ExitCode|Start|End|Elapsed|ElapsedRaw|AllocTRES|ReqMem|NodeList"


def sacct_lines(job):
    ident = f"{job.array}_{job.task}" if job.array else str(job.ident)
    seconds = int(job.hours * 3600)
    elapsed = f"{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    when = [(job.start + timedelta(seconds=shift)).strftime("%Y-%m-%dT%H:%M:%S") for shift in (0, seconds)]
    tres = f"billing=16,cpu=16,gres/gpu={job.gpus},mem=120G,node=1"
    yield "|".join((ident, job.name, job.user, job.account, job.partition, job.state, job.exit_code, *when, elapsed, str(seconds), tres, "120G", job.node))
    yield "|".join((f"{ident}.batch", "batch", "", job.account, "", job.state, job.exit_code, *when, elapsed, str(seconds), tres.replace("billing=16,", ""), "", job.node))


def write_accounting(root, jobs):
    """Text of `sacct -P`: some users keep their own, the others are in what the operators write every day."""
    texts = {}
    for job in jobs:
        own = root / "logs" / job.user / f"sacct-{job.user}.txt"
        path = own if USERS.index(job.user) % 2 == 0 else root / "logs" / "accounting" / f"sacct-{job.end.strftime('%Y-%m-%d')}.txt"
        texts.setdefault(path, [SACCT_HEAD]).extend(sacct_lines(job))
    for path, lines in texts.items():
        write_text(path, lines)


class Archive:
    def __init__(self, jobs, seed, failed_percent):
        self.rng = random.Random(seed)
        self.failed_percent = failed_percent
        self.wanted, self.next_id = jobs, 4100000
        self.jobs, self.sweeps, self.repeats = [], {}, []

    def new(self, user=None, name=None, **more):
        self.next_id += self.rng.randint(1, 9)
        user = user or self.rng.choice(USERS)
        name = name or self.rng.choice((f"pretrain-{user}", f"finetune-{user}", f"eval-{user}", f"ablation-{user}"))
        job = Job(self.rng, self.next_id, user, name, **more)
        self.jobs.append(job)
        return job

    def good(self, **more):
        job = self.new(**more)
        print_head(job)
        print_steps(job)
        print_good_end(job)
        return job

    def add_failures(self, count):
        causes = [cause for cause, (_, weight, _) in FAILURES.items() for _ in range(weight)]
        for _ in range(count):
            fail(self.new(), self.rng.choice(causes))

    def add_bad_nodes(self):
        for index in range(11):
            job = self.new(node=HARDWARE_NODE, gpus=4, hours=self.rng.uniform(2, 10))
            job.cause = "gpu-off-the-bus" if index % 2 else "gpu-memory-fault"
            (fail_bus if index % 2 else fail_ecc)(job)
        for _ in range(10):
            job = self.new(node=TAKEN_NODE, hours=self.rng.uniform(0.02, 0.1))
            job.cause = "other-process"
            fail_taken_card(job)
        for _ in range(3):  # the same elsewhere, as chance has it
            job = self.new(hours=self.rng.uniform(0.02, 0.1))
            job.cause = "other-process"
            fail_taken_card(job)
            job = self.new(hours=self.rng.uniform(1, 4))
            job.cause = "gpu-memory-fault"
            fail_ecc(job)

    def add_sweep(self, user, name, sizes, limit, lengths):
        """An array over micro-batch and length: tasks fail from a micro-batch on."""
        self.next_id += 100
        array, task, failed = self.next_id, 0, 0
        start = START + timedelta(days=self.rng.uniform(1, DAYS - 2))
        for size in sizes:
            for length in lengths:
                for rate in ("1e-4", "2e-4", "3e-4"):
                    job = self.new(user, name, array=array, task=task, partition="a100", gpus=2, start=start + timedelta(minutes=task),
                                   settings={"micro_batch": size, "grad_accum": 4, "seq_len": length, "lr": rate})
                    task += 1
                    if size >= limit:
                        fail(job, "oversized-micro-batch")
                        failed += 1
                        continue
                    print_head(job)
                    print_steps(job)
                    print_good_end(job)
        self.sweeps[str(array)] = {"knob": "micro_batch", "relation": ">=", "value": str(limit), "failed": failed, "jobs": task, "user": user}

    def add_repeat(self, user, name, cause, count, gpus, hours):
        start = START + timedelta(days=self.rng.uniform(1, DAYS - 20))
        first = None
        for number in range(count):
            job = self.new(user, name, gpus=gpus, partition="h100", start=start + timedelta(days=1.3 * number), submission=number, has_batch_script=True)
            if first:
                job.settings = first.settings
            first = first or job
            fail(job, cause, hours * self.rng.uniform(0.9, 1.1))
        self.repeats.append({"user": user, "name": name, "cause": cause, "submissions": count})

    def fill(self):
        self.add_sweep("castro", "batch-sweep", (2, 4, 8, 16, 32), 16, (1024, 2048))
        self.add_sweep("kaya", "length-grid", (1, 2, 4, 8), 8, (512, 1024, 2048))
        self.add_repeat("eklund", "sft-70b", "oversized-micro-batch", 7, 8, 1.2)
        self.add_repeat("meyer", "diffusion-xl", "host-memory-cgroup", 5, 4, 5.0)
        self.add_repeat("tanaka", "long-context", "time-limit", 6, 8, 23.9)
        self.add_bad_nodes()
        self.add_failures(max(20, int(self.wanted * self.failed_percent / 100) - len(self.jobs)))
        while len(self.jobs) < self.wanted:
            self.good()
        self.rng.shuffle(self.jobs)


def truth_of(archive, logs):
    lost = {}
    failed = {}
    for job, log in zip(archive.jobs, logs):
        if job.cause is None:
            continue
        lost[job.cause] = lost.get(job.cause, 0) + job.gpu_hours
        failed[log] = {"id": f"{job.array}_{job.task}" if job.array else str(job.ident), "cause": job.cause, "user": job.user, "name": job.name,
                       "node": job.node, "gpu_hours": round(job.gpu_hours, 4), "submission": job.submission}
    return {"counts": {"jobs": len(archive.jobs), "failed": len(failed), "ok": len(archive.jobs) - len(failed)},
            "gpu_hours_lost": {cause: round(hours, 3) for cause, hours in sorted(lost.items())}, "costliest": max(sorted(lost), key=lost.get),
            "bad_nodes": {HARDWARE_NODE: "hardware", TAKEN_NODE: "other_process"}, "sweeps": archive.sweeps, "repeats": archive.repeats, "jobs": failed}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--jobs", type=int, default=20000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--failed", type=float, default=2.0)
    options = parser.parse_args()
    archive = Archive(options.jobs, options.seed, options.failed)
    archive.fill()
    logs = [write_job(options.folder, job) for job in archive.jobs]
    write_accounting(options.folder, archive.jobs)
    (options.folder / "truth.json").write_text(json.dumps(truth_of(archive, logs), indent=1, sort_keys=True) + "\n")
    print(f"{len(logs)} jobs below {options.folder}/logs")


if __name__ == "__main__":
    main()
