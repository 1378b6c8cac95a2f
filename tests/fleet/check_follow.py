#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Follows folders while jobs are written, and checks that each is reported once, and its command run.

usage: check_follow.py WHYOOM SCHEMA CASE

Cases: watched, polled (the same, without inotify), store (a second call goes on), commands, wrong, many"""
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

try:
    import jsonschema
except ImportError:  # then only what JSON is, is checked
    jsonschema = None

PATIENCE_S = 60

OOM = """epoch 1 step 10/100 loss 2.5
Traceback (most recent call last):
  File "/home/ada/train.py", line 132, in <module>
    loss = step(batch)
  File "/home/ada/train.py", line 88, in step
    return model(batch)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 79.15 GiB of which 1.06 GiB is free.
"""
END = "srun: error: gpu07: task 0: Exited with exit code 1\n"
DISK = """Traceback (most recent call last):
  File "/home/ada/train.py", line 140, in <module>
    torch.save(state, path)
OSError: [Errno 28] No space left on device
"""
CANCELLED = "slurmstepd: error: *** JOB 12 ON gpu07 CANCELLED AT 2026-11-03T10:15:00 DUE TO TIME LIMIT ***\n"


class Wrong(Exception):
    pass


def expect(truth, words, detail=""):
    if not truth:
        raise Wrong(f"{words}{': ' if detail else ''}{detail}")


class Follower:
    """A running `whyoom scan --follow`."""

    def __init__(self, program, folder, *args):
        self.out, self.errors = folder / "out", folder / "errors"
        with self.out.open("wb") as out, self.errors.open("wb") as errors:
            self.child = subprocess.Popen([program, "scan", "--follow", "--settle", "1s", *map(str, args)], cwd=folder, stdout=out, stderr=errors,
                                          preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler))
        self.wait(lambda: "following" in self.said(), "it does not begin")

    def said(self):
        return self.errors.read_text(errors="replace")

    def rows(self):
        return [json.loads(line) for line in self.out.read_text().splitlines()]

    def names(self):
        return sorted(Path(row["path"]).name for row in self.rows())

    def wait(self, is_true, words):
        end = time.monotonic() + PATIENCE_S
        while not is_true():
            expect(time.monotonic() < end and self.child.poll() is None, words, f"{self.out.read_text()[-800:]} {self.said()[-800:]}")
            time.sleep(0.05)

    def wait_for(self, name, times=1):
        self.wait(lambda: self.names().count(name) >= times, f"{name} is not reported")

    def memory_kib(self):
        for line in Path(f"/proc/{self.child.pid}/status").read_text().splitlines():
            if line.startswith("VmHWM"):
                return int(line.split()[1])
        return 0

    def stop(self, code, number=signal.SIGINT):
        self.child.send_signal(number)
        expect(self.child.wait(timeout=PATIENCE_S) == code, f"exit status {self.child.returncode} and not {code}", self.said()[-600:])

    def kill(self):
        if self.child.poll() is None:
            self.child.kill()
            self.child.wait()


class Place:
    def __init__(self, program, schema, folder):
        self.program, self.schema, self.folder = program, schema, Path(folder)
        self.logs = self.folder / "logs"
        self.logs.mkdir()
        self.followers = []

    def follow(self, *args, form="jsonl"):
        follower = Follower(self.program, self.folder, self.logs, "--format", form, *args)
        self.followers.append(follower)
        return follower

    def write(self, name, text):
        path = self.logs / name
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a") as out:
            out.write(text)

    def check_record(self, path):
        if jsonschema is None:
            return
        problems = list(jsonschema.Draft202012Validator(json.loads(self.schema.read_text())).iter_errors(json.loads(path.read_text())))
        expect(not problems, f"{path.name} is not of the schema", str(problems[:3]))


# ---- Cases ----


def follow_all(place, *args):
    place.write("slurm-4001.out", OOM + END)
    place.write("slurm-4002.out", "epoch 1 step 1/100 loss 3.0\n")
    exec_line = 'cat > "exec.$WHYOOM_JOB_ID.$(date +%N)"; echo noise'
    f = place.follow("--exec", exec_line, *args)
    place.write("slurm-4003.out", OOM[:100])
    place.write("a/b/c/slurm-4004.out", OOM)
    place.write("slurm-4005.out", "Training completed successfully.\n")
    place.write("slurm-4006.out", "step 5/100 loss 1.0\n")
    time.sleep(0.3)
    place.write("slurm-4003.out", OOM[100:])
    place.write("slurm-4002.out", OOM + END)
    for name in ("slurm-4002.out", "slurm-4003.out", "slurm-4004.out"):
        f.wait_for(name)
    # The same failure again, and more lines of it: no other report. Another failure: one.
    place.write("slurm-4003.out", END)
    place.write("notes.tmp", "")
    place.write("a/b/c/slurm-4004.out", "step 1/100 loss 1.0\nstep 60/100 loss 0.5\n" + DISK)
    f.wait_for("slurm-4004.out", 2)
    # Rotation: the old log under another name is no new job, the new one is.
    place.write("train.out", OOM)
    f.wait_for("train.out")
    (place.logs / "train.out").rename(place.logs / "train-old.out")
    place.write("train.out", DISK)
    f.wait_for("train.out", 2)
    # Folders that go, and the root itself.
    shutil.rmtree(place.logs / "a")
    place.write("a/slurm-4007.out", OOM)
    f.wait_for("slurm-4007.out")
    shutil.rmtree(place.logs)
    f.wait(lambda: "is gone" in f.said(), "the root that is gone is not noticed")
    place.write("slurm-4008.out", OOM)
    f.wait_for("slurm-4008.out")
    counts = {name: f.names().count(name) for name in f.names()}
    expect(counts == {"slurm-4002.out": 1, "slurm-4003.out": 1, "slurm-4004.out": 2, "slurm-4007.out": 1, "slurm-4008.out": 1, "train.out": 2}
           or counts == {"slurm-4002.out": 1, "slurm-4003.out": 1, "slurm-4004.out": 2, "slurm-4005.out": 1, "slurm-4007.out": 1, "slurm-4008.out": 1, "train.out": 2},
           "not each job is reported once", str(counts))
    f.stop(1)
    records = list(place.folder.glob("exec.*"))
    expect(len(records) == sum(row["is_failed"] for row in f.rows()), f"{len(records)} commands")
    for record in records:
        place.check_record(record)
    expect("noise" not in f.out.read_text() and "noise" in f.said(), "what a command prints is among the rows")


def case_watched(place):
    follow_all(place)


def case_polled(place):
    follow_all(place, "--poll", "1s")


def case_store(place):
    place.write("slurm-4001.out", OOM)
    place.write("slurm-4002.out", "step 1/100 loss 1.0\n")
    f = place.follow("--store", "live.db")
    place.write("slurm-4003.out", OOM)
    f.wait_for("slurm-4003.out")
    f.stop(1, signal.SIGTERM)
    place.write("slurm-4002.out", DISK)
    place.write("slurm-4004.out", OOM)
    place.write("slurm-4003.out", END)
    f = place.follow("--store", "live.db")
    f.wait_for("slurm-4002.out")
    f.wait_for("slurm-4004.out")
    time.sleep(2)
    expect(f.names() == ["slurm-4002.out", "slurm-4004.out"], "what was known is reported again", str(f.names()))
    f.stop(1)
    done = subprocess.run([place.program, "report", "--store", "live.db", "--format", "jsonl"], cwd=place.folder, capture_output=True, text=True)
    expect(len(done.stdout.splitlines()) == 4, "the store has not all jobs", done.stdout[:500] + done.stderr)
    alone = subprocess.run([place.program, "scan", place.logs, "--format", "jsonl"], cwd=place.folder, capture_output=True, text=True)
    expect(alone.stdout == done.stdout, "the store is another than that of a scan")
    # Accounting that comes later says of a silent job that it has failed.
    place.write("slurm-7777.out", "hello\n")
    f = place.follow("--store", "live.db", "--since", "1d")
    time.sleep(2)
    place.write("sacct-today.txt", "JobID|User|State|ExitCode|Elapsed\n7777|ada|NODE_FAIL|1:0|00:10:00\n")
    f.wait_for("slurm-7777.out")
    expect(f.rows()[-1]["user"] == "ada", "the row is without its accounting")
    f.stop(1)


def case_commands(place):
    (place.folder / "marks").mkdir()
    f = place.follow("--cause", "no-such-cause", "--exec", "touch marks/filtered")
    place.write("slurm-4001.out", OOM)
    time.sleep(3)
    f.stop(0)
    expect(not f.rows() and not list((place.folder / "marks").iterdir()), "a filter is not heeded")
    # Words of a log are words: they are in the environment, and never run. Four commands at a time; one that fails, one that hangs.
    evil = OOM.replace("ada", "$(touch marks/evil)`touch marks/evil`;touch marks/evil")
    command = 'case $WHYOOM_JOB_ID in 4020) exit 3;; 4021) sleep 90 & sleep 90;; *) cat > "marks/$WHYOOM_JOB_ID";; esac'
    f = place.follow("--exec", command, form="jobid")
    for number in range(4010, 4022):
        place.write(f"slurm-{number}.out", evil)
    f.wait(lambda: len(f.out.read_text().split()) == 12, "not all jobs are reported")
    f.wait(lambda: len(list((place.folder / "marks").iterdir())) >= 10, "not all commands are run")
    f.wait(lambda: "exit code 3" in f.said(), "a command that fails is not told")
    f.stop(2)
    expect("job 4021 still runs: it is killed" in f.said(), "a command that hangs", f.said())
    expect(not (place.folder / "marks" / "evil").exists(), "a log was run")
    expect(sorted(path.name for path in (place.folder / "marks").iterdir()) == [str(n) for n in range(4010, 4020)], "other marks")


def case_wrong(place):
    for args, words in ((["--follow", "--format", "html"], "jsonl"), (["--follow", "--format", "markdown"], "jsonl"), (["--exec", "true"], "--follow"),
                        (["--follow", "-o", "x.txt"], "--output"), (["--follow", "--until", "1d"], "--until"), (["--follow", "--settle", "0s"], "--settle"),
                        (["--follow", "--sandbox", "--exec", "true"], "--sandbox"), (["--follow", "gone"], "gone")):
        done = subprocess.run([place.program, "scan", place.logs, *args], cwd=place.folder, capture_output=True, text=True, timeout=PATIENCE_S)
        expect(done.returncode == 2 and words in done.stderr, f"{' '.join(args)} is not refused", done.stderr)
    f = place.follow(form="csv")
    place.write("slurm-4001.out", OOM)
    f.wait(lambda: len(f.out.read_text().splitlines()) == 2, "no row of CSV")
    f.stop(1)


def case_many(place):
    """Some thousand jobs in many folders: memory stays, and an archive that rests costs nothing."""
    f = place.follow("--threads", "2")
    for number in range(1500):
        place.write(f"d{number // 10}/slurm-{number + 10000}.out", OOM if number % 3 == 0 else "Training completed successfully.\n")
    f.wait(lambda: len(f.rows()) >= 500, "not all jobs are reported")
    memory = f.memory_kib()
    for number in range(1500, 3000):
        place.write(f"d{number // 10}/slurm-{number + 10000}.out", OOM if number % 3 == 0 else "Training completed successfully.\n")
    f.wait(lambda: len(f.rows()) >= 1000, "not all jobs are reported")
    expect(f.memory_kib() < memory + 20000, f"memory grows from {memory} to {f.memory_kib()} KiB")
    names = [name for row, name in zip(f.rows(), f.names()) if row["is_failed"]]
    expect(len(set(names)) == len(names), "a job is reported twice")
    f.wait(lambda: len(f.rows()) == 3000, "not all jobs are reported")
    time.sleep(1)
    before = cpu_s(f.child.pid)
    time.sleep(2)
    used = cpu_s(f.child.pid) - before
    expect(used < 0.3, f"an archive that rests costs {used:.2f} s in two seconds")
    f.stop(1)


def cpu_s(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def main():
    program, schema, name = os.path.abspath(sys.argv[1]), Path(sys.argv[2]).resolve(), sys.argv[3]
    folder = tempfile.mkdtemp(prefix="whyoom-follow-")
    place = Place(program, schema, folder)
    try:
        globals()["case_" + name](place)
    except (Wrong, subprocess.TimeoutExpired) as wrong:
        print(f"FAILED {name}: {wrong}")
        return 1
    finally:
        for follower in place.followers:
            follower.kill()
        shutil.rmtree(folder, ignore_errors=True)
    print(f"ok {name}")
    return 0


sys.exit(main())
