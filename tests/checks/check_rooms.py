#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the tree against its list of rooms: the wo_room lines of parsers/, rules/, cuda_replay/ and analyzer/CMakeLists.txt.

usage: check_rooms.py SOURCE_DIR [BUILD_DIR COMPILER]     check
       check_rooms.py SOURCE_DIR --write                  write the picture into ARCHITECTURE.md

Checks, all of which name what is wrong:
  includes    every #include "..." names a header of the same room or of a room that it may see
  flows       only BOTH_FLOWS see the analysis and the replay
  folders     every source file is in a room, no folder of the tree holds more than FILES_MOST files, and no room is a KNOT
  names       a header's guard comes from its name; names of headers and of public types are unique
  picture     the rooms and arrows in ARCHITECTURE.md are those of the include graph
With a build folder, also
  views       a header that a room may not see does not compile in it; one that it may see does
  calls       calls go where includes may go, and no circle of calls joins files but those of MACHINES
  abilities   only the rooms of ABILITIES reach the environment, the clock, the standard streams and the exit"""
import re
import subprocess
import sys
from pathlib import Path

PARTS = ("parsers", "rules", "cuda_replay", "analyzer")
FILES_MOST = 25
# Folders of data, where a name is a case and not a place to look for code.
DATA = ("tests/fuzz/corpus", "tests/golden", "tests/oracle/cases", "tests/training/cases", "tests/recordings", "samples", "tests/record")
BEGIN, END = "<!-- rooms: made by tests/checks/check_rooms.py -->", "<!-- rooms: end -->"
ROOM = re.compile(r"^wo_room\((?P<name>\S+?)(?:\s+SEES\s+(?P<sees>[^)\"]*?))?(?:\s+PROGRAMS\s+(?P<programs>[^)\"]*?))?"
                  r"(?:\s+KNOT\s+(?P<knots>[^)\"]*?))?(?:\s+ABOUT\s+\"(?P<about>[^\"]*)\")?\s*\)", re.M)
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"', re.M)

# The rooms where the flows meet; beside them only main.c sees both.
BOTH_FLOWS = ("analyzer/joined", "analyzer/library")
# One machine in several files: its files may call each other in a circle.
MACHINES = (
    "cuda_replay/allocator",  # PyTorch's caching allocator
    "cuda_replay/recording/snapshot",  # the pickle machine
    "rules/language",  # the parser of expressions
)
# What a room may do to the process, and which rooms may: symbols of the C library.
ABILITIES = {
    "the environment": ({"getenv", "secure_getenv", "setenv", "unsetenv", "putenv", "environ", "__environ"}, {"cuda_replay/record", "analyzer/terminal"}),
    "the clock": ({"time", "clock_gettime", "clock", "gettimeofday", "localtime", "localtime_r", "gmtime", "gmtime_r"}, {"analyzer/library"}),
    "the locale": ({"setlocale", "newlocale", "uselocale", "localeconv"}, {"analyzer/library"}),
    "the standard streams": ({"stdout", "stderr", "stdin", "printf", "vprintf", "puts", "putchar", "perror", "__printf_chk"}, set()),
    "signals and the terminal": ({"signal", "sigaction", "isatty", "ioctl"}, {"analyzer/terminal"}),
    "the exit": ({"exit", "_exit", "_Exit", "quick_exit", "abort"}, {"analyzer/terminal"}),
    "other programs": ({"system", "popen", "fork", "vfork", "posix_spawn", "execv", "execvp", "execve", "execl", "execlp"},
                       {"cuda_replay/record", "cuda_replay/helper", "analyzer/live", "analyzer/terminal"}),
    "libraries at run time": ({"dlopen", "dlmopen"}, {"cuda_replay/device"}),
    "the sandbox": ({"prctl", "syscall", "seccomp"}, {"parsers/base/command"}),
    "threads": ({"pthread_create", "thrd_create"}, {"analyzer/scan"}),
    "the network": ({"socket", "connect", "bind", "listen", "getaddrinfo", "gethostbyname"}, set()),
    "files": ({"fopen", "freopen", "open", "openat", "opendir", "scandir", "mkstemp", "mkdtemp"},
              {"parsers/base", "parsers/base/input", "rules/files", "analyzer/archive", "analyzer/scan", "analyzer/command",
               "analyzer/patch", "analyzer/model"}),
    "changes of files": ({"creat", "write", "pwrite", "writev", "fwrite", "fputs", "rename", "renameat", "link", "linkat", "symlink",
                          "unlink", "remove", "truncate", "ftruncate", "chmod", "fchmod", "chown", "fchown", "lchown"},
                         {"parsers/base", "parsers/base/input", "analyzer/live"}),
    "new folders": ({"mkdir", "mkdirat"}, {"analyzer/command", "cuda_replay/record"}),
}


class Room:
    def __init__(self, source, fields):
        self.name, self.about = fields["name"], fields["about"] or ""
        self.direct = (fields["sees"] or "").split()
        self.knots = (fields["knots"] or "").split()
        self.programs = (fields["programs"] or "").split()
        self.files = sorted(path for path in (source / self.name).iterdir() if path.suffix in (".c", ".h", ".def"))
        self.headers = [path for path in self.files if path.suffix == ".h"]
        self.seen = set()  # rooms whose headers it may include, itself among them


def read_rooms(source):
    """{name: Room}, in the order of the lists: what a room sees comes before it."""
    rooms = {}
    for part in PARTS:
        for match in ROOM.finditer((source / part / "CMakeLists.txt").read_text()):
            room = Room(source, match.groupdict())
            room.seen = {room.name}.union(*(rooms[other].seen for other in room.direct))
            rooms[room.name] = room
    return rooms


def includes(room):
    """(file, included path) of every include of ours."""
    return [(path, included) for path in room.files for included in INCLUDE.findall(path.read_text())]


def check_includes(source, rooms):
    for room in rooms.values():
        for path, included in includes(room):
            if included.rpartition("/")[0] not in room.seen:
                yield f"{path.relative_to(source)}: includes {included}, which {room.name} may not see"


def check_flows(rooms):
    """cuda_replay/ sees nothing above parsers/base, and of the rest only BOTH_FLOWS see it."""
    for room in rooms.values():
        is_replay = room.name.startswith("cuda_replay/")
        for other in sorted(room.seen):
            is_other_flow = other.startswith("cuda_replay/") != is_replay and not other.startswith("parsers/base")
            if is_other_flow and (is_replay or (room.name not in BOTH_FLOWS and other.startswith("cuda_replay/"))):
                yield f"{room.name}: sees {other}, which is of the other flow"


def check_folders(source, rooms):
    for room in rooms.values():
        if room.knots:
            yield f"{room.name}: KNOT {' '.join(room.knots)}: cut it"
        if not room.about:
            yield f"{room.name}: says nothing about itself (ABOUT)"
    for part in PARTS:
        for path in sorted((source / part).rglob("*.[ch]")):
            folder = str(path.parent.relative_to(source))
            if folder not in rooms and path.name != "main.c":
                yield f"{path.relative_to(source)}: {folder} is in no list of rooms"
    for folder in sorted({path.parent for top in (*PARTS, "tests", "docs") for path in (source / top).rglob("*") if path.is_file()}):
        name = str(folder.relative_to(source))
        count = sum(1 for path in folder.iterdir() if path.is_file() and not path.name.startswith(".") and path.suffix != ".pyc")
        if count > FILES_MOST and not name.startswith(DATA):
            yield f"{name}: {count} files, {FILES_MOST} at most"


def check_names(rooms):
    for room in rooms.values():
        for path in room.files:
            if re.search(r"__attribute__\s*\(\(\s*(con|de)structor", path.read_text()):
                yield f"{path}: a constructor; put it into a table that can be read"
    headers, types = {}, {}
    for room in rooms.values():
        for path in room.headers:
            text = path.read_text()
            guard = "WO_" + path.stem.upper() + "_H"
            if not re.search(rf"^#ifndef {guard}\n#define {guard}$", text, re.M) and path.name != "banned.h":
                yield f"{path}: its guard is not {guard}"
            if headers.setdefault(path.name, path) != path:
                yield f"{path}: {headers[path.name]} has the same name"
        for path in room.files:
            for kind, name in re.findall(r"^(struct|enum|union) (wo_\w+) \{", path.read_text(), re.M):
                if types.setdefault(name, path) != path:
                    yield f"{path}: {kind} {name} is also defined in {types[name]}"


# ---- The picture ----


def arrows(rooms):
    """{room: rooms whose headers it includes, without those that another of them leads to anyway}."""
    direct = {name: {included.rpartition("/")[0] for _, included in includes(room)} & set(rooms) - {name} for name, room in rooms.items()}
    reach = {}
    for name in rooms:
        reach[name] = direct[name].union(*(reach.get(other, set()) for other in direct[name]))
    return {name: sorted(other for other in direct[name] if not any(other in reach.get(third, ()) for third in direct[name] - {other}))
            for name in rooms}


def picture(rooms):
    lines = []
    drawn = arrows(rooms)
    for part in PARTS:
        names = [name for name in rooms if name.split("/")[0] == part]
        short = {name: name[len(part) + 1:] for name in names}
        wide = max(map(len, short.values()))
        lines += [f"{part}/"]
        for name in names:
            targets = [short.get(other, other) for other in drawn[name]]
            lines += [f"  {short[name]:{wide}} {len(rooms[name].files):3}  {'<- ' + ', '.join(targets) if targets else ''}".rstrip()]
        lines += [""]
    table = ["| room | its job |", "| --- | --- |"] + [f"| `{name}/` | {room.about} |" for name, room in rooms.items()]
    return "\n".join(["```", *lines[:-1], "```", "", *table])


def with_picture(source, rooms):
    text = (source / "ARCHITECTURE.md").read_text()
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    return text, f"{before}{BEGIN}\n{picture(rooms)}\n{END}{after}"


def check_picture(source, rooms):
    text, wanted = with_picture(source, rooms)
    if text != wanted:
        yield "ARCHITECTURE.md: the picture is not that of the include graph (write it with check_rooms.py . --write)"


# ---- What the build shows ----


def view_of(build, room):
    return build / "rooms" / ("room_" + room.name.replace("/", "_"))


def compiles(view, header, compiler):
    command = [compiler, "-std=c17", "-D_POSIX_C_SOURCE=200809L", "-D_DEFAULT_SOURCE", "-I", ".", "-fsyntax-only", "-x", "c", "-"]
    return subprocess.run(command, cwd=view, input=f'#include "{header}"\n', text=True, capture_output=True).returncode == 0


def check_views(source, rooms, build, compiler):
    for room in rooms.values():
        view = view_of(build, room)
        if room.headers and not compiles(view, room.headers[0].relative_to(source), compiler):
            yield f"{room.headers[0].relative_to(source)} cannot be included from its own room"
        hidden = [path.relative_to(source) for other in rooms.values() if other.name not in room.seen for path in other.headers]
        for path in hidden:
            if (view / path).exists():
                yield f"{path} can be included from {room.name}"
        if hidden and compiles(view, hidden[-1], compiler):
            yield f"{hidden[-1]} can be included from {room.name}"


def symbols(source, rooms, build):
    """({symbol: file that defines it}, {file: symbols that it needs}), files relative to the source folder."""
    defined, needed, names = {}, {}, {}
    for room in rooms.values():
        folder = build / room.name.split("/")[0] / "CMakeFiles" / ("room_" + room.name.replace("/", "_") + ".dir")
        for path in (path for path in room.files if path.suffix == ".c"):
            found = list(folder.glob("**/" + path.name + ".o"))
            if len(found) == 1:
                names[str(found[0])] = str(path.relative_to(source))
    listing = subprocess.run(["nm", "--print-file-name", *names], text=True, capture_output=True, check=True).stdout if names else ""
    for line in listing.splitlines():
        path, _, row = line.partition(":")
        kind, symbol = row.split()[-2:]
        symbol = symbol.partition("@")[0]
        if kind in "TDRBVWC":
            defined[symbol] = names[path]
        elif kind == "U":
            needed.setdefault(names[path], set()).add(symbol)
    return defined, needed


def circles(calls):
    """Groups of files that reach each other (Tarjan)."""
    index, low, stack, groups = {}, {}, [], []

    def visit(name):
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(calls.get(name, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == index[name]:
            at = stack.index(name)
            if len(stack) - at > 1:
                groups.append(sorted(stack[at:]))
            del stack[at:]

    for name in sorted(calls):
        if name not in index:
            visit(name)
    return groups


def check_calls(source, rooms, build):
    defined, needed = symbols(source, rooms, build)
    if not needed:
        yield f"{build}: no object file of a room"
    for room in rooms.values():
        for path in room.files:
            name = str(path.relative_to(source))
            if path.suffix == ".c" and path.name not in room.programs and name not in needed and name not in defined.values():
                yield f"{name}: {build} has no object file of it"
    calls = {}
    for name, wanted in needed.items():
        for symbol in sorted(wanted & defined.keys()):
            target = defined[symbol]
            calls.setdefault(name, set()).add(target)
            if target.rpartition("/")[0] not in rooms[name.rpartition("/")[0]].seen:
                yield f"{name}: calls {symbol} of {target}, a room that it may not see"
    for group in circles(calls):
        if len({name.rpartition("/")[0] for name in group}) > 1 or group[0].rpartition("/")[0] not in MACHINES:
            yield f"call each other in a circle: {' '.join(group)}"
    for what, (reserved, allowed) in ABILITIES.items():
        for name, wanted in needed.items():
            if wanted & reserved and name.rpartition("/")[0] not in allowed:
                yield f"{name}: uses {what}: {' '.join(sorted(wanted & reserved))}"


def main():
    source = Path(sys.argv[1])
    rooms = read_rooms(source)
    if sys.argv[2:] == ["--write"]:
        (source / "ARCHITECTURE.md").write_text(with_picture(source, rooms)[1])
        return 0
    complaints = [*check_includes(source, rooms), *check_flows(rooms), *check_folders(source, rooms), *check_names(rooms), *check_picture(source, rooms)]
    if len(sys.argv) > 3:
        build = Path(sys.argv[2])
        complaints += [*check_views(source, rooms, build, sys.argv[3]), *check_calls(source, rooms, build)]
    for complaint in complaints:
        print("rooms:", complaint)
    if complaints:
        return 1
    print(f"rooms: includes, names, calls and abilities of {len(rooms)} rooms are as listed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
