"""Noticing that a module has been imported, however late and by whomever.

The genuine loader of the module does the work and stays on it: only its ``exec_module`` is
wrapped, on that one loader and for that one import.
"""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import importlib.util
import sys
import threading
from collections.abc import Sequence
from types import ModuleType
from typing import Any, Callable


class ImportWatch(importlib.abc.MetaPathFinder):
    """Calls ``imported(module)`` once, right after the module ``name`` was executed.

    >>> _ = sys.modules.pop("colorsys", None)
    >>> watch = ImportWatch("colorsys", lambda module: print("imported", module.__name__))
    >>> watch.start()
    >>> import colorsys
    imported colorsys
    """

    def __init__(self, name: str, imported: Callable[[ModuleType], None]) -> None:
        self._name = name
        self._imported = imported
        self._searching = threading.local()
        self._done = False

    def start(self) -> None:
        """Watch from now on; a module that is there already is reported at once."""
        module = sys.modules.get(self._name)
        if module is not None and not getattr(getattr(module, "__spec__", None), "_initializing", False):
            self._report(module)
        else:
            sys.meta_path.insert(0, self)

    def stop(self) -> None:
        """Watch no more."""
        self._done = True
        if self in sys.meta_path:
            sys.meta_path.remove(self)

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        """Let the others find the module, then wrap what its loader does."""
        if fullname != self._name or self._done or getattr(self._searching, "now", False):
            return None
        self._searching.now = True
        try:
            spec = importlib.util.find_spec(fullname)
        finally:
            self._searching.now = False
        if spec is not None and spec.loader is not None:
            self._wrap(spec.loader)
        return spec

    def _wrap(self, loader: Any) -> None:
        execute = getattr(loader, "exec_module", None)
        if execute is None or isinstance(loader, type):
            return  # Built-in and frozen modules share one class as their loader; it is not ours to change.

        def exec_module(module: ModuleType) -> None:
            _unwrap(loader)
            execute(module)
            self._report(module)

        try:
            loader.exec_module = exec_module
        except AttributeError:
            pass  # A loader that takes no attributes: this import goes by unseen, unharmed.

    def _report(self, module: ModuleType) -> None:
        if not self._done:
            self.stop()
            self._imported(module)


def _unwrap(loader: Any) -> None:
    try:
        del loader.exec_module
    except AttributeError:
        pass
