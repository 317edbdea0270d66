"""Without the framework, importing its integration says what to install."""

from __future__ import annotations

import importlib
import sys

import pytest

from stepscope.errors import StepscopeError

# Where it is installed it is made to look as if it were not, which is not the same as never having been there.
pytestmark = pytest.mark.either

FRAMEWORKS = {
    "lightning": (["lightning", "lightning.pytorch", "pytorch_lightning"], "Lightning"),
    "transformers": (["transformers"], "transformers"),
    "keras": (["keras", "keras.callbacks", "tensorflow"], "Keras"),
}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_a_missing_framework_is_told(name, monkeypatch):
    modules, title = FRAMEWORKS[name]
    # Also what other tests have imported below them.
    below = tuple(f"{module}." for module in modules)
    for module in [*modules, *(loaded for loaded in sys.modules if loaded.startswith(below))]:
        monkeypatch.setitem(sys.modules, module, None)
    monkeypatch.delitem(sys.modules, f"stepscope.integrations.{name}", raising=False)
    with pytest.raises(StepscopeError, match=f"{title} is not installed") as caught:
        importlib.import_module(f"stepscope.integrations.{name}")
    assert caught.value.hint.startswith("pip install ")
