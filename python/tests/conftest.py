"""What all tests share: the example trace, where each test runs, and which ones needed a second try."""

from __future__ import annotations

import os
import pathlib
import sys
from typing import Any

import pytest
from _pytest.junitxml import mangle_test_address

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
EXAMPLE = ROOT / "fixtures/pytorch/2.11-h200/gpt_bf16/gpt_bf16.pt.trace.json.gz"


@pytest.fixture
def without_frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    """As a program that has imported none, whatever tests before this one have."""
    for name in ("torch", "jax", "tensorflow"):
        monkeypatch.delitem(sys.modules, name, raising=False)


@pytest.fixture
def example() -> pathlib.Path:
    """A trace of three training steps on an H200."""
    return EXAMPLE


#: Files and folders that only one environment can run, by its marker. Single tests carry the marker themselves.
#: `frameworks`: PyTorch, Lightning, Transformers, Keras; `jax`: JAX and TensorFlow; `services`: the servers.
ENVIRONMENTS = {
    "frameworks": (
        "integrations/test_keras.py",
        "integrations/test_lightning.py",
        "integrations/test_transformers.py",
        "launch/test_early_end.py",
        "launch/test_iterations.py",
        "launch/test_phases.py",
        "launch/test_stretch.py",
        "launch/test_together.py",
        "launch/test_with_torch.py",
        "patterns/test_repro.py",
        "performance/test_flops_torch.py",
        "profiler/test_service_profile.py",
        "profiler/test_torch_events.py",
        "profiler/test_torch_profile.py",
        "profiler/test_torch_quiet.py",
        "profiler/test_torch_regions.py",
        "profiler/test_torch_shared.py",
        "trial",
    ),
    "jax": ("performance/test_jax.py", "xla"),
    "services": ("production",),
}
#: Which of them this is; the runner of the tests says so. Without it, what cannot be imported is skipped.
HERE_IS = os.environ.get("STEPSCOPE_ENVIRONMENT")


def environment_of(path: pathlib.Path) -> str | None:
    """The only environment that can run a file or folder."""
    if HERE not in path.parents:
        return None
    place = path.relative_to(HERE)
    for marker, places in ENVIRONMENTS.items():
        if any(pathlib.PurePath(one) in (place, *place.parents) for one in places):
            return marker
    return None


def pytest_ignore_collect(collection_path: pathlib.Path) -> bool | None:
    # A file about PyTorch imports it when it is collected: where it is not installed, the whole file would be reported
    # as skipped although no one asked for it here.
    only = environment_of(collection_path)
    return True if HERE_IS and only and only != HERE_IS else None


def runs_here(item: pytest.Item) -> bool:
    """What needs no framework runs once, in the plain environment."""
    needs = [name for name in ENVIRONMENTS if item.get_closest_marker(name)]
    if HERE_IS in (None, "plain"):
        return not (HERE_IS and needs)
    return HERE_IS in needs or (HERE_IS == "frameworks" and item.get_closest_marker("either") is not None)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    nightly = pytest.mark.skip(reason="slow and proves little more: runs with STEPSCOPE_NIGHTLY=1")
    for item in items:
        if only := environment_of(item.path):
            item.add_marker(only)
        if item.get_closest_marker("nightly") and os.environ.get("STEPSCOPE_NIGHTLY") != "1":
            item.add_marker(nightly)
    elsewhere = [item for item in items if not runs_here(item)]
    items[:] = [item for item in items if item not in elsewhere]
    config.hook.pytest_deselected(items=elsewhere)


def demand(report: Any) -> Any:
    """What a file of requirements installs is there, or the environment is broken: no reason to skip anything."""
    reason = report.longrepr[2] if report.skipped and isinstance(report.longrepr, tuple) else ""
    if HERE_IS and reason.endswith("is not installed"):
        report.outcome = "failed"
        report.longrepr = f"{reason}, and the environment {HERE_IS!r} promises it"
    return report


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Any:
    return demand((yield))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Any:
    return demand((yield))


def pytest_runtest_logreport(report: Any) -> None:
    # A test that passes when tried again is worth a look: whoever reads the results is told its name, in the words
    # of the results. The name of the file comes from the runner, which alone allows second tries (`--reruns`).
    file = os.environ.get("STEPSCOPE_RETRIED")
    if file and report.outcome == "rerun":
        names = mangle_test_address(report.nodeid)
        with open(file, "a", encoding="utf-8") as retried:
            retried.write(f"{'.'.join(names[:-1])} {names[-1]}\n")
