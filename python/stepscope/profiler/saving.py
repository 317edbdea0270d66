"""Writes the trace of a window to a file, and says what to do when that fails."""

from __future__ import annotations

import errno
import gzip
import inspect
import os
import shutil
from typing import Any, Mapping, cast

from ..errors import StepscopeError
from ..writing import whole_file, written_by
from .metadata import lost_metadata
from .warn import warn_user
from .window import Window


def check_target(path: str) -> None:
    """Raises what writing there would raise, before anything is worked out or half written."""
    directory = os.path.dirname(path) or "."
    if os.path.isdir(path):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), path)
    if not os.path.exists(directory):
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), directory)
    if not os.path.isdir(directory):
        raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR), directory)
    if not os.access(directory, os.W_OK | os.X_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), directory)


def save_window(
    window: Window,
    path: str,
    metadata: Mapping[str, str],
    torch_options: Mapping[str, Any] | None = None,
    hint: str | None = None,
) -> None:
    """Writes the trace, compressed if the name ends in ``.gz``. It can be written as often as one likes. ``hint`` is
    what to do if that fails, where the path is not the caller's choice."""
    options = {name: value for name, value in (torch_options or {}).items() if value}

    def write() -> None:
        check_target(path)
        if window.torch_results is None:
            window.recording.write(path, {**metadata, **lost_metadata(window.recording.lost_regions)})
        elif window.saved_path is not None and not options:
            _copy_again(window, path)
        else:
            _save_with_torch(window, path, options)

    written_by("the trace", path, write, hint)
    if window.saved_path is None:
        window.saved_path = os.path.abspath(path)
        window.saved_state = _state(path)


def readable_trace(window: Window, metadata: Mapping[str, str]) -> str:
    """A file with the trace: the one that was written, or a temporary one."""
    if window.saved_path is None or _state(window.saved_path) != window.saved_state:
        if window.saved_path is not None and window.torch_results is None:
            window.saved_path = None
        save_window(window, temporary_path(window, "trace.json"), metadata, hint=NO_ROOM)
    return cast(str, window.saved_path)


NO_ROOM = "Free some space there, or set TMPDIR to a directory with room."


def temporary_path(window: Window, name: str) -> str:
    """A place for a file that lives as long as the window."""
    try:
        return window.temporary_path(name)
    except OSError as error:
        # Python looks for a directory that can be written to, and on a full disk finds none.
        raise StepscopeError(f"There is no place for a temporary file: {error.strerror or error}.", NO_ROOM) from error


def _save_with_torch(window: Window, path: str, options: Mapping[str, Any]) -> None:
    # PyTorch saves a trace once. Its file is kept until ours stands, so that a failure loses nothing.
    raw = window.raw_path
    if raw is None:
        directory, name = os.path.split(path)
        raw = os.path.join(directory, f".{name}.{os.getpid()}.torch.json")
        window.keep_raw(raw)
        if window.torch_gave_up:
            options = _second_chance(window, options)
        try:
            _let_torch_write(window, raw, options)
        except BaseException:
            window.forget_raw()
            raise
        if not _is_whole(raw):
            # PyTorch does not say that a disk is full.
            window.forget_raw()
            window.torch_gave_up = True
            raise StepscopeError(
                f"Cannot write the trace to {path}: PyTorch's part of it could not be written there.",
                hint="Is the disk full? Free some space, or choose another disk.",
            )
    try:
        window.recording.splice(raw, path)
    except (OSError, MemoryError):
        raise
    except Exception as error:
        _copy(raw, path)
        warn_user(f"The trace holds what PyTorch recorded and none of our counters and samples: {error}")
    window.forget_raw()


_SECOND_WAY = "use_python_export"
"""How newer versions of PyTorch write a trace from Python, which they do as often as they are asked."""


def _second_chance(window: Window, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with which PyTorch writes a trace although it failed to before."""
    if _SECOND_WAY not in inspect.signature(window.torch_results.export_chrome_trace).parameters:
        raise StepscopeError(
            "This version of PyTorch writes a trace only once, and that has failed.",
            hint="Free some space or choose another disk, and record again.",
        )
    return {**options, _SECOND_WAY: True}


def _is_whole(path: str) -> bool:
    """Whether a JSON document is there and has its end."""
    try:
        with open(path, "rb") as file:
            file.seek(max(os.path.getsize(path) - 64, 0))
            return file.read().rstrip().endswith(b"}")
    except OSError:
        return False


def _let_torch_write(window: Window, raw: str, options: Mapping[str, Any]) -> None:
    profile = window.torch_profile
    if profile is None or profile.profiler is not window.torch_results:
        window.torch_results.export_chrome_trace(raw, **options)
        return
    profile.export_chrome_trace(raw, **options)
    if not os.path.exists(raw) and hasattr(profile, "wait_for_exports"):
        # Newer versions can write on a thread of their own.
        profile.wait_for_exports()


def _copy_again(window: Window, path: str) -> None:
    source = cast(str, window.saved_path)
    if _state(source) != window.saved_state:
        raise StepscopeError(
            f"PyTorch writes a trace only once, and the file it went to, {source}, was changed or removed.",
            hint="Copy the file before changing it, or record again.",
        )
    if not (os.path.exists(path) and os.path.samefile(source, path)):
        _copy(source, path)


def _copy(source: str, path: str) -> None:
    """Copies a trace, compressing it or not as the names say."""
    with gzip.open(source, "rb") if source.endswith(".gz") else open(source, "rb") as reader:
        with whole_file(path) as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)


def _state(path: str) -> tuple[int, int] | None:
    """What tells whether a file is the one that was written."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
