#!/usr/bin/env python3
"""Writes small memory snapshots in the shapes that PyTorch had from 2.1 to 2.15 and in pickle protocols 2 to 5.

    python3 scripts/small_snapshots.py fixtures/memory/schemas

Not recorded: written by hand from PyTorch's sources, for keys and actions that the recorded ones (2.11) lack.
"""

import os
import pickle
import sys

FRAMES = [{"name": "step", "filename": "train.py", "line": 7}, {"name": "main", "filename": "train.py", "line": 3}]
BASE = 0x7F0000000000


def block(address, size, state):
    return {"address": address, "size": size, "requested_size": size - 12, "state": state, "frames": FRAMES}


def segment(**more):
    blocks = [block(BASE, 1 << 20, "active_allocated"), block(BASE + (1 << 20), 1 << 20, "inactive")]
    return {"device": 0, "address": BASE, "total_size": 2 << 20, "allocated_size": 1 << 20, "active_size": 1 << 20,
            "requested_size": (1 << 20) - 12, "stream": 0, "segment_type": "small", "blocks": blocks, **more}


def entries(**more):
    def entry(action, at, size):
        timed = {key: value + at for key, value in more.items() if key == "time_us"}
        others = {key: value for key, value in more.items() if key != "time_us"}
        return {"action": action, "addr": BASE + at, "size": size, "stream": 0, "frames": FRAMES, **timed, **others}

    return [entry("segment_alloc", 0, 2 << 20), entry("alloc", 0, (1 << 20) - 12), entry("alloc", 1 << 20, 1000),
            entry("free_requested", 1 << 20, 1000), entry("free_completed", 1 << 20, 1000)]


NOW = 1_700_000_000_000_000
SNAPSHOTS = {
    # No times, no settings, no ranges.
    "2.1": {"segments": [segment(is_expandable=False)], "device_traces": [entries()]},
    "2.5": {
        "segments": [segment(is_expandable=False, segment_pool_id=(0, 0))],
        "device_traces": [entries(time_us=NOW)],
        "allocator_settings": {"PYTORCH_CUDA_ALLOC_CONF": "", "max_split_size": -1, "expandable_segments": False},
        "external_annotations": [{"stage": "START", "name": "step 0", "device": 0, "time_us": NOW},
                                 {"stage": "END", "name": "step 0", "device": 0, "time_us": NOW + 9}],
    },
    "2.15": {
        "segments": [segment(is_expandable=False, segment_pool_id=(0, 0), registration_counter=-1)],
        "device_traces": [
            entries(time_us=NOW, compile_context="N/A", user_metadata="", internal_metadata={"a": [1, None, 2.5, True]})
            + [{"action": "annotate", "addr": 0, "size": 0, "stream": 0, "time_us": NOW, "frames": []}]
        ],
        "host_segments": [],
        "host_traces": [entries(time_us=NOW)],
        "allocator_settings": {"roundup_power2_divisions": {"1": 0}},
        "external_annotations": [],
        "something_new": {"deep": [{"er": (1, 2, 3, 4)}]},
    },
}


def main():
    folder = sys.argv[1]
    os.makedirs(folder, exist_ok=True)
    for version, snapshot in SNAPSHOTS.items():
        for protocol in (2, 3, 4, 5) if version == "2.15" else (4,):
            name = f"{version}.protocol{protocol}.pickle"
            with open(os.path.join(folder, name), "wb") as file:
                pickle.dump(snapshot, file, protocol=protocol)


if __name__ == "__main__":
    main()
