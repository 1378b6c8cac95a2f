#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""--anonymize: no name of a person, a machine or a project is left, and the diagnosis is the same.

Names are gathered here by other means than the program's: from lists of what the samples hold, and by forms of text. Every
form of every command that shows content of logs is then searched for them, also standard error. JSON with and without the
option has the same ids, numbers and shape. `../shared/corpus` is read where it is there: each tenth file, all with
WHYOOM_ANONYMIZE_ALL=1.

usage: check_anonymize.py WHYOOM SOURCE_DIR
"""

import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile

PROGRAM, SOURCE = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])

# Users, machines, accounts, jobs and projects of the samples, written down by hand. Folders of common words ("sparse-lm") stay.
SAMPLES = {
    "ddp-8.5b-too-large": "tlindqvist a6k-node04 mm-align-8b mm-align mmalign",
    "grpo-micro-batch": "mkessler ada-g12 grpo-diamonds p-geollm diamonds-seed0",
    "kept-losses": "lena marsh",
    "lora-7b-24g": "pnovak ws-rtx2 lora-med medlab",
    "pretrain-512m-sequence": "ahvoinen l40s-07 sparse-512m",
    "rank0-decode": "sokonkwo hop-018 llm-bridge xlang",
    "unfrozen-layers": "omar",
}

# Text with names in places that are easy to miss. All words behind the bar must be gone; those in front of it are the text.
HOSTILE = r"""
slurmstepd: error: *** JOB 4711 ON fox-[018-021] CANCELLED AT 2026-01-02T03:04:05 DUE TO TIME LIMIT *** | fox-018 fox
UserId=zadok(1001) GroupId=grpzz(100) Account=acctzz JobName=secret-walrus NodeList=fox-019 WorkDir=/home/zadok/hush
File "/home/zadok/hush/walrus_net.py", line 3, in <module> | zadok hush walrus walrus_net
File "/home/ZADOK/Hush/x.py", line 3, in <module> | ZADOK Hush
Traceback in %2Fhome%2Fzadok%2Fhush%2Fa.py | zadok hush
RuntimeError: "\nzadok started \/home\/zadok\/hush\/b.py" | zadok hush
zadok's run on FOX-019.hpc.uni-zz.de failed, mail zadok.nix@uni-zz.de or zadok%40uni-zz.de | zadok uni-zz FOX-019 nix
zadok@fox-020:~/hush$ python secret_thing.py | zadok fox-020 hush
export HF_TOKEN=hf_abcdefghijKLMNOPqrstuv1234567890 WANDB_API_KEY=0123456789abcdef0123456789abcdef01234567 | hf_abcdefghijKLMNOPqrstuv1234567890 0123456789abcdef0123456789abcdef01234567
Authorization: Bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJl | eyJhbGciOiJIUzI1NiJ9 c2lnbmF0dXJl
git clone https://zadok:ghp_0123456789abcdefghij0123456789abcdef@github.com/zadok/hush.git | ghp_0123456789abcdefghij0123456789abcdef hush
init_method tcp://fox-021.hpc.uni-zz.de:29500 at 10.77.3.21 and fe80::1ff:fe23:4567:890a | 10.77.3.21 fe80::1ff:fe23:4567:890a
scp out zadok@10.77.3.22:/scratch/grpzz/hush/ and C:\Users\zadok\hush | 10.77.3.22 zadok
aws AKIAABCDEFGHIJKLMNOP password=hunter2x! | AKIAABCDEFGHIJKLMNOP hunter2x
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.55 GiB is free. /home/zadok/hush/c.py
RuntimeError: secret-walrus of zadok | secret-walrus zadok
RuntimeError: zadok2024 ZadokTrainer subwombatusgroup %7a%61%64%6f%6b | zadok2024 ZadokTrainer zadok subwombatusgroup wombatus %7a%61
nothing is found in this line of /scratch/wombatus/numbat, which is not shown
read the quoll of user=kakapo from 2001:4d8:0:1:2:3:4:5 | 2001:4d8:0:1:2:3:4:5
RuntimeError: numbat and kakapo, but no number | numbat kakapo
"""

# Names that are common words: they go where they are names, and the words stay elsewhere.
COMMON = """UserId=test(1001) Account=default JobName=train NodeList=gpu
File "/home/test/run/train.py", line 3, in train
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 2.00 GiB. GPU 0 has a total capacity of 23.64 GiB of which 1.55 GiB is free.
"""

COMMON_WORDS = set(re.findall(r"WO_WORD\((\w+)\)", open(os.path.join(SOURCE, "parsers/base/anonymize/known_words.def")).read()))
SYSTEM = {"root", "nobody", "slurm", "daemon", "system", "user", "none", "unknown", "localhost", "null", "default", "batch", "extern"}

failures = []


def fail(text):
    failures.append(text)


def run(arguments, **more):
    return subprocess.run([PROGRAM] + arguments, capture_output=True, stdin=subprocess.DEVNULL, **more)


def texts_of(paths):
    for path in paths:
        try:
            with open(path, encoding="utf-8", errors="replace") as file:
                yield re.sub(r"\x1b\[[0-9;]*m", "", file.read())
        except OSError:
            pass


def is_telling(name):
    words = [w for w in re.split(r"[^A-Za-z0-9]+", name) if w]
    if len(name) < 3 or name.lower() in SYSTEM or not re.search("[A-Za-z]", name):
        return False
    return any(len(w) > 2 and not w.isdigit() and w.lower().rstrip("0123456789") not in COMMON_WORDS and w.lower() not in COMMON_WORDS
               for w in words)


# What shows a name, whoever wrote it: (expression with one group, must a digit be in it).
FORMS = [
    (r"(?:^|[\s\"'=:(])/(?:home|users|Users)/([a-z][a-z0-9_-]{2,30})/", False),
    (r"\bUserId=([a-z][a-z0-9_-]+)\(", False),
    (r"\bAccount=([A-Za-z][\w-]+)", False),
    (r"\b(?:BatchHost|NodeName|SLURMD_NODENAME)=([a-z][\w-]+)", True),
    (r"\bsrun: error: ([a-z][\w-]*\d[\w-]*): task", True),
    (r"\b([\w.+-]+@[\w-]+\.(?:edu|de|com|org|fr|uk|ch))\b", False),
    (r"\b(hf_[A-Za-z0-9]{20,}|ghp_[A-Za-z0-9]{20,}|AKIA[A-Z0-9]{16})\b", False),
]


def gather(paths):
    names = set()
    for text in texts_of(paths):
        for form, has_digit in FORMS:
            for name in re.findall(form, text, re.M):
                if has_digit and re.search(r"\d", name) or is_telling(name):
                    names.add(name)
    return {n for n in names if n.lower() not in SYSTEM}


def leaks(output, names):
    text = output.decode("utf-8", errors="replace")
    text += "\n" + re.sub(r"\s*\n\s*", "", text)  # names in wrapped lines
    found = []
    for name in names:
        if re.search(r"(?<![A-Za-z0-9])" + re.escape(name) + r"(?![A-Za-z0-9])", text, re.I):
            found.append(name)
    return found


def search(what, done, names):
    for stream, output in (("stdout", done.stdout), ("stderr", done.stderr)):
        found = leaks(output, names)
        if found:
            fail("%s: %s has %s" % (what, stream, ", ".join(sorted(found)[:8])))


SAME = {"id", "kind", "outcome", "confidence", "family", "format", "state", "knob", "schema", "unit", "phase"}


def differences(a, b, at=""):
    if type(a) is not type(b):
        yield at, a, b
    elif isinstance(a, dict):
        if a.keys() != b.keys():
            yield at, sorted(a.keys() ^ b.keys()), ""
        for key in a.keys() & b.keys():
            yield from differences(a[key], b[key], at + "." + key)
    elif isinstance(a, list):
        if len(a) != len(b):
            yield at, len(a), len(b)
        for i, (x, y) in enumerate(zip(a, b)):
            yield from differences(x, y, "%s[%d]" % (at, i))
    elif isinstance(a, str):
        if at.rsplit(".", 1)[-1] in SAME and a != b:
            yield at, a, b
    elif a != b:
        yield at, a, b


def compare(what, arguments):
    plain, anonymous = run(arguments), run(["--anonymize"] + arguments)
    if plain.returncode != anonymous.returncode:
        fail("%s: exit %d, and %d with --anonymize" % (what, plain.returncode, anonymous.returncode))
    if plain.stdout and anonymous.stdout:
        for at, a, b in list(differences(json.loads(plain.stdout), json.loads(anonymous.stdout)))[:3]:
            fail("%s: %s is %.60s, and %.60s with --anonymize" % (what, at, a, b))
    elif bool(plain.stdout) != bool(anonymous.stdout):
        fail("%s: a report only with or without --anonymize" % what)
    return anonymous


def check_log(paths, names=frozenset()):
    names = gather(paths) | set(names)
    what = os.path.relpath(paths[0], SOURCE)
    search(what, compare(what, ["--format", "json"] + paths), names)
    search(what + " -v", run(["--anonymize", "-v"] + paths), names)


def check_all_forms(folder, names):
    paths = sorted(os.path.join(folder, name) for name in os.listdir(folder))
    names = set(names.split()) | gather(paths)
    what = os.path.basename(folder)
    forms = [["--format", "oneline"], ["--format", "html"], ["--format", "markdown"], ["--width", "60"], ["-v"], ["--events"], ["verify"], ["budget"], ["budget", "--format", "json"]]
    for form in forms:
        search(" ".join([what] + form), run(form + ["--anonymize"] + paths), names)
    for form in (["--format", "json"], ["verify", "--no-times", "--format", "json"]):
        search(" ".join([what] + form), compare(" ".join([what] + form), form + paths), names)
    for path in paths:
        if path.endswith(".jsonl"):
            search(what + " replay", compare(what + " replay", ["replay", "--no-times", "--format", "json", path]), names)
            search(what + " replay text", run(["replay", "--anonymize", path]), names)
    refused = run(["verify", "--patch", "--anonymize"] + paths)
    if refused.returncode != 2 or b"real names" not in refused.stderr:
        fail(what + ": verify --patch --anonymize is not refused")


def check_fleet(folder, names):
    with tempfile.TemporaryDirectory() as temp:
        store = os.path.join(temp, "jobs.db")
        run(["scan", "--store", store, folder])
        for form in ("text", "jsonl", "csv", "html", "markdown", "jobid"):
            for command in (["scan", folder], ["report", "--store", store], ["merge", store]):
                extra = ["--with-fleet"] if form == "jsonl" else []
                done = run(command + ["--anonymize", "--format", form] + extra)
                search(" ".join([command[0], form]), done, names)
                if form != "jobid" and not done.stdout:
                    fail("%s --format %s --anonymize: no report" % (command[0], form))
        rows = [json.loads(l) for l in run(["report", "--store", store, "--format", "jsonl"]).stdout.splitlines()]
        shown = [json.loads(l) for l in run(["report", "--store", store, "--format", "jsonl", "--anonymize"]).stdout.splitlines()]
        key = lambda row: (row.get("job_id") or "", row.get("bytes") or 0)
        for row, other in zip(sorted(rows, key=key), sorted(shown, key=key)):
            for column in ("cause", "fix", "outcome", "tried_bytes", "gpu_s", "step", "evidence_line", "confidence"):
                if row.get(column) != other.get(column):
                    fail("report: %s of job %s is another one with --anonymize" % (column, row.get("job_id")))
        if len(rows) != len(shown):
            fail("report: %d rows, and %d with --anonymize" % (len(rows), len(shown)))
        for row in rows[:3]:
            search("report --job", run(["report", "--store", store, "--anonymize", "-v", "--job", row["path"]]), names)


def check_hostile():
    with tempfile.TemporaryDirectory() as temp:
        path = os.path.join(temp, "secret-walrus-4711.err")
        names = set()
        with open(path, "w") as file:
            for line in HOSTILE.strip().split("\n"):
                text, _, gone = line.partition(" | ")
                names |= set(gone.split())
                file.write(text + "\n")
        for form in ([], ["-v"], ["--format", "json"], ["--events"], ["--format", "oneline"]):
            search(" ".join(["hostile"] + form), run(form + ["--anonymize", path]), names)
        first, again = (run(["--anonymize", "--format", "json", path]).stdout for _ in range(2))
        if first != again:
            fail("hostile: two calls give two reports")
        if b"4711" not in first:
            fail("hostile: the id of the job is gone")
        common = os.path.join(temp, "train.log")
        with open(common, "w") as file:
            file.write(COMMON)
        shown = run(["--anonymize", "--events", common]).stdout.decode()
        for word in ("/home/test", 'user="test"', 'job_name="train"'):
            if word in shown:
                fail("common words: %s is shown" % word)
        if "train.py" not in shown:
            fail("common words: train.py is gone")


def main():
    samples = os.path.join(SOURCE, "samples")
    work = []
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        for name, names in SAMPLES.items():
            work.append(pool.submit(check_all_forms, os.path.join(samples, name), names))
        work.append(pool.submit(check_fleet, samples, " ".join(SAMPLES.values()).split()))
        work.append(pool.submit(check_hostile))
        for folder in ("tests/table", "tests/judged"):
            for name in sorted(os.listdir(os.path.join(SOURCE, folder))):
                if name.endswith(".txt"):
                    work.append(pool.submit(check_log, [os.path.join(SOURCE, folder, name)]))
        corpus = os.path.join(SOURCE, "..", "shared", "corpus")
        if not os.path.isdir(corpus):
            print("../shared/corpus is not there: skipped")
        for folder in ("oom", "slurm", "slurm-real", "whole", "dmon"):
            folder = os.path.join(corpus, folder)
            some = 1 if os.environ.get("WHYOOM_ANONYMIZE_ALL") else 10
            for name in sorted(os.listdir(folder))[::some] if os.path.isdir(folder) else []:
                if os.path.isfile(os.path.join(folder, name)):
                    work.append(pool.submit(check_log, [os.path.join(folder, name)]))
        for one in work:
            one.result()
    for text in failures[:60]:
        print(text)
    print("%d checks, %d failures" % (len(work), len(failures)))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
