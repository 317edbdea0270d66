"""What is done before a program ends in a way that Python does not see: by a signal, or by ``os._exit``.

Exceptions, ``sys.exit`` and Ctrl-C come back to whoever runs the program. The other ways end the process at once, and
what was recorded with it. Only signals that no one else handles are taken, and they end the process as they would have;
a program that asks who handles one gets the answer that it would get without us.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
from types import FrameType, TracebackType
from typing import Any, Callable

_SIGNALS = ("SIGTERM", "SIGHUP")


class EarlyEnd:
    """Within it, ``end()`` is called once: by the program's end, or before one that comes early.

    ``soon`` calls what it is given in the main thread as soon as nothing of ours is at work there.
    """

    def __init__(self, end: Callable[[], None], soon: Callable[[Callable[[], None]], None]) -> None:
        self._end = end
        self._soon = soon
        self._process = os.getpid()
        self._leave: Any = os._exit
        self._get: Any = signal.getsignal
        self._set: Any = signal.signal
        self._taken: list[int] = []
        self._ends = False
        self._killed_by: int | None = None

    def __enter__(self) -> EarlyEnd:
        os._exit = self._exit  # type: ignore[assignment]
        for name in _SIGNALS:
            number = getattr(signal, name, None)
            with contextlib.suppress(ValueError):  # not in the main thread
                if number is not None and self._get(number) is signal.SIG_DFL:
                    self._set(number, self._signalled)
                    self._taken.append(number)
        if self._taken:
            signal.getsignal, signal.signal = self._handler, self._handle
            if hasattr(os, "register_at_fork"):
                os.register_at_fork(after_in_child=self._let_go)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._let_go()

    def end(self) -> None:
        """The program has ended; a signal that comes meanwhile waits until all is done."""
        if self._ends:
            return
        self._ends = True
        try:
            self._end()
        finally:
            self._let_go()
            if self._killed_by is not None:
                os.kill(os.getpid(), self._killed_by)

    def _let_go(self) -> None:
        """Put everything back, unless someone has changed it meanwhile."""
        if os._exit == self._exit:
            os._exit = self._leave
        if signal.getsignal == self._handler:
            signal.getsignal = self._get
        if signal.signal == self._handle:
            signal.signal = self._set
        taken, self._taken = self._taken, []
        for number in taken:
            with contextlib.suppress(ValueError):  # not in the main thread
                if self._get(number) == self._signalled:
                    self._set(number, signal.SIG_DFL)

    def _handler(self, signalnum: int) -> Any:
        """``signal.getsignal``, as if nothing of ours were there."""
        handler = self._get(signalnum)
        return signal.SIG_DFL if handler == self._signalled else handler

    def _handle(self, signalnum: int, handler: Any) -> Any:
        """``signal.signal``, as if nothing of ours were there."""
        before = self._handler(signalnum)
        self._set(signalnum, self._signalled if handler is signal.SIG_DFL and signalnum in self._taken else handler)
        return before

    def _signalled(self, number: int, _frame: FrameType | None) -> None:
        self._killed_by = number
        if not self._ends:
            self._soon(self.end)

    def _exit(self, status: int) -> None:
        if os.getpid() == self._process:
            self.end()
            sys.stderr.flush()
        self._leave(status)
