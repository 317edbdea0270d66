"""A service records the next slow request with PyTorch's profiler."""

from __future__ import annotations

import pathlib
import subprocess
import sys
import textwrap

import pytest

import stepscope


def test_a_profile_of_the_next_slow_request(tmp_path: pathlib.Path) -> None:
    pytest.importorskip("torch", reason="PyTorch is not installed")
    program = textwrap.dedent(
        """
        import sys, time, torch, stepscope
        monitor = stepscope.ServiceMonitor(sys.argv[1], sla={"/predict": 0.05}, profiles=True)
        torch.ones(64, 64) @ torch.ones(64, 64)
        for number in range(3):
            with monitor.request("/predict", id=number):
                torch.ones(64, 64) @ torch.ones(64, 64)
                # One is looked into that takes a fifth of the first one's time, however long a busy machine made that.
                time.sleep(0.5 if number else 0.1)
        """
    )
    done = subprocess.run([sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    exemplars = stepscope.production.read_report(tmp_path)["exemplars"]
    (found,) = [one for one in exemplars if one["profile"]]
    assert found["id"] == "1" and found["stack"]
    trace = stepscope.open(tmp_path / "profiles" / found["profile"])
    assert "aten::mm" in {row["name"] for row in trace.ops()}
