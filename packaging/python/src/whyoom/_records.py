# SPDX-License-Identifier: Apache-2.0
"""Records: frozen dataclasses with slots, made of whyoom's JSON by the types of their fields."""
import dataclasses
import html
import importlib
import json
import os
import typing
from typing import Any, ClassVar, Dict, List, Mapping, Optional, Sequence, Tuple, Type, TypeVar, Union

from whyoom._ask import ask
from whyoom._question import Answer, Error, Question

T = TypeVar("T")
R = TypeVar("R", bound="Report")
Value = Union[str, int, float, bool, None]  # of a setting or a fact
Option = Union[str, int, float, bool, None, "os.PathLike[str]", Sequence[Any], Mapping[str, Any]]
PAGE_LIMIT_BYTES = 8 << 20  # a larger page would make a notebook slow: it shows the text instead

_MAPPING = typing.get_origin(Mapping[str, Any])


def _get_state(self: Any) -> List[Any]:
    return [getattr(self, field.name) for field in dataclasses.fields(self)]


def _set_state(self: Any, state: List[Any]) -> None:
    for field, value in zip(dataclasses.fields(self), state):
        object.__setattr__(self, field.name, value)


def _refuse(self: Any, name: str, *value: Any) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot change {name!r}")


def slotted(cls: Type[T]) -> Type[T]:
    """The dataclass with slots, as dataclass(slots=True) makes it from Python 3.10 on. It can be pickled although it is frozen."""
    names = tuple(field.name for field in dataclasses.fields(cls))  # type: ignore[arg-type,unused-ignore]
    body = {name: value for name, value in vars(cls).items() if name not in (*names, "__dict__", "__weakref__")}
    # Those of the dataclass itself speak of the class without slots.
    body.update(__slots__=names, __getstate__=_get_state, __setstate__=_set_state, __setattr__=_refuse, __delattr__=_refuse)
    made: Any = type(cls.__name__, cls.__bases__, body)
    made.__qualname__ = cls.__qualname__
    return typing.cast(Type[T], made)


_HINTS: Dict[Any, Dict[str, Any]] = {}


def _hints(cls: Any) -> Dict[str, Any]:
    if cls not in _HINTS:
        _HINTS[cls] = typing.get_type_hints(cls)
    return _HINTS[cls]


def build(cls: Type[T], value: Any, where: str, **more: Any) -> T:
    """The record of a JSON object. Names that it does not know are left out. A field `from_` is the name `from`."""
    if not isinstance(value, dict):
        raise _wrong(where, value)
    given = dict(more)
    hints = _hints(cls)
    for field in dataclasses.fields(cls):  # type: ignore[arg-type,unused-ignore]
        if field.name in more:
            continue
        name = field.name.rstrip("_")
        place = f"{where}.{name}"
        if name in value:
            given[field.name] = convert(hints[field.name], value[name], place)
        elif field.default is dataclasses.MISSING:
            given[field.name] = _absent(hints[field.name], place)
    return cls(**given)


def _wrong(where: str, value: Any) -> Error:
    return Error(f"the answer has an unexpected {type(value).__name__} at {where}")


def _absent(hint: Any, where: str) -> Any:
    origin = typing.get_origin(hint)
    if origin is Union and type(None) in typing.get_args(hint):
        return None
    if origin is tuple:
        return ()
    if origin is _MAPPING:
        return {}
    raise Error(f"the answer lacks {where}")


