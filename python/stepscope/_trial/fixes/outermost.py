"""Standing around the calls of a program's outermost modules that have parameters: its models, not what is inside them.

Their classes are found among the first calls (a heuristic: a model that is first called much later is not found). Then
only these classes have a ``__call__`` of ours, so that neither the modules inside nor a compiler meets it. Nothing is
put on the modules themselves: their attributes, hooks, copies and saved states stay as they are.
"""

from __future__ import annotations

import os
import threading
import weakref
from collections import Counter
from typing import Any, Callable

from .backward import BACKWARD

#: Every model has to be called this often before no other is looked for.
_CALLS_OF_EACH = 4
#: Calls of models after which no other is looked for, and calls of other modules in a row: transforms of images are
#: modules too, and there are many before the first call of a model.
_MAX_CALLS = 100
_MAX_CALLS_OF_OTHERS = 100_000

#: The call of a module, which one may make in other surroundings, with other arguments, or again.
Call = Callable[..., Any]
#: Makes the call of a module and returns its result.
Around = Callable[[Any, Call, tuple[Any, ...], dict[str, Any]], Any]


class OutermostCalls:
    """Has every outermost call made by what was added, the first outermost. Calls in other threads, or in processes
    that the program forks, are left alone. While the program goes backward, checkpoints call what is inside models as
    well as models, in any thread: then only models that are known are outermost."""

    def __init__(self) -> None:
        self._arounds: list[Around] = []
        #: Whether an outermost call runs now; forked processes are taken to be inside for good.
        self._inside = False
        self._main = threading.main_thread().ident
        self._base: Any = None
        self._looks = False
        self._models: weakref.WeakValueDictionary[int, Any] = weakref.WeakValueDictionary()
        self._calls: Counter[int] = Counter()
        self._others = 0

    def add(self, torch: Any, around: Around) -> None:
        """Have ``around(module, call, args, kwargs)`` make the outermost calls from now on."""
        self._arounds.append(around)
        if len(self._arounds) == 1:
            os.register_at_fork(after_in_child=self._forked)
            BACKWARD.watch(torch)
            self._search(torch)

    def _forked(self) -> None:
        self._inside = True

    def _search(self, torch: Any) -> None:
        """Look at the calls of all modules, until the models are found."""
        global _is_compiling, _genuine
        _is_compiling = getattr(getattr(torch, "compiler", None), "is_compiling", _is_compiling)
        self._base = torch.nn.Module
        _genuine = self._base.__call__
        self._base.__call__ = _looking
        self._looks = True

    def looked_at(self, module: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Make the call of a module while models are looked for."""
        if not self._is_outermost(module):
            return _genuine(module, *args, **kwargs)
        self._others += 1
        if self._others > _MAX_CALLS_OF_OTHERS:
            self._stop_looking()
        if next(module.parameters(), None) is None:
            return _genuine(module, *args, **kwargs)
        self._others = 0
        self._stand_around(type(module))
        return self._make(module, _genuine, args, kwargs)

    def _stand_around(self, kind: Any) -> None:
        """Give a class a ``__call__`` of its own."""
        own = kind.__dict__.get("__call__")
        if kind is self._base or getattr(own, "of_outermost_calls", False):
            return
        self._base.__call__ = _genuine
        parents: Any = super(kind, kind)
        inherited = own or parents.__call__

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if _is_compiling():
                return inherited(module, *args, **kwargs)
            # Tracers replace `Module.__call__` for a while, so it is looked up anew.
            now = own or parents.__call__
            if not self._is_outermost(module):
                return now(module, *args, **kwargs)
            return self._make(module, now, args, kwargs)

        call.of_outermost_calls = True  # type: ignore[attr-defined]
        kind.__call__ = call

    def _is_outermost(self, module: Any) -> bool:
        if self._inside:
            return False
        if BACKWARD.running:
            return self._models.get(id(module)) is module
        return threading.get_ident() == self._main

    def _make(self, module: Any, inherited: Call, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        def innermost(*args: Any, **kwargs: Any) -> Any:
            return inherited(module, *args, **kwargs)

        made: Call = innermost
        for around in reversed(self._arounds):
            made = _nested(around, module, made)
        self._inside = True
        self._models[id(module)] = module
        if self._looks:
            # Modules inside cost nothing, and a compiler that is asked for in there does not meet ours.
            self._base.__call__ = _genuine
        try:
            return made(*args, **kwargs)
        finally:
            self._inside = False
            if self._looks:
                self._calls[id(module)] += 1
                calls = self._calls.values()
                if min(calls) < _CALLS_OF_EACH and sum(calls) < _MAX_CALLS:
                    self._base.__call__ = _looking
                else:
                    self._stop_looking()

    def _stop_looking(self) -> None:
        self._looks = False
        self._base.__call__ = _genuine


def _nested(around: Around, module: Any, call: Call) -> Call:
    return lambda *args, **kwargs: around(module, call, args, kwargs)


#: All fixes of a process share one, so that modules have one `__call__` of ours, whatever is put in together.
OUTERMOST = OutermostCalls()

#: `Module.__call__` as it was, and whether a compiler reads the code now (`bool()` says no, for PyTorch before 2.1).
_genuine: Any = None
_is_compiling: Callable[[], bool] = bool


def _looking(module: Any, *args: Any, **kwargs: Any) -> Any:
    """What takes the place of `Module.__call__` while models are looked for.

    A function without a closure: a compiler that meets it does not compile again when it has gone.
    """
    if _is_compiling():
        return _genuine(module, *args, **kwargs)
    return OUTERMOST.looked_at(module, args, kwargs)
