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


# What does not care whether PyTorch is there: tested without it, and not again with it.
INDIFFERENT = ("config", "native", "production", "reading", "test_house.py")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--beside-frameworks",
        action="store_true",
        help="leave out what does not care whether PyTorch is there",
    )


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    # Many tests watch real processes, and a busy machine may be late once: a test that fails gets another try and is
    # named, one that holds times against a clock gets two. Only where pytest-rerunfailures is installed.
    if config.pluginmanager.hasplugin("rerunfailures"):
        for item in items:
            is_of_time = item.get_closest_marker("clock") is not None
            item.add_marker(pytest.mark.flaky(reruns=2 if is_of_time else 1))
    if config.getoption("--beside-frameworks"):
        here = pathlib.Path(__file__).parent
        left_out = [item for item in items if item.path.relative_to(here).parts[0] in INDIFFERENT]
        items[:] = [item for item in items if item not in left_out]
        config.hook.pytest_deselected(items=left_out)
