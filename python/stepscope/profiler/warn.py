"""Warnings that point at the user's line, however deep in this package or in PyTorch's they arise."""

from __future__ import annotations

import os
import sys
import warnings
from types import FrameType

from ..errors import StepscopeWarning

_OWN = os.path.dirname(os.path.dirname(os.path.abspath(__file__))) + os.sep
_TORCH_FOLDER = os.sep + "torch" + os.sep


def user_frame() -> FrameType | None:
    """The innermost frame that is neither ours nor PyTorch's."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_inside(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def warn_user(message: str) -> None:
    """Warns with :class:`stepscope.StepscopeWarning`, as if from the first line that is neither ours nor PyTorch's."""
    level = 2
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and _is_inside(frame.f_code.co_filename):
        frame = frame.f_back
        level += 1
    warnings.warn(message, StepscopeWarning, stacklevel=level if frame is not None else 2)


def _is_inside(filename: str) -> bool:
    return filename.startswith(_OWN) or _TORCH_FOLDER in filename
