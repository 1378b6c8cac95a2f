#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Runs every command that the documents, the help texts and the manual show, and compares the output that they show behind it.

usage: run.py SOURCE WHYOOM BUILD [--self-test] [-v]

A block of a page is a copy of the stage (stage.py) in which its commands run one after the other; the pages of docs/guide are one
block each, since their reader goes on where the last block ended. An example is wrong if its exit code is 2 or that of a command that
is not there, if standard error complains of a word or a file, or if it shows other output than what is printed now (a line "..." is
any number of lines). Where a page shows a complaint or, by `echo $?`, an exit code, that one is right.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

import find
import stage as stages

# Commands that are not run, and what runs them instead. An entry that no text has is a failure.
SKIPPED = {
    "whyoom replay --on gpu --capacity 30GiB snapshot.pickle": "needs a GPU: tests/gpu/run, and test_gpu_process with a stand-in",
    ".ci/setup test": "installs packages",
    ".ci/setup release": "installs packages",
    ".ci/demo": "installs packages and builds",
    ".ci/build release": "builds: tests/portability and packaging/check",
    ".ci/build release -DWHYOOM_BUNDLED=ON": "builds: the test bundled",
    ".ci/test": "builds and runs all tests, this one too",
    ".ci/run": "builds and runs all tests, this one too",
    ".ci/release": "builds a C library: the test release",
    ".ci/release --sources ~/sources": "builds a C library: the test release",
    ".ci/release --sources ~/sources --check": "builds a C library: the test release",
    "packaging/site/build build/release/whyoom": "needs MkDocs: the test site",
    "python -m http.server --directory build/site 8000": "serves until it is ended",
    "cmake --preset dev && cmake --build --preset dev && ctest --preset dev": "builds and runs all tests, this one too",
}
COMPLAINTS = re.compile(r"unknown|usage:|no such file|cannot be opened|not found|permission denied|syntax error", re.IGNORECASE)
RIGHT_CODES = (0, 1, 3)  # fits or is well, does not or is not, is not proven
SECONDS = 50             # for one block


def is_shown(shown, printed):
    """Whether the lines shown are the lines printed, where "..." stands for any number of them."""
    pieces, part = [], []
    for line in shown:
        if line.strip() == "...":
            pieces.append(part)
            part = []
        else:
            part.append(line)
    pieces.append(part)
    if len(pieces) == 1:
        return pieces[0] == printed
    if printed[:len(pieces[0])] != pieces[0]:
        return False
    at = len(pieces[0])
    for piece in pieces[1:-1]:
        while at + len(piece) <= len(printed) and printed[at:at + len(piece)] != piece:
            at += 1
        if at + len(piece) > len(printed):
            return False
        at += len(piece)
    return not pieces[-1] or (len(printed) - at >= len(pieces[-1]) and printed[-len(pieces[-1]):] == pieces[-1])


def plain(command):
    """A command without the remark behind it, on one line."""
    return " ".join(re.sub(r"\s+#\s.*$", "", command.text.strip()).split())


def joined(blocks):
    """The blocks of a guide as one."""
    walks = {}
    for block in blocks:
        if not block.page.startswith(find.WALKS):
            yield block
        elif block.page in walks:
            walks[block.page].commands += block.commands
        else:
            walks[block.page] = block
    yield from walks.values()


def script_of(commands, work, stage):
    """One shell runs them all, so that its folder, variables and last exit code go from one to the next."""
    lines = ["set -o pipefail", "code=0"]
    for number, command in enumerate(commands):
        base = f"{work}/{number}"
        pathlib.Path(f"{base}.cmd").write_text(stages.placed(command.text, stage) + "\n", encoding="utf-8")
        lines.append(f'command=$(cat {base}.cmd); (exit $code); eval "$command" >{base}.out 2>{base}.err </dev/null; code=$?; echo $code >{base}.code')
    return "\n".join(lines) + "\n"


def shows_code(commands, number, code):
    """Whether the page says by `echo $?` that the command ends so."""
    after = commands[number + 1] if number + 1 < len(commands) else None
    return after is not None and plain(after) == "echo $?" and after.shown == [str(code)]


def wrong_in(command, code, out, err, is_code_shown):
    """The complaints about one example."""
    shown = list(command.shown or [])
    while shown and not shown[-1].strip():
        shown.pop()
    if code not in RIGHT_CODES and not is_code_shown:
        yield f"ends with {code}: {(err.splitlines() or ['(no message)'])[-1]}"
    for line in err.splitlines():
        if COMPLAINTS.search(line) and line not in shown:
            yield f"says: {line}"
    if command.shown is not None and not any(is_shown(shown, text.splitlines()) for text in (out, err + out, out + err)):
        yield "prints something else than is shown:\n" + "".join(f"    | {line}\n" for line in (out + err).splitlines()[:60])


