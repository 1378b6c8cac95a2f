# SPDX-License-Identifier: Apache-2.0
"""The program `whyoom`: where it is, and how it is asked."""
import contextlib
import os
import selectors
import subprocess
import sys
import time
from pathlib import Path
from typing import Dict, List, NoReturn, Optional

from whyoom._question import Answer, Error, Limits, Question, half_time

_CHUNK_BYTES = 1 << 16
_MESSAGES_LIMIT_BYTES = 1 << 20  # of the program's standard error; the rest is read and dropped


def bundled_path() -> Path:
    """The place of the program inside the wheel, whether or not one is there."""
    return Path(__file__).resolve().parent / "_bin" / "whyoom"


def find() -> str:
    """The path of the program: the one inside the wheel, else $WHYOOM, else the first one of PATH."""
    bundled = bundled_path()
    if _is_program(bundled):
        return str(bundled)
    named = os.environ.get("WHYOOM")
    if named:
        if not _is_program(Path(named)):
            raise Error(f"$WHYOOM is no program: {named}")
        return os.path.abspath(named)
    for folder in os.environ.get("PATH", os.defpath).split(os.pathsep):
        path = Path(folder, "whyoom")
        # Only absolute folders: the present one may be anybody's. The script of this package would call itself for ever.
        if os.path.isabs(folder) and _is_program(path) and not _is_script(path):
            return str(path)
    raise Error("the program whyoom was not found: this package holds none, $WHYOOM is not set, and none is in PATH")


def _is_program(path: Path) -> bool:
    return path.is_file() and os.access(path, os.X_OK)


def _is_script(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(2) == b"#!"
    except OSError:
        return False


def _environment() -> Dict[str, str]:
    environment = dict(os.environ, NO_COLOR="1")
    environment.pop("FORCE_COLOR", None)
    return environment


def _words(question: Question) -> List[str]:
    """The arguments: everything behind "--" is a path, and not the name of a command."""
    half = half_time(question)
    command = [] if question.command == "diagnose" else [question.command]
    limit = [] if half is None else [f"--time-limit={max(1, int(half))}"]
    return [*command, *limit, *question.options, "--", *(question.paths if question.text is None else ("-",))]


def ask(question: Question, path: str) -> Answer:
    """Runs the program at `path`, with the text on its standard input. Error where it cannot run, or needs more than the limits."""
    try:
        # With /dev/null the program does not wait for a terminal or a pipe of this process.
        process = subprocess.Popen(
            [path, *_words(question)],
            stdin=subprocess.DEVNULL if question.text is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=question.folder,
            env=_environment(),
        )
    except OSError as error:
        raise Error(f"{path} cannot be run: {error}") from error
    try:
        output, messages = _talk(process, question.text or b"", question.limits)
        status = process.wait()
    except BaseException:
        process.kill()
        process.wait()
        raise
    finally:
        for pipe in (process.stdin, process.stdout, process.stderr):
            if pipe is not None:
                with contextlib.suppress(OSError):
                    pipe.close()
    said = messages.decode("utf-8", "replace").strip()
    if status < 0:
        raise Error(f"{path} was ended by signal {-status}" + (f": {said}" if said else ""), status)
    return Answer(output.decode("utf-8", "replace"), said, status)


def _talk(process: "subprocess.Popen[bytes]", text: bytes, limits: Limits) -> "tuple[bytes, bytes]":
    """Writes the text and reads both streams until they end, all at once, so that no side waits for the other."""
    end = None if limits.time_seconds is None else time.monotonic() + limits.time_seconds
    read: Dict[str, List[bytes]] = {"output": [], "messages": []}
    sizes_bytes = {"output": 0, "messages": 0}
    rest = memoryview(text)
    with selectors.DefaultSelector() as selector:
        for pipe, name in ((process.stdout, "output"), (process.stderr, "messages")):
            assert pipe is not None
            selector.register(pipe, selectors.EVENT_READ, name)
        if process.stdin is not None:
            os.set_blocking(process.stdin.fileno(), False)
            selector.register(process.stdin, selectors.EVENT_WRITE, "text")
        while selector.get_map():
            left = None if end is None else end - time.monotonic()
            if left is not None and left <= 0:
                raise Error(f"there was no answer within {limits.time_seconds} seconds")
            for key, _ in selector.select(None if left is None else min(86400.0, left)):
                if key.data == "text":
                    with contextlib.suppress(BlockingIOError):
                        try:
                            rest = rest[os.write(key.fd, rest[:_CHUNK_BYTES]) :]
                        except BrokenPipeError:
                            rest = rest[:0]
                    if not rest:
                        selector.unregister(key.fileobj)
                        assert process.stdin is not None
                        process.stdin.close()
                    continue
                chunk = os.read(key.fd, _CHUNK_BYTES)
                if not chunk:
                    selector.unregister(key.fileobj)
                    continue
                sizes_bytes[key.data] += len(chunk)
                if key.data == "output" and limits.size_bytes is not None and sizes_bytes["output"] > limits.size_bytes:
                    raise Error(f"the answer has more than {limits.size_bytes} bytes")
                if key.data == "output" or sizes_bytes["messages"] <= _MESSAGES_LIMIT_BYTES:
                    read[key.data].append(chunk)
    return b"".join(read["output"]), b"".join(read["messages"])


def main() -> NoReturn:
    """The command `whyoom`: this process becomes the program, with the same arguments."""
    try:
        path = find()
        os.execv(path, [path, *sys.argv[1:]])
    except (Error, OSError) as error:
        print(f"whyoom: {error}", file=sys.stderr)
        sys.exit(2)
