# SPDX-License-Identifier: Apache-2.0
"""The folder in which examples run: the samples, and a stand-in for each file and command that texts name without having it."""
import os
import pathlib
import shutil
import subprocess
import sys
import tarfile

# A name of the texts, and the file of the tree that is in its place. Words of `renamed` are exchanged in it.
FILES = {
    # one job of several cards, with all its files
    "slurm-4711.err": "samples/pretrain-512m-sequence/slurm-218391.err",
    "slurm-4711.out": "samples/pretrain-512m-sequence/slurm-218391.out",
    "train.sbatch": "samples/pretrain-512m-sequence/train_512m.sbatch",
    "config.yaml": "samples/pretrain-512m-sequence/pretrain_512m.yaml",
    # one job with a recording
    "job.err": "samples/lora-7b-24g/slurm-90817.err",
    "job.out": "samples/lora-7b-24g/slurm-90817.out",
    "job.sh": "samples/lora-7b-24g/run_lora.sh",
    "snapshot.pickle": "samples/lora-7b-24g/trace-90817.jsonl",
    "snapshot-rank1.pickle": "samples/lora-7b-24g/trace-90817.jsonl",
    # the same under its own names
    "slurm-90817.err": "samples/lora-7b-24g/slurm-90817.err",
    "slurm-90817.out": "samples/lora-7b-24g/slurm-90817.out",
    "run_lora.sh": "samples/lora-7b-24g/run_lora.sh",
    "trace-90817.jsonl": "samples/lora-7b-24g/trace-90817.jsonl",
    "run.sh": "samples/lora-7b-24g/run_lora.sh",
    "dmon.txt": "samples/lora-7b-24g/dmon-90817.txt",
    "log": "samples/kept-losses/slurm-734912.err",
    # recordings
    "before.pickle": "tests/training/cases/llama-2x128.jsonl",
    "after.pickle": "tests/training/cases/llama-4x128.jsonl",
    "step.pickle": "tests/training/cases/llama-4x128.jsonl",
    "step512.pickle": "tests/training/cases/llama-4x128.jsonl",
    "step256.pickle": "tests/training/cases/llama-2x128.jsonl",
    "whyoom-traces/4711-rank3-node07-oom1.pickle": "tests/recordings/fragmented.jsonl",
    "whyoom-traces/4711-rank0-node07-oom1.pickle": "tests/recordings/refused.jsonl",
    # an archive of logs
    "scratch/logs/run1/slurm-90817.err": "samples/lora-7b-24g/slurm-90817.err",
    "scratch/logs/run1/slurm-90817.out": "samples/lora-7b-24g/slurm-90817.out",
    "scratch/logs/run2/slurm-734912.err": "samples/kept-losses/slurm-734912.err",
    "scratch/logs/run2/slurm-734912.out": "samples/kept-losses/slurm-734912.out",
    "scratch/logs/run3/slurm-4711.err": "samples/pretrain-512m-sequence/slurm-218391.err",
    "scratch/logs/run3/slurm-4711.out": "samples/pretrain-512m-sequence/slurm-218391.out",
    # as in a clone
    "tests/recordings": "tests/recordings",
    "tests/training/cases": "tests/training/cases",
    # what a reader has
    "train.py": "tests/examples/train.py",
    "fake_torch": "tests/record/fake_torch",
}
RENAMED = {"slurm-4711.err": ("218391", "4711"), "slurm-4711.out": ("218391", "4711"), "scratch/logs/run3/slurm-4711.err": ("218391", "4711"),
           "scratch/logs/run3/slurm-4711.out": ("218391", "4711")}
COPIES = {"logs": "scratch/logs"}
ARCHIVES = {"scratch/old-logs.tar.gz": {"run7/slurm-4711.err": "slurm-4711.err", "run7/slurm-4711.out": "slurm-4711.out", "run8/slurm-90817.err": "job.err"},
            "scratch/one-job.tar.gz": {"slurm-4711.err": "slurm-4711.err", "slurm-4711.out": "slurm-4711.out", "train.sbatch": "train.sbatch"}}
