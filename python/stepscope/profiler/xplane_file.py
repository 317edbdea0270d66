"""Where a profile that JAX or TensorFlow wrote is kept, and how it gets to where the user wants it."""

from __future__ import annotations

import contextlib
import os
import shutil
from typing import Any

from .._writing import whole_path, written_by
from ..errors import StepscopeError
from .capture import Capture

_MAX_FOLDERS = 1000


def holds_xplane(profiler: Any) -> bool:
    """Whether what this profiler recorded last is a file of JAX or TensorFlow, and nothing of PyTorch. Any other
    profiler has none."""
    finished: Any = getattr(getattr(profiler, "_recorder", None), "finished", None)
    return getattr(finished, "xplane", None) is not None and finished.torch_results is None


def save_xplane(path: str, folder: str, worker: str | None = None) -> str:
    """Copies a profile to ``folder/plugins/profile/TIME/HOST.xplane.pb``, as the framework named it."""
    run, name = os.path.split(path)
    if worker:
        name = f"{worker}.xplane.pb"
    place = os.path.join(folder, "plugins", "profile", os.path.basename(run))
    target = ""

    def write() -> None:
        nonlocal target
        os.makedirs(place, exist_ok=True)
        target = _reserved(place, name)
        try:
            with whole_path(target) as partial:
                shutil.copyfile(path, partial)
        except BaseException:
            with contextlib.suppress(OSError):
                os.remove(target)
            raise

    written_by("the profile", place, write)
    return target


def export(capture: Capture, folder: str, worker: str | None = None) -> str:
    """The profile of a capture, copied there."""
    if capture.xplane is None:
        raise StepscopeError(
            "there is no XPlane profile: neither JAX nor TensorFlow was part of this recording",
            hint="export_chrome_trace(path) writes what was recorded",
        )
    if not os.path.exists(capture.xplane):
        raise StepscopeError(
            f"the profile was removed: {capture.xplane}", hint="export it before its folder is cleaned up"
        )
    return save_xplane(capture.xplane, folder, worker)


def _reserved(place: str, name: str) -> str:
    """A new name in this folder: processes of one machine write at the same time."""
    stem, ending = name[: -len(".xplane.pb")], ".xplane.pb"
    for number in range(1, _MAX_FOLDERS):
        path = os.path.join(place, name if number == 1 else f"{stem}_{number}{ending}")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
            return path
        except FileExistsError:
            continue
    raise StepscopeError(f"there are too many profiles in {place}", hint="choose another folder")
