"""Writing files: whole or not at all, and errors that say what to do."""

from __future__ import annotations

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from typing import IO, Any, Callable, cast

from .errors import StepscopeError

_HINTS = {
    errno.EACCES: "choose a directory you may write to",
    errno.EPERM: "choose a directory you may write to",
    errno.EROFS: "the file system is read-only; choose another one",
    errno.ENOSPC: "the disk is full; free some space or choose another disk",
    errno.EDQUOT: "your quota is used up; free some space or choose another disk",
    errno.EFBIG: "this process may not write files that large; raise the limit (ulimit -f)",
    errno.ENOENT: "the directory does not exist; create it with os.makedirs(directory, exist_ok=True)",
    errno.ENOTDIR: "part of the path is a file, not a directory; choose another path",
    errno.EISDIR: "the path is a directory; add a file name ending in .json or .json.gz",
}
# Traces are text with much in common: a higher level takes longer and saves little.
_LEVEL = 4

_NO_ROOM_FOR_IT = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def cannot_write(what: str, path: str, error: OSError, hint: str | None = None) -> StepscopeError:
    """An error that says what could not be written, why, and what to do."""
    if hint is None:
        hint = _HINTS.get(error.errno or 0, "choose another path")
        if error.errno in _NO_ROOM_FOR_IT and path.endswith(".json"):
            hint += "; a file name ending in .json.gz makes the file ten times smaller"
    return StepscopeError(f"cannot write {what} to {path}: {error.strerror or error}", hint=hint)


def written_by(what: str, path: str, write: Callable[[], object], hint: str | None = None) -> None:
    """Writes; what the system has against it becomes an error that teaches."""
    try:
        write()
    except OSError as error:
        raise cannot_write(what, path, error, hint) from error


@contextlib.contextmanager
def whole_path(path: str) -> Iterator[str]:
    """A path beside ``path`` to write to, which then takes its place. If anything fails, what was there before is there
    still, and nothing is left beside it.

    The file is new, so that a planted link leads nowhere, and has the ending and the permissions of the one it
    replaces. A link stays one: what it leads to is replaced. Pipes and devices are written to as they are.
    """
    path = os.path.realpath(path)
    before = _state_of(path)
    if before is not None and not stat.S_ISREG(before.st_mode):
        yield path
        return
    directory, name = os.path.split(path)
    # The ending says whether to compress. A name can be as long as the file system takes, and this one is longer.
    ending = ".gz" if name.endswith(".gz") else ""
    partial = os.path.join(directory, f".{name[:40]}.{os.urandom(4).hex()}.part{ending}")
    os.close(os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
    try:
        yield partial
        if before is not None:
            os.chmod(partial, stat.S_IMODE(before.st_mode))
        os.replace(partial, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.remove(partial)
        raise


def _state_of(path: str) -> os.stat_result | None:
    try:
        return os.stat(path)
    except OSError:
        return None


@contextlib.contextmanager
def whole_file(path: str) -> Iterator[IO[Any]]:
    """A file of bytes to write to, whole or not at all; compressed if the name ends in ``.gz``."""
    with whole_path(path) as partial:
        with _gzip(partial) if path.endswith(".gz") else open(partial, "wb") as file:
            yield cast(IO[Any], file)


def _gzip(path: str) -> IO[Any]:
    import gzip  # most files are not, and every start would pay for it

    return cast("IO[Any]", gzip.open(path, "wb", compresslevel=_LEVEL))
