"""What a profiler answers about its last finished recording: averages, events, files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from .._writing import written_by
from ..errors import StepscopeError
from .capture import Capture
from .event_tree import events_of_recording
from .events import EventList, FunctionEvent, FunctionEventAvg
from .metadata import environment_metadata
from .saving import check_target, readable_trace, save_capture
from .stacks import STACK_METRICS, write_folded_stacks
from .torch_events import with_all_spellings
from .torch_regions import with_regions
from .warn import warn_user
from .xplane_file import export

if TYPE_CHECKING:
    from ..trace import Trace


class Results:
    """The questions a profiler answers once something was recorded."""

    profile_memory: bool
    with_flops: bool
    _inner: Any
    _metadata: dict[str, str]

    def _finished(self) -> Capture:
        raise NotImplementedError

    def key_averages(self, group_by_input_shape: bool = False, group_by_stack_n: int = 0, **options: Any) -> Any:
        """Operators and regions by name, with how often they ran and how long they took. PyTorch's own list where
        PyTorch recorded, with regions that it cannot record itself: those of other threads, and those of coroutines
        that await something inside. Else regions and steps. Both have the same attributes and the same ``table``.

        ``group_by_stack_n`` is how many of the innermost Python frames make a row of their own; it needs
        ``with_stack=True``. Without PyTorch these are the functions that the region was entered from."""
        capture = self._finished()
        if capture.torch_results is not None:
            own = self._own_regions(capture)
            if own:
                events = with_regions(capture.torch_results, own, capture.recording.start_ns or 0)
                averages = events.key_averages(group_by_input_shape, group_by_stack_n, **options)
            else:
                averages = capture.torch_results.key_averages(group_by_input_shape, group_by_stack_n, **options)
            return with_all_spellings(averages)
        asked = [("top", "0")]
        if group_by_stack_n > 0:
            asked += [("by", "stack"), ("frames", str(group_by_stack_n))]
        elif group_by_input_shape:
            asked.append(("by", "shape"))
        answer = json.loads(capture.recording.trace().ask("ops", asked).json())
        rows = [*answer["ops"], *answer["annotations"], *answer["calls"]]
        return self._event_list((FunctionEventAvg.of_row(row) for row in rows), singles=self.events)

    def events(self) -> Any:
        """Every event by itself: PyTorch's own list where PyTorch recorded, with regions that it cannot record itself;
        else regions and steps."""
        capture = self._finished()
        if capture.torch_results is not None:
            own = self._own_regions(capture)
            if own:
                return with_all_spellings(with_regions(capture.torch_results, own, capture.recording.start_ns or 0))
            return with_all_spellings(capture.torch_results.function_events)
        return self._event_list(events_of_recording(capture.recording), averages=self.key_averages)

    def _own_regions(self, capture: Capture) -> list[FunctionEvent]:
        """The regions that are ours although PyTorch recorded: of other threads, and of tasks that take turns."""
        if not capture.recording.regions:
            return []
        # Steps without a schedule are ours too; in PyTorch's list there are none.
        events = events_of_recording(capture.recording)
        return [event for event in events if not event.name.startswith("ProfilerStep#")]

    def export_chrome_trace(self, path: str | os.PathLike[str], **torch_options: Any) -> None:
        """Writes the trace as JSON that Perfetto, ``chrome://tracing``, TensorBoard and ``stepscope`` read; gzipped
        if the name ends in ``.gz``. Counters of the machine and Python samples are in it beside what PyTorch, JAX and
        TensorFlow saw, all on one clock.
        Options of newer versions of PyTorch are passed on to it."""
        save_capture(self._finished(), os.fspath(path), self._all_metadata(), torch_options)

    def export_xplane(self, folder: str | os.PathLike[str]) -> str:
        """Writes what JAX or TensorFlow recorded to ``folder/plugins/profile/TIME/HOST.xplane.pb``, where TensorBoard,
        XProf and ``stepscope view`` look for it; returns the path."""
        return export(self._finished(), os.fspath(folder))

    def export_stacks(self, path: str | os.PathLike[str], metric: str = "self_cpu_time_total") -> None:
        """Writes folded stacks for flame graph tools: one line per stack, outermost frame first, with its own time in
        microseconds on the host or, with ``self_cuda_time_total``, on the device. Python frames need
        ``with_stack=True``; without them the stacks are made of regions and operators. Without PyTorch the frames
        are samples, so the time of a short function is an estimate."""
        if metric not in STACK_METRICS:
            known = ", ".join(STACK_METRICS)
            raise StepscopeError(f"there are no stacks by {metric!r}", hint=f"use one of {known}")
        target = os.fspath(path)
        sampled = self._finished().torch_results is None
        trace = self._trace_path()

        def write() -> None:
            check_target(target)
            write_folded_stacks(trace, target, STACK_METRICS[metric], sampled=sampled)

        written_by("the stacks", target, write)

    def export_memory_timeline(self, path: str | os.PathLike[str], device: str | None = None) -> None:
        """PyTorch's memory timeline: ``.html``, ``.json``, ``.json.gz`` or ``.raw.json.gz`` by the path's end. It
        needs ``record_shapes=True, profile_memory=True, with_stack=True``."""
        capture = self._finished()
        if capture.torch_results is None or not hasattr(self._inner, "export_memory_timeline"):
            raise StepscopeError(
                "there is no memory timeline: PyTorch, which records allocations, was not part of this recording",
                hint="export_chrome_trace() has the memory of the process and the GPUs over time, as counters",
            )
        target = os.fspath(path)

        def write() -> None:
            check_target(target)
            self._inner.export_memory_timeline(target, device)

        written_by("the memory timeline", target, write)

    def trace(self) -> Trace:
        """The recorded trace, to ask questions of. See :func:`stepscope.open`."""
        from ..trace import open as open_trace

        return open_trace(self._trace_path())

    def findings(self) -> Any:
        """What to change, and what it would save."""
        return self.trace().findings()

    def summary(self) -> str:
        """Where the time went, as text for a terminal."""
        return str(self.trace().summary())

    def view(self, *args: Any, **options: Any) -> Any:
        """Opens the trace in the browser."""
        return self.trace().view(*args, **options)

    def add_metadata(self, key: str, value: str) -> None:
        """Adds a text to the trace file, under this key."""
        self.add_metadata_json(key, json.dumps(value))

    def add_metadata_json(self, key: str, value: str) -> None:
        """Adds a value, given as JSON text, to the trace file."""
        try:
            json.loads(value)
        except ValueError as error:
            raise StepscopeError(
                f"the metadata {key!r} is not JSON: {error}", hint="use add_metadata(key, text) for plain text"
            ) from error
        self._metadata[key] = value
        if self._inner is not None:
            self._inner.add_metadata_json(key, value)

    def preset_metadata_json(self, key: str, value: str) -> None:
        """As :meth:`add_metadata_json`, before the profiler was started and for every trace it records."""
        self._metadata[key] = value
        if self._inner is not None:
            self._inner.preset_metadata_json(key, value)

    def toggle_collection_dynamic(self, enable: bool, activities: Any) -> None:
        """Switches the recording of activities off and on again. Only PyTorch can."""
        if self._inner is None:
            warn_user("toggle_collection_dynamic only works while PyTorch records; nothing was switched")
            return
        self._inner.toggle_collection_dynamic(enable, self._as_torch_activities(activities))

    def _as_torch_activities(self, activities: Any) -> list[Any]:
        raise NotImplementedError

    def _event_list(self, events: Iterable[FunctionEvent | FunctionEventAvg], **options: Any) -> EventList:
        return EventList(events, profile_memory=self.profile_memory, with_flops=self.with_flops, **options)

    def _trace_path(self) -> str:
        return readable_trace(self._finished(), self._all_metadata())

    def _all_metadata(self) -> dict[str, str]:
        return {**environment_metadata(), **self._metadata}
