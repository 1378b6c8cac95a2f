"""The allocator: one segment for each allocation, of at least 20 MiB, on a card of 64 MiB."""
import json
import os
import sys
import time

MIB = 1 << 20
capacity = 64 * MIB
base = 0x7F0000000000
is_initialized = False
segments = []  # (address, segment bytes, requested bytes)
history = None  # None: not recording
history_cap = 0
calls = []  # of _record_memory_history, as they came
observers = []


def _cuda_init():
    global is_initialized
    if os.environ.get("FAKE_TORCH_CUDA") == "nogpu":
        raise RuntimeError("Found no NVIDIA driver on your system.")
    is_initialized = True


def record_history(words):
    global history, history_cap
    if os.environ.get("FAKE_TORCH_BROKEN") == "record":
        raise RuntimeError("cudaMallocAsync does not yet support recordHistory")
    calls.append(words)
    if os.environ.get("FAKE_TORCH_LOG"):
        with open(os.environ["FAKE_TORCH_LOG"], "a") as log:
            log.write(json.dumps(words) + "\n")
    enabled = words.get("enabled")
    history = [] if enabled else None
    history_cap = words.get("max_entries", words.get("trace_alloc_max_entries", sys.maxsize))


def _cuda_attach_out_of_memory_observer(observer):
    assert is_initialized, "this would have initialised CUDA"
    if os.environ.get("FAKE_TORCH_BROKEN") == "observer":
        raise RuntimeError("no observers here")
    observers.append(observer)


def _frames():
    return [{"name": "step", "filename": "train.py", "line": 7}]


def _note(action, **more):
    if history is None:
        return
    entry = {"action": action, "stream": 0, "time_us": int(time.time() * 1e6), "frames": _frames()}
    entry.update(more)
    history.append(entry)
    del history[:-history_cap]


def allocate(size):
    from . import OutOfMemoryError

    total = 20 * MIB if size < 10 * MIB else -(-size // (2 * MIB)) * 2 * MIB
    used = sum(s[1] for s in segments)
    if used + total > capacity:
        _note("oom", size=-(-size // 512) * 512, device_free=capacity - used)
        for observer in observers:
            more = (0,) if os.environ.get("FAKE_TORCH_VERSION") == "2.15" else ()  # a figure that no version has yet
            observer(0, total, capacity, capacity - used, *more)
        raise OutOfMemoryError("CUDA out of memory. Tried to allocate %.2f MiB." % (size / MIB))
    address = base + used
    segments.append((address, total, size))
    _note("segment_alloc", addr=address, size=total)
    _note("alloc", addr=address, size=size)
    return address


def snapshot():
    if os.environ.get("FAKE_TORCH_BROKEN") == "snapshot":
        raise RuntimeError("no snapshots here")
    shown = []
    for address, total, size in segments:
        taken = total if total - size <= MIB else -(-size // 512) * 512
        blocks = [{"address": address, "size": taken, "requested_size": size, "state": "active_allocated", "frames": _frames()}]
        if taken < total:
            blocks.append({"address": address + taken, "size": total - taken, "requested_size": 0, "state": "inactive", "frames": []})
        shown.append({"device": 0, "address": address, "total_size": total, "allocated_size": taken, "active_size": taken,
                      "requested_size": size, "stream": 0, "segment_type": "large", "segment_pool_id": (0, 0),
                      "is_expandable": False, "frames": _frames(), "blocks": blocks})
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0,
                "expandable_segments": False, "pinned_num_register_threads": 1, "release_lock_on_cudamalloc": False,
                "pinned_use_cuda_host_register": False, "roundup_power2_divisions": {}}
    return {"segments": shown, "device_traces": [list(history or [])], "allocator_settings": settings}

# SPDX-License-Identifier: Apache-2.0
