# SPDX-License-Identifier: Apache-2.0
"""A callback for the Trainer of Lightning: Trainer(..., callbacks=[WhyoomCallback()])."""
import contextlib
import os
import sys
from typing import TYPE_CHECKING, Any, Dict, Union

from whyoom._watch import report, shape_of

if TYPE_CHECKING:
    Callback = object
elif "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
    from pytorch_lightning.callbacks import Callback
else:
    try:
        from lightning.pytorch.callbacks import Callback
    except ImportError:
        from pytorch_lightning.callbacks import Callback

_OF_TRAINER = ("accumulate_grad_batches", "precision", "num_devices", "num_nodes", "world_size", "max_epochs", "gradient_clip_val")


class WhyoomCallback(Callback):
    """Diagnoses an out-of-memory error with the settings of Trainer and module; see whyoom.watch for what it prints and leaves."""

    def __init__(self, folder: "Union[str, os.PathLike[str], None]" = None) -> None:
        super().__init__()
        self._folder = folder

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        report(exception, self._folder, lambda: settings_of(trainer, pl_module))


def settings_of(trainer: Any, module: Any) -> Dict[str, Any]:
    """The settings of the Trainer, the hyperparameters of module and data module, and the batch of the loader."""
    settings = shape_of(getattr(module, "model", module))
    for holder in (getattr(trainer, "datamodule", None), module):
        with contextlib.suppress(Exception):
            settings.update(dict(getattr(holder, "hparams", None) or {}))
    for name in _OF_TRAINER:
        with contextlib.suppress(Exception):
            settings[name] = getattr(trainer, name)
    with contextlib.suppress(Exception):
        settings["strategy"] = type(trainer.strategy).__name__
    with contextlib.suppress(Exception):
        size = trainer.train_dataloader.batch_size
        if isinstance(size, int):
            settings["batch_size"] = size
    return settings
