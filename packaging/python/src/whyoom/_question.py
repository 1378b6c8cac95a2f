# SPDX-License-Identifier: Apache-2.0
"""A question and its answer, whoever gives it: the library or the program."""
import os
from typing import NamedTuple, Optional, Tuple, Union

TIME_LIMIT_SECONDS = 300.0
SIZE_LIMIT_BYTES = 256 << 20


class Error(Exception):
    """There is no answer. The text is whyoom's own message where there is one, and `exit_status` that of the command."""

    def __init__(self, message: str, exit_status: Optional[int] = None) -> None:
        super().__init__(message)
        self.exit_status = exit_status


Error.__module__ = "whyoom"  # where its users find it


class Limits(NamedTuple):
    """The most that one question may take; None is no limit."""

    time_seconds: Optional[float] = TIME_LIMIT_SECONDS
    size_bytes: Optional[int] = SIZE_LIMIT_BYTES  # of the text that is handed over, and of the answer


class Question(NamedTuple):
    """A command with its options and paths, or with a text in their place, as it is asked in `folder`."""

    command: str  # diagnose, replay or budget
    options: Tuple[str, ...] = ()
    paths: Tuple[str, ...] = ()
    text: Optional[bytes] = None
    limits: Limits = Limits()
    folder: Optional[str] = None  # None: the present one


class Answer(NamedTuple):
    output: str
    messages: str  # as on standard error
    exit_status: int


def half_time(question: Question) -> Optional[float]:
    """The seconds after which a diagnosis reads no further, so that the other half is left for its report. None: no limit."""
    seconds = question.limits.time_seconds
    return None if seconds is None or question.command != "diagnose" else min(86400.0, seconds / 2)


def check(question: Question) -> None:
    """Error for what neither the library nor the program can be given."""
    limit_bytes, limit_seconds = question.limits.size_bytes, question.limits.time_seconds
    if limit_seconds is not None and not limit_seconds >= 0:  # nan, too
        raise Error(f"{limit_seconds} seconds are no limit of time")
    if question.text is not None and limit_bytes is not None and len(question.text) > limit_bytes:
        raise Error(f"the text has {len(question.text)} bytes, more than the limit of {limit_bytes}")
    for word in (*question.options, *question.paths):
        try:
            is_good = b"\0" not in os.fsencode(word)
        except UnicodeEncodeError:
            is_good = False
        if not is_good:
            raise Error(f"{word!r} cannot be the name of a file or an option")


def path_argument(path: Union[str, "os.PathLike[str]"]) -> str:
    """A path as whyoom takes it: no option, and no number of a job unless it is a plain str."""
    word = os.fspath(path)
    if not isinstance(word, str):
        raise TypeError(f"a path is str or os.PathLike[str], not {type(path).__name__}")
    is_job = isinstance(path, str)
    if word.startswith("-") or (not is_job and word.replace("_", "").isdigit()):
        return os.path.join(".", word)
    return word
