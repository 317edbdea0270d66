"""Files that appear under their name when they are complete, so that nobody ever reads half of one."""

from __future__ import annotations

import contextlib
import gzip
import os
from typing import IO, Any, Iterator, cast


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
