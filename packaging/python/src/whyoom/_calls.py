# SPDX-License-Identifier: Apache-2.0
"""The questions that can be asked: diagnose, replay, budget."""
import os
import traceback
from typing import Any, Dict, List, Optional, Sequence, Tuple, Type, TypeVar, Union

from whyoom._budget import Budget
from whyoom._diagnosis import Diagnosis
from whyoom._question import SIZE_LIMIT_BYTES, TIME_LIMIT_SECONDS, Error, Limits, Question, path_argument
from whyoom._records import Call, Option, Report, objects_of, options_of
from whyoom._replay import Replay

Path = Union[str, "os.PathLike[str]"]
R = TypeVar("R", bound=Report)
_FORMS = ("--format", "--json", "--output", "--color", "--no-color", "--help", "--version", "--quiet")


def diagnose(
    paths_or_text: Union[Path, int, bytes, BaseException, Sequence[Path]],
    *,
    is_text: Optional[bool] = None,
    anonymize: bool = False,
    rules: Optional[Path] = None,
    time_limit_seconds: Optional[float] = TIME_LIMIT_SECONDS,
    size_limit_bytes: Optional[int] = SIZE_LIMIT_BYTES,
) -> Diagnosis:
    """Why a job failed, and what to change, from the files that it left behind or from the text of its log.

    A path, a sequence of paths, or the number of a job (4711: its files in the present folder) are read by the program. Bytes and an
    exception are text. So is a str with a line break, and one with a blank that is no file; `is_text` decides where that is not meant.
    A log that takes longer than half the time is read no further, and is reported as far as it was read.
    """
    paths, text = _inputs(paths_or_text, is_text)
    options = ["--anonymize"] if anonymize else []
    if rules is not None:
        options.append(f"--rules={path_argument(rules)}")
    question = Question("diagnose", tuple(options), tuple(paths), text, Limits(time_limit_seconds, size_limit_bytes))
    found = _ask(Diagnosis, question, "the files are those of several jobs; give the files of one")
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
    paths = _some_paths(path)
    words = tuple(options_of(options, (*_FORMS, "--diff")))
    question = Question("replay", words, tuple(paths), None, Limits(time_limit_seconds, size_limit_bytes))
    return _ask(Replay, question, "there are several recordings or devices; give one, with device=0")


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
    words = tuple(options_of(options, _FORMS))
    question = Question("budget", words, tuple(_paths(paths)), None, Limits(time_limit_seconds, size_limit_bytes))
    return _ask(Budget, question, "")


def _paths(given: Union[Path, Sequence[Path]]) -> List[str]:
    several = [given] if isinstance(given, (str, os.PathLike)) else list(given)
    return [path_argument(path) for path in several]


def _some_paths(given: Union[Path, Sequence[Path]]) -> List[str]:
    paths = _paths(given)
    if not paths or "" in paths:
        raise Error("no path is given")
    return paths


def _inputs(given: Any, is_text: Optional[bool]) -> Tuple[List[str], Optional[bytes]]:
    """The paths, or the text."""
    if isinstance(given, int) and not isinstance(given, bool):
        given = str(given)  # the number of a job
    if given is None or isinstance(given, (bool, float)):
        raise TypeError(f"a path, paths, the number of a job, a text, bytes or an exception is wanted, not {given!r}")
    if isinstance(given, BaseException):
        given = "".join(traceback.format_exception(type(given), given, given.__traceback__))
        is_text = True
    if isinstance(given, (bytes, bytearray)):
        return [], bytes(given)
    if isinstance(given, str):
        if is_text is None:
            is_text = "\n" in given or (any(letter.isspace() for letter in given) and not _exists(given))
        if is_text:
            return [], given.encode("utf-8", "surrogateescape" if _is_escaped(given) else "replace")
    return _some_paths(given), None


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


def _ask(made: Type[R], question: Question, several: str) -> R:
    call = Call(question)
    answer = call.ask("json")
    objects: List[Dict[str, Any]] = objects_of(answer)
    if any(not isinstance(item, dict) or item.get("schema") != made.schema_name for item in objects) or len(objects) != 1:
        raise Error(several or f"the answer is not {made.schema_name}", answer.exit_status)
    raw = objects[0]
    inputs = raw.get("inputs")
    if answer.exit_status == 2 and made is Diagnosis and inputs and not any(_is_read(item) for item in inputs):
        raise Error(answer.messages, answer.exit_status)
    return made.from_answer(call, answer, raw)


def _is_read(item: Dict[str, Any]) -> bool:
    """Whether at least a part of the input was read."""
    return not item.get("unreadable") or item.get("lines", 0) > 0
