#!/usr/bin/env python3
"""Recordings of random programs on the real allocator of a whole torch, over the stub libraries beside this file: are they reproduced?

usage: random_recordings.py WHYOOM FOLDER [--groups NAME...] [--count N] [--seed N] [--jobs N] [--seconds N] [--keep]

Run it by `run --recordings`, or with a torch that sees a real card, for which limits stand in for cards.

Each program asks for tensors and frees them in a process of its own, on a small card, with the recording that its group names; `whyoom replay`
then checks it. A recording that is not reproduced stays in FOLDER (--keep: all of them). The groups are what recordings differ in: contexts and
stacks, MemPools that end, graphs that are released, garbage collection, expandable segments whose ranges lie anywhere, sizes at limits, recordings that begin late.
"""
import argparse
import collections
import ctypes
import gc
import importlib
import json
import os
import pathlib
import pickle
import random
import re
import subprocess
import sys
import time
import traceback

MIB = 1 << 20
# What is recorded, the settings, and what the program does beside allocating.
GROUPS = {
    "context-alloc": {"contexts": ["alloc"]},
    "context-state": {"contexts": ["state"]},
    "context-all": {"contexts": ["all"]},
    "context-none": {"contexts": [None]},
    "mempools": {"pools": True},
    "graphs": {"graphs": True},
    "gc": {"settings": lambda draw: f"garbage_collection_threshold:0.{draw.randint(3, 95):02d}", "fraction": True},
    "expandable": {"settings": lambda draw: "expandable_segments:True", "policies": [3]},
    "limits": {"fraction": True, "edges": True},
    "middle": {"contexts": ["all", "alloc"], "begins_late": True},
}


class Card(ctypes.Structure):
    """The beginning of struct wo_standin."""
    _fields_ = [("capacity", ctypes.c_uint64), ("total", ctypes.c_uint64), ("used", ctypes.c_uint64), ("policy", ctypes.c_int),
                ("random", ctypes.c_uint64), ("is_immediate", ctypes.c_bool), ("is_one_space", ctypes.c_bool)]


def stand_in():
    """The stub card, or None: a real one."""
    with open("/proc/self/maps", encoding="utf-8") as maps:
        runtime = ctypes.CDLL(re.search(r"\S*/libcudart\S*", maps.read()).group())
    return Card.in_dll(runtime, "wo_oracle_standin") if hasattr(runtime, "wo_oracle_standin") else None


def open_card(torch, draw, about, seed):
    """The bytes that the program may have. Others use the rest of the card, unless it has a fraction."""
    capacity = draw.choice((160, 300, 600, 2000)) * MIB
    total = capacity if about.get("fraction") else draw.choice((8, 24, 80)) << 30
    policy = draw.choice(about.get("policies", (0, 1, 2, 3)))
    stub = stand_in()
    if stub is not None:
        stub.capacity, stub.total, stub.policy, stub.random = capacity, total, policy, seed * 2 + 1
    if "settings" in about:
        # Its name before torch 2.10, and since.
        names = ("_cuda_cudaCachingAllocator_set_allocator_settings", "_accelerator_setAllocatorSettings")
        next(getattr(torch._C, name) for name in names if hasattr(torch._C, name))(about["settings"](draw))
    torch.cuda.init()
    share = draw.uniform(0.4, 1.0) if about.get("fraction") else 1.0
    if stub is None:
        share *= capacity / torch.cuda.get_device_properties(0).total_memory
    if share < 1:
        torch.cuda.set_per_process_memory_fraction(share)
    return capacity


class Pools:
    """MemPools: allocation goes to the open one; a pool may end, and tensors outlive it."""

    def __init__(self, torch, draw):
        self.torch, self.draw = torch, draw
        self.known, self.open = [], None

    def step(self):
        if self.open is not None:
            self.close()
        elif self.known and self.draw.random() < 0.4:
            self.known.pop(self.draw.randrange(len(self.known)))
        else:
            self.begin()

    def begin(self):
        again = self.known and self.draw.random() < 0.3
        pool = self.draw.choice(self.known) if again else self.torch.cuda.MemPool()
        self.open = self.torch.cuda.use_mem_pool(pool)
        self.open.__enter__()
        if not again:
            self.known.append(pool)

    def close(self):
        self.open.__exit__(None, None, None)
        self.open = None