STORES = {"fleet.db": "scratch/logs", "more.db": "scratch/logs/run2"}
TEXTS = {
    "small.log": "per_device_train_batch_size: 2\nmax_seq_length: 2048\n"
                 + "".join(f"step {step} | loss 6.01 | 2.41 s/step | peak 20.10 GiB\n" for step in (10, 20, 30)),
    "scratch/logs/run4/slurm-5120.err": "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.50 GiB. GPU 0 has a total capacity of 39.39 GiB of which "
                                        "1.12 GiB is free. Including non-PyTorch memory, this process has 38.20 GiB memory in use. Of the allocated memory "
                                        "28.31 GiB is allocated by PyTorch, and 9.30 GiB is reserved by PyTorch but unallocated.\n",
    "site-rules/down.json": '{"off": "graph-kept", "why": "this file takes the place of the rules of a site"}\n',
}
FOLDERS = ("home", "var/lib/node_exporter", "scratch/traces")
ROOTS = ("/scratch/", "/var/lib/")  # folders of the texts that are below the stage's


class Stage:
    """Made once; each block of examples gets a copy."""

    def __init__(self, source, whyoom, template):
        self.source, self.whyoom, self.template = source, whyoom, template
        shutil.copytree(source / "samples", template / "samples")
        for name, origin in FILES.items():
            target = template / name
            target.parent.mkdir(parents=True, exist_ok=True)
            if (source / origin).is_dir():
                shutil.copytree(source / origin, target, ignore=shutil.ignore_patterns("__pycache__"))
            elif name in RENAMED:
                target.write_text((source / origin).read_text(encoding="utf-8").replace(*RENAMED[name]), encoding="utf-8")
            else:
                shutil.copy(source / origin, target)
        for name, text in TEXTS.items():
            (template / name).parent.mkdir(parents=True, exist_ok=True)
            (template / name).write_text(text, encoding="utf-8")
        for name in FOLDERS:
            (template / name).mkdir(parents=True)
        for name, origin in COPIES.items():
            shutil.copytree(template / origin, template / name)
        for name, members in ARCHIVES.items():
            with tarfile.open(template / name, "w:gz") as archive:
                for member, origin in members.items():
                    archive.add(template / origin, member)
        self._commands()
        for name, folder in STORES.items():
            done = subprocess.run([whyoom, "scan", folder, "--store", name, "-q"], cwd=template, env=self.environment(template), check=False)
            if done.returncode != 1:
                raise SystemExit(f"examples: the store {name} could not be made")

    def _commands(self):
        """What follows a folder would never end: it is interrupted as a reader would."""
        folder = self.template / "bin"
        shutil.copytree(self.source / "tests/examples/commands", folder)
        (folder / "whyoom").write_text(f'#!/bin/sh\ncase " $* " in *" --follow "*) exec timeout --foreground --preserve-status -s INT 2 "{self.whyoom}" "$@" ;; esac\n'
                                       f'exec "{self.whyoom}" "$@"\n', encoding="utf-8")
        for path in folder.iterdir():
            path.chmod(0o755)

    def copy(self, target):
        shutil.copytree(self.template, target)
        return target

    def environment(self, stage):
        kept = {name: os.environ[name] for name in ("TMPDIR", "LD_LIBRARY_PATH") if name in os.environ}
        return {**kept, "PATH": f"{stage}/bin:/usr/local/bin:/usr/bin:/bin", "HOME": f"{stage}/home", "LC_ALL": "C.UTF-8", "TERM": "dumb",
                "EXAMPLE_PYTHON": sys.executable, "PYTHONPATH": f"{stage}/fake_torch", "PYTHONDONTWRITEBYTECODE": "1"}


def placed(text, stage):
    """A command with the folders of the texts below the stage."""
    for root in ROOTS:
        text = text.replace(root, f"{stage}{root}")
    return text


def shortened(text, stage):
    return text.replace(str(pathlib.Path(stage)), "")
