"""Runs a program with fixes in it, and leaves what came of it in ``result.json``: one, or many from forks."""

from __future__ import annotations

import json
import os
import runpy
import signal
import sys
import traceback
from pathlib import Path
from typing import Any


def run(request: dict[str, Any]) -> None:
    """Run ``program.py`` in its folder."""
    folder = Path(request["folder"])
    os.chdir(folder)
    os.environ.update(request["environment"])
    output = os.open(folder / "output.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(output, 1)
    os.dup2(output, 2)
    result: dict[str, Any]
    try:
        result = tried(request)
    except BaseException:
        result = {"error": traceback.format_exc()}
    (folder / "result.json").write_text(json.dumps(result))


def tried(request: dict[str, Any]) -> dict[str, Any]:
    from stepscope._trial.fixes import FIXES

    known = dict(FIXES)
    if "skipped-steps" in request["names"]:
        from bad_fix import SkippedSteps

        known[SkippedSteps.name] = SkippedSteps
    for name, attributes in request["changes"].items():
        for attribute, value in attributes.items():
            setattr(known[name], attribute, value)
    fixes = [known[name]() for name in request["names"]]
    for fix in fixes:
        fix.install()
    # What the program made has to be alive when the fixes look at it.
    program = runpy.run_path("program.py", run_name="__main__")
    effects = {fix.name: fix.effect() for fix in fixes}
    return {
        "seen": program.get("seen"),
        "effects": {name: [effect.took, effect.evidence] for name, effect in effects.items()},
    }


def serve() -> None:
    """Run each request that comes on stdin in a fork."""
    import torch._dynamo  # noqa: F401

    for line in sys.stdin:
        request = json.loads(line)
        result = Path(request["folder"], "result.json")
        result.write_text(json.dumps({"error": "the program ended without a result\n"}))
        child = os.fork()
        if child == 0:
            sys.stdin.close()
            signal.alarm(request["seconds"])
            run(request)
            sys.stdout.flush()
            os._exit(0)
        os.waitpid(child, 0)
        print("done", flush=True)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        run(json.loads(sys.argv[1]))
    else:
        serve()
