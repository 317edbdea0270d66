"""A profiler for Lightning: ``Trainer(profiler=StepscopeProfiler())``.

Works with ``lightning`` and with ``pytorch_lightning``, whichever the program uses.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from ..config import Profiling
from . import _session as session

if TYPE_CHECKING:

    class Profiler:
        """What Lightning's class looks like to a type checker that does not have it."""

        def __init__(self, dirpath: object = None, filename: str | None = None) -> None: ...
        def setup(self, stage: str, local_rank: int | None = None, log_dir: str | None = None) -> None: ...
        def describe(self) -> None: ...
        def teardown(self, stage: str | None) -> None: ...

else:
    try:
        if "pytorch_lightning" in sys.modules and "lightning" not in sys.modules:
            from pytorch_lightning.profilers import Profiler
        else:
            try:
                from lightning.pytorch.profilers import Profiler
            except ImportError:
                from pytorch_lightning.profilers import Profiler
    except ImportError as reason:
        session.missing("Lightning", "lightning", reason)

#: The action whose end is the end of a step, by what the trainer is doing.
_STEP_ENDS = {
    "fit": "run_training_batch",
    "validate": ".validation_step",
    "test": ".test_step",
    "predict": ".predict_step",
}


class StepscopeProfiler(Profiler):
    """Records steps by a schedule, each action of the trainer as a named region.

    ``dirpath`` is the folder for traces; without it they go to ``profiler_traces`` in the trainer's log folder.
    Further arguments are the settings of the ``profiling`` section: ``wait``, ``warmup``, ``active``, ``repeat``,
    ``unit`` ("steps" or "epochs"), ``record_shapes``, ``profile_memory``, ``with_stack`` …::

        trainer = Trainer(profiler=StepscopeProfiler(dirpath="traces", wait=5, active=3))

    Each of fit, validate, test and predict gets traces of its own. The schedule counts training batches in fit
    (validation in between is recorded and not counted), and batches elsewhere.
    """

    def __init__(
        self,
        dirpath: str | os.PathLike[str] | None = None,
        filename: str | None = None,
        **settings: Any,
    ) -> None:
        # First, because Lightning tears down what it finds even if the settings are wrong.
        super().__init__(dirpath=dirpath, filename=filename)
        if dirpath is not None:
            settings.setdefault("output", os.fspath(dirpath))
        self._settings = session.checked(settings)
        self._profiling: Profiling | None = None
        self._regions = session.Regions()
        self._step_end = ""
        #: The trace files of all stages so far.
        self.traces: list[str] = []

    def setup(self, stage: str, local_rank: int | None = None, log_dir: str | None = None) -> None:
        """The trainer begins a stage."""
        super().setup(stage=stage, local_rank=local_rank, log_dir=log_dir)
        self._finish()
        self._step_end = _STEP_ENDS.get(str(getattr(stage, "value", stage)), "")
        self._profiling = session.begin(self._settings, log_dir)

    def start(self, action_name: str) -> None:
        """An action of the trainer begins."""
        self._regions.enter(action_name)

    def stop(self, action_name: str) -> None:
        """An action of the trainer has ended."""
        self._regions.leave(action_name)
        if self._profiling is None:
            return
        if self._step_end and action_name.endswith(self._step_end):
            self._profiling.step()
        elif action_name == "run_training_epoch":
            self._profiling.epoch()

    def summary(self) -> str:
        """Where the traces are."""
        if not self.traces:
            return "Stepscope wrote no trace: the schedule did not come to its end."
        return "Stepscope traces:\n" + "\n".join(f"  stepscope view {path}" for path in self.traces) + "\n"

    def describe(self) -> None:
        """Log where the traces are."""
        self._finish()
        super().describe()

    def teardown(self, stage: str | None) -> None:
        """The trainer has ended a stage."""
        self._finish()
        super().teardown(stage=stage)

    def _finish(self) -> None:
        profiling = self.__dict__.get("_profiling")  # teardown also runs when __init__ has failed
        if profiling is not None:
            self._profiling = None
            self.traces += session.end(profiling)
