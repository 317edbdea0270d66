"""What the tests of the profiler share."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any, Callable

import pytest

from stepscope.profiler import torch_engine


@pytest.fixture
def without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The profiler sees a program that has not imported PyTorch, whatever other tests have."""
    monkeypatch.setattr(torch_engine, "torch_if_imported", lambda: None)


@pytest.fixture
def read_trace() -> Callable[[Any], dict[str, Any]]:
    """Reads a trace file as JSON."""

    def read(path: Any) -> dict[str, Any]:
        opener = gzip.open if str(path).endswith(".gz") else open
        with opener(path, "rt", encoding="utf-8") as file:
            document: dict[str, Any] = json.load(file)
        return document

    return read


@pytest.fixture
def slices(read_trace: Callable[[Any], dict[str, Any]]) -> Callable[..., list[dict[str, Any]]]:
    """The slices of a trace file, of one category if asked for, in the order of time."""

    def find(path: Path, category: str | None = "user_annotation") -> list[dict[str, Any]]:
        found = [event for event in read_trace(path)["traceEvents"] if event.get("ph") == "X"]
        if category is not None:
            found = [event for event in found if event.get("cat") == category]
        return sorted(found, key=lambda event: float(event["ts"]))

    return find
