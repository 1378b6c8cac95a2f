#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes logs for measuring the scanner: text as GPU jobs print it, invented here, the same bytes for the same arguments.

usage: make_logs.py KIND BYTES FILE      KIND: varied, quiet, idle
       make_logs.py files COUNT DIR      files of 4 KB in folders of 1000

varied   progress bars, records in JSON with a figure of memory, tracebacks that the program goes on after, glog records, step
         lines, records of NCCL, colours; a failure every 20 MB
quiet    step lines without memory, records of loggers, lists of settings; a failure every 20 MB
idle     as quiet, without any failure
"""

import os
import random
import sys

POOL_BYTES = 24 << 20
EVENT_BYTES = 20_000_000
HOSTS = ["ice%02d" % n for n in range(1, 49)]
PARTS = ["embed", "blocks", "head", "norm", "router", "experts", "pooler", "decoder"]


class Writer:
    """The lines of one log, by a generator of its own."""

    def __init__(self, seed):
        self.r = random.Random(seed)
        self.step = 0

    def clock(self):
        r = self.r
        return "%02d:%02d:%02d" % (r.randint(0, 23), r.randint(0, 59), r.randint(0, 59))

    def day(self):
        return "2025-%02d-%02d" % (self.r.randint(1, 12), self.r.randint(1, 28))

    def next_step(self):
        self.step = (self.step + 10) % 90000
        return self.step

    # ---- What programs print all the time ----

    def bars(self):
        r = self.r
        total = r.randint(300, 9000)
        first = r.randint(0, total // 2)
        rate = 1 + r.random() * 30
        out = []
        for at in range(first, min(total, first + r.randint(20, 80))):
            cells = at * 12 // total
            out.append("\rTrain %d: %3d%%|%s%s| %d/%d [%02d:%02d<%02d:%02d, %5.2fit/s, loss=%.3g, ema=%.4f]" % (
                r.randint(0, 40), at * 100 // total, "\u2588" * cells, " " * (12 - cells), at, total, at % 60, at % 59,
                r.randint(0, 59), r.randint(0, 59), rate + r.random(), r.random() * 3, r.random()))
        return "".join(out) + "\n"

    def json_record(self):
        r = self.r
        return '{"ts": "%sT%sZ", "level": "info", "rank": %d, "step": %d, "train/loss": %.5f, "lr": %.3e, ' \
               '"tokens_per_sec": %.1f, "gpu_mem_alloc_gb": %.2f, "gpu_mem_reserved_gb": %.2f, "grad_norm": %.4f}\n' % (
                   self.day(), self.clock(), r.randint(0, 7), self.next_step(), r.random() * 4, r.random() * 1e-3,
                   r.random() * 90000, 20 + r.random() * 40, 60 + r.random() * 15, r.random() * 5)

    def caught(self):
        """A traceback that the program reports and goes on after."""
        r = self.r
        out = ["Traceback (most recent call last):\n"]
        for _ in range(r.randint(3, 9)):
            part = r.choice(PARTS)
            out.append('  File "/srv/project/pipeline/%s/%s_stage.py", line %d, in run_%s\n    sample = self.%s.transform(item, '
                       'seed=self.seed + index)\n' % (part, part, r.randint(3, 900), part, part))
        out.append(r.choice(["ValueError: sample has no label\n", "KeyError: 'caption'\n", "OSError: image file is truncated\n"]))
        out.append("%s %s [loader] skipped sample %d\n" % (self.day(), self.clock(), r.randint(0, 10**7)))
        return "".join(out)

    def glog(self):
        r = self.r
        return "%s%02d%02d %s.%06d %d %s.cc:%d] %s\n" % (
            r.choice("IIIIW"), r.randint(1, 12), r.randint(1, 28), self.clock(), r.randint(0, 999999), r.randint(1000, 99999),
            r.choice(["executor", "session", "stream_pool", "device_mgr", "shape_fn"]), r.randint(20, 2000),
            r.choice(["Queue depth is %d, waiting for the consumer" % r.randint(0, 64),
                      "Finished request %d in %.3f ms" % (r.randint(0, 10**6), r.random() * 90),
                      "Plan for %s rebuilt, %d nodes kept" % (r.choice(PARTS), r.randint(10, 900))]))

    def plain_step(self):
        r = self.r
        return "[%s %s] epoch %d | step %6d/90000 | loss %.4f | lr %.2e | grad %.3f | %.1f samples/s\n" % (
            self.day(), self.clock(), r.randint(0, 9), self.next_step(), r.random() * 4, r.random() * 1e-3, r.random() * 2,
            r.random() * 900)

    def dict_step(self):
        r = self.r
        return "{'loss': %.4f, 'grad_norm': %.5f, 'learning_rate': %.6e, 'epoch': %.2f}\n" % (
            r.random() * 3, r.random() * 2, r.random() * 1e-4, r.random() * 3)

    def memory_step(self):
        r = self.r
        return "%s,%03d - rank %d - INFO - iter %d loss=%.5f data=%.4fs max_mem_allocated=%dMB eta=%s\n" % (
            self.day() + " " + self.clock(), r.randint(0, 999), r.randint(0, 7), self.next_step(), r.random() * 4, r.random(),
            r.randint(20000, 70000), self.clock())

    def nccl(self):
        r = self.r
        pid, gpu = r.randint(1000, 99999), r.randint(0, 7)
        return "%s:%d:%d [%d] NCCL INFO %s\n" % (r.choice(HOSTS), pid, pid + r.randint(1, 300), gpu, r.choice([
            "Channel %02d/1 : %d[%d] -> %d[%d] via P2P/CUMEM" % (r.randint(0, 23), r.randint(0, 63), gpu, r.randint(0, 63), gpu),
            "Channel %02d/0 : %d[%d] -> %d[%d] [receive] via NET/IB/%d" % (r.randint(0, 23), r.randint(0, 63), gpu,
                                                                           r.randint(0, 63), gpu, r.randint(0, 3)),
            "Trees [0] %d/-1/-1->%d->%d" % (r.randint(0, 63), r.randint(0, 63), r.randint(0, 63)),
            "Connected all trees", "comm 0x%x rank %d nRanks 64 nNodes 8" % (r.randint(1 << 40, 1 << 44), r.randint(0, 63))]))

    def coloured(self):
        r = self.r
        return "\x1b[3%dm(Actor pid=%d)\x1b[0m \x1b[1mround\x1b[0m %d \x1b[32mreward\x1b[0m %.3f length %d\n" % (
            r.randint(1, 6), r.randint(1000, 99999), self.next_step(), r.random() * 100, r.randint(1, 900))

    def warning(self):
        r = self.r
        return r.choice([
            "/opt/venv/lib/python3.12/site-packages/%s/core.py:%d: DeprecationWarning: pass axis by keyword; positions go away in "
            "the next release\n  return wrapped(*args)\n" % (r.choice(PARTS), r.randint(3, 900)),
            "%s %s WARNING %s: queue is %d%% full, producers wait\n" % (self.day(), self.clock(), r.choice(PARTS),
                                                                      r.randint(80, 99))])

    def logger(self):
        r = self.r
        return "%s %s,%03d %s %s.%s: %s\n" % (
            self.day(), self.clock(), r.randint(0, 999), r.choice(["INFO", "INFO", "INFO", "DEBUG", "WARNING"]),
            r.choice(["pipeline", "trainer", "store"]), r.choice(PARTS), r.choice([
                "wrote shard %05d in %.2f s" % (r.randint(0, 99999), r.random() * 9),
                "validation at step %d: accuracy %.4f, perplexity %.3f" % (self.next_step(), r.random(), r.random() * 30),
                "worker %d took over range %d-%d" % (r.randint(0, 15), r.randint(0, 9999), r.randint(9999, 99999)),
                "saved state to /scratch/runs/%d/step_%d in %.1f s" % (r.randint(1, 999), self.next_step(), r.random() * 60)]))

    def listing(self):
        r = self.r
        part = r.choice(PARTS)
        return "".join("    (%s.%d): Block(width=%d, heads=%d, bias=False)\n" % (part, i, 64 << r.randint(0, 7), r.randint(1, 64))
                       for i in range(r.randint(4, 30)))

    # ---- What is looked for ----

    def event(self):
        r = self.r
        return r.choice([
            "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate %d.00 MiB. GPU %d has a total capacity of 79.15 GiB of "
            "which %d.25 MiB is free. Including non-PyTorch memory, this process has 78.50 GiB memory in use.\n" % (
                r.randint(20, 9000), r.randint(0, 7), r.randint(1, 900)),
            "slurmstepd: error: Detected 1 oom_kill event in StepId=%d.0. Some of the step tasks have been OOM Killed.\n" %
            r.randint(10**5, 10**7),
            "[%d.%06d] NVRM: Xid (PCI:0000:%02x:00): 79, pid=%d, name=python, GPU has fallen off the bus.\n" % (
                r.randint(1000, 9999), r.randint(0, 999999), r.randint(0, 255), r.randint(1, 99999)),
            "RuntimeError: CUDA error: an illegal memory access was encountered\n",
            "srun: error: %s: task %d: Killed\n" % (r.choice(HOSTS), r.randint(0, 63))])


# Shares of the bytes, and how many bytes of one sort come in a row at most.
SHARES = {
    "varied": [("bars", 22), ("json_record", 16), ("caught", 7), ("glog", 11), ("plain_step", 12), ("memory_step", 6),
               ("nccl", 10), ("coloured", 6), ("warning", 4), ("logger", 6)],
    "quiet": [("plain_step", 40), ("dict_step", 15), ("logger", 35), ("listing", 5), ("warning", 5)],
}
RUN_BYTES = 6000


def make_pool(writer, kind, size):
    """Pieces of text, each of whole lines."""
    sorts = [getattr(writer, name) for name, _ in SHARES[kind]]
    weights = [weight for _, weight in SHARES[kind]]
    pool, total = [], 0
    while total < size:
        piece, length = [], 0
        for _ in range(writer.r.randint(2, 6)):
            make = writer.r.choices(sorts, weights)[0]
            budget = writer.r.randint(400, RUN_BYTES)
            while budget > 0:
                text = make().encode()
                piece.append(text)
                budget -= len(text)
        data = b"".join(piece)
        pool.append(data)
        total += len(data)
    return pool


def write_log(kind, size, path):
    shares = "quiet" if kind == "idle" else kind
    writer = Writer("%s 7" % kind)
    pool = make_pool(writer, shares, min(size, POOL_BYTES))
    written, until_event = 0, EVENT_BYTES if kind != "idle" else None
    with open(path, "wb") as out:
        while written < size:
            piece = writer.r.choice(pool)
            if until_event is not None and written >= until_event:
                piece += writer.event().encode()
                until_event += EVENT_BYTES
            out.write(piece)
            written += len(piece)


def write_files(count, folder):
    """One in five thousand fails."""
    writer = Writer("files 7")
    pool = make_pool(writer, "varied", 4 << 20) + make_pool(writer, "quiet", 4 << 20)
    text = b"".join(writer.r.sample(pool, len(pool)))
    for at in range(count):
        if at % 1000 == 0:
            os.makedirs("%s/%03d" % (folder, at // 1000), exist_ok=True)
        start = text.find(b"\n", writer.r.randint(0, len(text) - 9000)) + 1
        end = text.rfind(b"\n", start, start + 4096) + 1 or start + 4096
        data = text[start:end] + (writer.event().encode() if at % 5000 == 4999 else b"")
        with open("%s/%03d/job-%d.out" % (folder, at // 1000, 400000 + at), "wb") as out:
            out.write(data)


def main():
    if len(sys.argv) != 4 or sys.argv[1] not in ("varied", "quiet", "idle", "files"):
        sys.exit(__doc__)
    kind, size, path = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    if kind == "files":
        write_files(size, path)
    else:
        write_log(kind, size, path)


if __name__ == "__main__":
    main()
