# SPDX-License-Identifier: Apache-2.0
"""A diagnosis at the moment of an out-of-memory error, inside the program that it ends."""
import contextlib
import json
import os
import re
import shlex
import socket
import sys
import traceback
from pathlib import Path
from types import TracebackType
from typing import Any, Callable, Dict, Iterator, List, Mapping, Optional, Sequence, Type, Union

from whyoom._ask import ask
from whyoom._question import Answer, Error, Limits, Question

FOLDER = "whyoom-traces"  # as `whyoom record` has it
_SEEN = "_whyoom_reported"
_SECRET = re.compile(r"token|secret|passw|credential|api_?key|auth|cookie", re.IGNORECASE)
_JOB_VARIABLES = ("SLURM_JOB_ID", "PBS_JOBID", "LSB_JOBID", "JOB_ID")
_RANK_VARIABLES = ("RANK", "SLURM_PROCID", "OMPI_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "LOCAL_RANK")
_FOLDERS_MOST = 1000
_VALUE_LETTERS_MOST = 200
_WHOLE_SECONDS, _PLAIN_SECONDS = 60.0, 20.0  # with the snapshot, and without it


def is_out_of_memory(error: Optional[BaseException]) -> bool:
    """Whether the error, or one that it was raised from, says that a device is out of memory."""
    for _ in range(10):
        if error is None:
            return False
        if any(base.__name__ == "OutOfMemoryError" and base.__module__.partition(".")[0] == "torch" for base in type(error).__mro__):
            return True
        if isinstance(error, RuntimeError):  # jax's errors are of that type, too
            text = str(error)
            if "out of memory" in text.lower() or "RESOURCE_EXHAUSTED" in text:
                return True
        error = error.__cause__
    return False


class watch(contextlib.ContextDecorator):
    """Diagnoses an out-of-memory error that leaves the block, prints the first screen to standard error, and lets the error go on.

    What is known is left in a folder of its own below `folder` (default: whyoom-traces): the error's text, the settings, and where
    torch.cuda runs a memory snapshot. Nothing is done before an error, and no error is raised here. `settings` are further settings.
    """

    def __init__(self, folder: "Union[str, os.PathLike[str], None]" = None, settings: Optional[Mapping[str, Any]] = None) -> None:
        self._folder = folder
        self._settings = settings

    def __enter__(self) -> "watch":
        return self

    def __exit__(
        self, kind: Optional[Type[BaseException]], error: Optional[BaseException], trace: Optional[TracebackType]
    ) -> None:
        if error is not None:
            settings = self._settings
            report(error, self._folder, lambda: settings or {})


def report(
    error: BaseException,
    folder: "Union[str, os.PathLike[str], None]",
    settings: Callable[[], Mapping[str, Any]],
) -> None:
    """Prints the diagnosis of the error, once. Raises nothing: the program's own error is the one that counts."""
    try:
        if not is_out_of_memory(error) or getattr(error, _SEEN, False):
            return
        setattr(error, _SEEN, True)
        text = _report(error, folder, settings)
    except BaseException as other:  # also a Ctrl-C, so that the error goes on
        text = f"whyoom: no diagnosis: {type(other).__name__}: {other}\n"
    with contextlib.suppress(Exception):
        sys.stderr.write(text)
        sys.stderr.flush()


def _report(error: BaseException, folder: "Union[str, os.PathLike[str], None]", settings: Callable[[], Mapping[str, Any]]) -> str:
    known: Dict[str, Any] = {}
    notes: List[str] = []
    with _noted(notes, "settings"):
        known.update(_plain(settings()))
    with _noted(notes, "ranks"):
        if os.environ.get("WORLD_SIZE", "").isdigit():
            known.setdefault("world_size", int(os.environ["WORLD_SIZE"]))
    texts = {"error.txt": "".join(traceback.format_exception(type(error), error, error.__traceback__))}
    if known:
        texts["settings.yaml"] = "".join(f"{name}: {json.dumps(value)}\n" for name, value in sorted(known.items()))
    with _noted(notes, "command"):
        words = [os.path.basename(sys.executable or "python"), *sys.argv]
        if len(sys.argv) > 1 and not any(_SECRET.search(word) for word in words):
            texts["command.txt"] = f"+ {shlex.join(words)}\n"
    with _noted(notes, "devices"):
        devices = _devices()
        if devices:
            texts["devices.csv"] = devices
    place: Optional[Path] = None
    try:
        place = _new_folder(Path(FOLDER if folder is None else folder))
        for name, content in texts.items():
            (place / name).write_text(content, encoding="utf-8", errors="replace")
    except OSError as problem:
        notes.append(f"nothing is left behind: {problem}")
        place = None
    if place is None:
        return _screen(_said(Question("diagnose", text="".join(texts.values()).encode("utf-8", "replace"))), notes)
    paths = [str(place / name) for name in texts]
    with _noted(notes, "snapshot"):
        snapshot = _snapshot(place)
        if snapshot:
            with contextlib.suppress(Exception):  # too slow, or no recording that the program knows: the next line does without
                said = _asked(Question("diagnose", paths=(*paths, snapshot)), _WHOLE_SECONDS).output
                if said.strip():
                    return _screen(said, notes, place)
    return _screen(_said(Question("diagnose", paths=tuple(paths))), notes, place)


def _asked(question: Question, seconds: float) -> Answer:
    return ask(question._replace(options=("--format=text",), limits=Limits(seconds)))


def _said(question: Question) -> str:
    try:
        answer = _asked(question, _PLAIN_SECONDS)
    except Error as error:
        return f"no diagnosis: {error}"
    return answer.output if answer.output.strip() else f"no diagnosis: {answer.messages}"


@contextlib.contextmanager
def _noted(notes: List[str], name: str) -> Iterator[None]:
    """Whatever goes wrong in it is one line of the report."""
    try:
        yield
    except Exception as error:
        notes.append(f"no {name}: {type(error).__name__}: {error}")


def _screen(said: str, notes: List[str], place: Optional[Path] = None) -> str:
    rank = _first_of(_RANK_VARIABLES)
    first = "whyoom" + (f", rank {rank}" if rank else "") + (f": all that is known is in {place}" if place else ":")
    return "\n".join([first, *(f"whyoom: {note}" for note in notes), "", said.rstrip("\n"), ""])


def _first_of(variables: Sequence[str]) -> str:
    return next((os.environ[name] for name in variables if os.environ.get(name)), "")


def _new_folder(above: Path) -> Path:
    """A folder that was not there before, named after job, rank and host."""
    job, rank = _first_of(_JOB_VARIABLES), _first_of(_RANK_VARIABLES)
    names = [job or f"pid{os.getpid()}", f"rank{rank}" if rank else "", socket.gethostname().partition(".")[0]]
    stem = re.sub(r"[^A-Za-z0-9._-]", "_", "-".join(name for name in names if name))
    above.mkdir(parents=True, exist_ok=True)
    for number in range(1, _FOLDERS_MOST):
        place = above / f"{stem}-watch{number}"
        with contextlib.suppress(FileExistsError):
            place.mkdir()
            return place
    raise OSError(f"{above} holds {_FOLDERS_MOST} folders of {stem}")


def _cuda() -> Any:
    """torch.cuda where the program uses it, else None. Nothing is imported and no context is made."""
    torch = sys.modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    return cuda if cuda is not None and cuda.is_available() and cuda.is_initialized() else None


def _snapshot(place: Path) -> Optional[str]:
    cuda = _cuda()
    if cuda is None:
        return None
    hidden, path = place / ".memory.pickle", place / "memory.pickle"
    try:
        cuda.memory._dump_snapshot(str(hidden))
        hidden.rename(path)
    except BaseException:
        with contextlib.suppress(OSError):
            hidden.unlink()
        raise
    return str(path)


def _devices() -> str:
    """The card in use, as `nvidia-smi --query-gpu` prints it."""
    cuda = _cuda()
    if cuda is None:
        return ""
    index = cuda.current_device()
    free_bytes, total_bytes = cuda.mem_get_info(index)
    name = str(cuda.get_device_name(index)).replace(",", " ")
    return (
        "index, name, memory.total [MiB], memory.used [MiB]\n"
        f"{index}, {name}, {total_bytes >> 20} MiB, {(total_bytes - free_bytes) >> 20} MiB\n"
    )


def _plain(settings: Mapping[str, Any]) -> Dict[str, Any]:
    """The settings that are a number, a switch or a short text, without those that may be secret."""
    kept: Dict[str, Any] = {}
    for name, value in settings.items():
        if isinstance(value, str):
            is_kept = len(value) <= _VALUE_LETTERS_MOST and value.isprintable() and value != ""
        else:
            is_kept = isinstance(value, (bool, int, float))
        if is_kept and re.fullmatch(r"[A-Za-z_][\w.-]*", name) and not _is_secret(name):
            kept[name] = value
    return kept


def _is_secret(name: str) -> bool:
    return bool(_SECRET.search(name)) and not re.search(r"tokens|tokenizer", name, re.IGNORECASE)


SHAPE = (
    "model_type", "vocab_size", "hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
    "num_key_value_heads", "head_dim", "n_embd", "n_layer", "n_head", "_name_or_path",
)  # fmt: skip


def shape_of(model: Any) -> Dict[str, Any]:
    """The shape of a model of transformers, by its `config`; empty for others."""
    config = getattr(model, "config", None)
    found = {name: getattr(config, name, None) for name in SHAPE}
    found["model_name_or_path"] = found.pop("_name_or_path")
    return {name: value for name, value in found.items() if isinstance(value, (str, int)) and value != ""}
