#!/usr/bin/env python3
"""Writes tests/oracle/cases/: the programs of regressions.program, and a few random ones of each group, with real answers.

Usage: make_cases.py STORE TESTS   STORE as of run, with drivers built; TESTS is the built wo_tests_cuda_replay, whose test_oracle_cases
must accept a case.
A random program that cannot be a case (README.md) is passed over for the next.
"""
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
from export import Refused, export  # noqa: E402
from shrink import torch_number  # noqa: E402

CASES = HERE / "cases"
RANDOM_VERSIONS = ("2.1.2", "2.6.0", "2.12.1", "2.15.0")
RANDOM_GROUPS = ("default", "expandable-oom", "max-split", "roundup", "gc", "streams", "pools", "oom", "mix")
RANDOM_LENGTH = 45
OLD_GROUPS = ("default", "max-split", "gc", "streams", "pools")


def regressions():
    """(name, versions, why, lines) of each program."""
    found = []
    for line in (HERE / "regressions.program").read_text().splitlines():
        if line.startswith("# ") and line.count(" | ") == 2:
            name, versions, why = line[2:].split(" | ")
            found.append((name, versions.split(), why, []))
        elif line and not line.startswith("#"):
            found[-1][3].append(line)
    return found


def write_case(store, test, name, version, lines, why):
    """Whether the case was written and the model agrees with it."""
    path = CASES / f"{name}-{version}.jsonl"
    path.write_text(export(store, version, lines, why))
    done = subprocess.run([str(test), "test_oracle_cases", str(path)], capture_output=True, text=True)
    if done.returncode:
        print(f"{path.name}: {(done.stdout + done.stderr).strip()[:400]}", file=sys.stderr)
    return done.returncode == 0


def random_sequences(store, group, version):
    text = subprocess.run([str(store / "generate"), group, str(torch_number(version)), "4242", "40", str(RANDOM_LENGTH)],
                          capture_output=True, text=True, check=True).stdout
    sequence = []
    for line in text.splitlines():
        if line.startswith("S ") and sequence:
            yield sequence
            sequence = []
        sequence.append(line)


def write_random(store, test, group, version):
    for lines in random_sequences(store, group, version):
        requests = [line for line in lines if line[0] not in "nk"]
        try:
            text = export(store, version, requests, "")
            has_oom = '"oom"' in text
        except Refused:
            continue
        if has_oom or "oom" not in group:
            if write_case(store, test, f"random-{group}", version, requests, f"random program, group {group}"):
                return
            (CASES / f"random-{group}-{version}.jsonl").unlink()
    print(f"random-{group}-{version}: no program fits", file=sys.stderr)


def main():
    store, test = pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2])
    failed = 0
    for name, versions, why, lines in regressions():
        for version in versions:
            failed += not write_case(store, test, name, version, lines, why)
    for version in RANDOM_VERSIONS:
        for group in RANDOM_GROUPS:
            write_random(store, test, group, version)
    for group in OLD_GROUPS:
        write_random(store, test, group, "2.0.1")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
