"""Drives ``torch.profiler.profile``: it keeps step numbers, actions and operators; it says when it records."""

from __future__ import annotations

import contextlib
import difflib
import gc
import inspect
import os
import sys
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Callable, Protocol

from .._native import set_torch_regions
from .abandoned import StartPlace
from .activities import ProfilerActivity
from .suspends import may_suspend
from .torch_guard import ours
from .warn import warn_user

_in_use_by: list[weakref.ref[Any]] = []
"""The profiler of ours that drives PyTorch's, of which there can be one at a time. One that no one else has any more is
not kept alive: it ends itself."""
_used = False


class TorchOwner(Protocol):
    """Who learns what PyTorch's profiler does."""

    def torch_started(self) -> None:
        """PyTorch records from now on."""

    def torch_stopping(self) -> None:
        """PyTorch is about to end its recording."""

    def torch_stopped(self, results: Any) -> None:
        """PyTorch has ended it and has results."""

    def hand_over(self) -> None:
        """A trace is complete."""


def torch_if_imported() -> Any:
    """PyTorch, if the program uses it and its profiler is there; it is never imported because of us."""
    torch = sys.modules.get("torch")
    return torch if torch is not None and hasattr(torch, "profiler") else None


def check_newer_options(options: Iterable[str], known: Iterable[str]) -> None:
    """Arguments this class does not know must at least be known to PyTorch's profiler: a typing error is an error."""
    torch = torch_if_imported()
    theirs = set() if torch is None else set(inspect.signature(torch.profiler.profile.__init__).parameters)
    for name in options:
        if name not in theirs:
            near = difflib.get_close_matches(name, {*known, *theirs}, n=1)
            hint = f". Did you mean {near[0]!r}?" if near else ""
            raise TypeError(f"profile() got an unexpected keyword argument {name!r}{hint}")


def why_torch_is_taken(torch: Any) -> str | None:
    """Why PyTorch's profiler cannot be started now, if it cannot."""
    owner = _owner()
    if owner is not None:
        start: StartPlace | None = getattr(owner, "started_at", None)
        which = "another stepscope profiler" if start is None else f"the stepscope profiler started at {start}"
        return f"{which} uses PyTorch's until it is stopped"
    return _foreign(torch)


def _foreign(torch: Any) -> str | None:
    enabled = getattr(torch._C._autograd, "_profiler_enabled", None)
    return "PyTorch's own profiler is running" if enabled is not None and enabled() else None


def end_abandoned() -> None:
    """Ends the profiler that drives PyTorch's if nothing in the program can end it any more."""
    if _owner() is None:
        return
    # One that is only held by a circle of references ends itself.
    gc.collect()
    owner = _owner()
    start: StartPlace | None = getattr(owner, "started_at", None)
    if owner is None or start is None or start.thread != threading.get_ident() or not start.was_left_by_an_error():
        return
    warn_user(f"the profiler that was started at {start} was left running by an error; it is ended now")
    owner.stop()


def _owner() -> Any:
    """The profiler of ours that drives PyTorch's now, or None."""
    return next((owner for owner in (held() for held in _in_use_by) if owner is not None), None)


_LOG_LEVEL = "KINETO_LOG_LEVEL"
_SILENT_LEVEL = "99"
_DEVICES = {ProfilerActivity.CUDA: "cuda", ProfilerActivity.XPU: "xpu", ProfilerActivity.MTIA: "mtia"}


@contextlib.contextmanager
def quiet_collector(torch: Any) -> Iterator[None]:
    """Where no device is there to be traced, what PyTorch's collector logs to stderr is of no use: that it starts and
    ends, and that there is no GPU. It asks how much to log when it is first used. With a device its log is left
    alone, since an error in it tells why kernels are missing; and so it is if the user has chosen a level."""
    if _LOG_LEVEL in os.environ or _has_device(torch):
        yield
        return
    os.environ[_LOG_LEVEL] = _SILENT_LEVEL
    try:
        yield
    finally:
        os.environ.pop(_LOG_LEVEL, None)


_NO_WARNINGS = 2


