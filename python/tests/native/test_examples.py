"""The examples in the package's docstrings run, and say what they promise."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest

import stepscope

# Modules of frameworks that need not be here, and those that start something when they are imported.
LEFT_OUT = ("stepscope.integrations", "stepscope.__main__")


def modules() -> list[str]:
    found = ["stepscope"]
    for one in pkgutil.walk_packages(stepscope.__path__, "stepscope."):
        if not one.name.startswith(LEFT_OUT) and not one.name.endswith("_native"):
            found.append(one.name)
    return found


@pytest.mark.parametrize("name", modules())
@pytest.mark.usefixtures("without_frameworks")
def test_examples(name, example, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    module = importlib.import_module(name)
    result = doctest.testmod(module, extraglobs={"EXAMPLE": str(example)}, optionflags=doctest.ELLIPSIS)
    assert result.failed == 0
