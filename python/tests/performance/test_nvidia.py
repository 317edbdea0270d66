"""A stand-in for NVIDIA's library, as the tests of the monitor build it: there is no GPU here."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import stepscope

STAND_IN = Path(__file__).parents[3] / "crates/record/tests/it/fake_nvml.c"

PROGRAM = """
import time
from stepscope import PerformanceProfiler
from stepscope.performance import monitor_session
# However long a sample takes on a busy machine: there is one at both ends of a region.
monitor_session.EDGE_SHARE = 0
profiler = PerformanceProfiler()
with profiler.profile("first"):
    time.sleep(0.3)
with profiler.profile("second"):
    time.sleep(0.3)
for name in ("first", "second"):
    metrics = profiler.get_metrics(name)
    # It counts 5 J with each reading.
    print(name, metrics.energy.gpu_j >= 5, metrics.compute.gpu_utilization_percent, metrics.memory.peak_gpu_mb)
"""


def test_energy_of_regions_shorter_than_its_usual_readings(tmp_path: Path) -> None:
    compiler = shutil.which("cc")
    if compiler is None or not STAND_IN.exists():
        pytest.skip("needs a C compiler and the source tree")
    library = tmp_path / "libnvidia-ml.so"
    subprocess.run([compiler, "-shared", "-fPIC", "-o", str(library), str(STAND_IN)], check=True)
    parent = str(Path(stepscope.__file__).parents[1])
    environment = {**os.environ, "STEPSCOPE_NVML": str(library), "PYTHONPATH": parent, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env=environment, stdout=subprocess.PIPE, text=True, check=True, timeout=60
    )
    assert done.stdout.splitlines() == ["first True 75.0 3072.0", "second True 75.0 3072.0"]
