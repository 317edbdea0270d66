"""Finding the iterations of a program that says nothing about them.

A heuristic. What ends an iteration is the first of these that the program does: a step that it marks for JAX's
profiler; a batch of Keras's ``fit``; a step of its first PyTorch optimizer (accumulated batches are one iteration,
and a second optimizer, of a discriminator say, is not counted); a batch of Keras's ``evaluate`` or ``predict``; a
call of a function that JAX or TensorFlow compiled (see :mod:`.repeated_calls`); a batch taken from PyTorch's data
loader; a call of the outermost PyTorch module; a turn of the loop that the program is in (see :mod:`.loops`). While
gradients are recorded, an optimizer may still come, so that batches and calls have to repeat for longer; where one was
made, they have to for seconds."""

from __future__ import annotations

import contextlib
import functools
import itertools
import os
import sys
import weakref
from collections import Counter
from types import FrameType
from typing import Any, Callable

from .._native import now_ns
from . import jax_calls, tensorflow_calls
from .late_import import ImportWatch
from .loops import LoopWatch
from .repeated_calls import RepeatedCalls

OPTIMIZER, LOADER, MODULE = "optimizer steps", "batches of the data loader", "calls of the model"
MARKS, FIT, EVALUATE = "steps that the program marks", "batches of Keras's fit", "batches of Keras"
JAX_CALLS, TENSORFLOW_CALLS = "calls of a compiled function", "calls of a tf.function"
TURNS = "turns of a loop"
_RANKS = {
    MARKS: 6,
    FIT: 5,
    OPTIMIZER: 4,
    EVALUATE: 3,
    JAX_CALLS: 2,
    TENSORFLOW_CALLS: 2,
    LOADER: 1,
    MODULE: 0,
    TURNS: -1,
}

#: Batches or calls after which they are taken for iterations, without and with gradients.
_MIN_REPEATS = 3
_MIN_REPEATS_WITH_GRADIENTS = 33
#: Where an optimizer is there and has not stepped yet, batches and calls are given this long to turn out to be part of
#: an iteration: reinforcement learning calls its policy hundreds of times before it learns.
_OPTIMIZER_PATIENCE_NS = 10_000_000_000
#: One says of itself that it is an iteration, or was seen to repeat; a batch of a validation is none yet.
_ENOUGH = {MARKS: 2, FIT: 2, OPTIMIZER: 1, EVALUATE: _MIN_REPEATS, JAX_CALLS: 1, TENSORFLOW_CALLS: 1, TURNS: 1}
#: The others are counted when they begin, so that the first has ended when the second begins.
_TOLD_AT_END = (OPTIMIZER, JAX_CALLS, TURNS)
#: Calls of outermost modules that are looked at to find one that repeats.
_MAX_CALLS_SEEN = 10_000


