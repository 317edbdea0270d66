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

