"""Writes the trace of a capture to a file, and says what to do when that fails."""

from __future__ import annotations

import errno
import gzip
import inspect
import os
import shutil
from collections.abc import Mapping
from typing import Any, cast

from .._native import XlaProfile
from .._writing import whole_file, whole_path, written_by
from ..errors import StepscopeError
from .capture import Capture
from .metadata import lost_metadata
from .warn import warn_user


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


def save_capture(
    capture: Capture,
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
        if capture.torch_results is None:
            with whole_path(path) as partial:
                entries = {**metadata, **capture.entries, **lost_metadata(capture.recording.lost_regions)}
                capture.recording.write(partial, entries, _profiles(capture))
        elif capture.saved_path is not None and not options:
            _copy_again(capture, path)
        else:
            _save_with_torch(capture, path, options)

    written_by("the trace", path, write, hint)
    if capture.saved_path is None:
        capture.saved_path = os.path.abspath(path)
        capture.saved_state = _state(path)


def readable_trace(capture: Capture, metadata: Mapping[str, str]) -> str:
    """A file with the trace: the one that was written, or a temporary one."""
    if capture.saved_path is None or _state(capture.saved_path) != capture.saved_state:
        if capture.saved_path is not None and capture.torch_results is None:
            capture.saved_path = None
        save_capture(capture, temporary_path(capture, "trace.json"), metadata, hint=NO_ROOM)
    return cast(str, capture.saved_path)


NO_ROOM = "free some space, or set TMPDIR to a directory with room"


def temporary_path(capture: Capture, name: str) -> str:
    """A place for a file that lives as long as the capture."""
    try:
        return capture.temporary_path(name)
    except OSError as error:
        # Python looks for a directory that can be written to, and on a full disk finds none.
        raise StepscopeError(f"no place for a temporary file: {error.strerror or error}", NO_ROOM) from error


def _save_with_torch(capture: Capture, path: str, options: Mapping[str, Any]) -> None:
    # PyTorch saves a trace once. Its file is kept until ours is there, so that a failure loses nothing.
    raw = capture.raw_path
    if raw is None:
        directory, name = os.path.split(path)
        raw = os.path.join(directory, f".{name}.{os.getpid()}.torch.json")
        capture.keep_raw(raw)
        if capture.torch_gave_up:
            options = _second_chance(capture, options)
        try:
            _let_torch_write(capture, raw, options)
        except BaseException:
            capture.forget_raw()
            raise
        if not _is_whole(raw):
            # PyTorch does not say that a disk is full.
            capture.forget_raw()
            capture.torch_gave_up = True
            raise StepscopeError(
                f"cannot write the trace to {path}: PyTorch could not write its part",
                hint="if the disk is full, free some space or choose another disk",
            )
    try:
        with whole_path(path) as partial:
            capture.recording.splice(raw, partial, capture.entries, _profiles(capture))
    except (OSError, MemoryError):
        raise
    except Exception as error:
        _copy(raw, path)
        warn_user(f"the trace holds what PyTorch recorded, but no counters or samples: {error}")
    capture.forget_raw()


def _profiles(capture: Capture) -> list[XlaProfile]:
    """What JAX and TensorFlow recorded, as far as it can be read."""
    found = []
    for path, started_ns in capture.xla.profiles:
        try:
            found.append(XlaProfile(path, started_ns, capture.marks_steps))
        except Exception as error:
            warn_user(f"the trace is without what JAX or TensorFlow recorded: {error}")
    return found


_SECOND_WAY = "use_python_export"
"""How newer versions of PyTorch write a trace from Python, which they do as often as they are asked."""


def _second_chance(capture: Capture, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options with which PyTorch writes a trace although it failed to before."""
    if _SECOND_WAY not in inspect.signature(capture.torch_results.export_chrome_trace).parameters:
        raise StepscopeError(
            "this version of PyTorch writes a trace only once, and that failed",
            hint="free some space or choose another disk, and record again",
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


def _let_torch_write(capture: Capture, raw: str, options: Mapping[str, Any]) -> None:
    profile = capture.torch_profile
    if profile is None or profile.profiler is not capture.torch_results:
        capture.torch_results.export_chrome_trace(raw, **options)
        return
    profile.export_chrome_trace(raw, **options)
    if not os.path.exists(raw) and hasattr(profile, "wait_for_exports"):
        # Newer versions can write on a thread of their own.
        profile.wait_for_exports()


def _copy_again(capture: Capture, path: str) -> None:
    source = cast(str, capture.saved_path)
    if _state(source) != capture.saved_state:
        raise StepscopeError(
            f"PyTorch writes a trace only once, and the file it wrote, {source}, was changed or removed",
            hint="copy the file before changing it, or record again",
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
