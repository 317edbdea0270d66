#!/usr/bin/env python3
"""On a machine with an NVIDIA GPU and PyTorch: a service's GPU time, counters, energy and profile, against other clocks."""

from __future__ import annotations

import statistics
import subprocess
import sys
import tempfile
import time

import torch

import stepscope


def main() -> None:
    """Prints what was compared; fails where two clocks disagree."""
    folder = tempfile.mkdtemp()
    watched = subprocess.Popen(
        [sys.executable, "-m", "stepscope", "monitor", "-o", folder, "--duration", "75s"],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )
    monitor = stepscope.ServiceMonitor(folder, sla={"/predict": 0.2}, profiles=True)
    weights = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    x = weights @ weights
    torch.cuda.synchronize()
    exact, waits = [], []
    until = time.time() + 68
    number = 0
    while time.time() < until:
        slow = number in (200, 203)
        first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        with monitor.request("/predict", id=number) as request:
            with request.region("inference"):
                first.record()
                for _ in range(2000 if slow else 20):
                    x = x @ weights
                last.record()
                torch.cuda.synchronize()
            if slow:
                time.sleep(0.3)
        if not slow:
            exact.append(first.elapsed_time(last))
            waits.append(request.latency)
        number += 1
        time.sleep(0.01)
    monitor.flush()
    said = watched.communicate(timeout=120)[0]
    print(said)
    report = stepscope.production.read_report(folder)
    route = report.route("/predict")
    ours = route["gpu_ns"] / 1e6
    print(f"{number} requests; GPU per request: ours {ours:.3f} ms, CUDA events around each {statistics.mean(exact):.3f} ms")
    print(f"GPU energy: {report['gpu_energy_j']:.0f} J")
    profiled = [one for one in report["exemplars"] if one["profile"]]
    print("profile:", [(one["id"], one["profile"]) for one in profiled])
    print("stack:", [one["stack"][-1:] for one in report["exemplars"] if one["stack"]])
    print(report)
    assert abs(ours / statistics.mean(exact) - 1) < 0.25
    assert "GPU" in said and report["gpu_energy_j"] > 0
    assert profiled and profiled[0]["id"] == "203"
    trace = stepscope.open(f"{folder}/profiles/{profiled[0]['profile']}")
    kernels = trace.kernels()
    assert sum(row["calls"] for row in kernels) >= 2000, kernels
    print("kernels of the profile:", sum(row["calls"] for row in kernels))


if __name__ == "__main__":
    main()
