#!/usr/bin/env python3
"""Shrinks a sequence on which the model and a real allocator disagree to one that cannot lose a line.

Usage: shrink.py STORE VERSION PROGRAM SEQUENCE [--keep TEXT] [--aborted] > SMALLER   --keep: the disagreement must still contain TEXT.
All candidates of a round are sequences of one program, so that a round costs one run of the driver.
"""
import argparse
import pathlib
import re
import subprocess
import sys
import tempfile


def torch_number(version):
    major, minor = version.split(".")[:2]
    return int(major) * 100 + int(minor)


def read_sequence(path, index):
    lines, is_wanted = [], False
    for line in pathlib.Path(path).read_text().splitlines():
        if line.startswith("S "):
            is_wanted = int(line.split()[1]) == index
        if is_wanted:
            lines.append(line)
    return lines


class Judge:
    """Tells which of many candidates still disagree."""

    def __init__(self, store, version, keep, letter):
        self.driver = pathlib.Path(store) / version / "run" / "driver"
        self.compare = pathlib.Path(store) / "compare"
        self.torch = torch_number(version)
        self.keep = keep
        self.letter = letter

    def findings(self, header, candidates):
        rest = header.split(" ", 2)[2]
        with tempfile.NamedTemporaryFile("w", suffix=".program") as file:
            for index, lines in enumerate(candidates):
                file.write("\n".join([f"S {index} {rest}"] + lines) + "\n")
            file.flush()
            driver = subprocess.Popen([str(self.driver), file.name], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            done = subprocess.run([str(self.compare), str(self.torch), file.name], stdin=driver.stdout, capture_output=True,
                                  text=True, errors="replace")
            driver.wait()
        found = {}
        for match in re.finditer(rf"^{self.letter} sequence (\d+) (.*)$", done.stdout, re.M):
            if self.keep in match.group(2):
                found.setdefault(int(match.group(1)), match.group(2))
        return found


def without(lines, start, size):
    return lines[:start] + lines[start + size:]


def shrink(judge, header, lines):
    size = max(1, len(lines) // 2)
    while True:
        starts = list(range(0, len(lines), size))
        found = judge.findings(header, [without(lines, start, size) for start in starts])
        if found:
            # Try to drop several chunks at once, last first; then the largest single step.
            good = [starts[index] for index in sorted(found)]
            combined = lines
            for start in reversed(good):
                combined = without(combined, start, size)
            halves = [combined]
            while len(good) > 1:
                good = good[: (len(good) + 1) // 2]
                part = lines
                for start in reversed(good):
                    part = without(part, start, size)
                halves.append(part)
            still = judge.findings(header, halves)
            lines = halves[min(still)] if still else without(lines, starts[min(found)], size)
            size = max(1, min(size, len(lines) // 2))
        elif size == 1:
            return lines
        else:
            size = max(1, size // 2)


def simpler_numbers(judge, header, lines):
    """Rounds the sizes of requests where the finding stays."""
    for index, line in enumerate(lines):
        words = line.split()
        if words[0] != "m":
            continue
        size = int(words[2])
        tries = [size >> shift << shift for shift in (24, 21, 20, 16, 12, 9)]
        candidates = [lines[:index] + [" ".join([words[0], words[1], str(value), words[3]])] + lines[index + 1:]
                      for value in tries if 0 < value < size]
        found = judge.findings(header, candidates) if candidates else {}
        if found:
            lines = candidates[min(found)]
    return lines


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("store")
    parser.add_argument("version")
    parser.add_argument("program")
    parser.add_argument("sequence", type=int)
    parser.add_argument("--keep", default="")
    parser.add_argument("--aborted", action="store_true", help="the sequence is one that torch aborts")
    options = parser.parse_args()
    judge = Judge(options.store, options.version, options.keep, "A" if options.aborted else "D")
    lines = read_sequence(options.program, options.sequence)
    header, lines = lines[0], lines[1:]
    found = judge.findings(header, [lines])
    if not found:
        sys.exit("that sequence does not disagree")
    lines = shrink(judge, header, lines)
    lines = simpler_numbers(judge, header, lines)
    print(header)
    print("\n".join(lines))
    print(judge.findings(header, [lines])[0], file=sys.stderr)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
