#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes a memory snapshot as torch 2.7 pickles it: rounds that fill a part of one segment and empty it again.

usage: make_recording.py ENTRIES FILE

Two of three entries bring a list of frames of their own, with frames that all of them share, as real recordings do.
"""
import pickle
import sys

SEGMENT, SEGMENT_BYTES, ROUND = 0x7F1200000000, 2 << 20, 60
FRAMES = [{"name": f"function_{i}", "filename": f"/home/user/model_{i % 9}.py", "line": 10 + i} for i in range(90)]


def main():
    wanted, path = int(sys.argv[1]), sys.argv[2]
    entries = []

    def add(action, address, size, frames):
        entries.append({"action": action, "addr": address, "size": size, "stream": 0, "time_us": 1795710964112289 + 7 * len(entries),
                        "frames": frames})

    add("segment_alloc", SEGMENT, SEGMENT_BYTES, FRAMES[:5])
    while len(entries) < wanted:
        address, made = SEGMENT, []
        for i in range(ROUND):
            size = 512 * (1 + (len(entries) + i) % 7)
            add("alloc", address, size, FRAMES[i % 40:i % 40 + 20])
            made.append((address, size))
            address += size
        for i, (address, size) in enumerate(made):
            frames = FRAMES[i % 30:i % 30 + 12]
            add("free_requested", address, size, frames)
            add("free_completed", address, size, frames)
    block = {"address": SEGMENT, "size": SEGMENT_BYTES, "requested_size": 0, "state": "inactive", "frames": []}
    segment = {"device": 0, "address": SEGMENT, "total_size": SEGMENT_BYTES, "allocated_size": 0, "active_size": 0, "requested_size": 0,
               "stream": 0, "segment_type": "small", "segment_pool_id": (0, 0), "is_expandable": False, "frames": FRAMES[:5], "blocks": [block]}
    settings = {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "garbage_collection_threshold": 0.0, "expandable_segments": False}
    with open(path, "wb") as file:
        pickle.dump({"segments": [segment], "device_traces": [entries], "allocator_settings": settings, "external_annotations": []}, file, 4)


if __name__ == "__main__":
    main()
