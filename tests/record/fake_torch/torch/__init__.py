"""A stand-in for torch, for the tests of `whyoom record` only: CUDA that is initialised late, calls queued until then, an allocator
with a history and out-of-memory observers, and snapshots of the true layout. What it is like is set by FAKE_TORCH_* variables:

FAKE_TORCH_VERSION   2.0, 2.1 (default) or none: which form _record_memory_history has; none: it is missing
FAKE_TORCH_CUDA      cpu: built without CUDA; nogpu: built with it, no card; broken: the import fails
FAKE_TORCH_BROKEN    record, observer, snapshot: that call raises
"""
import os

if os.environ.get("FAKE_TORCH_CUDA") == "broken":
    raise ImportError("libcudart.so: cannot open shared object file")

from . import version
from . import _C
from . import cuda

__version__ = "2.9.0"


class OutOfMemoryError(RuntimeError):
    pass


def allocate(size):
    """An allocation of so many bytes on a card of 64 MiB."""
    cuda._lazy_init()
    return _C.allocate(size)

# SPDX-License-Identifier: Apache-2.0
