# SPDX-License-Identifier: Apache-2.0
"""Puts the program that $WHYOOM_BINARY names, and the library that $WHYOOM_SHARED names, into the wheel, and gives the wheel the tag of
the systems that can run them.

static: it needs the kernel alone, no C library of the system. So it runs under any: glibc (manylinux) and musl (musllinux).
dynamically linked: it needs the libraries of the system where it was built. Such a wheel is for that system: linux, no manylinux.
Beside a static program may be its helper for a GPU (whyoom-gpu, or whyoom-gpu-0.1.0-linux-x86_64): it goes into the wheel, too.
a library: it is dynamically linked.
none of them: no program is in the wheel, any system can have it, and the package looks for a program that is installed already.
"""
import os
import struct
import sys
from typing import Any, Dict, List, Optional

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

MACHINES = {62: "x86_64", 183: "aarch64"}  # e_machine of ELF
PARTS = {"WHYOOM_BINARY": "whyoom/_bin/whyoom", "WHYOOM_SHARED": "whyoom/_bin/libwhyoom.so.0"}
PT_DYNAMIC, PT_INTERP, DT_NULL, DT_NEEDED = 2, 3, 0, 1


def platform_tag(path: str) -> str:
    """The platform part of the wheel's tag for a program."""
    with open(path, "rb") as file:
        content = file.read()
    if content[:6] != b"\x7fELF\x02\x01" or len(content) < 64:
        raise ValueError(f"{path} is no program of 64 bits for Linux")
    machine = MACHINES.get(struct.unpack_from("<H", content, 18)[0])
    if machine is None:
        raise ValueError(f"{path} is for a machine that no tag is known for")
    if is_dynamic(content):
        return f"linux_{machine}"
    return f"manylinux2014_{machine}.musllinux_1_1_{machine}"


def is_dynamic(content: bytes) -> bool:
    """Whether the program needs a loader or a library. A static one that can be placed anywhere (PIE) has neither."""
    (headers_at,) = struct.unpack_from("<Q", content, 32)
    size_bytes, count = struct.unpack_from("<HH", content, 54)
    for number in range(count):
        kind, _, at, _, _, length_bytes = struct.unpack_from("<IIQQQQ", content, headers_at + number * size_bytes)
        if kind == PT_INTERP:
            return True
        if kind == PT_DYNAMIC:
            for entry in range(at, at + length_bytes, 16):
                tag = struct.unpack_from("<q", content, entry)[0]
                if tag == DT_NEEDED:
                    return True
                if tag == DT_NULL:
                    break
    return False


def narrowest(tags: List[str]) -> str:
    """Of the tags of several parts the one of the systems that can run all of them."""
    if len({tag.endswith("x86_64") for tag in tags}) > 1:
        raise ValueError("the program and the library are for different machines")
    return min(tags)  # "linux" is before "manylinux"


def helper_of(path: str) -> Optional[str]:
    """The helper beside a static program, if there is one. Another program loads the driver itself."""
    folder, name = os.path.split(path)
    helper = os.path.join(folder, "whyoom-gpu" + name[len("whyoom"):])
    if not name.startswith("whyoom") or not os.path.isfile(helper):
        return None
    with open(path, "rb") as file:
        return None if is_dynamic(file.read()) else helper


class WhyoomBuildHook(BuildHookInterface):
    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: Dict[str, Any]) -> None:
        included = build_data["force_include"]
        for path in ("../../LICENSE", "../NOTICE"):
            # In a source distribution it is beside this file, and hatchling takes it by itself.
            name, above = os.path.basename(path), os.path.join(self.root, path)
            if os.path.isfile(above) and not os.path.isfile(os.path.join(self.root, name)):
                included[above] = f"whyoom-{self.metadata.version}.dist-info/licenses/{name}"
        parts = {place: os.path.abspath(os.environ[name]) for name, place in PARTS.items() if os.environ.get(name)}
        if not os.environ.get("WHYOOM_BINARY"):
            print("whyoom: $WHYOOM_BINARY is not set, the wheel holds no program", file=sys.stderr)
        if not parts:
            return
        for name, place in PARTS.items():
            if place in parts and not os.path.isfile(parts[place]):
                raise ValueError(f"${name} names {parts[place]}, which is no file")
        if version == "editable":
            raise ValueError("an editable install holds no program; set $WHYOOM in place of $WHYOOM_BINARY")
        build_data["tag"] = f"py3-none-{narrowest([platform_tag(path) for path in parts.values()])}"
        build_data["pure_python"] = False
        included.update({path: place for place, path in parts.items()})
        helper = helper_of(os.path.abspath(os.environ["WHYOOM_BINARY"])) if os.environ.get("WHYOOM_BINARY") else None
        if helper:
            included[helper] = "whyoom/_bin/whyoom-gpu"