def quiet_allocator(torch: Any) -> Callable[[], None] | None:
    """Memory that was there before the recording is freed during it, and PyTorch warns of that on stderr, each second.
    Until what this returns is called, errors alone are logged."""
    try:
        import ctypes

        library = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libc10.so"))
        level = ctypes.c_int.in_dll(library, "FLAGS_caffe2_log_level")
    except (ImportError, OSError, ValueError):
        return None  # A build of PyTorch that logs otherwise.
    before, level.value = level.value, max(level.value, _NO_WARNINGS)

    def restore() -> None:
        level.value = before

    return restore


class _WithoutCompiler(set[str]):
    """The modules that PyTorch imports when they are first used, less the compiler in the thread that hides it."""

    def __init__(self, names: set[str]) -> None:
        super().__init__(names)
        self._thread = threading.get_ident()

    def __contains__(self, name: object) -> bool:
        hidden = name == "_inductor" and threading.get_ident() == self._thread
        return not hidden and super().__contains__(name)


@contextlib.contextmanager
def without_compiler(torch: Any) -> Iterator[None]:
    """PyTorch's profiler reads a setting of the compiler, which imports 900 modules and takes seconds. A program that
    has not imported it has not changed the setting either."""
    names = getattr(torch, "_lazy_modules", None)
    if "torch._inductor" in sys.modules or not isinstance(names, set) or isinstance(names, _WithoutCompiler):
        yield
        return
    torch._lazy_modules = _WithoutCompiler(names)
    try:
        yield
    finally:
        torch._lazy_modules = names


@contextlib.contextmanager
def without_advice(torch: Any) -> Iterator[None]:
    """Other versions say so of every cycle."""
    module = torch.profiler.profiler
    warn = getattr(module, "_warn_once", None)
    if warn is None:
        yield
        return
    module._warn_once = lambda *_: None
    try:
        yield
    finally:
        module._warn_once = warn


_TEARDOWN = "TEARDOWN_CUPTI"


@contextlib.contextmanager
def leaving_the_device(torch: Any, inner: Any) -> Iterator[None]:
    """PyTorch's profiler stays subscribed to the driver when it ends, and a program of many small kernels stays slower
    by a third. Asked to unsubscribe, it waits for the next call of the driver to do it, even when the process ends."""
    cuda: Any = getattr(torch, "cuda", None)
    in_use = cuda is not None and getattr(torch.version, "cuda", None) and cuda.is_initialized()
    if not in_use or _TEARDOWN in os.environ or getattr(inner, "has_cudagraphs", False):
        yield
        return
    os.environ[_TEARDOWN] = "1"
    try:
        yield
    finally:
        os.environ.pop(_TEARDOWN, None)
        with contextlib.suppress(Exception):  # what has failed on the device, the program learns itself
            cuda.synchronize()


def can_record(torch: Any, activities: Iterable[ProfilerActivity]) -> bool:
    """Whether any of these can be recorded here. Of devices that cannot be asked it is taken that they can."""
    return any(activity not in _DEVICES or _has_device(torch, [_DEVICES[activity]]) for activity in activities)


def _has_device(torch: Any, names: Iterable[str] = tuple(_DEVICES.values())) -> bool:
    """Whether PyTorch has a device to trace. Its profiler asks the driver too when it is prepared."""
    try:
        return any(getattr(torch, name).is_available() for name in names if hasattr(torch, name))
    except Exception:
        return True


def uses_device(torch: Any) -> bool:
    """Whether the program has PyTorch compute on a GPU."""
    cuda: Any = getattr(torch, "cuda", None)
    return cuda is not None and bool(cuda.is_initialized())


def did_nothing(results: Any) -> bool:
    """Whether PyTorch has recorded no operator and no range: it is imported, and others work. Where that is
    unknown, it has."""
    try:
        return not any(_is_work(event) for event in results.kineto_results.events())
    except Exception:
        return False


def _is_work(event: Any) -> bool:
    return not event.name().startswith(("ProfilerStep#", "[memory]"))


