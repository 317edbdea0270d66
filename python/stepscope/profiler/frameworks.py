"""Which framework's own profiler records beside us: the one that the program uses, or the one it names."""

from __future__ import annotations

import difflib
import importlib
import sys
from typing import Any

from ..errors import StepscopeError

#: What can be named. "none": only what is recorded without any framework.
NAMES = ("torch", "jax", "tensorflow", "none")
_ALSO = {"pytorch": "torch", "tf": "tensorflow"}
_TITLES = {"jax": "JAX", "tensorflow": "TensorFlow"}


def checked(asked: str | None) -> str | None:
    """The name as we spell it, or an error; None stays None.

    >>> checked("tf"), checked("JAX"), checked(None)
    ('tensorflow', 'jax', None)
    """
    if asked is None:
        return None
    name = str(asked).lower()
    name = _ALSO.get(name, name)
    if name in NAMES:
        return name
    near = difflib.get_close_matches(name, [*NAMES, *_ALSO], n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise StepscopeError(f"there is no framework {asked!r}{meant}", hint=f"use one of {', '.join(NAMES)}")


def chosen(asked: str | None) -> str:
    """The framework that records. Nobody asked: the one that the program has imported.

    A program that has imported several computes with the first of PyTorch, JAX and TensorFlow: next to JAX,
    TensorFlow is there to load data.
    """
    if asked is not None:
        return asked
    return next((name for name in ("torch", "jax", "tensorflow") if if_imported(name) is not None), "none")


def if_imported(name: str) -> Any:
    """The framework, if the program has imported all of it; it is never imported because of us."""
    module = sys.modules.get(name)
    if module is None or getattr(getattr(module, "__spec__", None), "_initializing", False):
        return None
    return module if hasattr(module, "__version__") else None


def imported(name: str) -> Any:
    """The framework that was asked for by its name, imported if need be."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise StepscopeError(
            f"{_TITLES.get(name, name)} is asked for and cannot be imported: {error}", hint=f"pip install {name}"
        ) from error