class Graphs:
    """CUDA graphs: some are captured into the pool of another, some are released, and tensors outlive them."""

    def __init__(self, torch, draw):
        self.torch, self.draw = torch, draw
        self.known, self.outputs = [], []
        self.open = None

    def step(self):
        dice = self.draw.random()
        if self.known and dice < 0.3:
            self.known.pop(self.draw.randrange(len(self.known)))
        elif self.outputs and dice < 0.5:
            self.outputs.pop(self.draw.randrange(len(self.outputs)))
        else:
            self.capture()

    def capture(self):
        torch, draw = self.torch, self.draw
        pool = draw.choice(self.known).pool() if self.known and draw.random() < 0.4 else None
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, pool=pool):
            made = [torch.empty(size_of(draw, False), dtype=torch.uint8, device="cuda") for _ in range(draw.randint(1, 8))]
            while made and draw.random() < 0.6:
                made.pop(draw.randrange(len(made)))
            made += [torch.empty(size_of(draw, False), dtype=torch.uint8, device="cuda") for _ in range(draw.randint(0, 4))]
        self.known.append(graph)
        self.outputs.append(made)


def size_of(draw, edges):
    if edges and draw.random() < 0.5:
        return draw.choice((512, MIB, 2 * MIB, 10 * MIB, 20 * MIB, 12 * MIB)) + draw.choice((0, 0, -1, 1, -512, 512))
    return draw.choice((draw.randint(1, 4096), draw.randint(1, MIB), draw.randint(MIB, 10 * MIB), draw.randint(10 * MIB, 60 * MIB)))


