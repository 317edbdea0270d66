#!/usr/bin/env python3
"""Records memory snapshots of one program at several batches, and finds by trial the largest batch that fits.

    python3 scripts/record_batches.py OUT_FOLDER [LIMIT_GIB [PROGRAM...]]

Needs PyTorch with a GPU and the package `stepscope`. Under a limit on the process (default: 8 GiB), for each of three
programs (as it is, with activations recomputed, with half the layers): snapshots at four batches, OUT_FOLDER/NAME-BATCH.pickle.gz,
and in OUT_FOLDER/NAME.json the largest batch that trains three steps and the smallest that runs out of memory, found by bisection, each
in a process of its own. Then `stepscope memory ... --fit` is asked and compared with the truth.
"""

import json
import os
import subprocess
import sys

BATCHES = (512, 1024, 2048, 4096)
PROGRAMS = {"plain": (False, 8), "recomputed": (True, 8), "shallow": (False, 4)}
STEPS = 3


def train(program: str, batch: int, limit_gib: float, path: str) -> None:
    """In a process of its own: exit code 3 if memory ran out."""
    import torch
    import torch.nn as nn
    import torch.nn.functional as F
    from torch.utils.checkpoint import checkpoint

    import stepscope.memory

    recompute, layers = PROGRAMS[program]
    torch.cuda.init()
    torch.cuda.set_per_process_memory_fraction(limit_gib * 2**30 / torch.cuda.get_device_properties(0).total_memory)
    width = 1024

    def steps() -> None:
        blocks = (
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
            for _ in range(layers)
        )
        model = nn.ModuleList(blocks).cuda()
        adam = torch.optim.AdamW(model.parameters(), lr=1e-4)
        for step in range(STEPS):
            with torch.profiler.record_function(f"step {step}"):
                x = torch.randn(batch, width, device="cuda")
                with torch.autocast("cuda", torch.bfloat16):
                    out = x
                    for layer in model:
                        out = out + (checkpoint(layer, out, use_reentrant=False) if recompute else layer(out))
                    loss = F.mse_loss(out, x)
                loss.backward()
                adam.step()
                adam.zero_grad()
        torch.cuda.synchronize()

    try:
        if path:
            with stepscope.memory.record(path=path, batch=batch):
                steps()
        else:
            steps()
    except torch.OutOfMemoryError:
        raise SystemExit(3) from None


def run(program: str, batch: int, limit_gib: float, path: str = "") -> bool:
    """Whether it fits."""
    arguments = [sys.executable, __file__, "--one", program, str(batch), str(limit_gib), path]
    code = subprocess.run(arguments, check=False).returncode
    if code not in (0, 3):
        raise SystemExit(f"{program} at {batch} failed with exit code {code}")
    return code == 0


def bisect(program: str, limit_gib: float) -> tuple[int, int]:
    """The largest batch that fits and the smallest that does not, 16 apart at most."""
    low, high = BATCHES[-1], 2 * BATCHES[-1]
    while run(program, high, limit_gib):
        low, high = high, 2 * high
    while high - low > 16:
        middle = (low + high) // 2
        fits = run(program, middle, limit_gib)
        low, high = (middle, high) if fits else (low, middle)
    return low, high


def main() -> int:
    if sys.argv[1] == "--one":
        _, _, program, batch, limit_gib, path = sys.argv
        train(program, int(batch), float(limit_gib), path)
        return 0
    folder = sys.argv[1]
    limit_gib = float(sys.argv[2]) if len(sys.argv) > 2 else 8.0
    os.makedirs(folder, exist_ok=True)
    wrong = 0
    for program in sys.argv[3:] or PROGRAMS:
        paths = [os.path.join(folder, f"{program}-{batch}.pickle.gz") for batch in BATCHES]
        for batch, path in zip(BATCHES, paths):
            if not run(program, batch, limit_gib, path):
                raise SystemExit(f"{program} at {batch} does not fit {limit_gib} GiB: give more")
        fits, refused = bisect(program, limit_gib)
        ask = [sys.executable, "-m", "stepscope", "memory", *paths, "--fit", "--capacity", f"{limit_gib}GiB"]
        done = subprocess.run([*ask, "--format", "json"], capture_output=True, text=True, check=True)
        said = json.loads(done.stdout)["largest"][0]
        low, best, high = (said[f"largest_batch{end}"] for end in ("_low", "", "_high"))
        inside = (low or 0) <= refused and (high is None or fits <= high)
        wrong += not inside
        with open(os.path.join(folder, f"{program}.json"), "w") as file:
            truth = {"limit_gib": limit_gib, "fits": fits, "refused": refused, "said": said}
            json.dump(truth, file, indent=1)
        off = best / fits - 1 if best else float("nan")
        print(f"{program}: {fits} fits, {refused} does not; said {best} ({low} to {high}), off by {off:+.1%}", flush=True)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