def run_block(block, stage_of_all, folder):
    """(command, complaint) for each wrong example of a block."""
    with tempfile.TemporaryDirectory(dir=folder) as parent:
        stage, work = pathlib.Path(parent) / "stage", pathlib.Path(parent) / "work"
        work.mkdir()
        stage_of_all.copy(stage)
        commands = [command for command in block.commands if plain(command) not in SKIPPED]
        script = work / "script"
        script.write_text(script_of(commands, work, stage), encoding="utf-8")
        shell = subprocess.Popen(["bash", str(script)], cwd=stage, env=stage_of_all.environment(stage), stdin=subprocess.DEVNULL,
                                 start_new_session=True)
        try:
            shell.wait(SECONDS)
        except subprocess.TimeoutExpired:
            os.killpg(shell.pid, signal.SIGKILL)  # what it started, too
            shell.wait()
        for number, command in enumerate(commands):
            if not (work / f"{number}.code").exists():
                yield command, "did not end"
                return
            code = int((work / f"{number}.code").read_text(encoding="utf-8"))
            out, err = (stages.shortened((work / f"{number}.{name}").read_text(encoding="utf-8", errors="replace"), stage)
                        for name in ("out", "err"))
            for complaint in wrong_in(command, code, out, err, shows_code(commands, number, code)):
                yield command, complaint


def run_all(blocks, stage_of_all, folder):
    with concurrent.futures.ThreadPoolExecutor(min(os.cpu_count() or 1, 4)) as pool:
        return [wrong for of_block in pool.map(lambda block: list(run_block(block, stage_of_all, folder)), blocks) for wrong in of_block]


def self_test(stage_of_all, folder):
    """Wrong examples must be seen, and right ones must not."""
    assert is_shown(["a", "...", "c"], ["a", "b", "b", "c"]) and is_shown(["...", "b"], ["a", "b"]) and is_shown(["a", "..."], ["a"])
    assert not is_shown(["a", "...", "c"], ["a", "b"]) and not is_shown(["a", "b"], ["a", "c"]) and not is_shown(["...", "x", "..."], ["a"])
    assert not is_shown(["a", "...", "a"], ["a"])
    right = ("```\n$ cd samples/lora-7b-24g\n$ whyoom -q slurm-90817.err\n$ echo $?\n1\n$ whyoom --no-such-option x\n"
             "whyoom: unknown option --no-such-option (whyoom --help lists them; a file of that name: -- first)\n$ echo $?\n2\n```")
    wrong = {
        "a misspelled option": "```\nwhyoom --anonymise slurm-4711.err\n```",
        "an option behind a pipe": "```\ncat job.err | whyoom --jsn | cat\n```",
        "a file that is not there": "```\nwhyoom slurm-4712.err\n```",
        "other output": "```\n$ whyoom --format oneline samples/lora-7b-24g/slurm-90817.err\njob 1: all is well\n```",
        "output that lacks lines": "```\n$ whyoom explain reserved\nreserved memory\n```",
        "another exit code": "```\n$ whyoom -q job.err\n$ echo $?\n0\n```",
        "a command that does not end": "```\nwhyoom version; sleep 1000\n```",
        "a command that is not there": "```\nwhyoom version | no-such-command\n```",
    }
    global SECONDS
    SECONDS = 5
    for name, text in {"right": right, **wrong}.items():
        found = [complaint for block in find.of_page(name, text) for _, complaint in run_block(block, stage_of_all, folder)]
        print(f"{name}: {found or 'nothing'}")
        if bool(found) != (name != "right"):
            raise SystemExit(f"examples: the self-test: {name}: {found}")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.splitlines()[2].removeprefix("usage: "))
    for name in ("source", "whyoom", "build"):
        parser.add_argument(name, type=lambda text: pathlib.Path(text).resolve())
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("-v", "--verbose", action="store_true")
    given = parser.parse_args()
    if shutil.which("bash") is None:
        print("skipped: bash is not installed")
        sys.exit(77)
    with tempfile.TemporaryDirectory(prefix="whyoom-examples.") as folder:
        stage_of_all = stages.Stage(given.source, str(given.whyoom), pathlib.Path(folder) / "template")
        if given.self_test:
            self_test(stage_of_all, folder)
            return
        blocks = list(joined([*find.of_tree(given.source), *find.of_help(str(given.whyoom)), *find.of_manual(given.build)]))
        commands = [command for block in blocks for command in block.commands]
        if given.verbose:
            for command in commands:
                print(f"{command.page}:{command.line}: {shlex.quote(plain(command))}")
        wrong = run_all(blocks, stage_of_all, folder)
    for command, complaint in wrong:
        print(f"{command.page}:{command.line}: {plain(command)}\n  {complaint}")
    unused = set(SKIPPED) - {plain(command) for command in commands}
    for text in sorted(unused):
        print(f"examples: no text shows this any more, take it out of SKIPPED: {text}")
    skipped = sum(plain(command) in SKIPPED for command in commands)
    shown = sum(command.shown is not None for command in commands)
    pages = len({command.page for command in commands})
    print(f"examples: {len(commands)} commands of {pages} pages, {len(commands) - skipped} run, {shown} with the output that is shown, "
          f"{skipped} left out, {len(wrong)} complaints")
    if wrong or unused or len(commands) < 60 or shown < 3:
        sys.exit(1)


if __name__ == "__main__":
    main()
