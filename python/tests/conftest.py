"""What all tests share."""

from __future__ import annotations

import pathlib

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
EXAMPLE = ROOT / "fixtures/pytorch/2.11-h200/gpt_bf16/gpt_bf16.pt.trace.json.gz"


@pytest.fixture
def example() -> pathlib.Path:
    """A trace of three training steps on an H200."""
    return EXAMPLE


# Tests that hold times against a clock fail if the machine stands still for a moment. They get another try; others do
# not, and none where pytest-rerunfailures is not installed.
TIMED = {
    "test_compare_and_diagnose.py",
    "test_everyday_use.py",
    "test_lines.py",
    "test_machine.py",
    "test_monitor.py",
    "test_profiling.py",
    "test_pytest_plugin.py",
    "test_region_stacks.py",
    "test_regions.py",
    "test_sampler.py",
    "test_uses.py",
}


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if config.pluginmanager.hasplugin("rerunfailures"):
        for item in items:
            if item.path.name in TIMED:
                item.add_marker(pytest.mark.flaky(reruns=2))