def play(torch, group, seed, path):
    """The program of a seed; writes the snapshot."""
    draw, about = random.Random(seed), GROUPS[group]
    capacity = open_card(torch, draw, about, seed)
    streams = [torch.cuda.Stream() for _ in range(draw.randint(0, 2))]
    pools = Pools(torch, draw) if "pools" in about else Graphs(torch, draw) if "graphs" in about else None
    operations = draw.choice((40, 120, 400))
    begins_at = draw.randint(5, operations // 2) if about.get("begins_late") else 0
    target = draw.uniform(0.2, 1.1) * capacity
    live, used = [], 0

    for at in range(operations):
        if at == begins_at:
            torch.cuda.memory._record_memory_history(enabled="all", context=draw.choice(about.get("contexts", ["all"])),
                                                     stacks=draw.choice(("python", "all")), max_entries=100000)
        dice = draw.random()
        if pools and dice < 0.06:
            try:
                pools.step()
            except torch.cuda.OutOfMemoryError:
                break  # a capture that fails is no program to go on with
        elif dice < 0.07 and (pools is None or pools.open is None):
            torch.cuda.empty_cache()
        elif live and (draw.random() < 0.5 if used < target else draw.random() < 0.8):
            gone = live.pop(draw.randrange(len(live)))
            used -= gone.numel()
            del gone
        else:
            size = size_of(draw, about.get("edges"))
            try:
                with torch.cuda.stream(draw.choice(streams) if streams and (pools is None or pools.open is None) else None):
                    live.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
                used += size
            except torch.cuda.OutOfMemoryError:
                pass
    if pools and pools.open is not None:
        pools.close()
    with open(path, "wb") as file:
        pickle.dump(torch.cuda.memory._snapshot(), file)


def play_apart(torch, group, seed, path):
    child = os.fork()
    if child == 0:
        try:
            if seed % 200:
                os.environ["TORCH_SYMBOLIZE_MODE"] = "dladdr"  # the usual way starts a program for each library: five times as slow
            play(torch, group, seed, path)
            os._exit(0)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
    return os.waitpid(child, 0)[1] == 0


def judge(whyoom, path):
    """'' if the recording is reproduced, else what is said of it. Nothing is reproduced without an allocation."""
    done = subprocess.run([whyoom, "replay", "--format", "json", "--no-times", path], capture_output=True, text=True, check=False)
    try:
        report = json.loads(done.stdout)
    except ValueError:
        return done.stderr.strip() or f"status {done.returncode}"
    check = report.get("check")
    if check is None:
        return report.get("why") or "no check"
    if check["diverged_at"] is not None or check["addresses_equal"] != check["allocations"] or check["segment_events_equal"] != check["segment_events"]:
        return f"diverged at {check['diverged_at']}: {check['addresses_equal']} of {check['allocations']}"
    return ""


def lack(torch, group):
    """Why this torch cannot play a group, or ''."""
    has_none = "pools" in GROUPS[group] and not hasattr(torch.cuda, "MemPool")
    return f"torch {torch.__version__} has no torch.cuda.MemPool" if has_none else ""


def play_group(options, torch, group, seeds):
    """Counts, and what is said of each that is not reproduced."""
    end = time.monotonic() + options.seconds
    counts, wrong = collections.Counter(), []
    for seed in seeds:
        if time.monotonic() > end:
            break
        path = options.folder / f"{group}-{seed}.pickle"
        if not play_apart(torch, group, seed, path):
            counts["not_made"] += 1
            continue
        counts["programs"] += 1
        said = judge(options.whyoom, path)
        if said:
            wrong.append((seed, said))
        elif not options.keep:
            path.unlink()
    return {"programs": counts["programs"], "not_made": counts["not_made"], "wrong": wrong}


def import_ahead(options, torch, group):
    """Imports what a program of the group imports while it runs (torch 2.11: sympy and more): each process would do so anew."""
    reading, writing = os.pipe()
    if os.fork() == 0:
        try:
            os.environ["TORCH_SYMBOLIZE_MODE"] = "dladdr"
            before = set(sys.modules)
            play(torch, group, options.seed, os.devnull)
            os.write(writing, "\n".join(sorted(set(sys.modules) - before)).encode()[:32768])
        finally:
            os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        names = file.read().decode().split()
    os.wait()
    for name in names:
        try:
            importlib.import_module(name)
        except ImportError:
            pass  # a name that a module gave itself


def play_at_once(options, torch, group):
    """The seeds, shared among processes that are forked while nothing else runs here."""
    seeds = range(options.seed, options.seed + options.count)
    pipes = []
    import_ahead(options, torch, group)
    gc.freeze()  # a capture collects garbage first: a second, with all of torch's modules
    for at in range(options.jobs):
        reading, writing = os.pipe()
        if os.fork() == 0:
            try:
                os.write(writing, json.dumps(play_group(options, torch, group, seeds[at::options.jobs])).encode())
            finally:
                os._exit(0)
        os.close(writing)
        pipes.append(reading)
    parts = []
    for reading in pipes:
        with os.fdopen(reading, "rb") as file:
            parts.append(json.loads(file.read() or b"{}"))
        os.wait()
    wrong = sorted(tuple(one) for part in parts for one in part.get("wrong", []))
    return {"group": group, "programs": sum(part.get("programs", 0) for part in parts),
            "not_made": sum(part.get("not_made", 0) for part in parts), "not_reproduced": len(wrong)}, wrong


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("whyoom")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--groups", nargs="*", default=list(GROUPS))
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=float("inf"), help="for each group")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    import torch
    options.folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for group in options.groups:
        if lack(torch, group):
            print(json.dumps({"group": group, "skipped": lack(torch, group)}), flush=True)
            continue
        row, wrong = play_at_once(options, torch, group)
        failed += len(wrong)
        print(json.dumps({**row, "examples": [f"{seed}: {said}" for seed, said in wrong[:8]]}), flush=True)
    return failed > 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
