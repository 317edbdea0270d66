"""A profiler with the interface of ``torch.profiler``, for programs with and without PyTorch."""

from __future__ import annotations

from .._native import record_function
from .actions import ProfilerAction, schedule
from .activities import ProfilerActivity, supported_activities
from .context import profile
from .handlers import tensorboard_trace_handler

__all__ = [
    "ProfilerAction",
    "ProfilerActivity",
    "profile",
    "record_function",
    "schedule",
    "supported_activities",
    "tensorboard_trace_handler",
]
