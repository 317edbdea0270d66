"""Measures some requests more closely: the GPU's time of one in a few, and where the next slow one is."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections import deque
from typing import Any

SAMPLE_PERIOD_S = 0.005
"""Seconds between two samples of a request that may become slow."""
SAMPLE_AFTER_SHARE = 0.2
"""The share of the last slow one's latency after which a request is sampled."""
MAX_ARMED_S = 60.0
"""Seconds that a slow request is waited for."""
MIN_PAUSE_S = 60.0
"""Seconds between two requests of a route that are looked into."""
PROFILE_PERIOD_S = 3600.0
"""Seconds between two profiles."""
MAX_IDLE_S = 1.0
"""Seconds without a request to look at, after which sampling pauses."""
MAX_TRIES = 5
"""Requests that are profiled until one is slow; starting and ending the profiler takes up to a second,
the first time on a GPU some seconds."""
MAX_WATCHED = 32
"""Requests that are watched at once."""
MAX_FRAMES = 64
"""Frames of a stack."""
MAX_PENDING = 256
"""Requests whose GPU is not done yet; later ones are not measured."""


class Observer:
    """What the native part calls. It may fail: nothing of it reaches the service."""

    def __init__(self, directory: str, stacks: bool, profiles: bool) -> None:
        self._directory = directory
        self._stacks = stacks
        self._profiles = profiles
        self.service: Any = None
        self.after_fork()

    def after_fork(self) -> None:
        """Forgets what the parent looked at; its locks and threads are no one's here."""
        self._lock = threading.Lock()
        self._watched: dict[int, tuple[Any, int, Any, float]] = {}
        self._sampler: threading.Thread | None = None
        self._more = threading.Event()
        self._armed_until = 0.0
        self._slow_after = 0.0
        self._looked_at: dict[int, float] = {}
        self._profiled_at = float("-inf")
        self._profile: tuple[Any, Any] | None = None
        self._tries = 0
        self._pending: deque[tuple[int, Any, Any]] = deque()

    # The GPU.

    def gpu_begins(self) -> Any:
        """An event in the current stream, or None where PyTorch has used no GPU."""
        torch = sys.modules.get("torch")
        cuda = getattr(torch, "cuda", None)
        if cuda is None or not cuda.is_initialized() or len(self._pending) >= MAX_PENDING:
            return None
        if cuda.is_current_stream_capturing():
            return None
        event = cuda.Event(enable_timing=True)
        event.record()
        return event

    def gpu_ends(self, begun: Any, route: int) -> None:
        """Another event; how far they are apart is asked for once the GPU has reached both."""
        event = type(begun)(enable_timing=True)
        event.record()
        self._pending.append((route, begun, event))
        while self._pending and self._pending[0][2].query():
            of, first, last = self._pending.popleft()
            self.service.add_gpu(of, max(0, round(first.elapsed_time(last) * 1e6)))

    # The next slow request.

    def ended(self, route: int, seconds: float, looked_into: bool) -> None:
        """A request was slow, or was looked into."""
        now = time.monotonic()
        with self._lock:
            if looked_into and seconds >= self._slow_after:
                self._looked_at[route] = now
                self._armed_until = 0.0
                self._more.set()
                self.service.arm()
                return
            wanted = self._stacks or self._profiles
            if not wanted or now < self._armed_until or now - self._looked_at.get(route, -MIN_PAUSE_S) < MIN_PAUSE_S:
                return
            self._armed_until = now + MAX_ARMED_S
            self._slow_after = seconds * SAMPLE_AFTER_SHARE
            self.service.arm(route)

    def begins(self, request: Any) -> None:
        """A request begins that may become slow."""
        now = time.monotonic()
        with self._lock:
            if now > self._armed_until:
                self.service.arm()
                return
            if self._stacks and len(self._watched) < MAX_WATCHED:
                self._watched[id(request)] = (request, threading.get_ident(), _task(), now)
                self._more.set()
                if self._sampler is None or not self._sampler.is_alive():
                    self._sampler = threading.Thread(target=self._sample, name="stepscope-samples", daemon=True)
                    self._sampler.start()
            profiles = self._profiles and self._profile is None and now - self._profiled_at > PROFILE_PERIOD_S
        if profiles:
            self._start_profile(request)

    def ends(self, request: Any) -> None:
        """It ends: no one looks any more."""
        with self._lock:
            self._watched.pop(id(request), None)
        if self._profile is not None and self._profile[0] is request:
            self._stop_profile(request)

    def _sample(self) -> None:
        idle = False
        while True:
            with self._lock:
                watched = list(self._watched.values())
                # Whoever comes later starts another thread.
                if not watched and (idle or time.monotonic() > self._armed_until):
                    self._sampler = None
                    return
                if not watched:
                    self._more.clear()
            if not watched:
                idle = not self._more.wait(MAX_IDLE_S)
                continue
            time.sleep(SAMPLE_PERIOD_S)
            frames = sys._current_frames()
            now = time.monotonic()
            for request, thread, task, begun in watched:
                if now - begun >= self._slow_after:
                    stack = _stack(frames.get(thread), task)
                    if stack:
                        request.add_stack(stack)
            del frames

    # A profile of it.

    def _start_profile(self, request: Any) -> None:
        torch = sys.modules.get("torch")
        if torch is None:
            return
        activities = [torch.profiler.ProfilerActivity.CPU]
        if torch.cuda.is_available():
            activities.append(torch.profiler.ProfilerActivity.CUDA)
        profile = torch.profiler.profile(activities=activities)
        profile.start()
        self._profile = (request, profile)

    def _stop_profile(self, request: Any) -> None:
        _, profile = self._profile or (None, None)
        self._profile = None
        if profile is None:
            return
        profile.stop()
        self._tries += 1
        slow = request.latency >= self._slow_after
        if slow or self._tries >= MAX_TRIES:
            self._profiled_at, self._tries = time.monotonic(), 0
        if not slow:
            return
        folder = os.path.join(self._directory, "profiles")
        os.makedirs(folder, exist_ok=True)
        moment = time.strftime("%Y%m%dT%H%M%S", time.gmtime())
        name = f"{moment}_{os.getpid()}.pt.trace.json.gz"
        profile.export_chrome_trace(os.path.join(folder, name))
        request.set_profile(name)


def _task() -> Any:
    """The task of this thread's event loop, if there is one."""
    asyncio = sys.modules.get("asyncio")
    if asyncio is None:
        return None
    try:
        return asyncio.current_task()
    except RuntimeError:
        return None


def _stack(frame: Any, task: Any) -> list[str]:
    """Where a thread, or a task that waits, is: the innermost frame last."""
    if task is not None:
        coroutine = task.get_coro()
        found: list[str] = []
        while coroutine is not None and len(found) < MAX_FRAMES:
            inner = getattr(coroutine, "cr_frame", None) or getattr(coroutine, "gi_frame", None)
            if inner is not None:
                found.append(_words(inner))
            coroutine = getattr(coroutine, "cr_await", None) or getattr(coroutine, "gi_yieldfrom", None)
        return found
    found = []
    while frame is not None and len(found) < MAX_FRAMES:
        found.append(_words(frame))
        frame = frame.f_back
    found.reverse()
    return found


def _words(frame: Any) -> str:
    code = frame.f_code
    name = getattr(code, "co_qualname", code.co_name)
    return f"{name} ({code.co_filename}:{frame.f_lineno})"
