"""A callback for Keras, used like the one of TensorBoard. Any backend of Keras 3.

Operators, kernels and steps are in the trace, by the profiler of the backend: PyTorch's trace with the torch backend,
an XPlane file with TensorFlow and JAX, in ``plugins/profile`` where TensorBoard looks for it too.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Union

from ..config import Profiling
from ..errors import StepscopeError
from . import _session as session

if TYPE_CHECKING:
    Callback = object
else:
    try:
        from keras.callbacks import Callback
    except ImportError:
        try:
            from tensorflow.keras.callbacks import Callback
        except ImportError as reason:
            session.missing("Keras", "keras", reason)

Batches = Union[int, str, Sequence[int]]


class StepscopeCallback(Callback):
    """Records some batches of ``fit``.

    ``profile_batch`` is one batch or the first and the last one: ``5``, ``(10, 20)`` or ``"10,20"``. Batches are
    counted from 1 over all epochs; 0 records nothing. Traces go to ``profiler_traces`` in ``log_dir``; TensorBoard need
    not be installed. Further arguments are settings of the ``profiling`` section, such as ``with_stack`` and
    ``record_shapes``::

        model.fit(x, y, callbacks=[StepscopeCallback("logs", profile_batch=(10, 20))])
    """

    def __init__(
        self, log_dir: str | os.PathLike[str] = "logs", profile_batch: Batches = (10, 20), **settings: Any
    ) -> None:
        super().__init__()
        self._log_dir = log_dir
        first, last = batch_range(profile_batch)
        schedule = batch_schedule(first, last)
        clash = sorted(set(settings) & {*schedule, "repeat", "unit"})
        if clash:
            raise StepscopeError(f"profile_batch decides {', '.join(clash)}", hint="leave these settings out")
        self._settings = session.checked({**settings, **schedule, "repeat": 1, "enabled": last > 0})
        self._profiling: Profiling | None = None
        self._regions = session.Regions()
        #: The trace files written so far.
        self.traces: list[str] = []

    def on_train_begin(self, logs: dict[str, Any] | None = None) -> None:
        """``fit`` begins."""
        self._finish()
        settings = dict(self._settings)
        backend = _backend()
        settings.setdefault("framework", backend if backend in ("torch", "jax", "tensorflow") else "auto")
        # Without operators, stacks are what shows where the time goes.
        settings.setdefault("with_stack", settings["framework"] in ("auto", "none"))
        self._profiling = session.begin(settings, self._log_dir)

    def on_train_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """A training batch begins."""
        self._regions.enter("train_batch")

    def on_train_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """A training batch has ended."""
        self._regions.leave("train_batch")
        if self._profiling is not None:
            self._profiling.step()

    def on_test_batch_begin(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """A batch of ``evaluate``, or of the validation in ``fit``, begins."""
        self._regions.enter("test_batch")

    def on_test_batch_end(self, batch: int, logs: dict[str, Any] | None = None) -> None:
        """A batch of ``evaluate``, or of the validation in ``fit``, has ended."""
        self._regions.leave("test_batch")

    def on_train_end(self, logs: dict[str, Any] | None = None) -> None:
        """``fit`` has ended."""
        self._finish()

    def _finish(self) -> None:
        profiling, self._profiling = self._profiling, None
        self.traces += session.end(profiling)


def batch_range(profile_batch: Batches) -> tuple[int, int]:
    """The first and the last batch to record.

    >>> batch_range("10,20"), batch_range(5), batch_range(0)
    ((10, 20), (5, 5), (0, 0))
    """
    written: Any = profile_batch.split(",") if isinstance(profile_batch, str) else profile_batch
    if isinstance(written, int):
        written = (written, written)
    try:
        numbers = [int(number) for number in written]
    except (TypeError, ValueError):
        numbers = []
    if len(numbers) == 1:
        numbers *= 2
    if len(numbers) != 2 or numbers[0] < 0 or numbers[1] < numbers[0] or (numbers[0] == 0 < numbers[1]):
        raise StepscopeError(
            f"profile_batch cannot be {profile_batch!r}",
            hint='use a batch number such as 5, or the first and the last one: (10, 20) or "10,20"; 0 is off',
        )
    return numbers[0], numbers[1]


def batch_schedule(first: int, last: int) -> dict[str, int]:
    """The schedule that records these batches, with a batch of warm-up before them if there is one.

    >>> batch_schedule(10, 20)
    {'skip_first': 0, 'wait': 8, 'warmup': 1, 'active': 11}
    """
    warmup = 1 if first > 1 else 0
    return {"skip_first": 0, "wait": max(first - 1 - warmup, 0), "warmup": warmup, "active": last - first + 1}


def _backend() -> str:
    try:
        import keras

        return str(keras.backend.backend())
    except (ImportError, AttributeError):
        return "tensorflow"
