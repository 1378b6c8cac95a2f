#!/usr/bin/env python3
"""Writes one sequence of a program, with the answers of a real allocator, as a case in the line form (docs/trace-lines.md).

Usage: export.py STORE VERSION PROGRAM SEQUENCE [--why TEXT] > CASE.jsonl
The stand-in card's policy and seed stand in a note, so that a test can make the same card.
"""
import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from shrink import read_sequence, torch_number  # noqa: E402

STATES = ("free", "allocated", "pending")
NAMES = {"a": "alloc", "q": "free_requested", "c": "free_completed", "s": "segment_alloc", "f": "segment_free", "m": "segment_map",
         "u": "segment_unmap", "o": "oom"}
# Up to 2.1 the allocator tells its trace at the end: a request takes its entries up to one of these.
LAST_OF_REQUEST = {"m": "ao", "f": "q"}


class Refused(Exception):
    """The sequence cannot be a case."""


def answers(store, version, lines):
    with tempfile.NamedTemporaryFile("w", suffix=".program") as file:
        file.write("\n".join(lines) + "\n")
        file.flush()
        done = subprocess.run([str(pathlib.Path(store) / version / "run" / "driver"), file.name], stdout=subprocess.PIPE,
                              stderr=subprocess.DEVNULL, check=False)
    text = done.stdout.decode(errors="replace").splitlines()
    if any(line.startswith("!") for line in text):
        raise Refused("torch fails in it")
    return text[1:]


def split_answers(text, requests):
    """For each request its entries and address; then the final layout; then entries that came at the end."""
    steps, entries, at = [], [], 0
    for _ in requests:
        entries = []
        while not text[at].startswith("="):
            if text[at][0] == "t":
                entries.append(text[at].split())
            at += 1
        words = text[at].split()
        steps.append((entries, int(words[1]) if len(words) > 1 else None))
        at += 1
    rest = text[at + 1:]
    layout = [line.split() for line in rest if line[0] in "GB"]
    late = [line.split() for line in rest if line[0] == "t"]
    return steps, layout, late


def deal_late(requests, steps, late):
    """Entries that were told at the end, to the requests that made them."""
    dealt, at, held = [], 0, set()
    for request, (_, address) in zip(requests, steps):
        entries = []
        last = LAST_OF_REQUEST.get(request[0])
        slot = request.split()[1] if last else None
        is_request = request[0] == "m" or slot in held
        held.discard(slot)
        if address:
            held.add(slot)
        while is_request and at < len(late):
            entries.append(late[at])
            at += 1
            if entries[-1][0][1] in last:
                break
        follows = ("tc", "tf", "tu") if request[0] == "x" else ("tc",)
        while request[0] in "xf" and at < len(late) and late[at][0] in follows:
            if request[0] == "f" and (not entries or late[at][1] != entries[0][1]):
                break
            entries.append(late[at])
            at += 1
        dealt.append((entries, address))
    return dealt


def entry_line(words):
    kind = words[0][1]
    address, size, stream = (int(word) for word in words[1:4])
    line = {NAMES[kind]: size}
    if kind == "o":
        line["device_free"] = address
    else:
        line["addr"] = address
    if stream:
        line["stream"] = stream
    if len(words) > 4 and int(words[4]):
        line["pool"] = [0, int(words[4])]
    return line


class Exporter:
    def __init__(self):
        self.lines = []
        self.slots = {}
        self.captures = []

    def instruction(self, request):
        words = request.split()
        kind = words[0]
        if kind == "r" and self.slots.get(words[1]):
            return {"record_stream": True, "addr": self.slots[words[1]], "stream": int(words[2])}
        if kind == "x":
            return {"empty_cache": True}
        if kind == "s":
            return {"settings": request[2:]}
        if kind == "p":
            return {"memory_fraction": int(words[1]) / 1e6}
        if kind == "b":
            return {"capture_begin": True, "pool": [0, int(words[1])], "stream": int(words[2])}
        if kind == "e":
            return {"capture_end": True, "pool": [0, int(words[1])]}
        if kind == "d":
            return {"pool_release": True, "pool": [0, int(words[1])]}
        if kind == "k":
            raise Refused("the capacity changes in it")
        return None

    def request(self, request, entries, address):
        line = self.instruction(request)
        if line:
            self.lines.append(line)
        if request[0] == "m":
            self.slots[request.split()[1]] = address
            if not any(entry[0] in ("ta", "to") for entry in entries):
                raise Refused("a request leaves no entry")
        if request[0] == "f":
            self.slots.pop(request.split()[1], None)
        self.lines += [entry_line(entry) for entry in entries]

    def layout(self, layout):
        if not layout:
            self.lines.append({"device": 0, "has_segments": True})
        for words in layout:
            numbers = [int(word) for word in words[1:]]
            if words[0] == "G":
                line = {"segment": numbers[1], "addr": numbers[0]}
                line |= {"stream": numbers[2]} if numbers[2] else {}
                line |= {"pool": [0, numbers[5]]} if numbers[5] else {}
                line |= {"small": True} if numbers[3] else {}
                line |= {"expandable": True} if numbers[4] else {}
            else:
                line = {"block": numbers[0], "state": STATES[numbers[2]]}
                line |= {"requested": numbers[1]} if numbers[2] else {}
            self.lines.append(line)


def export(store, version, lines, why):
    header, requests = lines[0], lines[1:]
    words = header.split(" ", 5)
    total, policy, seed = int(words[2]), int(words[3]), int(words[4])
    settings = words[5].strip() if len(words) > 5 else ""
    steps, layout, late = split_answers(answers(store, version, lines), requests)
    if torch_number(version) < 202:
        steps = deal_late(requests, steps, late)
    exporter = Exporter()
    for request, (entries, address) in zip(requests, steps):
        exporter.request(request, entries, address)
    exporter.layout(layout)
    head = [{"whyoom_trace": 1, "torch": version, "settings": settings, "capacity_bytes": total},
            {"note": f"answers of libc10_cuda of torch {version} over a stand-in card, not of a GPU"},
            {"note": f"stand-in card: policy {policy} seed {seed}"}]
    if why:
        head.append({"note": why})
    return "\n".join(json.dumps(line, separators=(",", ":")) for line in head + exporter.lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("version")
    parser.add_argument("program")
    parser.add_argument("sequence", type=int)
    parser.add_argument("--why", default="")
    options = parser.parse_args()
    try:
        sys.stdout.write(export(options.store, options.version, read_sequence(options.program, options.sequence), options.why))
    except Refused as refused:
        sys.exit(f"not a case: {refused}")


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
