#!/usr/bin/env python3
"""Fetches a published torch wheel and keeps only what the oracle needs: libc10, libc10_cuda and the headers.

Usage: fetch.py STORE VERSION...   Places STORE/VERSION/{lib,include,wheel.json}; a version that is there is not fetched again.
Also places STORE/cuda-NN/include, the headers of the CUDA runtime that the wheel was built with. Needs pip and a package index.
"""
import json
import pathlib
import re
import shutil
import subprocess
import sys
import zipfile

# The first of these that has a wheel is taken: the version of Python does not matter to libc10_cuda.
PYTHONS = ("3.11", "3.10", "3.12", "3.9")
KEEP = re.compile(r"torch/(lib/(libc10|libc10_cuda)\.so$|include/(c10|torch/headeronly)/.)|torch-[^/]*/METADATA$")
CUDA_PACKAGES = {"11": "nvidia-cuda-runtime-cu11", "12": "nvidia-cuda-runtime-cu12", "13": "nvidia-cuda-runtime"}
# From CUDA 13 on the compiler's headers, which the runtime's include, are a package of their own.
CUDA_EXTRA = {"11": [], "12": [], "13": ["nvidia-cuda-crt", "nvidia-cuda-nvcc"]}


def download(requirement, folder, pythons=PYTHONS):
    """The path of the downloaded wheel for the first version of Python that has one; raises when none has."""
    folder.mkdir(parents=True, exist_ok=True)
    for python in pythons:
        done = subprocess.run(
            [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-cache-dir", "--only-binary=:all:",
             "--python-version", python, "--platform", "manylinux1_x86_64", "--platform", "manylinux2014_x86_64",
             "--platform", "manylinux_2_28_x86_64", "--platform", "manylinux_2_27_x86_64", requirement, "-d", str(folder)],
            capture_output=True, text=True)
        wheels = list(folder.glob("*.whl"))
        if done.returncode == 0 and wheels:
            return wheels[0]
    raise RuntimeError(f"{requirement}: no wheel: {done.stderr.strip()[-300:]}")


def extract(wheel, target):
    metadata = ""
    with zipfile.ZipFile(wheel) as archive:
        for name in archive.namelist():
            if not KEEP.match(name) or name.endswith("/"):
                continue
            if name.endswith("METADATA"):
                metadata = archive.read(name).decode()
                continue
            place = target / pathlib.PurePosixPath(name).relative_to("torch")
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(archive.read(name))
    return metadata


def needed(library):
    text = subprocess.run(["readelf", "-d", str(library)], capture_output=True, text=True, check=True).stdout
    return re.findall(r"\(NEEDED\).*\[(.*)\]", text)


def fetch_torch(store, version):
    target = store / version
    if (target / "wheel.json").exists():
        return json.loads((target / "wheel.json").read_text())
    folder = store / f"download-{version}"
    wheel = download(f"torch=={version}", folder)
    extract(wheel, target)
    libraries = needed(target / "lib" / "libc10_cuda.so")
    runtime = next(name for name in libraries if name.startswith("libcudart"))
    about = {"version": version, "wheel": wheel.name, "needed": libraries, "runtime": runtime,
             "cuda": re.search(r"\.so\.(\d+)", runtime).group(1)}
    (target / "wheel.json").write_text(json.dumps(about, indent=1) + "\n")
    shutil.rmtree(folder)
    return about


def fetch_cuda(store, major):
    target = store / f"cuda-{major}"
    if (target / "done").exists():
        return
    for package in [CUDA_PACKAGES[major]] + CUDA_EXTRA[major]:
        folder = store / f"download-{package}"
        try:
            wheel = download(package, folder)
        except RuntimeError as error:
            print(f"  {error}", file=sys.stderr)
            continue
        with zipfile.ZipFile(wheel) as archive:
            for name in archive.namelist():
                at = name.find("/include/")
                if at >= 0 and not name.endswith("/"):
                    place = target / name[at + 1:]
                    place.parent.mkdir(parents=True, exist_ok=True)
                    place.write_bytes(archive.read(name))
        shutil.rmtree(folder)
    (target / "done").write_text("")


def main():
    store = pathlib.Path(sys.argv[1])
    failed = 0
    for version in sys.argv[2:]:
        try:
            about = fetch_torch(store, version)
            fetch_cuda(store, about["cuda"])
            print(f"{version}: {about['wheel']} needs {' '.join(about['needed'])}", flush=True)
        except (RuntimeError, StopIteration, subprocess.CalledProcessError) as error:
            failed += 1
            print(f"{version}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
