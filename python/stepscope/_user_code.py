"""Which files are the user's: not Python's own, not installed packages, not this one."""

from __future__ import annotations

import os
import sysconfig
from functools import lru_cache

_PACKAGE = os.path.dirname(os.path.realpath(__file__)) + os.sep
_INSTALLED_FOLDERS = (f"{os.sep}site-packages{os.sep}", f"{os.sep}dist-packages{os.sep}")


def _standard_library() -> tuple[str, ...]:
    found = (sysconfig.get_path(name) for name in ("stdlib", "platstdlib"))
    return tuple({os.path.realpath(path) + os.sep for path in found if path})


_STANDARD_FOLDERS = _standard_library()


@lru_cache(maxsize=10_000)
def is_user_code(filename: str) -> bool:
    """Whether this file is the user's.

    >>> is_user_code("/home/me/train.py"), is_user_code("<ipython-input-3-aa>"), is_user_code(os.__file__)
    (True, True, False)
    >>> is_user_code("/home/me/.venv/lib/python3.11/site-packages/torch/nn/modules/module.py"), is_user_code(__file__)
    (False, False)
    """
    if filename.startswith("<frozen ") or any(part in filename for part in _INSTALLED_FOLDERS):
        return False
    if filename.startswith("<"):
        # Cells of a notebook and the prompt are the user's; code that is made up by the standard library is not.
        return filename.startswith(("<ipython", "<stdin", "<cell", "<doctest"))
    real = os.path.realpath(filename)
    return not real.startswith(_STANDARD_FOLDERS) and not real.startswith(_PACKAGE)
