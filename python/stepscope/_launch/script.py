"""Running a script or a module in this process as ``__main__``, the way ``python`` itself does."""

from __future__ import annotations

import builtins
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pkgutil
import sys
import types
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

from ..errors import StepscopeError


@dataclass(frozen=True)
class Ending:
    """How the program ended."""

    exit_code: int
    #: Ctrl-C: the process has to end by the signal, as it would have without us.
    interrupted: bool = False
    #: False: there was nothing to run.
    ran: bool = True


class Program:
    """A script, a folder or archive with a ``__main__.py``, or a module (``-m``)."""

    def __init__(self, name: str, arguments: list[str], *, is_module: bool) -> None:
        self._code: types.CodeType | None = None
        #: Entered right before the program's own code runs, and left right after.
        self.around: AbstractContextManager[Any] = contextlib.nullcontext()
        self.name = name
        self.arguments = arguments
        self.is_module = is_module
        if not is_module and not os.path.exists(name):
            raise StepscopeError(f"no such script: {name}", hint=f"check the path; the current folder is {os.getcwd()}")

    def take_path(self) -> None:
        """Put on ``sys.path`` what ``python`` would have there first."""
        if self.is_module:
            _first_on_path(os.getcwd())
        elif os.path.isdir(self.name) or _is_archive(self.name):
            # Python puts the folder itself on the path, safe path or not: it holds the program.
            _first_on_path(os.path.abspath(self.name), always=True)
        else:
            _first_on_path(os.path.dirname(os.path.realpath(self.name)))

    def run(self) -> Ending:
        """Run it to its end. Exceptions are shown with the script's own frames and become an exit code."""
        try:
            self._run()
        except SystemExit as ending:
            return Ending(_exit_code(ending.code))
        except BaseException as error:  # whatever the script raised is shown as Python shows it
            self._show(error)
            interrupted = isinstance(error, KeyboardInterrupt)
            return Ending(1, interrupted=interrupted, ran=not isinstance(error, _NotRunnable))
        return Ending(0)

    def _run(self) -> None:
        main = types.ModuleType("__main__")
        main.__dict__["__builtins__"] = builtins
        if "__annotations__" in sys.modules["__main__"].__dict__:
            main.__dict__["__annotations__"] = {}  # Made beforehand by Python up to 3.13.
        # The script must find itself under this name (pickle, multiprocessing, unittest.main), and
        # go on finding itself there while the interpreter shuts down: it is never put back.
        sys.modules["__main__"] = main
        if self.is_module:
            self._prepare_module(main)
        elif os.path.isdir(self.name) or _is_archive(self.name):
            self._prepare_folder(main)
        else:
            self._prepare_script(main)
        if self._code is not None:
            with self.around:
                exec(self._code, main.__dict__)

    def _prepare_script(self, main: types.ModuleType) -> None:
        path = os.path.abspath(self.name)
        sys.argv[:] = [self.name, *self.arguments]
        main.__dict__.update(__file__=path, __cached__=None, __package__=None, __spec__=None)
        main.__dict__["__loader__"] = importlib.machinery.SourceFileLoader("__main__", path)
        with io.open_code(path) as file:
            self._code = pkgutil.read_code(file)
        if self._code is None:
            with io.open_code(path) as file:
                self._code = compile(file.read(), path, "exec", dont_inherit=True)

    def _prepare_folder(self, main: types.ModuleType) -> None:
        sys.argv[:] = [self.name, *self.arguments]
        spec = importlib.machinery.PathFinder.find_spec("__main__", [os.path.abspath(self.name)])
        if spec is None:
            raise _NotRunnable(f"can't find '__main__' module in {self.name!r}")
        self._take_spec(main, spec, "__main__")

    def _prepare_module(self, main: types.ModuleType) -> None:
        sys.argv[:] = ["-m", *self.arguments]
        name = self.name
        spec = _find_module(name)
        if spec is not None and spec.submodule_search_locations is not None:
            name += ".__main__"
            spec = _find_module(name)
        if spec is None:
            raise _NotRunnable(f"No module named {name}")
        self._take_spec(main, spec, name)
        sys.argv[0] = str(spec.origin)

    def _take_spec(self, main: types.ModuleType, spec: importlib.machinery.ModuleSpec, name: str) -> None:
        get_code = getattr(spec.loader, "get_code", None)
        self._code = get_code(name) if get_code is not None else None
        if self._code is None:
            raise _NotRunnable(f"No code object available for {name}")
        main.__dict__.update(
            __file__=spec.origin, __cached__=spec.cached, __package__=spec.parent, __loader__=spec.loader, __spec__=spec
        )

    def _show(self, error: BaseException) -> None:
        if isinstance(error, _NotRunnable):
            print(f"{sys.executable}: {error}", file=sys.stderr)
            return
        trace = error.__traceback__
        while trace is not None and trace.tb_frame.f_code is not self._code:
            trace = trace.tb_next
        error.__traceback__ = trace
        try:
            sys.excepthook(type(error), error, trace)
        except BaseException:  # a broken hook of the script must not hide the error
            sys.__excepthook__(type(error), error, trace)


class _NotRunnable(Exception):
    """The module or folder cannot be run; Python says so without a traceback."""


def _find_module(name: str) -> importlib.machinery.ModuleSpec | None:
    try:
        return importlib.util.find_spec(name)
    except ModuleNotFoundError as error:
        # A parent of `name` that does not exist; an import that fails inside a parent is the script's own error.
        if error.name is not None and (name + ".").startswith(error.name + "."):
            return None
        raise


def _first_on_path(folder: str, always: bool = False) -> None:
    """What ``python`` would have as ``sys.path[0]``, instead of the folder of the ``stepscope`` program."""
    safe = bool(sys.flags.isolated or getattr(sys.flags, "safe_path", False))
    if not safe and sys.path:
        sys.path[0] = folder
    elif not safe or always:
        sys.path.insert(0, folder)


def _is_archive(path: str) -> bool:
    import zipfile

    return not path.endswith((".py", ".pyc", ".pyw")) and zipfile.is_zipfile(path)


def _exit_code(code: object) -> int:
    if code is None:
        return 0
    if isinstance(code, int):
        return int(code)
    print(code, file=sys.stderr)
    return 1
