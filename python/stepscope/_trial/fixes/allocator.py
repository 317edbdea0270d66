"""Segments of GPU memory that grow, instead of many that fit nothing new."""

from __future__ import annotations

import importlib.metadata
import os
import re
from typing import Any

from .base import SAME, Fix, Refused, counted

_VARIABLES = ("PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_ALLOC_CONF", "PYTORCH_HIP_ALLOC_CONF")
_SETTING = "expandable_segments:True"


def torch_version() -> tuple[int, int] | None:
    """Major and minor version of the PyTorch that is installed, without importing it."""
    try:
        found = re.match(r"(\d+)\.(\d+)", importlib.metadata.version("torch"))
    except importlib.metadata.PackageNotFoundError:
        return None
    return (int(found[1]), int(found[2])) if found else None


def variable_of(version: tuple[int, int]) -> str:
    """Its name: 2.9 knows the new one and ignores it, later versions warn about the old one."""
    return "PYTORCH_ALLOC_CONF" if version >= (2, 10) else "PYTORCH_CUDA_ALLOC_CONF"


class ExpandableSegments(Fix):
    name = "expandable-segments"
    title = "expandable segments"
    numbers = SAME
    code = f"""import os
os.environ["{variable_of(torch_version() or (2, 10))}"] = "{_SETTING}"  # above the first import of torch"""

    def install(self) -> None:
        self.safely(self._set)
        super().install()

    def _set(self) -> None:
        version = torch_version()
        given = [name for name in _VARIABLES if os.environ.get(name)]
        if given:
            raise Refused(f"{given[0]} is set already")
        if version is None or version < (2, 1):
            raise Refused("this PyTorch has no expandable segments (2.1 and later have)")
        self._variable = variable_of(version)
        os.environ[self._variable] = _SETTING

    def observe(self) -> str:
        self.needs_cuda()
        if os.environ.get(self._variable) != _SETTING:
            raise Refused(f"the program sets {self._variable} itself")
        segments: list[dict[str, Any]] = self.torch.cuda.memory_snapshot()
        growing = sum(bool(each.get("is_expandable")) for each in segments)
        if not growing:
            raise Refused("no segment of GPU memory is expandable")
        return f"{growing} of {counted(len(segments), 'segment')} of GPU memory can grow"