def convert(hint: Any, value: Any, where: str) -> Any:
    """The JSON value as what the type says; Error where it is something else."""
    origin, arguments = typing.get_origin(hint), typing.get_args(hint)
    if hint is Any:
        return value
    if origin is Union:
        if value is None and type(None) in arguments:
            return None
        others = [argument for argument in arguments if argument is not type(None)]
        if len(others) == 1:
            return convert(others[0], value, where)
        if isinstance(value, tuple(others)):
            return value
    elif origin is tuple and isinstance(value, list):
        return tuple(convert(arguments[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    elif origin is _MAPPING and isinstance(value, dict):
        return {name: convert(arguments[1], item, f"{where}.{name}") for name, item in value.items()}
    elif dataclasses.is_dataclass(hint) and isinstance(hint, type):
        return build(hint, value, where)
    elif hint is float and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    elif isinstance(hint, type) and origin is None and isinstance(value, hint) and not (hint is int and isinstance(value, bool)):
        return value
    raise _wrong(where, value)


class Call:
    """A question, which is asked again when another form of the answer is wanted. Each form is kept."""

    __slots__ = ("_question", "_answers", "_first_status")

    def __init__(self, question: Question) -> None:
        self._question = question._replace(folder=os.getcwd())
        self._answers: Dict[Tuple[str, ...], Answer] = {}
        self._first_status: Optional[int] = None

    def ask(self, form: str, *options: str) -> Answer:
        key = (form, *options)
        if key not in self._answers:
            asked = self._question
            answer = ask(asked._replace(options=(f"--format={form}", *options, *asked.options)))
            if not answer.output.strip() or answer.exit_status > 3:
                raise Error(answer.messages or f"there was no answer (exit status {answer.exit_status})", answer.exit_status)
            if form == "json":
                self._first_status = answer.exit_status
                return answer  # kept by the report itself
            if answer.exit_status == 2 and self._first_status != 2:  # a file is gone since then
                raise Error(answer.messages, answer.exit_status)
            self._answers[key] = answer
        return self._answers[key]


def objects_of(answer: Answer) -> List[Dict[str, Any]]:
    """The JSON objects of an answer, one after the other."""
    decoder, at, text = json.JSONDecoder(), 0, answer.output
    found: List[Dict[str, Any]] = []
    try:
        while True:
            while at < len(text) and text[at].isspace():
                at += 1
            if at == len(text):
                return found
            item, at = decoder.raw_decode(text, at)
            found.append(item)
    except (ValueError, RecursionError) as error:
        raise Error(f"the answer is no JSON: {error}") from error


def options_of(options: Mapping[str, Option], refused: Sequence[str] = ()) -> List[str]:
    """Options of the command line: micro_batch=2 is --micro-batch=2, True a bare option, None and False none, a sequence several.

    A mapping becomes what --set and --scale want: {"micro_batch": (32, 16)} is micro_batch=32:16; other options are repeated.
    """
    words = []
    for name, value in options.items():
        option = "--" + name.rstrip("_").replace("_", "-")
        if option in refused or not name.isidentifier():
            raise Error(f"{name} is no option here")
        if value is None or value is False:
            continue
        if value is True:
            words.append(option)
        elif isinstance(value, Mapping):
            joint = ":" if option == "--set" else "="
            pairs = [f"{key}{joint}{_joined(item)}" for key, item in value.items()]
            words.extend(f"{option}={pair}" for pair in ([",".join(pairs)] if option in ("--set", "--scale") else pairs))
        elif isinstance(value, Sequence) and not isinstance(value, str):
            words.extend(f"{option}={_joined(item)}" for item in value)
        else:
            words.append(f"{option}={_joined(value)}")
    return words


def _joined(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return ":".join(_joined(item) for item in value)
    return str(os.fspath(value)) if isinstance(value, os.PathLike) else str(value)


class Report:
    """The common part of Diagnosis, Replay and Budget: the other forms of the same answer."""

    __slots__ = ()
    schema_name: ClassVar[str] = ""
    forms: ClassVar[Tuple[str, ...]] = ("text", "json")
    default_table: ClassVar[str] = ""

    # Declared by each report as fields.
    raw: Mapping[str, Any]
    messages: str
    exit_status: int
    _call: Call

    @classmethod
    def from_answer(cls: Type[R], call: Call, answer: Answer, raw: Mapping[str, Any]) -> R:
        return build(cls, raw, "$", raw=raw, messages=answer.messages, exit_status=answer.exit_status, _call=call)

    def text(self) -> str:
        """The text report. It is asked for once more, and the same files are read again."""
        return self._call.ask("text").output

    def __str__(self) -> str:
        return self.text().rstrip("\n")

    def _repr_html_(self) -> str:
        """For notebooks: the page of --format html in a frame of its own, where no script runs; else the text."""
        if "html" in self.forms:
            page = self._call.ask("html").output
            if len(page) <= PAGE_LIMIT_BYTES:
                return (
                    '<iframe sandbox="" title="whyoom" style="width:100%;height:40em;border:1px solid #8888" '
                    f'srcdoc="{html.escape(page, quote=True)}"></iframe>'
                )
        return f"<pre>{html.escape(str(self))}</pre>"

    def _tables(self) -> Dict[str, Any]:
        """Rows by name of table, of the raw JSON."""
        return {name: rows for name, rows in self.raw.items() if isinstance(rows, list)}

    def to_pandas(self, table: Optional[str] = None) -> Any:
        """A DataFrame with a row for each item of the table. ImportError where pandas is not installed."""
        try:
            pandas: Any = importlib.import_module("pandas")
        except ImportError as error:
            raise ImportError("to_pandas() needs pandas, which is not installed: pip install pandas") from error
        tables = self._tables()
        name = self.default_table if table is None else table
        if name not in tables:
            raise ValueError(f"there is no table {name!r}; there are {', '.join(sorted(tables))}")
        return pandas.json_normalize(tables[name])
