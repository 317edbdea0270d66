"""A callback for the Trainer of Hugging Face transformers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..config import Profiling
from . import _session as session

if TYPE_CHECKING:
    TrainerCallback = object
else:
    try:
        from transformers import TrainerCallback
    except ImportError as reason:
        session.missing("transformers", "transformers", reason)

#: The region from the begin of a training step to its end; between two of them the trainer loads data, logs and saves.
STEP_REGION = "train_step"


class StepscopeCallback(TrainerCallback):
    """Records training steps by a schedule; a step is one update of the weights.

    Arguments are the settings of the ``profiling`` section: ``wait``, ``warmup``, ``active``, ``repeat``, ``unit``
    ("steps" or "epochs"), ``output``, ``record_shapes``, ``profile_memory``, ``with_stack`` … Without ``output``
    traces go to ``profiler_traces`` in the trainer's ``output_dir``::

        trainer = Trainer(model, args, train_dataset=data, callbacks=[StepscopeCallback(wait=5, active=3)])
    """

    def __init__(self, **settings: Any) -> None:
        self._settings = session.checked(settings)
        self._profiling: Profiling | None = None
        self._regions = session.Regions()
        #: The trace files written so far.
        self.traces: list[str] = []

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Training begins."""
        self._finish()
        self._profiling = session.begin(self._settings, getattr(args, "output_dir", None))

    def on_step_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A step begins."""
        self._regions.enter(STEP_REGION)

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """A step has ended."""
        self._regions.leave(STEP_REGION)
        if self._profiling is not None:
            self._profiling.step()

    def on_epoch_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """An epoch has ended."""
        if self._profiling is not None:
            self._profiling.epoch()

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Training has ended."""
        self._finish()

    def _finish(self) -> None:
        profiling, self._profiling = self._profiling, None
        self.traces += session.end(profiling)
