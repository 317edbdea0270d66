"""Writes the trace of a window to a file, and says what to do when that fails."""

from __future__ import annotations

import errno
import gzip
import os
import shutil
from typing import IO, Any, Mapping, cast

from ..errors import StepscopeError
from .warn import warn_user
from .window import Window

_HINTS = {
    errno.EACCES: "Choose a directory you may write to.",
    errno.EPERM: "Choose a directory you may write to.",
    errno.EROFS: "The file system is read-only: choose another one.",
    errno.ENOSPC: "The disk is full: free some space, or choose another disk and a name that ends in .gz.",
    errno.EDQUOT: "Your quota is used up: free some space, or choose another disk and a name that ends in .gz.",
    errno.ENOENT: "The directory is not there: make it first, with os.makedirs(directory, exist_ok=True).",
    errno.ENOTDIR: "A part of the path is a file, not a directory.",
    errno.EISDIR: "The path is a directory: add a file name that ends in .json or .json.gz.",
}


def cannot_write(what: str, path: str, error: OSError) -> StepscopeError:
    """An error that says what could not be written, why, and what to do."""
    reason = error.strerror or str(error)
    hint = _HINTS.get(error.errno or 0, "Choose another path.")
    return StepscopeError(f"Cannot write {what} to {path}: {reason}.", hint=hint)


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
    window: Window, path: str, metadata: Mapping[str, str], torch_options: Mapping[str, Any] | None = None
) -> None:
    """Writes the trace, compressed if the name ends in ``.gz``. It can be written as often as one likes."""
    options = {name: value for name, value in (torch_options or {}).items() if value}
    try:
        check_target(path)
        if window.torch_results is None:
            window.recording.write(path, dict(metadata))
        elif window.saved_path is not None and not options:
            _copy_again(window, path)
        else:
            _save_with_torch(window, path, options)
    except OSError as error:
        raise cannot_write("the trace", path, error) from error
    if window.saved_path is None:
        window.saved_path = os.path.abspath(path)
        window.saved_state = _state(path)


def readable_trace(window: Window, metadata: Mapping[str, str]) -> str:
    """A file with the trace: the one that was written, or a temporary one."""
    if window.saved_path is None or _state(window.saved_path) != window.saved_state:
        if window.saved_path is not None and window.torch_results is None:
            window.saved_path = None
        save_window(window, window.temporary_path("trace.json"), metadata)
    return cast(str, window.saved_path)


def _save_with_torch(window: Window, path: str, options: Mapping[str, Any]) -> None:
    # PyTorch saves a trace once. Its file is kept until ours stands, so that a failure loses nothing.
    raw = window.raw_path
    if raw is None:
        directory, name = os.path.split(path)
        raw = os.path.join(directory, f".{name}.{os.getpid()}.torch.json")
        window.keep_raw(raw)
        _let_torch_write(window, raw, options)
        if not _is_whole(raw):
            # PyTorch does not say that a disk is full.
            window.forget_raw()
            raise StepscopeError(
                f"PyTorch could not write its trace beside {path}.",
                hint="Is the disk full? Free some space or choose another disk, and record again.",
            )
    try:
        window.recording.splice(raw, path)
    except (OSError, MemoryError):
        raise
    except Exception as error:
        _copy(raw, path)
        warn_user(f"The trace holds what PyTorch recorded and none of our counters and samples: {error}")
    window.forget_raw()


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
    """Copies a trace, compressing it or not as the names say. The target appears when it is complete."""
    partial = f"{path}.{os.getpid()}.partial"
    try:
        with _open(source, "rb") as reader, _open(partial, "wb", like=path) as writer:
            shutil.copyfileobj(reader, writer, 1 << 20)
        os.replace(partial, path)
    except BaseException:
        if os.path.exists(partial):
            os.remove(partial)
        raise


def _open(path: str, mode: str, like: str | None = None) -> IO[Any]:
    if (like or path).endswith(".gz"):
        return cast(IO[Any], gzip.open(path, mode, compresslevel=6))
    return open(path, mode)


def _state(path: str) -> tuple[int, int] | None:
    """What tells whether a file is the one that was written."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_size, found.st_mtime_ns
