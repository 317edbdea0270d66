#!/usr/bin/env python3
"""The Python package on a real NVIDIA GPU: what CI cannot see. Needs PyTorch with CUDA and nvidia-smi.

    python scripts/check_gpu.py FOLDER      # traces and numbers go there
"""

from __future__ import annotations

import json
import pathlib
import subprocess
import sys
import time

import torch

import stepscope
from stepscope import PerformanceProfiler, _native

folder = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "gpu-check")
folder.mkdir(parents=True, exist_ok=True)
figures: dict[str, object] = {"torch": torch.__version__, "device": torch.cuda.get_device_name()}


def smi(field: str) -> float:
    words = ["nvidia-smi", f"--query-gpu={field}", "--format=csv,noheader,nounits"]
    return float(subprocess.run(words, stdout=subprocess.PIPE, check=True).stdout.split()[0])


model = torch.nn.Sequential(*[torch.nn.Linear(4096, 4096) for _ in range(8)]).cuda()
optimizer = torch.optim.AdamW(model.parameters())
data = torch.randn(4096, 4096, device="cuda")


def train_step() -> None:
    optimizer.zero_grad()
    with torch.autocast("cuda", torch.bfloat16):
        loss = model(data).float().square().mean()
    loss.backward()
    optimizer.step()


def train(seconds: float) -> int:
    steps, end = 0, time.perf_counter() + seconds
    while time.perf_counter() < end:
        train_step()
        steps += 1
        if steps % 10 == 0:
            torch.cuda.synchronize()
    torch.cuda.synchronize()
    return steps


train(1)

# 1. A profile with the machine's counters on the same timeline.
with stepscope.profile(
    activities=[stepscope.ProfilerActivity.CPU, stepscope.ProfilerActivity.CUDA],
    schedule=stepscope.schedule(wait=1, warmup=1, active=4, repeat=1),
    on_trace_ready=stepscope.tensorboard_trace_handler(str(folder / "traces"), use_gzip=True),
    record_shapes=True,
    profile_memory=True,
) as prof:
    for _ in range(6):
        with stepscope.record_function("training step"):
            for _ in range(40):
                train_step()
            torch.cuda.synchronize()
        prof.step()
print(prof.key_averages().table(sort_by="cuda_time_total", row_limit=8))
trace = stepscope.open(folder / "traces")
events = json.loads(subprocess.run(["gzip", "-dc", trace.path], stdout=subprocess.PIPE, check=True).stdout)["traceEvents"]
counters = sorted({e["name"] for e in events if e["ph"] == "C"})
kernels = [e for e in events if e.get("cat") == "kernel"]
span = (min(e["ts"] for e in kernels), max(e["ts"] + e["dur"] for e in kernels))
within = [e for e in events if e["ph"] == "C" and e["name"] == "GPU 0 utilization" and span[0] <= e["ts"] <= span[1]]
figures["counters on the timeline"] = counters
figures["GPU utilization while kernels ran"] = [e["args"] for e in within]
figures["regions on the timeline"] = sum(e["name"] == "training step" and e.get("cat") == "user_annotation" for e in events)
figures["steps"] = trace.steps().column("step")
figures["verdict"] = trace.verdict()

# 2. Energy: our counter's difference beside nvidia-smi's power, sampled over the same ten seconds.
monitor = stepscope.Monitor(0.1)
monitor.start()
powers: list[float] = []
start = _native.now_ns()
end = time.perf_counter() + 10
while time.perf_counter() < end:
    train(0.7)
    powers.append(smi("power.draw"))
stop = _native.now_ns()
monitor.stop()
seen = monitor.window(start, stop)
joules = seen["gpu.0.energy_j"]["last"] - seen["gpu.0.energy_j"]["first"]
figures["energy"] = {
    "our counter, J": joules,
    "over seconds": (stop - start) / 1e9,
    "mean power by the counter, W": joules / ((stop - start) / 1e9),
    "mean power by our samples, W": seen["gpu.0.power_w"]["mean"],
    "mean power by nvidia-smi between bursts, W": sum(powers) / len(powers),
}
figures["while training"] = {name: round(value["mean"], 2) for name, value in seen.items() if name.startswith("gpu.")}
figures["monitor, % of a core"] = 100 * monitor.cpu_seconds() / ((stop - start) / 1e9)
figures["missing"] = monitor.missing()

# 3. Peak memory beside PyTorch's own.
torch.cuda.reset_peak_memory_stats()
profiler = PerformanceProfiler(track_gpu=True, estimate_flops=True)
with profiler.profile("gpu training", samples=4096 * 5):
    for _ in range(5):
        train_step()
    torch.cuda.synchronize()
metrics = profiler.get_metrics()
figures["PerformanceProfiler"] = {
    "peak_gpu_mb": metrics.memory.peak_gpu_mb,
    "torch.cuda.max_memory_allocated, MB": torch.cuda.max_memory_allocated() / 2**20,
    "current share": profiler.get_current_gpu_memory(),
    "flops": str(metrics.compute.estimated_flops),
    "throughput": str(metrics.throughput),
    "gpu utilization": str(metrics.compute.gpu_utilization_percent),
    "energy": str(metrics.energy),
}
# 4. Growth of tensors is charged to the region that keeps them.
kept = []
profiler = PerformanceProfiler()
for _ in range(30):
    with profiler.profile("keeps"):
        kept.append(torch.ones(1 << 20, device="cuda"))
    with profiler.profile("innocent"):
        (data[:256] @ data).sum().item()
figures["leaks"] = {name: str(profiler.get_leak_report(name)) for name in ("keeps", "innocent")}

# 5. Several monitors at once, beside CUDA, in processes that end while they sample: each must end well.
SAMPLING = """
import threading, torch, stepscope
monitors = [stepscope.Monitor(0.01) for _ in range(4)]
for monitor in monitors:
    monitor.start()
def sample(monitor):
    for _ in range(50):
        monitor.sample_now()
threads = [threading.Thread(target=sample, args=(monitor,)) for monitor in monitors]
for thread in threads:
    thread.start()
x = torch.randn(2048, 2048, device="cuda")
for _ in range(200):
    x = x @ x / 2048
torch.cuda.synchronize()
for thread in threads[:2]:
    thread.join()
"""
ends = [subprocess.run([sys.executable, "-c", SAMPLING], check=False).returncode for _ in range(6)]
figures["ends of processes with four monitors"] = ends

print(json.dumps(figures, indent=1, default=str))
(folder / "figures.json").write_text(json.dumps(figures, indent=1, default=str))
sys.exit(any(ends))
