# SPDX-License-Identifier: Apache-2.0
"""A callback for the Trainer of transformers: Trainer(..., callbacks=[WhyoomCallback()])."""
import functools
import os
import sys
import weakref
from types import FrameType, TracebackType
from typing import Any, Callable, Dict, Optional, Type, Union

from transformers import TrainerCallback  # type: ignore

from whyoom._watch import report, shape_of

_FRAMES_MOST = 30
_GUARDED = ("train", "evaluate", "predict")


class WhyoomCallback(TrainerCallback):  # type: ignore
    """Diagnoses an out-of-memory error of the Trainer with the Trainer's settings; see whyoom.watch for what it prints and leaves.

    Callbacks of transformers hear of no errors. So the Trainer that is made with this callback has its methods train, evaluate and predict
    watched. If the callback is added later, the error is seen when nothing caught it (sys.excepthook).
    """

    def __init__(self, folder: "Union[str, os.PathLike[str], None]" = None) -> None:
        self._folder = folder
        self._is_inside = False
        self._hook: Optional[Callable[..., Any]] = None
        self._previous: Optional[Callable[..., Any]] = None

    def on_init_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        try:
            trainer = self._trainer_above(sys._getframe(1))
            if trainer is not None:
                for name in _GUARDED:
                    self._guard(trainer, name)
        except Exception:
            pass  # the Trainer works without it

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if not self._is_inside and self._hook is None:
            model = kwargs.get("model")
            self._set_hook(args, model)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if self._hook is not None and sys.excepthook is self._hook and self._previous is not None:
            sys.excepthook = self._previous
            self._hook = self._previous = None

    def _trainer_above(self, frame: Optional[FrameType]) -> Any:
        """The Trainer that calls: the `self` of a frame above whose callbacks hold this one."""
        for _ in range(_FRAMES_MOST):
            if frame is None:
                return None
            found = frame.f_locals.get("self")
            handler = getattr(found, "callback_handler", None)
            if any(callback is self for callback in getattr(handler, "callbacks", ())):
                return found
            frame = frame.f_back
        return None

    def _guard(self, trainer: Any, name: str) -> None:
        before = vars(trainer).get(name)  # set for this Trainer alone
        plain = before if before is not None else getattr(type(trainer), name)
        # Weak, so that `del trainer` frees the card's memory at once as it did before.
        known = weakref.ref(trainer)

        @functools.wraps(plain)
        def watched(*arguments: Any, **more: Any) -> Any:
            trainer = known()
            was_inside, self._is_inside = self._is_inside, True
            try:
                return plain(*arguments, **more) if before is not None else plain(trainer, *arguments, **more)
            except BaseException as error:
                args, model = getattr(trainer, "args", None), getattr(trainer, "model", None)
                report(error, self._folder, lambda: settings_of(args, model))
                raise
            finally:
                self._is_inside = was_inside

        setattr(trainer, name, watched)

    def _set_hook(self, args: Any, model: Any) -> None:
        previous = self._previous = sys.excepthook
        known: Callable[[], Any] = lambda: None
        if model is not None:
            known = weakref.ref(model)

        def hook(kind: Type[BaseException], error: BaseException, trace: Optional[TracebackType]) -> None:
            report(error, self._folder, lambda: settings_of(args, known()))
            previous(kind, error, trace)

        self._hook = sys.excepthook = hook


def settings_of(args: Any, model: Any) -> Dict[str, Any]:
    """The settings of TrainingArguments, and the shape of the model."""
    settings = dict(shape_of(model))
    if args is not None:
        settings.update(args.to_dict())
    return settings
