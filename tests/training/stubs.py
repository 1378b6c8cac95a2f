#!/usr/bin/env python3
"""Builds stub libraries for everything of CUDA that an unpacked torch wheel needs: nothing is computed, and no GPU is there.

Usage: stubs.py STORE VERSION...   Places STORE/VERSION/stubs/*.so.N, to be named in LD_LIBRARY_PATH.

Which libraries and which names are read off the wheel's own libraries. What needs a meaning is written by hand (stub_*.c); every other name returns 0,
which all of these libraries read as success, and a name that creates something also gives back a handle.
"""
import json
import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
sys.path.insert(0, str(ROOT / "tests" / "oracle"))
import build  # noqa: E402
import fetch  # noqa: E402

CUDA_LIBRARY = re.compile(r"lib(cu|nv|nccl)")
# Libraries without symbol versions: whose a name is.
PREFIXES = (("nccl", "libnccl"), ("curand", "libcurand"), ("cusparseLt", "libcusparseLt"), ("cuFile", "libcufile"), ("nvshmem", "libnvshmem"),
            ("nvtx", "libnvToolsExt"), ("cupti", "libcupti"), ("nvrtc", "libnvrtc"), ("nvJitLink", "libnvJitLink"), ("cu", "libcuda."))
SOURCES = {"libcudart": "stub_cudart.c", "libcuda": "stub_cuda.c", "libcublas": "stub_cublas.c", "libcublasLt": "stub_cublas.c",
           "libcudnn": "stub_cudnn.c"}


def succeed_all(names, target):
    """A C file in which each of the names returns success; one that creates gives a handle through its first parameter."""
    lines = ["/* Names without a meaning here. */", "static long handle[64];"]
    for name in sorted(names):
        creates = "Create" in name and "Backend" not in name
        body = "*first = handle; return 0;" if creates else "return 0;"
        lines.append(f"long {name}(void **first);\nlong {name}(void **first) {{ {body} }}")
    target.write_text("\n".join(lines) + "\n")


def wanted_names(libraries):
    """For each CUDA library that these need, the names that they want of it and the version of these names, if any."""
    needed, names = set(), set()
    for library in libraries:
        needed |= {name for name in fetch.needed(library) if CUDA_LIBRARY.match(name)}
        names |= set(re.findall(r" [Uw] (\S+)", build.shell("nm", "-D", "--undefined-only", "--with-symbol-versions", library)))
    wanted, versions = {name: set() for name in needed}, {}
    for name in names:
        plain, _, version = name.partition("@")
        start = next((start for prefix, start in PREFIXES if plain.startswith(prefix)), None)
        for library in needed:
            if library == version or (version not in needed and start and library.startswith(start)):
                wanted[library].add(plain)
                versions[library] = version or versions.get(library)
    return wanted, versions


def build_all(store, version):
    base = store / version
    about = json.loads((base / "wheel.json").read_text())
    out = base / "stubs"
    out.mkdir(exist_ok=True)
    cuda = store / f"cuda-{about['cuda']}" / "include"
    libraries = sorted((base / "site" / "torch" / "lib").glob("lib*.so"))
    # Packages beside torch (tests/accuracy): those of their libraries that are built for this runtime.
    libraries += [library for library in sorted((base / "extra").glob("*/*.so")) if about["runtime"] in fetch.needed(library)]
    wanted, versions = wanted_names(libraries)
    allocator = (base / "site" / "torch" / "lib" / "libc10_cuda.so").read_bytes()
    wanted["libcuda.so.1"] = wanted.get("libcuda.so.1", set()) | {name.decode() for name in build.DRIVER_NAME.findall(allocator)}
    wanted["libnvidia-ml.so.1"] = {name.decode() for name in build.MANAGEMENT_NAME.findall(allocator)}
    # The driver stands on the card of the runtime, which is thus the first.
    for soname in sorted(wanted, key=lambda name: not name.startswith("libcudart")):
        source = HERE / SOURCES.get(soname.split(".")[0], "stub_empty.c")
        if soname.startswith("libnvidia-ml"):
            source = build.HERE / "stub_nvml.c"
        links = ["-ldl"] + ([f"-L{out}", f"-l:{about['runtime']}"] if soname.startswith("libcuda.") else [])
        build.build_stub(source, soname, wanted[soname], cuda, out, versions.get(soname), succeed_all, links)
    return sorted(wanted)


def main():
    store = pathlib.Path(sys.argv[1])
    for version in sys.argv[2:]:
        print(f"{version}: " + " ".join(build_all(store, version)), flush=True)


if __name__ == "__main__":
    main()

# SPDX-License-Identifier: Apache-2.0
