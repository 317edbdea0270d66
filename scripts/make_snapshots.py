"""Makes two small memory snapshots by hand, of cases that cannot be recorded on one GPU.

    python3 scripts/make_snapshots.py fixtures/memory/made

``two_devices``: GPU 0 keeps 5 MiB more per iteration, GPU 1 makes and frees 500 MiB. ``other_stream``: 10 MiB is
refused although another stream has 18 MiB free in one piece.
"""

from __future__ import annotations

import gzip
import pathlib
import pickle
import sys

MIB = 1 << 20
BASE = 0x7F00_0000_0000
START_US = 1_700_000_000_000_000


def frames(line: int) -> list[dict[str, object]]:
    return [{"filename": "train.py", "line": line, "name": "train"}]


def entry(action: str, address: int, size: int, at: int, line: int, stream: int = 0) -> dict[str, object]:
    return {
        "action": action,
        "addr": address,
        "size": size,
        "stream": stream,
        "time_us": START_US + at,
        "frames": frames(line),
    }


def segment(device: int, address: int, size: int, blocks: list[tuple[str, int, int]], stream: int = 0) -> dict[str, object]:
    at, made = address, []
    for state, length, line in blocks:
        made.append(
            {"address": at, "size": length, "requested_size": length, "state": state, "frames": frames(line) if line else []}
        )
        at += length
    return {
        "device": device,
        "address": address,
        "total_size": size,
        "allocated_size": sum(length for state, length, _ in blocks if state == "active_allocated"),
        "active_size": sum(length for state, length, _ in blocks if state == "active_allocated"),
        "requested_size": sum(length for state, length, _ in blocks if state == "active_allocated"),
        "stream": stream,
        "segment_type": "large",
        "segment_pool_id": (0, 0),
        "is_expandable": False,
        "blocks": made,
    }


def iterations(device: int, kept: int, temporary: int, line: int) -> tuple[list[dict[str, object]], dict[str, object]]:
    """Twenty iterations, each of which keeps something and frees something."""
    base, size = BASE + (device << 40), 2000 * MIB
    trace = [entry("segment_alloc", base, size, 0, line)]
    held, blocks = base, []
    for number in range(20):
        at = 1000 * (number + 1)
        scratch = base + 1000 * MIB
        trace.append(entry("alloc", scratch, temporary, at, line))
        if kept:
            trace.append(entry("alloc", held, kept, at + 100, line + 1))
            blocks.append(("active_allocated", kept, line + 1))
            held += kept
        trace.append(entry("free_requested", scratch, temporary, at + 200, line))
        trace.append(entry("free_completed", scratch, temporary, at + 200, line))
    blocks.append(("inactive", size - kept * 20, 0))
    return trace, segment(device, base, size, blocks)


def two_devices() -> dict[str, object]:
    leaks, first = iterations(0, 5 * MIB, 10 * MIB, 100)
    steady, second = iterations(1, 0, 500 * MIB, 200)
    return {"segments": [first, second], "device_traces": [leaks, steady], "allocator_settings": {}}


def other_stream() -> dict[str, object]:
    far = BASE + (1 << 30)
    refused = {**entry("oom", 0, 10 * MIB, 5, 13), "device_free": 1 * MIB}
    trace = [
        entry("segment_alloc", BASE, 20 * MIB, 1, 11, stream=7),
        entry("alloc", BASE, 2 * MIB, 2, 11, stream=7),
        entry("segment_alloc", far, 20 * MIB, 3, 12),
        entry("alloc", far, 20 * MIB, 4, 12),
        refused,
    ]
    segments = [
        segment(0, BASE, 20 * MIB, [("active_allocated", 2 * MIB, 11), ("inactive", 18 * MIB, 0)], stream=7),
        segment(0, far, 20 * MIB, [("active_allocated", 20 * MIB, 12)]),
    ]
    return {"segments": segments, "device_traces": [trace], "allocator_settings": {}}


def main() -> None:
    folder = pathlib.Path(sys.argv[1])
    for name, made in (("two_devices", two_devices()), ("other_stream", other_stream())):
        packed = gzip.compress(pickle.dumps(made, protocol=4), mtime=0)
        (folder / f"{name}.pickle.gz").write_bytes(packed)


if __name__ == "__main__":
    main()
