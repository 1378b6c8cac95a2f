#!/usr/bin/env python3
"""Builds the driver program and the stub libraries for one fetched torch wheel.

Usage: build.py STORE VERSION...   Places STORE/VERSION/run/{driver,libcudart.so.N,libcuda.so.1}.
"""
import json
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parent.parent
STAND_IN = ROOT / "tests" / "stand_in"
# Looked up by name in the driver library and asserted, yet never called by the allocator.
DRIVER_NAME = re.compile(rb"\x00(cu[A-Z][A-Za-z0-9_]+)(?=\x00)")
MANAGEMENT_NAME = re.compile(rb"\x00(nvml[A-Z][A-Za-z0-9_]+)(?=\x00)")


def shell(*command):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{command[0]} failed:\n{done.stderr[:4000]}")
    return done.stdout


def torch_number(version):
    major, minor = version.split(".")[:2]
    return int(major) * 100 + int(minor)


def defined_names(library):
    return set(re.findall(r" [TW] (\w+)", shell("nm", "-D", "--defined-only", library)))


def refuse_all(names, target):
    """A C file in which each of the names ends the program."""
    lines = ["/* Names that are looked up and never called. */", "#include <stdio.h>", "#include <stdlib.h>"]
    for name in sorted(names):
        lines.append(f'void {name}(void);\nvoid {name}(void) {{ fputs("the stand-in has no {name}\\n", stderr); abort(); }}')
    target.write_text("\n".join(lines) + "\n")


def build_stub(source, soname, wanted, cuda, out, versioned, write_rest=refuse_all, libraries=("-ldl",)):
    """One stub library: the source, then the names that it lacks. Symbols get the version `versioned`, where there is one."""
    flags = ["-shared", "-fPIC", "-O2", "-w", f"-I{ROOT}", f"-I{cuda}", f"-Wl,-soname,{soname}"]
    target = out / soname
    shell("gcc", *flags, source, "-o", target, *libraries)
    rest = out / f"{source.stem}_rest.c"
    write_rest(wanted - defined_names(target), rest)
    if versioned:
        script = out / f"{source.stem}.map"
        script.write_text(f"{versioned} {{ global: *; }};\n")
        flags.append(f"-Wl,--version-script={script}")
    shell("gcc", *flags, source, rest, "-o", target, *libraries)


def build(store, version):
    base = store / version
    about = json.loads((base / "wheel.json").read_text())
    out = base / "run"
    out.mkdir(exist_ok=True)
    cuda = store / f"cuda-{about['cuda']}" / "include"
    library = base / "lib" / "libc10_cuda.so"
    undefined = shell("nm", "-D", "--undefined-only", library)
    runtime_names = set(re.findall(r" U (cuda\w+)", undefined))
    driver_names = {name.decode() for name in DRIVER_NAME.findall(library.read_bytes())}
    build_stub(HERE / "stub_cudart.c", about["runtime"], runtime_names, cuda, out, versioned=about["runtime"])
    build_stub(HERE / "stub_cuda.c", "libcuda.so.1", driver_names, cuda, out, versioned=None)
    management_names = {name.decode() for name in MANAGEMENT_NAME.findall(library.read_bytes())}
    build_stub(HERE / "stub_nvml.c", "libnvidia-ml.so.1", management_names, cuda, out, versioned=None)
    header = (base / "include" / "c10" / "cuda" / "CUDACachingAllocator.h").read_text()
    core_header = base / "include" / "c10" / "core" / "CachingDeviceAllocator.h"
    core = core_header.read_text() if core_header.exists() else ""
    peer_header = base / "include" / "c10" / "cuda" / "PeerToPeerAccess.h"
    peers = peer_header.read_text() if peer_header.exists() else ""
    shell("gcc", "-c", "-O2", "-g", f"-I{ROOT}", STAND_IN / "standin.c", "-o", out / "standin.o")
    shell("g++", "-std=c++20" if torch_number(version) >= 210 else "-std=c++17", "-O2", "-w", f"-DWO_TORCH={torch_number(version)}",
          f"-DWO_MARKS_CAPTURES={int('markCaptureBegin' in header)}",
          f"-DWO_NAMES_POOLS={int('MempoolId_t mempool_;' in header + core)}",
          f"-DWO_HAS_PEER_CACHE={int('init_p2p_access_cache' in peers)}",
          f"-DWO_ASKS_PRIMARY_CONTEXT={int('setHasPrimaryContext' in shell('nm', '-D', library))}",
          f"-D_GLIBCXX_USE_CXX11_ABI={int('cxx11' in undefined)}", f"-I{ROOT}", f"-I{base / 'include'}", f"-I{cuda}",
          HERE / "driver.cpp", out / "standin.o", "-rdynamic", "-o", out / "driver", f"-L{base / 'lib'}", f"-L{out}", "-lc10_cuda",
          "-lc10", f"-l:{about['runtime']}", "-Wl,--no-as-needed", "-l:libcuda.so.1", "-l:libnvidia-ml.so.1", "-Wl,--allow-shlib-undefined", f"-Wl,-rpath,{base / 'lib'}:{out}", f"-Wl,-rpath-link,{out}",
          "-Wl,--disable-new-dtags")


def main():
    store = pathlib.Path(sys.argv[1])
    failed = 0
    for version in sys.argv[2:]:
        try:
            build(store, version)
            print(f"{version}: built", flush=True)
        except (RuntimeError, OSError) as error:
            failed += 1
            print(f"{version}: {error}", file=sys.stderr, flush=True)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
