#!/usr/bin/env python3
"""Times pairs of programs in turns on a GPU, without a profiler, and records them: one with a fault, one without.

python3 scripts/record_twins.py OUT_FOLDER [--set seen|unseen|fresh|blind|traps|healthy ...] [--only CASE ...] [--minutes M]

Into OUT_FOLDER/SET/CASE go the traces `fault|fixed.shapes|plain.json.xz` and `answers.json`, with the times of every
round. `--minutes` starts no new case after that; cases that are there already are skipped, so a second run goes on.
Rules may be written while looking at `seen`; `unseen`, `fresh` and `blind` were for checking them afterwards.
"""

import argparse
import os
import subprocess
import sys
import time
import traceback

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import torch._inductor.config  # noqa: E402, F401

import twins.blind  # noqa: E402
import twins.faults  # noqa: E402
import twins.fresh  # noqa: E402, F401
import twins.healthy  # noqa: E402
import twins.more_faults  # noqa: E402, F401
from twins import harness  # noqa: E402


def main():
    words = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    words.add_argument("out", metavar="OUT_FOLDER")
    words.add_argument("--set", nargs="+", choices=harness.SETS, default=list(harness.SETS))
    words.add_argument("--only", metavar="CASE", nargs="+")
    words.add_argument("--minutes", type=float, default=1e9)
    asked = words.parse_args()
    start, failed = time.monotonic(), []
    packers = []
    record(asked, start, failed, packers)
    for packer in packers:
        packer.wait()
    if failed:
        sys.exit(f"failed: {', '.join(failed)}")


# Compresses the traces of a case. A process of its own, beside the next case: threads and forks do not mix.
PACK = """
import lzma, os, sys
for name in os.listdir(sys.argv[1]):
    trace = os.path.join(sys.argv[1], name)
    if name.endswith(".json") and name != "answers.json":
        with open(trace, "rb") as file, lzma.open(trace + ".xz", "wb", preset=3) as packed:
            packed.write(file.read())
        os.remove(trace)
"""


def record(asked, start, failed, packers):
    for kind in asked.set:
        for name, it in harness.SETS[kind].items():
            folder = os.path.join(asked.out, kind, name)
            if asked.only and name not in asked.only or os.path.exists(os.path.join(folder, "answers.json")):
                continue
            if time.monotonic() - start > 60 * asked.minutes:
                print("out of time before", kind, name, flush=True)
                return
            began = time.monotonic()
            try:
                answers = harness.run(kind, name, it, folder)
            except Exception:
                traceback.print_exc()
                failed.append(f"{kind}/{name}")
                continue
            sides = [f"{v} {answers[v]['step_ms']:.3f} ms {sum(answers[v]['bytes'].values()) // 1000} kB"
                     for v in ("fault", "fixed") if v in answers]
            packers.append(subprocess.Popen([sys.executable, "-c", PACK, folder]))
            saved = f"saved {answers['saved']:.1%} {answers['saved_quartiles']}" if "saved" in answers else ""
            print(f"{kind:8} {name:22}", "; ".join(sides), saved, f"({time.monotonic() - began:.0f} s)", flush=True)


if __name__ == "__main__":
    main()
