#!/usr/bin/env python3
"""Writes a memory snapshot in the line form (docs/trace-lines.md), small enough to be kept as a test.

usage: lines.py SNAPSHOT.pickle TORCH SETTINGS > CASE.jsonl

Of the stacks only frames stay that say something about an allocation: Python's, operators, backward nodes, the engine, libraries' workspaces; their
arguments and folders are cut off. Times are left out. SNAPSHOT must be one that was made here: pickles of others are not to be trusted.
"""
import json
import pickle
import re
import sys

SAYS = re.compile(r"at::_ops::|Backward\w*::apply|autograd::Engine::|orkspace|BlasHandle|at::cuda::blas|gpu_reduce_kernel|with_sort_kernel|cub::|thrust")
FOLDER = re.compile(r"^.*?/(?=torch/)|^(?!.*/torch/).*/")
NATIVE = re.compile(r"\.(c|h|cc|cpp|cu|S)$")


def short_frame(frame):
    """(function, file, line) of a frame that stays, or None."""
    name, file, line = frame["name"], frame["filename"], frame["line"]
    if line > 0 and not NATIVE.search(file):
        return name, FOLDER.sub("", file), line
    if not SAYS.search(name):
        return None
    return re.sub(r"<.*", "", name.split("(")[0]) + "(", "", 0


class Stacks:
    def __init__(self):
        self.frames, self.stacks, self.lines = {}, {}, []

    def number(self, frames):
        kept = []
        for frame in map(short_frame, frames or ()):
            if frame is None:
                continue
            if frame not in self.frames:
                self.frames[frame] = len(self.frames)
                function, file, line = frame
                self.lines.append({"frame": self.frames[frame], "function": function, **({"file": file, "line": line} if line else {})})
            if not kept or kept[-1] != self.frames[frame]:
                kept.append(self.frames[frame])
        key = tuple(kept)
        if key not in self.stacks:
            self.stacks[key] = len(self.stacks)
            self.lines.append({"stack": self.stacks[key], "frames": kept})
        return self.stacks[key]


def write(snapshot, torch, settings, out):
    stacks, lines = Stacks(), []
    for entry in snapshot["device_traces"][0]:
        action, stream = entry["action"], entry["stream"]
        if action == "oom":
            line = {"oom": entry["size"], "device_free": entry.get("device_free", entry.get("addr"))}
        else:
            line = {action: entry["size"]}
            if action != "snapshot":
                line["addr"] = entry["addr"]
        if stream:
            line["stream"] = stream
        if action in ("alloc", "oom", "segment_free") and entry.get("frames"):
            line["stack"] = stacks.number(entry["frames"])
        if action == "free_completed" and lines and lines[-1] == {"free_requested": entry["size"], "addr": entry["addr"]}:
            lines[-1] = {"free": entry["addr"]}
            continue
        lines.append(line)
    for segment in sorted(snapshot["segments"], key=lambda segment: segment["address"]):
        line = {"segment": segment["total_size"], "addr": segment["address"]}
        if segment["stream"]:
            line["stream"] = segment["stream"]
        if segment.get("segment_pool_id", (0, 0)) != (0, 0):
            line["pool"] = list(segment["segment_pool_id"])
        if segment["segment_type"] == "small":
            line["small"] = True
        if segment.get("is_expandable"):
            line["expandable"] = True
        lines.append(line)
        for block in segment["blocks"]:
            state = {"active_allocated": "allocated", "active_pending_free": "pending", "inactive": "free"}[block["state"]]
            line = {"block": block["size"], "state": state}
            if state != "free":
                line["requested"] = block["requested_size"]
            lines.append(line)
    if not snapshot["segments"]:
        lines.append({"device": 0, "has_segments": True})
    for line in [{"whyoom_trace": 1, "torch": torch, "settings": settings}] + stacks.lines + lines:
        out.write(json.dumps(line, separators=(",", ":")) + "\n")


def main():
    with open(sys.argv[1], "rb") as file:
        write(pickle.load(file), sys.argv[2], sys.argv[3], sys.stdout)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
