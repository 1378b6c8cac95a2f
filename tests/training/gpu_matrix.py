#!/usr/bin/env python3
"""The runs of tests/gpu/measure.py over the stub libraries, told by tests/gpu/compare.py; no kernel runs, and nothing is a result of a GPU.

usage: gpu_matrix.py WHYOOM SCRATCH    writes SCRATCH/stub.json and SCRATCH/stub.md; started by `run --gpu-matrix`, which sets the libraries
"""
import json
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(os.path.dirname(HERE), "gpu"))
import compare  # noqa: E402
import measure  # noqa: E402

NO_LIMIT_S = 86400


def main():
    whyoom, scratch = map(os.path.abspath, sys.argv[1:3])
    results = os.path.join(scratch, "results")
    os.makedirs(results, exist_ok=True)
    bench = measure.Bench(whyoom, results, scratch, NO_LIMIT_S)
    for step in (measure.train_first, measure.train_all, measure.train_into_failure, measure.prove_whole_way, measure.predict_all):
        step(bench)
    bench.raw["not_run"] += ["replays on a GPU", "nvidia-smi dmon"]
    facts = bench.raw["runs"][0]["run"]
    version = subprocess.run([whyoom, "version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    bench.raw.update(whyoom=version, gpu="Stub CUDA runtime: no kernel ran, no GPU", torch=facts["torch"], driver=None)
    result = compare.compare(bench.raw)
    with open(os.path.join(scratch, "stub.json"), "w", encoding="utf-8") as file:
        json.dump(result, file, indent=1)
    with open(os.path.join(scratch, "stub.md"), "w", encoding="utf-8") as file:
        file.write(compare.page(result).replace("Made by `tests/gpu/run`.", "Made by `tests/training/run --gpu-matrix`."))
    return 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
