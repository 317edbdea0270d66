#!/usr/bin/env python3
"""Write a synthetic memory snapshot of any size, to measure how readers and pages take it.

Training steps of a stack of layers: parameters and optimizer state that stay, activations that live from their forward
to their backward call, workspaces that live for a moment, and a list that grows. Stacks have 40 frames and are shared,
as PyTorch's are. Segments are of 2 GiB, and blocks are placed first fit, so that the history is one an allocator could
have written.

    python scripts/bench/large_snapshot.py --events 1000000 snapshot.pickle
"""

from __future__ import annotations

import argparse
import bisect
import pickle
import random

SEGMENT = 2 << 30
MIB = 1 << 20


class Allocator:
    """First fit in segments of one size."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.trace: list[dict] = []
        self.segments: list[int] = []
        self.free: list[tuple[int, int]] = []
        self.live: dict[int, tuple[int, list]] = {}
        self.clock = 1_700_000_000_000_000

    def note(self, action: str, address: int, size: int, frames: list) -> None:
        """Add an entry."""
        self.clock += 3
        entry = {"action": action, "addr": address, "size": size, "stream": 0, "time_us": self.clock}
        entry["frames"] = frames
        self.trace.append(entry)

    def allocate(self, size: int, frames: list) -> int:
        """Place a block."""
        size = -(-size // 512) * 512
        fits = (place for place, (_, room) in enumerate(self.free) if room >= size)
        at = next(fits, None)
        if at is not None:
            address, room = self.free[at]
        else:
            address, room = 0x7F0000000000 + len(self.segments) * 2 * SEGMENT, max(SEGMENT, size)
            self.segments.append(address)
            self.note("segment_alloc", address, room, frames)
            at = bisect.bisect(self.free, (address, room))
            self.free.insert(at, (address, room))
        if room == size:
            del self.free[at]
        else:
            self.free[at] = (address + size, room - size)
        self.live[address] = (size, frames)
        self.note("alloc", address, size, frames)
        return address

    def release(self, address: int) -> None:
        """Free a block."""
        size, frames = self.live.pop(address)
        self.note("free_requested", address, size, frames)
        self.note("free_completed", address, size, frames)
        at = bisect.bisect(self.free, (address, 0))
        start, end = address, address + size
        if at < len(self.free) and self.free[at][0] == end and end not in self.segments:
            end += self.free.pop(at)[1]
        if at > 0 and sum(self.free[at - 1]) == start and start not in self.segments:
            at -= 1
            start = self.free.pop(at)[0]
        self.free.insert(at, (start, end - start))

    def snapshot(self) -> dict:
        """Say what is held, as PyTorch does."""
        segments = []
        blocks: dict[int, list[dict]] = {address: [] for address in self.segments}
        every = [(a, s, "active_allocated", f) for a, (s, f) in self.live.items()]
        every += [(a, s, "inactive", []) for a, s in self.free]
        for address, size, state, frames in sorted(every, key=lambda block: block[0]):
            segment = self.segments[bisect.bisect(self.segments, address) - 1]
            block = {"address": address, "size": size, "requested_size": size, "state": state, "frames": frames}
            blocks[segment].append(block)
        for address in self.segments:
            inside = blocks[address]
            used = sum(block["size"] for block in inside if block["state"] != "inactive")
            segments.append(
                {
                    "device": 0,
                    "address": address,
                    "total_size": sum(block["size"] for block in inside),
                    "allocated_size": used,
                    "active_size": used,
                    "requested_size": used,
                    "stream": 0,
                    "segment_type": "large",
                    "segment_pool_id": (0, 0),
                    "is_expandable": False,
                    "frames": [],
                    "blocks": inside,
                }
            )
        return {
            "segments": segments,
            "device_traces": [self.trace],
            "allocator_settings": {},
            "external_annotations": [],
        }


def stack(names: list[tuple[str, str, int]]) -> list[dict]:
    """Frames, the innermost first, padded to 40."""
    frames = [{"name": name, "filename": file, "line": line} for name, file, line in names]
    for depth in range(40 - len(frames)):
        file = "/usr/lib/python3.12/site-packages/torch/nn/modules/module.py"
        frames.append({"name": f"_call_impl_{depth % 4}", "filename": file, "line": 1700 + depth})
    return frames


def record(events: int, layers: int, seed: int) -> dict:
    """Train until so many entries are written."""
    chance = random.Random(seed)
    allocator = Allocator()
    model = "/home/user/train/model.py"

    def place(function: str, line: int) -> list[dict]:
        inner = ("empty", "/usr/lib/python3.12/site-packages/torch/_tensor.py", 12)
        return stack([inner, (function, model, line), ("train_step", "/home/user/train/train.py", 88)])

    forward = [place(f"layer_{at}", 100 + at) for at in range(layers)]
    backward = [place(f"layer_{at}_backward", 400 + at) for at in range(layers)]
    work = [place(f"attention_{at % 12}", 700 + at % 12) for at in range(layers)]
    keep = place("log_loss", 900)
    for at in range(layers):
        for _ in range(3):
            allocator.allocate(24 * MIB + at * 512, place("init_parameters", 20))
            allocator.allocate(48 * MIB, place("init_optimizer", 30))
    while len(allocator.trace) < events:
        saved = []
        for at in range(layers):
            saved.append(allocator.allocate(chance.randrange(4, 40) * MIB // 2, forward[at]))
            for _ in range(chance.randrange(2, 6)):
                short = allocator.allocate(chance.randrange(1, 4096) * 1024, work[at])
                allocator.release(short)
        for at in reversed(range(layers)):
            gradient = allocator.allocate(24 * MIB, backward[at])
            allocator.release(saved.pop())
            allocator.release(gradient)
        allocator.allocate(chance.randrange(1, 64) * 1024, keep)
    return allocator.snapshot()


def main() -> None:
    """Write the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--layers", type=int, default=48)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--own-lists", action="store_true", help="a list of frames per entry, as PyTorch writes them")
    options = parser.parse_args()
    snapshot = record(options.events, options.layers, options.seed)
    if options.own_lists:
        for entry in snapshot["device_traces"][0]:
            entry["frames"] = list(entry["frames"])
    with open(options.path, "wb") as file:
        pickle.dump(snapshot, file)
    print(f"{len(snapshot['device_traces'][0])} entries, {len(snapshot['segments'])} segments")


if __name__ == "__main__":
    main()
