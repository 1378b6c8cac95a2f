#!/usr/bin/env python3
"""Holds the tree against its list of rooms (the wo_room lines of parsers/, rules/, cuda_replay/ and analyzer/CMakeLists.txt).

usage: check_rooms.py SOURCE_DIR [BUILD_DIR COMPILER]

Every #include "..." of a room names a header of that room or of a room that it may see; with a build folder, also shows that the build
enforces it: in each room a header that it may not see does not compile, and one that it may see does."""
import re
import subprocess
import sys
from pathlib import Path

PARTS = ("parsers", "rules", "cuda_replay", "analyzer")
ROOM = re.compile(r"^wo_room\((\S+?)(?: SEES ([^)]*?))?(?: PROGRAMS [^)]*?)?(?: KNOT ([^)]*))?\)", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)


def read_rooms(source):
    """{room: set of rooms whose headers it may include, itself among them}, in the order of the lists."""
    rooms, closed = {}, {}
    for part in PARTS:
        for name, sees, knots in ROOM.findall((source / part / "CMakeLists.txt").read_text()):
            closed[name] = {name}.union(*(closed[other] for other in sees.split()))
            rooms[name] = closed[name] | set(knots.split())
    return rooms


def files_of(source, room):
    return sorted(path for path in (source / room).iterdir() if path.suffix in (".c", ".h", ".def"))


def wrong_includes(source, rooms):
    for room, seen in rooms.items():
        for path in files_of(source, room):
            for included in INCLUDE.findall(path.read_text()):
                if included.rpartition("/")[0] not in seen:
                    yield f"{path.relative_to(source)}: includes {included}, which {room} may not see"


def homeless(source, rooms):
    """Source files in a folder that no list names."""
    for part in PARTS:
        for path in sorted((source / part).rglob("*.[ch]")):
            folder = str(path.parent.relative_to(source))
            if folder not in rooms and path.name != "main.c":
                yield f"{path.relative_to(source)}: {folder} is in no list of rooms"


def compiles(view, header, compiler):
    command = [compiler, "-std=c17", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-I", ".", "-fsyntax-only", "-x", "c", "-"]
    return subprocess.run(command, cwd=view, input=f'#include "{header}"\n', text=True, capture_output=True).returncode == 0


def unenforced(source, rooms, build, compiler):
    """One header of each room that a room may not see, and one that it may."""
    for room, seen in rooms.items():
        view = build / "rooms" / ("room_" + room.replace("/", "_"))
        own = [path for path in files_of(source, room) if path.suffix == ".h"]
        if own and not compiles(view, own[0].relative_to(source), compiler):
            yield f"{own[0].relative_to(source)} cannot be included from its own room"
        for other in rooms:
            headers = [path for path in files_of(source, other) if path.suffix == ".h"]
            if other not in seen and headers and (view / headers[0].relative_to(source)).exists():
                yield f"{headers[0].relative_to(source)} can be included from {room}"
        hidden = [path for other in rooms if other not in seen for path in files_of(source, other) if path.suffix == ".h"]
        if hidden and compiles(view, hidden[-1].relative_to(source), compiler):
            yield f"{hidden[-1].relative_to(source)} can be included from {room}"


def main():
    source = Path(sys.argv[1])
    rooms = read_rooms(source)
    complaints = [*wrong_includes(source, rooms), *homeless(source, rooms)]
    if len(sys.argv) > 3:
        complaints += unenforced(source, rooms, Path(sys.argv[2]), sys.argv[3])
    for complaint in complaints:
        print("rooms:", complaint)
    if complaints:
        return 1
    print(f"rooms: every include of {len(rooms)} rooms points the right way")
    return 0


if __name__ == "__main__":
    sys.exit(main())
