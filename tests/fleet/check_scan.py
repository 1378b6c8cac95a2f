#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Scans a made archive in every way that must not change the report, and compares the reports byte for byte.

usage: check_scan.py WHYOOM CASE

Cases, each a test of its own:
  truth      what was planted is found (make_archive.py, score_fleet.py)
  order      1, 2 and 8 threads; folders that list their files in another order
  killed     kill -9 at 20 random moments, then a scan that goes on
  again      a scan of what has not changed reads nothing; one of what has changed reads that alone
  grown      large logs that have grown are read on, those that were replaced are read again: the report is that of a first scan
  shards     8 shards, merged in any order; one missing, one twice
  odd        names, links, devices and rights that archives have; files that vanish
  stopped    an interrupt leaves what was done, and a store that goes on
  tar        tar archives, plain and compressed, are as the folders that they hold
  tar_again  a scan of archives that have not changed does not open them; of one that has, reads what is new
  tar_odd    archives that are cut off, damaged, none, or hold odd things; a temporary folder that is full"""
import gzip
import io
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tarfile
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent
JOBS = 400


class Wrong(Exception):
    pass


def expect(truth, words, detail=""):
    if not truth:
        raise Wrong(f"{words}{': ' if detail else ''}{detail}")


class Scanner:
    def __init__(self, program, folder):
        self.program, self.folder = program, Path(folder)
        self.logs = self.folder / "archive" / "logs"

    def make_archive(self, jobs=JOBS):
        subprocess.run([sys.executable, HERE / "make_archive.py", self.folder / "archive", "--jobs", str(jobs)], check=True, stdout=subprocess.DEVNULL)

    def run(self, *args, codes=(0, 1)):
        """(standard output, standard error); the exit status is one of `codes`."""
        done = subprocess.run([self.program, *map(str, args)], capture_output=True, timeout=300, cwd=self.folder)
        expect(done.returncode in codes, f"exit status {done.returncode} of {' '.join(map(str, args))}", done.stderr.decode(errors="replace")[:600])
        return done.stdout, done.stderr.decode(errors="replace")

    def report(self, *args, codes=(0, 1)):
        return self.run("scan", self.logs, "--format", "jsonl", "--with-fleet", *args, codes=codes)[0]

    def stored(self, store):
        return self.run("report", "--store", store, "--format", "jsonl", "--with-fleet")[0]


def first_difference(a, b):
    for number, (left, right) in enumerate(zip(a.split(b"\n"), b.split(b"\n")), 1):
        if left != right:
            return f"line {number}: {left[:200]!r} and {right[:200]!r}"
    return f"{a.count(b'%c' % 10)} and {b.count(b'%c' % 10)} lines"


def same(a, b, words):
    expect(a == b, words, "" if a == b else first_difference(a, b))


# ---- Cases ----


def case_truth(scanner):
    scanner.make_archive(2000)
    (scanner.folder / "report.jsonl").write_bytes(scanner.report())
    done = subprocess.run([sys.executable, HERE / "score_fleet.py", scanner.folder / "report.jsonl", scanner.folder / "archive" / "truth.json"],
                          capture_output=True, text=True)
    expect(done.returncode == 0, "not all that was planted is found", done.stdout)


def shuffle_folders(source, target):
    """The same files, made in a random order: most file systems list them in another one then."""
    files = [path for path in source.rglob("*") if path.is_file()]
    random.Random(7).shuffle(files)
    for path in files:
        to = target / path.relative_to(source)
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, to)


def case_order(scanner):
    scanner.make_archive()
    one = scanner.report("--threads", "1")
    for threads in (2, 8):
        same(one, scanner.report("--threads", str(threads)), f"{threads} threads")
    moved = scanner.folder / "before"
    scanner.logs.rename(moved)
    shuffle_folders(moved, scanner.logs)
    same(one, scanner.report(), "another order of the folders")
    for form in ("text", "csv", "html", "markdown", "jobid"):
        first = scanner.run("scan", scanner.logs, "--format", form, "--threads", "1")[0]
        same(first, scanner.run("scan", scanner.logs, "--format", form, "--threads", "8")[0], form)


def case_killed(scanner):
    scanner.make_archive()
    whole = scanner.report()
    start = time.monotonic()
    scanner.report("--store", "time.db")
    usual = time.monotonic() - start
    chance = random.Random(11)
    was_killed = 0
    for number in range(20):
        store = f"killed-{number}.db"
        child = subprocess.Popen([scanner.program, "scan", scanner.logs, "--store", store, "--format", "jobid"], cwd=scanner.folder,
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(chance.uniform(0, usual))
        child.send_signal(signal.SIGKILL)
        was_killed += child.wait() == -signal.SIGKILL
        same(whole, scanner.report("--store", store), f"after kill {number}")
        same(whole, scanner.stored(store), f"the store after kill {number}")
    expect(was_killed >= 10, f"only {was_killed} of 20 scans were killed before they ended")


def scanned_again(scanner, store):
    """Jobs of the store that the last scan put there or replaced."""
    with sqlite3.connect(scanner.folder / store) as database:
        return database.execute("SELECT count(*) FROM job WHERE scan = (SELECT max(id) FROM scan)").fetchone()[0]


def case_again(scanner):
    scanner.make_archive()
    first = scanner.report("--store", "a.db")
    rows = len(first.splitlines()) - 1
    expect(rows == JOBS, f"{rows} rows")
    same(first, scanner.report("--store", "a.db"), "a second scan")
    log = next(iter(sorted(scanner.logs.rglob("slurm-*.out"))))
    with open(log, "a") as file:
        file.write("Traceback (most recent call last):\n  File \"train.py\", line 12, in <module>\n    main()\nKeyError: 'appended'\n")
    appended = scanner.report("--store", "a.db")
    expect(appended != first, "a log that has grown is not read again")
    expect(scanned_again(scanner, "a.db") == 1, f"{scanned_again(scanner, 'a.db')} jobs were read again where one has grown")
    same(scanner.report(), appended, "after a log has grown")
    log.unlink()
    log.write_text("step 1\n")
    same(scanner.report(), scanner.report("--store", "a.db"), "after a log was replaced")
    shutil.rmtree(next(path for path in scanner.logs.iterdir() if path.is_dir()))
    expect(len(scanner.report("--store", "a.db").splitlines()) - 1 == JOBS, "rows of logs that are gone are kept")


def made_log(scanner, kind, size):
    path = scanner.folder / f"{kind}-{size}.txt"
    subprocess.run([sys.executable, HERE.parent / "bench" / "scan" / "make_logs.py", kind, str(size), path], check=True, stdout=subprocess.DEVNULL)
    return path.read_bytes()


def samples():
    """Logs of failures of all sorts, as they may come in the middle of another."""
    folder = HERE.parent.parent / "samples"
    return [path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file() and path.suffix in (".out", ".err", ".log")]


class GrownLogs:
    """An archive whose logs are written on, and the store of the scans of it."""

    def __init__(self, scanner):
        self.scanner, self.count = scanner, 0

    def append(self, name, data):
        with open(self.scanner.logs / name, "ab") as file:
            file.write(data)

    def read_bytes_of_scan(self):
        """Scans into the store and returns how many bytes were read, as far as the system tells (else None)."""
        child = subprocess.Popen([self.scanner.program, "scan", self.scanner.logs, "--store", "grown.db", "--format", "jobid"],
                                 cwd=self.scanner.folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
        try:
            read = int(Path(f"/proc/{child.pid}/io").read_text().split("rchar: ")[1].split("\n")[0])
        except (OSError, IndexError, ValueError):
            read = None
        errors = child.communicate()[1].decode(errors="replace")
        expect(child.returncode in (0, 1), f"exit status {child.returncode}", errors[:600])
        return read

    def evidence(self, store):
        with sqlite3.connect(self.scanner.folder / store) as database:
            return database.execute("SELECT j.path, e.data FROM job j JOIN evidence e ON e.job = j.id ORDER BY j.path").fetchall()

    def check(self, words, most=None):
        """The scan that goes on gives what a first one gives; it reads no more than `most` bytes."""
        fresh = f"fresh-{self.count}.db"
        self.count += 1
        read = self.read_bytes_of_scan()
        expect(most is None or read is None or read <= most, f"{words}: {read} bytes were read")
        same(self.scanner.report("--store", fresh), self.scanner.stored("grown.db"), words)
        for (path, left), (_, right) in zip(self.evidence(fresh), self.evidence("grown.db")):
            expect(left == right, f"{words}: the evidence of {path} is another one")
            full = [self.scanner.run("report", "--store", store, "--job", path)[0] for store in (fresh, "grown.db")]
            same(full[0], full[1], f"{words}: {path}")
        (self.scanner.folder / fresh).unlink()
        return read


def case_grown(scanner):
    scanner.logs.mkdir(parents=True)
    grown, chance = GrownLogs(scanner), random.Random(5)
    varied, quiet, others = made_log(scanner, "varied", 16_000_000), made_log(scanner, "quiet", 16_000_000), samples()
    at = {"slurm-11.out": 6_000_001, "slurm-11.err": 3000, "slurm-12.out": 5_000_011, "quiet-13.out": 9_000_000}
    source = {"slurm-11.out": varied, "slurm-11.err": quiet, "slurm-12.out": b"".join(others) * 20 + varied, "quiet-13.out": quiet}
    for name, end in at.items():
        grown.append(name, source[name][:end])
    (scanner.logs / "slurm-11.sbatch").write_text("#!/bin/bash\n#SBATCH --gpus=2\npython train.py --batch-size 8\n")
    grown.check("the first scan")
    grown.check("nothing has changed", 1_000_000)
    for step in range(8):
        for name in chance.sample(sorted(at), 1 + step % 4):
            more = chance.choice((1, 80, 5000, 300_000, 1_200_000))
            grown.append(name, source[name][at[name] : at[name] + more])
            at[name] += more
        if step == 3:
            grown.append("quiet-13.out", chance.choice(others))
        if step == 4:
            grown.append("slurm-11.err", quiet[at["slurm-11.err"] : 5_500_000])
            at["slurm-11.err"] = 5_500_000
        grown.check(f"step {step}", 12_000_000)
    for name in at:
        grown.append(name, others[0])
    most = sum((scanner.logs / name).stat().st_size for name in at) // 2
    grown.check("all have grown", most)
    (scanner.logs / "slurm-12.sbatch").write_text("#!/bin/bash\npython other.py --seq-len 4096\n")
    grown.check("a file has joined")
    with open(scanner.logs / "quiet-13.out", "r+b") as file:
        file.truncate(4_300_000)
    grown.check("cut off")
    grown.append("quiet-13.out", varied[:6_000_000])
    grown.check("grown again")
    with open(scanner.logs / "quiet-13.out", "r+b") as file:
        file.truncate(4_300_000)
    grown.append("quiet-13.out", varied[3_000_000:11_000_000])
    grown.check("cut off and grown between two scans")
    with open(scanner.logs / "slurm-11.out", "r+b") as file:
        file.truncate(0)
        file.write(quiet[:15_000_000])
    grown.check("other content in the same file")
    (scanner.logs / "slurm-11.out").unlink()
    grown.append("slurm-11.out", varied)
    grown.check("another file of the same name")
    with gzip.open(scanner.logs / "slurm-14.out.gz", "wb", compresslevel=1) as file:
        file.write(varied[:6_000_000])
    grown.check("a compressed log")
    grown.append("slurm-14.out.gz", gzip.compress(varied[6_000_000:7_000_000], 1))
    grown.check("a compressed log that has grown")
    for name in at:
        os.utime(scanner.logs / name)
    grown.check("written at another time")
    with sqlite3.connect(scanner.folder / "grown.db") as database:
        database.execute("UPDATE bookmark SET data = substr(data, 1, length(data) - 9) || zeroblob(9)")
    database.close()
    for name in at:
        grown.append(name, others[1])
    grown.check("damaged bookmarks")


def case_shards(scanner):
    scanner.make_archive()
    whole = scanner.report()
    for shard in range(8):
        scanner.report("--store", f"part-{shard}.db", "--shard", f"{shard}/8")
    parts = [f"part-{shard}.db" for shard in range(8)]
    merged = scanner.run("merge", *parts, "--format", "jsonl", "--with-fleet")[0]
    same(whole, merged, "8 shards merged")
    random.Random(3).shuffle(parts)
    same(whole, scanner.run("merge", *parts, "--store", "all.db", "--format", "jsonl", "--with-fleet")[0], "merged in another order")
    same(whole, scanner.stored("all.db"), "the merged store")
    text, errors = scanner.run("merge", *sorted(parts)[:-1], codes=(2,))
    expect(b"shard 7 of 8" in text and b"missing" in text and "shard 7 of 8" in errors, "a missing shard is not named", errors)
    (scanner.folder / "broken.db").write_bytes(b"SQLite format 3\0" + b"x" * 2000)
    text, errors = scanner.run("merge", *parts, "broken.db", codes=(2,))
    expect("broken.db" in errors and b"400 jobs" in text, "a damaged store hides the others", errors)
    environment = dict(os.environ, SLURM_ARRAY_TASK_ID="13", SLURM_ARRAY_TASK_MIN="10", SLURM_ARRAY_TASK_COUNT="8", SLURM_ARRAY_TASK_STEP="1")
    done = subprocess.run([scanner.program, "scan", scanner.logs, "--store", "own.db", "--format", "jsonl"], cwd=scanner.folder, env=environment,
                          capture_output=True)
    expect(b"shard 3 of 8" in done.stderr, "the task of an array is not its shard", done.stderr.decode())
    same(scanner.run("report", "--store", "part-3.db", "--format", "jsonl", codes=(0, 1, 2))[0], done.stdout, "the task of an array")


FAILED = "RuntimeError: CUDA error: an illegal memory access was encountered\n"


def case_odd(scanner):
    scanner.logs.mkdir(parents=True)
    names = [b"slurm-1.out", b"slurm-2.out", b"new\nline-slurm-3.out", b"not-utf8-\xff\xfe.log", b"<b>&amp;.log", b"-rf.log", "über-4.log".encode(),
             b"$(touch PWNED).log", b"a" * 240 + b".log"]
    for name in names:
        with open(os.path.join(os.fsencode(scanner.logs), name), "w") as file:
            file.write("step 1\n" + FAILED)
    (scanner.logs / "empty.log").touch()
    (scanner.logs / "loop").symlink_to(scanner.logs)
    (scanner.logs / "nowhere.log").symlink_to("gone")
    os.mkfifo(scanner.logs / "pipe.log")
    deep = scanner.logs
    for depth in range(30):
        deep = deep / f"d{depth}"
        deep.mkdir()
    (deep / "slurm-9.out").write_text(FAILED)
    (scanner.logs / "binary.log").write_bytes(os.urandom(5000))
    (scanner.logs / ".snapshot").mkdir()
    (scanner.logs / ".snapshot" / "slurm-1.out").write_text(FAILED)
    text, errors = scanner.run("scan", scanner.logs, "--format", "jsonl", codes=(2,))
    rows = text.splitlines()
    expect(len(rows) == len(names) + 3, f"{len(rows)} rows", text.decode(errors="replace")[:2000])
    expect("pipe.log" in errors and "FIFO" in errors and "binary.log" in errors, "odd files are not named", errors)
    expect("\x1b" not in errors and all(b"\n" not in row for row in rows), "control characters")
    linked, errors = scanner.run("scan", "--follow-links", scanner.logs, "--format", "jsonl", codes=(2,))
    expect("loop" in errors and "nowhere.log" in errors and len(linked.splitlines()) == len(rows), "links", errors)
    if os.getuid() != 0:
        (scanner.logs / "slurm-2.out").chmod(0)
        text, errors = scanner.run("scan", scanner.logs, "--format", "jsonl", codes=(2,))
        expect("slurm-2.out" in errors and len(text.splitlines()) == len(rows), "a file without rights", errors)
    for form in ("text", "csv", "html", "markdown", "jobid"):
        out, _ = scanner.run("scan", scanner.logs, "--format", form, codes=(2,))
        expect(b"\x1b" not in out and b"<b>&amp;" not in out.replace(b"`", b"") or form in ("csv", "text", "jobid"), f"{form} is not escaped")
    text, errors = scanner.run("scan", scanner.folder / "gone", codes=(2,))
    expect("gone" in errors, "a folder that is not there", errors)
    expect(not list(scanner.folder.rglob("PWNED")), "a name was run")
    scanner.run("scan", scanner.logs, "--store", "odd.db", codes=(2,))
    (scanner.logs / "pipe.log").unlink()
    text, _ = scanner.run("scan", scanner.logs, "--store", "odd.db", codes=(0, 1, 2))
    expect(b"pipe.log" not in text, "a problem that is gone is still told", text.decode(errors="replace")[:600])
    before = (scanner.logs / "slurm-1.out").read_bytes()
    _, errors = scanner.run("scan", scanner.logs, "-o", scanner.logs / "d0" / ".." / "slurm-1.out", codes=(2,))
    expect("is an input of this call" in errors and (scanner.logs / "slurm-1.out").read_bytes() == before, "a log is written over", errors)
    scanner.run("scan", scanner.logs, "-o", scanner.logs / "report.txt", codes=(2,))
    scanner.run("scan", scanner.logs, "-o", scanner.logs / "report.txt", codes=(2,))


def case_stopped(scanner):
    scanner.make_archive(3000)
    child = subprocess.Popen([scanner.program, "scan", scanner.logs, "--store", "a.db", "--threads", "1", "--format", "jsonl"], cwd=scanner.folder,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    time.sleep(0.4)
    child.send_signal(signal.SIGINT)
    out, errors = child.communicate(timeout=60)
    if b"interrupted" in errors:
        expect(child.returncode == 2 and 0 < len(out.splitlines()) < 3000, f"{len(out.splitlines())} rows, exit status {child.returncode}")
    else:
        print("note: the scan had ended before the interrupt came")
    same(scanner.report(), scanner.report("--store", "a.db"), "after an interrupt")


# ---- Tar archives ----

WHEN = 1760000000


def make_tar(path, folder, names=None, form=tarfile.PAX_FORMAT):
    """An archive of what is in the folder, all of one time and owner, compressed as its name says."""
    def seal(info):
        info.mtime, info.uid, info.gid, info.uname, info.gname = WHEN, os.getuid(), 0, "", ""
        return info
    plain = path.with_name(path.name.split(".tar")[0] + ".tar")
    with tarfile.open(plain, "w", format=form) as archive:
        for name in names or sorted(entry.name for entry in folder.iterdir()):
            archive.add(folder / name, arcname=f"./{name}", filter=seal)
    tool = {".gz": "gzip", ".xz": "xz", ".zst": "zstd"}.get(path.suffix)
    if tool:
        with open(plain, "rb") as source, open(path, "wb") as target:
            subprocess.run([tool, "-c"], stdin=source, stdout=target, check=True)
        plain.unlink()


def settle_times(folder):
    for path in folder.rglob("*"):
        os.utime(path, (WHEN, WHEN))


def forms():
    return [form for form, tool in ((".tar", "true"), (".tar.gz", "gzip"), (".tar.xz", "xz"), (".tar.zst", "zstd")) if shutil.which(tool)]


def jsonl(scanner, folder, *args, codes=(0, 1)):
    return scanner.run("scan", folder, "--format", "jsonl", "--with-fleet", *args, codes=codes)[0]


def case_tar(scanner):
    scanner.make_archive()
    settle_times(scanner.logs)
    folder = scanner.folder / "folder"
    folder.mkdir()
    scanner.logs.rename(folder / "all")
    as_tar = lambda report, form: report.replace(b"folder/all/", b"%b/all%b/" % (b"tars", form.encode()))
    options = ([], ["--threads", "1"], ["--include", "*.out"], ["--exclude", "*-ada*"], ["--exclude", "accounting"], ["--since", "2025-10-10"],
               ["--until", "2025-10-01"])
    for form in forms():
        (scanner.folder / "tars").mkdir()
        make_tar(scanner.folder / "tars" / f"all{form}", folder / "all")
        for given in options if form in (".tar", ".tar.gz") else options[:1]:
            same(as_tar(jsonl(scanner, "folder", *given), form), jsonl(scanner, "tars", *given), f"{form} {' '.join(given)}")
        for shard in range(3):
            jsonl(scanner, "tars", "--store", f"part{form}-{shard}.db", "--shard", f"{shard}/3")
        merged = scanner.run("merge", *[f"part{form}-{shard}.db" for shard in range(3)], "--format", "jsonl", "--with-fleet")[0]
        same(as_tar(jsonl(scanner, "folder"), form), merged, f"{form}, 3 shards merged")
        text = scanner.run("scan", f"tars/all{form}")[0].decode()
        command = text.split("one in full:\n")[1].split("\n")[0].split()
        expect(command[0] == "whyoom", f"{form}: no command for one job", text[-400:])
        shown = scanner.run(*command[1:], codes=(1,))[0]
        same(shown, scanner.run(*[word.replace(f"tars/all{form}", "folder/all") for word in command[1:]], codes=(1,))[0].replace(
            b"folder/all/", f"tars/all{form}/".encode()), f"{form}: one job in full")
        shutil.rmtree(scanner.folder / "tars")


def case_tar_again(scanner):
    scanner.make_archive()
    settle_times(scanner.logs)
    (scanner.folder / "tars").mkdir()
    tar = scanner.folder / "tars" / "all.tar.gz"
    make_tar(tar, scanner.logs)
    first = jsonl(scanner, "tars", "--store", "a.db")
    same(jsonl(scanner, "tars"), first, "with a store")
    # The same inode, size and time, and other bytes: whoever opens it finds no archive.
    good, times = tar.read_bytes(), tar.stat()
    with open(tar, "r+b") as file:
        file.write(b"not an archive")
    os.utime(tar, ns=(times.st_atime_ns, times.st_mtime_ns))
    same(first, jsonl(scanner, "tars", "--store", "a.db"), "an archive that has not changed")
    expect(scanned_again(scanner, "a.db") == 0, "jobs of an archive that has not changed are read")
    with open(tar, "r+b") as file:
        file.write(good)
    os.utime(tar, ns=(times.st_atime_ns, times.st_mtime_ns))
    # Other patterns: all of it is read again.
    with sqlite3.connect(scanner.folder / "a.db") as database:
        database.execute("UPDATE job SET rules = '0-0' WHERE id % 2")
        database.execute("DELETE FROM known WHERE job % 2")  # as another version would leave them
        half = database.execute("SELECT count(*) FROM job WHERE id % 2").fetchone()[0]
    same(first, jsonl(scanner, "tars", "--store", "a.db"), "other patterns for some jobs")
    expect(scanned_again(scanner, "a.db") == half, f"{scanned_again(scanner, 'a.db')} jobs were read where {half} have other patterns")
    # Other causes: diagnosed again from what is kept.
    with sqlite3.connect(scanner.folder / "a.db") as database:
        database.execute("UPDATE job SET rules = substr(rules, 1, instr(rules, '-')) || '0' WHERE id % 2")
        database.execute("DELETE FROM known WHERE job % 2")
    with open(tar, "r+b") as file:
        file.write(b"not an archive")
    os.utime(tar, ns=(times.st_atime_ns, times.st_mtime_ns))
    same(first, jsonl(scanner, "tars", "--store", "a.db"), "other causes for some jobs")
    # A changed archive: what is new in it is read.
    log = next(iter(sorted(scanner.logs.rglob("slurm-*.out"))))
    with open(log, "a") as file:
        file.write("Traceback (most recent call last):\n  File \"train.py\", line 12, in <module>\n    main()\nKeyError: 'appended'\n")
    tar.unlink()
    make_tar(tar, scanner.logs)
    changed = jsonl(scanner, "tars", "--store", "a.db")
    expect(changed != first and scanned_again(scanner, "a.db") == 1, f"{scanned_again(scanner, 'a.db')} jobs were read where one has changed")
    same(jsonl(scanner, "tars"), changed, "a changed archive")
    shutil.rmtree(next(path for path in scanner.logs.iterdir() if path.is_dir()))
    make_tar(tar, scanner.logs)
    expect(len(jsonl(scanner, "tars", "--store", "a.db").splitlines()) - 1 == JOBS, "rows of what is gone from an archive are kept")
    job = json.loads(changed.splitlines()[0])["path"]
    expect(b"job" in scanner.run("report", "--store", "a.db", "--job", job)[0], "a job of an archive cannot be shown")


def add_bytes(archive, name, data, **fields):
    info = tarfile.TarInfo(name)
    info.size, info.mtime = len(data), WHEN
    for field, value in fields.items():
        setattr(info, field, value)
    archive.addfile(info, io.BytesIO(data))


def odd_tar(path):
    log = b"step 1\n" + FAILED.encode()
    with tarfile.open(path, "w", format=tarfile.GNU_FORMAT, encoding="utf-8", errors="surrogateescape") as archive:
        for name in ("a/slurm-1.out", "../up-2.log", "/etc/abs-3.log", "new\nline-4.log", "\udcff\udcfe-5.log", "a/" + "n" * 300 + ".log"):
            add_bytes(archive, name, log)
        add_bytes(archive, "twice.log", b"no failure\n")
        add_bytes(archive, "a/.git/slurm-6.out", log)
        add_bytes(archive, "user.log", log, uname="ada", uid=12345)
        add_bytes(archive, "bad-user.log", log, uname="<b>\x1b", uid=54321)
        add_bytes(archive, "packed-7.log.gz", gzip.compress(log))
        add_bytes(archive, "inner.tar.gz", log)
        add_bytes(archive, "hard.log", b"", type=tarfile.LNKTYPE, linkname="a/slurm-1.out")
        add_bytes(archive, "soft.log", b"", type=tarfile.SYMTYPE, linkname="a/slurm-1.out")
        add_bytes(archive, "fifo.log", b"", type=tarfile.FIFOTYPE)
        add_bytes(archive, "twice.log", log)
        add_bytes(archive, "last-8.log", log)


def case_tar_odd(scanner):
    tars = scanner.folder / "tars"
    tars.mkdir()
    tar = tars / "odd.tar"
    odd_tar(tar)
    rows = {}
    for form in forms():
        path = tars / f"odd{form}"
        if form != ".tar":
            tool = {".gz": "gzip", ".xz": "xz", ".zst": "zstd"}[path.suffix]
            with open(path, "wb") as target:
                subprocess.run([tool, "-c", tar], stdout=target, check=True)
        text, errors = scanner.run("scan", f"tars/odd{form}", "--format", "jsonl", codes=(2,))
        rows[form] = text.replace(path.name.encode(), b"odd.tar")
        same(rows[".tar"], rows[form], form)
        jobs = {json.loads(row)["path"].split("/", 2)[2]: json.loads(row) for row in text.splitlines()}
        expect(len(jobs) == 11, f"{len(jobs)} jobs", " ".join(jobs))
        expect(all(job["outcome"] != "none" and job["is_failed"] for job in jobs.values()), "a log was not read", text.decode())
        expect(jobs["user.log"]["user"] == "ada" and jobs["bad-user.log"].get("user") is None, "owners", text.decode())
        for name in ("inner.tar.gz", "hard.log", "fifo.log"):
            expect(name in errors, f"{name} is not named", errors)
        expect("soft.log" not in errors and "\x1b" not in errors, "links, control characters", errors)
        if form == ".tar":
            continue
        # Cut anywhere: what came before counts, and the archive is named.
        whole = path.read_bytes()
        for part in (len(whole) // 4, len(whole) // 2):
            path.write_bytes(whole[:part])
            text, errors = scanner.run("scan", path, "--format", "jsonl", "--store", "cut.db", codes=(2,))
            expect(f"{path.name}: " in errors, "a cut archive is not named", errors)
            again, errors = scanner.run("scan", path, "--format", "jsonl", "--store", "cut.db", codes=(2,))
            same(text, again, "a cut archive scanned again")
            expect(f"{path.name}: " in errors, "a cut archive is not named at the second scan", errors)
        path.unlink()
    whole = tar.read_bytes()
    for part in range(1, len(whole) - 10240, 700):
        tar.write_bytes(whole[:part])
        scanner.run("scan", tar, "--format", "jsonl", codes=(0, 1, 2))
    tar.unlink()
    (tars / "none.tar.gz").write_text("text\n")
    (tars / "empty.tgz").write_bytes(bytes(10240))
    (tars / "slurm-1.out").write_text(FAILED)
    text, errors = scanner.run("scan", tars, "--format", "jsonl", codes=(2,))
    expect(len(text.splitlines()) == 1 and "none.tar.gz" in errors and "empty.tgz" not in errors, "an archive that is none", errors)
    (tars / "none.tar.gz").unlink()
    many = scanner.folder / "many"
    many.mkdir()
    for number in range(70):
        (many / f"slurm-{number}.out").write_text(f"step {number}\n" + FAILED)
        make_tar(tars / f"n{number}.tar.gz", many, [f"slurm-{number}.out"])
    expect(len(scanner.run("scan", tars, "--format", "jsonl")[0].splitlines()) == 71, "many archives")
    # No room to expand them: they are named, and the rest is read.
    done = subprocess.run([scanner.program, "scan", tars, "--format", "jsonl"], capture_output=True, timeout=300, env=dict(os.environ, TMPDIR="/nowhere"))
    expect(done.returncode == 2 and len(done.stdout.splitlines()) == 1 and b"TMPDIR" in done.stderr, "without a temporary folder", done.stderr.decode())
    limited = f"ulimit -f 8; exec {scanner.program} scan {tars} --format jsonl"
    (many / "slurm-0.out").write_bytes(os.urandom(200000).hex().encode())
    make_tar(tars / "large.tar.gz", many)
    done = subprocess.run(["sh", "-c", limited], capture_output=True, timeout=300)
    expect(b"large.tar.gz: cannot be kept" in done.stderr, "a full disk is not named", done.stderr.decode())


def main():
    program, name = os.path.abspath(sys.argv[1]), sys.argv[2]
    folder = tempfile.mkdtemp(prefix="whyoom-scan-")
    try:
        globals()["case_" + name](Scanner(program, folder))
    except Wrong as wrong:
        print(f"FAILED {name}: {wrong}")
        return 1
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    print(f"ok {name}")
    return 0


sys.exit(main())
