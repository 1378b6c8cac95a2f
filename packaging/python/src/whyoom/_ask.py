# SPDX-License-Identifier: Apache-2.0
"""Who is asked: the library where there is one of this version, else the program. Both give the same answers, byte for byte."""
from typing import TYPE_CHECKING, NamedTuple, Optional, Tuple

from whyoom import _program
from whyoom._question import Answer, Error, Question, check
from whyoom._version import __version__

if TYPE_CHECKING:
    from whyoom._library import Library


class Backend(NamedTuple):
    """Who answers: `kind` is "library", "program", or "none", and `path` the file. `passed_over` says why no other library does."""

    kind: str
    path: str
    passed_over: Tuple[str, ...]

    def __str__(self) -> str:
        return "\n".join([f"{self.kind} {self.path}".rstrip(), *(f"not used: {reason}" for reason in self.passed_over)])


def _choose() -> "Tuple[Optional[Library], Tuple[str, ...]]":
    """The library, and why others are not used."""
    try:
        from whyoom import _library
    except ImportError as error:  # this Python was built without ctypes
        return None, (f"no library can be loaded: {error}",)
    return _library.choose(__version__)


def backend() -> Backend:
    """Who answers the questions of this process, and why nothing else does."""
    library, passed_over = _choose()
    if library is not None:
        return Backend("library", library.path, passed_over)
    try:
        return Backend("program", _program.find(), passed_over)
    except Error as error:
        return Backend("none", "", (*passed_over, str(error)))


def ask(question: Question) -> Answer:
    """Error where nobody can answer, or where the answer needs more than the limits."""
    check(question)
    library, passed_over = _choose()
    if library is not None and library.can_answer(question):
        try:
            return library.ask(question)
        except RuntimeError:  # no further thread can be had
            return _program.ask(question, _program.find())
    try:
        path = _program.find()
    except Error as error:
        raise Error("; ".join([str(error), *passed_over])) from None
    return _program.ask(question, path)
