"""Writing files: whole or not at all, and errors that say what to do."""

from __future__ import annotations

import contextlib
import errno
import gzip
import os
from typing import IO, Any, Callable, Iterator, cast

from .errors import StepscopeError

_HINTS = {
    errno.EACCES: "Choose a directory you may write to.",
    errno.EPERM: "Choose a directory you may write to.",
    errno.EROFS: "The file system is read-only: choose another one.",
    errno.ENOSPC: "The disk is full: free some space, or choose another disk.",
    errno.EDQUOT: "Your quota is used up: free some space, or choose another disk.",
    errno.EFBIG: "This process may not write files of that size: raise the limit (ulimit -f).",
    errno.ENOENT: "The directory is not there: make it first, with os.makedirs(directory, exist_ok=True).",
    errno.ENOTDIR: "A part of the path is a file, not a directory.",
    errno.EISDIR: "The path is a directory: add a file name that ends in .json or .json.gz.",
}
_NO_ROOM_FOR_IT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def cannot_write(what: str, path: str, error: OSError, hint: str | None = None) -> StepscopeError:
    """An error that says what could not be written, why, and what to do."""
    if hint is None:
        hint = _HINTS.get(error.errno or 0, "Choose another path.")
        if error.errno in _NO_ROOM_FOR_IT and path.endswith(".json"):
            hint += " With a name that ends in .json.gz the file is a tenth of the size."
    return StepscopeError(f"Cannot write {what} to {path}: {error.strerror or error}.", hint=hint)


def written_by(what: str, path: str, write: Callable[[], object], hint: str | None = None) -> None:
    """Writes; what the system has against it becomes an error that teaches."""
    try:
        write()
    except OSError as error:
        raise cannot_write(what, path, error, hint) from error


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[IO[Any]]:
    """A file of bytes to write to, compressed if the name ends in ``.gz``. If anything fails, what was there before
    is there still, and nothing is left beside it."""
    directory, name = os.path.split(path)
    partial = os.path.join(directory, f".{name}.{os.getpid()}.part")
    try:
        with gzip.open(partial, "wb", compresslevel=6) if path.endswith(".gz") else open(partial, "wb") as file:
            yield cast(IO[Any], file)
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(partial)
        raise