def make_inner(torch: Any, owner: TorchOwner, options: Mapping[str, Any]) -> Any:
    """A profiler of PyTorch's own with these options that tells its owner when it records.

    Options this version does not have are left out with a warning. The owner is not kept alive by it."""
    base = torch.profiler.profile
    reference = weakref.ref(owner)

    class ObservedProfile(base):  # type: ignore[misc, valid-type]
        """PyTorch's profiler, whose owner learns when it records."""

        def prepare_trace(self) -> None:
            taken = _foreign(torch)
            if taken is not None:
                raise RuntimeError(taken)
            if not getattr(self, "acc_events", False):
                # A cycle gets a new one, whatever is here; but of an old one some versions say, in a warning, that
                # its events are cleared. Captures keep their own.
                self.profiler = None
            with quiet_collector(torch), without_compiler(torch), without_advice(torch), ours():
                super().prepare_trace()

        def start_trace(self) -> None:
            self._loud_again = quiet_allocator(torch) if getattr(self, "profile_memory", False) else None
            with ours():
                super().start_trace()
            owner = reference()
            if owner is not None:
                owner.torch_started()

        def stop_trace(self) -> None:
            owner = reference()
            if owner is not None:
                owner.torch_stopping()
            try:
                with leaving_the_device(torch, self):
                    super().stop_trace()
            finally:
                if self._loud_again is not None:
                    self._loud_again()
            if owner is not None:
                owner.torch_stopped(self.profiler)

    def hand_over(_inner: Any) -> None:
        owner = reference()
        if owner is not None:
            owner.hand_over()

    known = inspect.signature(base.__init__).parameters
    chosen = {name: value for name, value in options.items() if name in known}
    absent = sorted(set(options) - set(chosen))
    if absent:
        warn_user(f"PyTorch {torch.__version__} has no {', '.join(absent)}; left out")
    return ObservedProfile(on_trace_ready=hand_over, **chosen)


def end_early(torch: Any, inner: Any) -> Any:
    """Ends what PyTorch records now, in the middle of a step; its results, or None if it recorded nothing yet."""
    if not torch._C._autograd._profiler_enabled():
        put_in_order(torch, inner)
        return None
    step = getattr(inner, "step_rec_fn", None)
    if step is not None:
        inner.step_rec_fn = None
        step.__exit__(None, None, None)
    results = inner.profiler
    results.__exit__(None, None, None)
    return results


def put_in_order(torch: Any, inner: Any) -> None:
    """After a failure: PyTorch may be left prepared or recording, and every later profiler would fail for it."""
    results = getattr(inner, "profiler", None)
    if results is None:
        return
    with contextlib.suppress(Exception):
        if not torch._C._autograd._profiler_enabled():
            with ours():
                results._start_trace()
        results.__exit__(None, None, None)


def claim(owner: object) -> None:
    """From now on this profiler drives PyTorch's."""
    global _used
    _used = True
    _in_use_by.append(weakref.ref(owner))


def release(owner: object) -> None:
    """PyTorch's profiler is free again."""
    _in_use_by[:] = [held for held in _in_use_by if held() is not None and held() is not owner]


def was_used() -> bool:
    """Whether PyTorch's profiler was ever driven in this process."""
    return _used


def send_regions_to_torch(torch: Any) -> None:
    """Regions go into PyTorch's trace from now on, where they nest with operators and reach the device.

    All but two kinds. PyTorch records the thread that it was started in and those that work for it; of others it loses
    regions without a word. And it has one stack of regions per thread, where tasks that take turns get in each other's
    way. Those stay ours."""
    # Not `_RecordFunctionFast`: its regions are operators in the trace, not annotations, and are not seen above the
    # kernels they launch. This is what `torch.profiler.record_function` is.
    theirs = torch.autograd.profiler.record_function
    records_here = torch._C._autograd._profiler_enabled

    def region(name: str) -> Any:
        return theirs(name) if records_here() and not may_suspend(sys._getframe(1)) else None

    set_torch_regions(region)


def keep_regions() -> None:
    """Regions are ours again."""
    set_torch_regions(None)
