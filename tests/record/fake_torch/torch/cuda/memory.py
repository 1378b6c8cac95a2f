import os
import pickle
import sys

from .. import _C

_form = os.environ.get("FAKE_TORCH_VERSION", "2.1")


def _snapshot(device=None):
    return _C.snapshot()


def _dump_snapshot(filename="dump_snapshot.pickle"):
    with open(filename, "wb") as file:
        pickle.dump(_snapshot(), file)


if _form == "2.0":

    def _record_memory_history(enabled, record_context=True, trace_alloc_max_entries=1, trace_alloc_record_context=False,
                               device=None, record_context_cpp=False):
        _C.record_history({"enabled": enabled, "record_context": record_context, "trace_alloc_max_entries": trace_alloc_max_entries,
                           "trace_alloc_record_context": trace_alloc_record_context})

elif _form == "2.15":
    # As 2.9 and later have it: more parameters, and a wrapper that shows those of the function behind it.
    def _record_memory_history(enabled="all", *args, **kwargs):
        if isinstance(enabled, bool):
            raise AssertionError("the form of 2.0, with its default of one entry")
        return _now(enabled, *args, **kwargs)

    def _now(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None, clear_history=False,
             compile_context=False, global_record_annotations=False, skip_actions=None):
        if skip_actions or clear_history or stacks not in ("python", "all"):
            raise RuntimeError("what a recording must not ask for")
        _C.record_history({"enabled": enabled, "context": context, "stacks": stacks, "max_entries": max_entries})

    _record_memory_history.__signature__ = __import__("inspect").signature(_now)

elif _form != "none":

    def _now(enabled="all", context="all", stacks="all", max_entries=sys.maxsize, device=None):
        if enabled not in (None, "state", "all") or context not in (None, "state", "alloc", "all") or stacks not in ("python", "all"):
            raise RuntimeError("a word that this version does not know")
        _C.record_history({"enabled": enabled, "context": context, "stacks": stacks, "max_entries": max_entries})

    def _record_memory_history(enabled="all", *args, **kwargs):
        if isinstance(enabled, bool):
            raise AssertionError("the form of 2.0, with its default of one entry")
        return _now(enabled, *args, **kwargs)

# SPDX-License-Identifier: Apache-2.0
