"""Python imports this when a child of ``stepscope run`` starts: it begins the child's recording and takes itself away.

The folder of this file is first in PYTHONPATH only on the child's way here. What the child sees of its environment,
its path and its modules is what it would see without us, a ``sitecustomize`` of its own included.
"""

from __future__ import annotations

import os
import sys

_FOLDER = os.path.dirname(os.path.abspath(__file__))
sys.path[:] = [entry for entry in sys.path if entry != _FOLDER]
sys.modules.pop("sitecustomize", None)
try:
    # Theirs, if there is one: ours is no longer on the path.
    import sitecustomize as _theirs  # type: ignore[import-not-found]
except ImportError as _error:
    if _error.name != "sitecustomize":
        raise
    _theirs = None
_spec = os.environ.get("STEPSCOPE_FOLLOW")
if _spec is not None:
    _path = list(sys.path)
    try:
        import json

        sys.path.append(json.loads(_spec)["package"])
        from stepscope._launch.child_run import begin

        begin(_spec)
    except Exception:  # a child that cannot be recorded runs as it would
        pass
    finally:
        sys.path[:] = _path
if _theirs is None:
    # As if this file were not there: `site` passes over exactly this.
    raise ImportError("No module named 'sitecustomize'", name="sitecustomize")
sys.modules["sitecustomize"] = _theirs
