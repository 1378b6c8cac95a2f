import threading

from .. import _C
from . import memory

_initialized = False
_queued_calls = []
_tls = threading.local()


class DeferredCudaCallError(Exception):
    pass


def is_initialized():
    return _initialized


def _lazy_call(callable):
    if _initialized:
        callable()
    else:
        _queued_calls.append(callable)


def _lazy_init():
    global _initialized
    if _initialized or hasattr(_tls, "is_initializing"):
        return
    _C._cuda_init()
    _tls.is_initializing = True
    try:
        for call in _queued_calls:
            try:
                call()
            except Exception as error:
                raise DeferredCudaCallError(str(error))
    finally:
        del _tls.is_initializing
    _initialized = True


def init():
    _lazy_init()

# SPDX-License-Identifier: Apache-2.0
