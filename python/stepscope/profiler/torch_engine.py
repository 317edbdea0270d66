"""Drives ``torch.profiler.profile``: it keeps step numbers, actions and operators; we are told when it records."""

from __future__ import annotations

import contextlib
import difflib
import inspect
import os
import sys
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Protocol

from .._native import set_torch_regions
from .activities import ProfilerActivity
from .warn import warn_user

_in_use_by: list[object] = []
"""The profiler of ours that drives PyTorch's, of which there can be one at a time."""
_used = False


class TorchOwner(Protocol):
    """Who is told what PyTorch's profiler does."""

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
    if _in_use_by:
        return "another stepscope profiler is using PyTorch's"
    enabled = getattr(torch._C._autograd, "_profiler_enabled", None)
    if enabled is not None and enabled():
        return "PyTorch's own profiler is running"
    return None


_LOG_LEVEL = "KINETO_LOG_LEVEL"
_NOTHING = "99"
_DEVICES = {ProfilerActivity.CUDA: "cuda", ProfilerActivity.XPU: "xpu", ProfilerActivity.MTIA: "mtia"}


@contextlib.contextmanager
def quiet_collector(torch: Any) -> Iterator[None]:
    """Where no device is there to be traced, what PyTorch's collector logs to stderr is of no use: that it starts and
    ends, and that there is no GPU. It asks how much to log when it is first used. With a device its log is left
    alone, since an error in it tells why kernels are missing; and so it is if the user has chosen a level."""
    if _LOG_LEVEL in os.environ or _has_device(torch):
        yield
        return
    os.environ[_LOG_LEVEL] = _NOTHING
    try:
        yield
    finally:
        os.environ.pop(_LOG_LEVEL, None)


def can_record(torch: Any, activities: Iterable[ProfilerActivity]) -> bool:
    """Whether any of these can be recorded here. Of devices that cannot be asked it is taken that they can."""
    return any(activity not in _DEVICES or _has_device(torch, [_DEVICES[activity]]) for activity in activities)


def _has_device(torch: Any, names: Iterable[str] = tuple(_DEVICES.values())) -> bool:
    """Whether PyTorch has a device to trace. Its profiler asks the driver too when it is prepared."""
    try:
        return any(getattr(torch, name).is_available() for name in names if hasattr(torch, name))
    except Exception:
        return True


def make_inner(torch: Any, owner: TorchOwner, options: Mapping[str, Any]) -> Any:
    """A profiler of PyTorch's own with these options that tells its owner when it records.

    Options this version does not have are left out with a warning."""
    base = torch.profiler.profile

    class ObservedProfile(base):  # type: ignore[misc, valid-type]
        """PyTorch's profiler, whose owner learns when it records."""

        def prepare_trace(self) -> None:
            if not getattr(self, "acc_events", False):
                # A cycle gets a new one, whatever stands here; but of an old one newer versions say, in a warning,
                # that its events are cleared. Captures keep their own.
                self.profiler = None
            with quiet_collector(torch):
                super().prepare_trace()

        def start_trace(self) -> None:
            super().start_trace()
            owner.torch_started()

        def stop_trace(self) -> None:
            owner.torch_stopping()
            super().stop_trace()
            owner.torch_stopped(self.profiler)

    known = inspect.signature(base.__init__).parameters
    chosen = {name: value for name, value in options.items() if name in known}
    absent = sorted(set(options) - set(chosen))
    if absent:
        warn_user(f"PyTorch {torch.__version__} has no {', '.join(absent)}; left out")
    return ObservedProfile(on_trace_ready=lambda _inner: owner.hand_over(), **chosen)


def put_in_order(torch: Any, inner: Any) -> None:
    """After a failure: PyTorch may be left prepared or recording, and every later profiler would fail for it."""
    results = getattr(inner, "profiler", None)
    if results is None:
        return
    with contextlib.suppress(Exception):
        if not torch._C._autograd._profiler_enabled():
            results._start_trace()
        results.__exit__(None, None, None)


def claim(owner: object) -> None:
    """From now on this profiler drives PyTorch's."""
    global _used
    _used = True
    _in_use_by.append(owner)


def release(owner: object) -> None:
    """PyTorch's profiler is free again."""
    if owner in _in_use_by:
        _in_use_by.remove(owner)


def was_used() -> bool:
    """Whether PyTorch's profiler was ever driven in this process."""
    return _used


def send_regions_to_torch(torch: Any) -> None:
    """Regions go into PyTorch's trace from now on, where they nest with operators and reach the device."""
    # Not `_RecordFunctionFast`: its regions are operators in the trace, not annotations, and are not seen above the
    # kernels they launch. This is what `torch.profiler.record_function` is.
    set_torch_regions(torch.autograd.profiler.record_function)


def keep_regions() -> None:
    """Regions are ours again."""
    set_torch_regions(None)
