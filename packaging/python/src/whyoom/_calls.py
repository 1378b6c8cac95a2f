# SPDX-License-Identifier: Apache-2.0
"""The questions that can be asked: diagnose, replay, budget."""
import os
import traceback
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type, TypeVar, Union

from whyoom._budget import Budget
from whyoom._diagnosis import Diagnosis
from whyoom._program import SIZE_LIMIT_BYTES, TIME_LIMIT_SECONDS, Error, Limits, path_argument
from whyoom._records import Call, Option, Report, objects_of, options_of
from whyoom._replay import Replay

Path = Union[str, "os.PathLike[str]"]
R = TypeVar("R", bound=Report)
_FORMS = ("--format", "--json", "--output", "--color", "--no-color", "--help", "--quiet")


def diagnose(
    paths_or_text: Union[Path, bytes, BaseException, Sequence[Path]],
    *,
    is_text: Optional[bool] = None,
    anonymize: bool = False,
    rules: Optional[Path] = None,
    time_limit_seconds: Optional[float] = TIME_LIMIT_SECONDS,
    size_limit_bytes: Optional[int] = SIZE_LIMIT_BYTES,
) -> Diagnosis:
    """Why a job failed, and what to change, from the files that it left behind or from the text of its log.

    A path, a sequence of paths, or the number of a job ("4711": its files in the present folder) are read by the program. Bytes and an
    exception are text. So is a str with a line break, and one with a blank that is no file; `is_text` decides where that is not meant.
    A log that takes longer than half the time is read no further, and is reported as far as it was read.
    """
    given, text = _inputs(paths_or_text, is_text)
    command = ["--time-limit", str(max(1, int(time_limit_seconds / 2)))] if time_limit_seconds is not None else []
    if anonymize:
        command.append("--anonymize")
    if rules is not None:
        command += ["--rules", path_argument(rules)]
    limits = Limits(time_limit_seconds, size_limit_bytes)
    found = _ask(Diagnosis, command, given, text, limits, "the files are those of several jobs; give the files of one")
    if text is not None and isinstance(paths_or_text, str) and is_text is None and not found.evidence and "\n" not in paths_or_text:
        raise Error(f"{paths_or_text!r}: no such file, and as a text it says nothing of a job (is_text=True reads it all the same)")
    return found


def replay(
    path: Union[Path, Sequence[Path]],
    *,
    time_limit_seconds: Optional[float] = TIME_LIMIT_SECONDS,
    size_limit_bytes: Optional[int] = SIZE_LIMIT_BYTES,
    **options: Option,
) -> Replay:
    """Runs a recording again on the model of PyTorch's allocator.

    Options are those of `whyoom replay --help`: sweep=True, capacity="79.1GiB", set={"expandable_segments": True},
    scale={"micro_batch": (32, 16)}, transform=["checkpoint"], device=1, from_=1000. A recording of several devices needs `device`.
    """
    words = options_of(options, (*_FORMS, "--diff"))
    limits = Limits(time_limit_seconds, size_limit_bytes)
    return _ask(Replay, ["replay"], words + _paths(path), None, limits, "there are several recordings or devices; give one, with device=0")


def budget(
    *paths: Path,
    time_limit_seconds: Optional[float] = TIME_LIMIT_SECONDS,
    size_limit_bytes: Optional[int] = SIZE_LIMIT_BYTES,
    **options: Option,
) -> Budget:
    """The memory that one card must hold, by component, from options, a known model's name or a job's files.

    Options are those of `whyoom budget --help`: model="llama-3.1-8b", dtype="bf16", micro_batch=2, master_weights=True,
    capacity="47.4GiB" (a number is bytes), frozen=["reference=7B:bf16"].
    """
    words = options_of(options, _FORMS)
    return _ask(Budget, ["budget"], words + _paths(paths), None, Limits(time_limit_seconds, size_limit_bytes), "")


def _paths(given: Union[Path, Sequence[Path]]) -> List[str]:
    several = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    return [path_argument(path) for path in several]


def _inputs(given: Any, is_text: Optional[bool]) -> Tuple[List[str], Optional[bytes]]:
    """The arguments of the program, and the text for its standard input."""
    if isinstance(given, BaseException):
        given = "".join(traceback.format_exception(type(given), given, given.__traceback__))
        is_text = True
    if isinstance(given, (bytes, bytearray)):
        return ["-"], bytes(given)
    if isinstance(given, str):
        if is_text is None:
            is_text = "\n" in given or (any(letter.isspace() for letter in given) and not _exists(given))
        if is_text:
            return ["-"], given.encode("utf-8", "surrogateescape" if _is_escaped(given) else "replace")
    paths = _paths(given)
    if not paths or "" in paths:
        raise Error("no path is given")
    return paths, None


def _exists(path: str) -> bool:
    try:
        return os.path.lexists(path)
    except ValueError:  # a NUL
        return False


def _is_escaped(text: str) -> bool:
    """Whether bytes that are no UTF-8 were read with errors="surrogateescape": they go back as they were."""
    try:
        text.encode("utf-8", "surrogateescape")
    except UnicodeEncodeError:
        return False
    return True


def _ask(made: Type[R], command: List[str], arguments: List[str], text: Optional[bytes], limits: Limits, several: str) -> R:
    call = Call(command, arguments, text, limits)
    answer = call.ask("json")
    objects: List[Dict[str, Any]] = objects_of(answer)
    if any(not isinstance(item, dict) or item.get("schema") != made.schema_name for item in objects) or len(objects) != 1:
        raise Error(several or f"the program's answer is not {made.schema_name}", answer.exit_status)
    raw = objects[0]
    inputs = raw.get("inputs")
    if answer.exit_status == 2 and made is Diagnosis and inputs and all(item.get("unreadable") for item in inputs):
        raise Error(answer.messages, answer.exit_status)
    return made.from_answer(call, answer, raw)
