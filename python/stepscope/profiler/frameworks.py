"""Which frameworks' own profilers record beside us: those that the program uses, or the one it names."""

from __future__ import annotations

import contextlib
import difflib
import importlib
import sys
from typing import Any

from ..errors import StepscopeError

#: What can be named. "none": only what is recorded without any framework.
FRAMEWORK_NAMES = ("torch", "jax", "tensorflow", "none")
#: Those whose profilers write XPlane files.
XLA_NAMES = ("jax", "tensorflow")
_ALIASES = {"pytorch": "torch", "tf": "tensorflow"}
_TITLES = {"jax": "JAX", "tensorflow": "TensorFlow"}


def checked(asked: str | None) -> str | None:
    """The name as we spell it, or an error; None stays None.

    >>> checked("tf"), checked("JAX"), checked(None)
    ('tensorflow', 'jax', None)
    """
    if asked is None:
        return None
    name = str(asked).lower()
    name = _ALIASES.get(name, name)
    if name in FRAMEWORK_NAMES:
        return name
    near = difflib.get_close_matches(name, [*FRAMEWORK_NAMES, *_ALIASES], n=1)
    meant = f"; did you mean {near[0]!r}?" if near else ""
    raise StepscopeError(f"there is no framework {asked!r}{meant}", hint=f"use one of {', '.join(FRAMEWORK_NAMES)}")


def xla_frameworks(asked: str | None) -> list[tuple[str, bool]]:
    """JAX and TensorFlow, as far as their profilers may record, each with whether it has to wait until the program uses
    it: starting one makes its framework look for devices and take their memory, and a program may import several to
    compute with one. One that is asked for, or that is alone, is meant.
    """
    if asked is not None:
        return [(asked, False)] if asked in XLA_NAMES else []
    imported = [name for name in ("torch", *XLA_NAMES) if if_imported(name) is not None]
    return [(name, len(imported) > 1) for name in imported if name in XLA_NAMES]


def in_use(name: str) -> bool:
    """Whether the program has begun to use the devices of JAX or TensorFlow. Where that is unknown, it has."""
    if if_imported(name) is None:
        return False
    with contextlib.suppress(Exception):
        if name == "jax":
            return bool(_module("jax._src.xla_bridge").backends_are_initialized())
        context = _module("tensorflow.python.eager.context").context_safe()
        return context is not None and bool(context._initialized)
    return True


def _module(name: str) -> Any:
    return sys.modules[name]


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
