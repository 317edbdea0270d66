#!/usr/bin/env python3
"""Makes fixtures of what record_twins.py recorded: one or two steps of each trace, as zstd. Needs the package zstandard.

python3 scripts/pack_twins.py RECORDED FIXTURES

Of a program without its fault one recording is kept, with shapes. Programs whose fault is not in every step keep all of
theirs.
"""

import json
import lzma
import pathlib
import shutil
import sys

import zstandard

STEPS = 2
# Programs of many events, in the set `blind`.
ONE_STEP = {"exact_conv", "finite_sync", "loop_optimizer", "main_thread_preprocessing", "many_small_copies", "mask_sync",
            "math_attention", "parameter_loop", "recurrent_by_hand", "rotary_by_hand", "small_batch"}
WHOLE = {"first_step_compile", "recompile", "gc_pause"}
DEVICE = {"kernel", "gpu_memcpy", "gpu_memset", "cuda_sync"}


def trimmed(text, steps):
    """The trace without what belongs to later steps: neither their events nor what they launched."""
    trace = json.loads(text)
    events = trace["traceEvents"]
    ranges = [e for e in events if e.get("cat") == "user_annotation"]
    starts = sorted(e["ts"] for e in ranges if e["name"].startswith("ProfilerStep#"))
    if len(starts) <= steps:
        return text
    end = starts[steps]
    # What steps before the recording launched stays too: the device is busy with it.
    later = {e["args"]["correlation"] for e in events
             if e.get("cat", "").startswith("cuda_") and e["ts"] >= end and "correlation" in e.get("args", {})}

    def stays(event):
        if event["ph"] == "M" or "ts" not in event:
            return True
        if event["ph"] in "sf":
            # Arrows of launches have the launch's number; those from forward to backward lie within a step.
            return event["id"] not in later if event.get("cat") == "ac2g" else event["ts"] < end
        if event.get("cat") in DEVICE:
            return event["args"].get("correlation") not in later
        if event.get("cat") == "gpu_user_annotation":
            return not (event["name"].startswith("ProfilerStep#") and event["name"] in gone)
        return event["ts"] < end

    gone = {e["name"] for e in ranges if e["ts"] >= end}
    trace["traceEvents"] = [event for event in events if stays(event)]
    return json.dumps(trace, separators=(",", ":"), ensure_ascii=False).encode()


def main():
    recorded, fixtures = map(pathlib.Path, sys.argv[1:])
    for answers in sorted(recorded.glob("*/*/answers.json")):
        folder = fixtures / answers.parent.relative_to(recorded)
        folder.mkdir(parents=True, exist_ok=True)
        shutil.copy(answers, folder)
        for trace in sorted(answers.parent.glob("*.json.xz")):
            if trace.name == "fixed.plain.json.xz" and folder.parent.name != "healthy":
                continue
            text = lzma.open(trace).read()
            if folder.name not in WHOLE:
                large = folder.parent.name == "blind" and folder.name in ONE_STEP
                text = trimmed(text, 1 if large else STEPS)
            packed = zstandard.ZstdCompressor(level=19).compress(text)
            (folder / trace.name.replace(".json.xz", ".json.zst")).write_bytes(packed)


if __name__ == "__main__":
    main()