class Iterations:
    """Calls ``ended(first)`` at the end of each iteration; ``first`` says that another kind of iteration was found, or
    the first kind, so that what was counted before is void. ``returned`` is given the number of each call
    of the outermost module, from 1 on, and what it returned; not of the first ones, if they were not watched."""

    def __init__(self, ended: Callable[[bool], None], returned: Callable[[int, Any], None] | None = None) -> None:
        self._ended = ended
        self._returned = returned
        self._process = os.getpid()
        self._torch: Any = None
        self._repeats: Counter[str] = Counter()
        #: Calls of the model, or of a compiled function, before it was known to be the one.
        self._unseen: Counter[str] = Counter()
        self._first_ended_ns: dict[str, int] = {}
        self._first_optimizer: weakref.ref[Any] | None = None
        self._watches: dict[str, Callable[[], None]] = {}
        #: What ends an iteration, in words; None as long as nothing was found.
        self.kind: str | None = None
        #: When the first iteration ended, unless it had before anyone watched for it, and how many had ended before
        #: ``ended`` was called for the first time.
        self.first_ended_ns: int | None = None
        self.before = 0
        self._round, self._in_round = 1, 0

    @property
    def words(self) -> str | None:
        """What an iteration is."""
        return self.kind if self._round == 1 else f"rounds of {self._round:,} {self.kind}"

    def group(self, length: int) -> bool:
        """So many are one from here on, unless the program says what one is."""
        if self.kind in (MARKS, FIT):
            return False
        self._round = length
        self.before //= length
        return True

    def watch(self, torch: Any) -> bool:
        """Begin; False if this PyTorch (before 2.0) cannot tell of optimizers' steps."""
        self._torch = torch
        self._watch_loaders()
        self._watch_modules()
        # Part of PyTorch's own import, but not an attribute of torch.optim in every version.
        register = getattr(sys.modules.get("torch.optim.optimizer"), "register_optimizer_step_post_hook", None)
        if register is None:
            return False
        self._watches[OPTIMIZER] = register(self._stepped).remove
        return True

    def watch_xla(self) -> None:
        """Begin to look for iterations of JAX, TensorFlow and Keras, whenever they are imported."""

        def watch(
            kind: str, module: str, hook: Callable[[Any, Callable[..., None]], Callable[[], None] | None]
        ) -> None:
            def imported(found: Any) -> None:
                remove = hook(found, functools.partial(self._seen, kind))
                if remove is not None and kind in self._watches:
                    self._watches[kind] = remove

            watching = ImportWatch(module, lambda found: _quietly(lambda: imported(found)))
            self._watches[kind] = watching.stop
            watching.start()

        watch(JAX_CALLS, "jax", lambda _jax, seen: jax_calls.watch_calls(seen))
        watch(MARKS, "jax.profiler", jax_calls.watch_marks)
        watch(TENSORFLOW_CALLS, tensorflow_calls.FUNCTIONS, tensorflow_calls.watch_functions)
        for kind, names in ((FIT, ("train",)), (EVALUATE, ("test", "predict"))):
            watch(kind, tensorflow_calls.CALLBACKS, functools.partial(tensorflow_calls.watch_batches, names))

    def watch_loops(self, frame: FrameType) -> bool:
        """Nothing was found so far: look for turns of the loops that this frame and its callers are in. False if there
        are none, if Python cannot tell, or if an optimizer may still step."""
        watch = LoopWatch(self._turned)
        if _optimizer_was_made() or not watch.start(frame):
            return False
        self._watches[TURNS] = watch.stop
        return True

    def _turned(self, before: int) -> None:
        self._unseen.setdefault(TURNS, before)
        self._seen(TURNS)

    def settle(self) -> None:
        """Look for no other kind any more."""
        for kind in [kind for kind in self._watches if kind != self.kind]:
            self._watches.pop(kind)()

    def stop(self) -> None:
        """End."""
        watches, self._watches = self._watches, {}
        for remove in watches.values():
            remove()

    def _seen(self, kind: str, repeated: RepeatedCalls | None = None) -> None:
        if kind not in self._watches or os.getpid() != self._process:
            return
        if kind == self.kind:
            self._in_round = (self._in_round + 1) % self._round
            if not self._in_round:
                self._ended(False)
            return
        if self.kind is not None and _RANKS[kind] <= _RANKS[self.kind]:
            return
        if repeated is not None:
            self._unseen[kind] = repeated.unseen
            self._first_ended_ns[kind] = repeated.times_ns[0 if kind in _TOLD_AT_END else 1]
        self._repeats[kind] += 1
        enough = _ENOUGH.get(kind)
        if enough is None:
            enough = _MIN_REPEATS_WITH_GRADIENTS if self._torch.is_grad_enabled() else _MIN_REPEATS
        ended = self._repeats[kind] + self._unseen[kind] - (kind not in _TOLD_AT_END)
        if ended == 1:
            self._first_ended_ns.setdefault(kind, now_ns())
        if self._repeats[kind] >= enough and not self._waits_for_optimizer(kind):
            self.kind, self.first_ended_ns = kind, self._first_ended_ns.get(kind)
            self.before = ended - 1
            for lower in [each for each in self._watches if _RANKS[each] < _RANKS[kind]]:
                self._watches.pop(lower)()
            self._ended(True)

    def _waits_for_optimizer(self, kind: str) -> bool:
        """Whether a step of an optimizer may still turn out to be what ends an iteration, and not this."""
        if kind not in (LOADER, MODULE) or OPTIMIZER not in self._watches:
            return False
        first_ns = self._first_ended_ns.get(kind)
        is_young = first_ns is not None and now_ns() - first_ns < _OPTIMIZER_PATIENCE_NS
        return is_young and _optimizer_was_made()

    def _stepped(self, optimizer: Any, _args: Any, _kwargs: Any) -> None:
        first = self._first_optimizer() if self._first_optimizer is not None else None
        if first is None:
            self._first_optimizer = weakref.ref(optimizer)
            first = optimizer
        if first is optimizer:
            self._seen(OPTIMIZER)

    def _watch_loaders(self) -> None:
        """An iteration begins when its batch is asked for: waiting for the batch is part of it."""

        def imported(module: Any) -> None:
            iterator: Any = getattr(module, "_BaseDataLoaderIter", None)
            take = getattr(iterator, "__next__", None)
            if take is None:
                return

            def take_and_tell(batches: Any) -> Any:
                self._seen(LOADER)
                return take(batches)

            iterator.__next__ = take_and_tell

            def remove() -> None:
                if iterator.__next__ is take_and_tell:
                    iterator.__next__ = take

            self._watches[LOADER] = remove

        watch = ImportWatch("torch.utils.data.dataloader", imported)
        self._watches[LOADER] = watch.stop
        watch.start()

    def _watch_modules(self) -> None:
        """Hooks of all modules find the outermost one that is called again and again; from then on only that one has a
        hook. A compiler would compile hooks of all modules into the program, so they go when it is asked for."""
        modules = self._torch.nn.modules.module
        is_compiling = getattr(getattr(self._torch, "compiler", None), "is_compiling", lambda: False)
        calls: Counter[int] = Counter()
        second_ns: dict[int, int] = {}
        depth = 0

        def enters(module: Any, _arguments: Any) -> None:
            nonlocal depth
            if is_compiling():
                return
            depth += 1
            if depth > 1 or MODULE not in self._watches:
                return
            calls[id(module)] += 1
            if calls[id(module)] == 2:
                second_ns[id(module)] = now_ns()
            if calls[id(module)] >= _MIN_REPEATS:
                self._watch_module(module, calls[id(module)])
                self._first_ended_ns[MODULE] = second_ns[id(module)]
                self._unseen[MODULE] = calls[id(module)] - 1
                self._seen(MODULE)
            elif sum(calls.values()) > _MAX_CALLS_SEEN:
                self._watches.pop(MODULE)()

        def leaves(_module: Any, _arguments: Any, _result: Any) -> None:
            nonlocal depth
            if not is_compiling():
                depth -= 1

        compiler = getattr(self._torch, "compile", None)

        @functools.wraps(compiler or _nothing)
        def compile_and_tell(*arguments: Any, **options: Any) -> Any:
            for handle in handles:
                handle.remove()
            compiled = compiler(*arguments, **options)  # type: ignore[misc]
            if self._watches.get(MODULE) is not remove:
                return compiled
            if isinstance(compiled, self._torch.nn.Module):
                self._watch_module(compiled, 1)
            elif isinstance(getattr(next(iter(arguments), None), "__self__", None), self._torch.nn.Module):
                return self._watch_call(compiled)  # the call of a module that is compiled in place
            return compiled

        def remove() -> None:
            for handle in handles:
                handle.remove()
            if getattr(self._torch, "compile", None) is compile_and_tell:
                self._torch.compile = compiler

        handles = [modules.register_module_forward_pre_hook(enters)]
        with contextlib.suppress(TypeError):  # a PyTorch before 2.1, which does not tell of calls that fail
            handles.append(modules.register_module_forward_hook(leaves, always_call=True))
        if len(handles) == 1 or compiler is None:
            handles[0].remove()
            return
        self._torch.compile = compile_and_tell
        self._watches[MODULE] = remove

    def _watch_module(self, module: Any, first: int) -> None:
        """The call of it that returns next is the one of number ``first``."""
        self._watches.pop(MODULE)()
        if getattr(module, "_compiled_call_impl", None) is not None:
            return
        numbers, returned = itertools.count(first), self._returned
        with contextlib.suppress(Exception):  # a module that takes no hooks
            if returned is not None:
                module.register_forward_hook(lambda _module, _arguments, output: returned(next(numbers), output))
            self._watches[MODULE] = module.register_forward_pre_hook(lambda *_: self._seen(MODULE)).remove

    def _watch_call(self, call: Callable[..., Any]) -> Callable[..., Any]:
        """The same call, counted."""
        self._watches.pop(MODULE)()
        self._watches[MODULE] = _nothing
        numbers = itertools.count(1)

        @functools.wraps(call)
        def call_and_tell(*arguments: Any, **options: Any) -> Any:
            self._seen(MODULE)
            output = call(*arguments, **options)
            if self._returned is not None:
                self._returned(next(numbers), output)
            return output

        return call_and_tell


def _optimizer_was_made() -> bool:
    """Whether the program has made an optimizer of PyTorch: the first of a class prepares the class's ``step``."""
    kinds: list[Any] = [getattr(sys.modules.get("torch.optim.optimizer"), "Optimizer", None)]
    while kinds:
        kind = kinds.pop()
        if getattr(getattr(kind, "step", None), "hooked", False):
            return True
        kinds += type.__subclasses__(kind) if isinstance(kind, type) else []
    return False


def _nothing() -> None:
    pass


def _quietly(do: Callable[[], None]) -> None:
    """The program imports something, and must not notice that we cannot watch it."""
    with contextlib.suppress(Exception):
        do()
