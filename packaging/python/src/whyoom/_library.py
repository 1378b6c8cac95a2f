# SPDX-License-Identifier: Apache-2.0
"""The library libwhyoom (docs/library.md): where it is, and how it is asked inside of this process.

A call runs on a thread of its own, and the thread that asks waits for it: so Ctrl-C and the time limit work while C code runs. What is
left of such a call ends by itself, since the library is told to stop.
"""
import ctypes
import os
import threading
import time
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Tuple

from whyoom._question import Answer, Error, Question, half_time

SYSTEM_NAME = "libwhyoom.so.0"
STOP_READING, STOP_ALL = 1, 2  # enum whyoom_stop

# These are of the program alone: they write files, change the process, or load the driver of the card into it.
PROGRAM_OPTIONS = frozenset(("--on", "--plot", "--output", "--write", "--time-limit", "--sandbox"))
_PATH_OPTIONS = frozenset(("--rules", "--pair", "--trace"))


_Clock = ctypes.CFUNCTYPE(ctypes.c_double)


class _Request(ctypes.Structure):
    """struct whyoom_request"""

    _fields_ = [
        ("request_bytes", ctypes.c_size_t),
        ("command", ctypes.c_char_p),
        ("paths", ctypes.POINTER(ctypes.c_char_p)),
        ("path_count", ctypes.c_size_t),
        ("options", ctypes.POINTER(ctypes.c_char_p)),
        ("text", ctypes.c_char_p),
        ("text_bytes", ctypes.c_size_t),
        ("text_name", ctypes.c_char_p),
        ("stop", ctypes.POINTER(ctypes.c_int)),
        ("seconds_now", _Clock),
    ]


class Library:
    """A loaded library. Any number of threads may ask."""

    def __init__(self, path: str) -> None:
        """OSError: it cannot be loaded. AttributeError: it has not the functions."""
        loaded = ctypes.CDLL(path)
        self.path = path
        self._version = _function(loaded, "whyoom_version", ctypes.c_char_p)
        self._run = _function(loaded, "whyoom_run", ctypes.c_void_p, ctypes.POINTER(_Request))
        self._code = _function(loaded, "whyoom_result_code", ctypes.c_int, ctypes.c_void_p)
        self._text = _function(loaded, "whyoom_result_text", ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_size_t))
        self._messages = _function(loaded, "whyoom_result_messages", ctypes.c_char_p, ctypes.c_void_p)
        self._free = _function(loaded, "whyoom_free", None, ctypes.c_void_p)
        # A function of the library: one of Python could be called when the interpreter has ended.
        self._clock = ctypes.cast(loaded.whyoom_seconds_now, _Clock)

    def version(self) -> str:
        return bytes(self._version() or b"").decode("utf-8", "replace")

    def can_answer(self, question: Question) -> bool:
        """Whether it is a question for a library: the program alone can be asked in another folder, and has more options."""
        names = [option.partition("=")[0] for option in question.options]
        if PROGRAM_OPTIONS.intersection(names):
            return False
        if question.folder is None or question.folder == _present_folder():
            return True
        values = [option.partition("=")[2] for option, name in zip(question.options, names) if name in _PATH_OPTIONS]
        return all(os.path.isabs(path) for path in (*question.paths, *values))

    def ask(self, question: Question) -> Answer:
        """Error where the call needs more than the limits. RuntimeError: this process can have no further thread."""
        stop = ctypes.c_int(0)
        is_over = threading.Event()
        found: List[Any] = []

        def run() -> None:
            try:
                found.append(self._answer(question, stop))
            except BaseException as error:  # it is raised where it was asked
                found.append(error)
            is_over.set()

        try:
            threading.Thread(target=run, name="whyoom", daemon=True).start()
            _wait(is_over, stop, question)
        except BaseException:
            stop.value = STOP_ALL
            raise
        if isinstance(found[0], BaseException):
            raise found[0]
        answer: Answer = found[0]
        return answer

    def _answer(self, question: Question, stop: ctypes.c_int) -> Answer:
        paths, options = _array(question.paths), _array((*question.options, *site_rules(question.options)))
        request = _Request(
            request_bytes=ctypes.sizeof(_Request),
            command=question.command.encode(),
            paths=paths,
            path_count=len(question.paths),
            options=options,
            text=question.text,
            text_bytes=len(question.text or b""),
            text_name=None if question.text is None else b"<stdin>",  # as the program has it
            stop=ctypes.pointer(stop),
            seconds_now=self._clock,
        )
        result = self._run(ctypes.byref(request))
        try:
            size = ctypes.c_size_t(0)
            text = self._text(result, ctypes.byref(size))
            limit_bytes = question.limits.size_bytes
            if limit_bytes is not None and size.value > limit_bytes:
                raise Error(f"the answer has more than {limit_bytes} bytes")
            output = ctypes.string_at(text, size.value).decode("utf-8", "replace")
            messages = bytes(self._messages(result)).decode("utf-8", "replace").strip()
            return Answer(output, messages or ("" if result else "out of memory"), self._code(result))
        finally:
            self._free(result)


def _function(library: ctypes.CDLL, name: str, result: Any, *arguments: Any) -> Any:
    function = getattr(library, name)
    function.restype, function.argtypes = result, list(arguments)
    return function


def _array(words: Tuple[str, ...]) -> Any:
    """An array that ends with NULL."""
    return (ctypes.c_char_p * (len(words) + 1))(*(os.fsencode(word) for word in words), None)


def _wait(is_over: threading.Event, stop: ctypes.c_int, question: Question) -> None:
    """Waits for the call, ends its reading at half of the time, and raises Error when the time is over."""
    limit = question.limits.time_seconds
    half = half_time(question)
    begin = time.monotonic()
    if half is not None and not is_over.wait(min(half, threading.TIMEOUT_MAX)):
        stop.value = STOP_READING
    if not is_over.wait(None if limit is None else min(threading.TIMEOUT_MAX, max(0.0, begin + limit - time.monotonic()))):
        raise Error(f"there was no answer within {limit} seconds")


def site_rules(options: Tuple[str, ...]) -> Tuple[str, ...]:
    """The rules of the site or the user, which the program finds by itself (docs/rules.md)."""
    if any(option.partition("=")[0] == "--rules" for option in options):
        return ()
    site = os.environ.get("WHYOOM_RULES")
    if site is not None:
        return (f"--rules={site}",) if site else ()
    settings, home = os.environ.get("XDG_CONFIG_HOME"), os.environ.get("HOME")
    if not settings and not home:
        return ()
    folder = os.path.join(settings or os.path.join(home or "", ".config"), "whyoom", "rules")
    return (f"--rules={folder}",) if os.path.isdir(folder) else ()


def _present_folder() -> Optional[str]:
    try:
        return os.getcwd()
    except OSError:  # it was removed
        return None


# ---- Which library ----


class Choice(NamedTuple):
    library: Optional[Library]
    passed_over: Tuple[str, ...]  # why others are not used, one line each


_CHOICES: Dict[Tuple[Optional[str], str], Choice] = {}


def bundled_path() -> Path:
    """The place of a library inside the package, whether or not one is there."""
    return Path(__file__).resolve().parent / "_bin" / SYSTEM_NAME


def choose(version: str) -> Choice:
    """The library that $WHYOOM_LIBRARY names (empty: none), else the one inside the package, else the system's.

    One of another version is not used: its reports may be others, and the records here are made for this version's.
    """
    named = os.environ.get("WHYOOM_LIBRARY")
    key = (named, version)
    if key not in _CHOICES:
        _CHOICES[key] = _choose(named, version)
    return _CHOICES[key]


def _choose(named: Optional[str], version: str) -> Choice:
    if named == "":
        return Choice(None, ("$WHYOOM_LIBRARY is empty: no library is wanted",))
    if named is not None:
        candidates = [os.path.abspath(named)]
    else:
        bundled = bundled_path()
        candidates = ([str(bundled)] if bundled.exists() else []) + [SYSTEM_NAME]
    passed_over: List[str] = []
    for path in candidates:
        try:
            library = Library(path)
        except OSError as error:
            passed_over.append(str(error) if path in str(error) else f"{path}: {error}")
        except AttributeError as error:
            passed_over.append(f"{path}: it is no libwhyoom of this version: {error}")
        else:
            if library.version() == version:
                return Choice(library, tuple(passed_over))
            passed_over.append(f"{path}: it is version {library.version()}, and this package is version {version}")
    return Choice(None, tuple(passed_over))
