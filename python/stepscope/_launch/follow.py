"""Has the children of a recorded program record themselves: forked ones at the fork, others when Python starts in them.

A child that starts anew learns it from two variables of its environment (see ``child_site/sitecustomize.py``). They are
put where the system finds them and ``os.environ`` does not, so that the program sees its own environment.
"""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Callable

from .._native import audit_hook

FOLLOW_VARIABLE = "STEPSCOPE_FOLLOW"
_SITE = str(Path(__file__).resolve().parent / "child_site")
_PACKAGE = str(Path(__file__).resolve().parent.parent.parent)


@dataclass
class Plan:
    """What children do."""

    #: "functions", "lines", "calls", "memory" or "samples".
    mode: str
    #: The file of the first process; those of children are named after it.
    base: str
    #: Names after ``--lines``.
    lines: list[str] = field(default_factory=list)
    #: Options of ``stepscope.calls``.
    calls: dict[str, Any] = field(default_factory=dict)
    #: Options of ``stepscope.track``.
    memory: dict[str, Any] = field(default_factory=dict)
    #: Options of :class:`SampledChild`.
    samples: dict[str, Any] = field(default_factory=dict)
    package: str = _PACKAGE
    #: PYTHONPATH as the program has it.
    pythonpath: str | None = None

    @classmethod
    def from_text(cls, text: str) -> Plan:
        """The plan that a parent has written."""
        return cls(**json.loads(text))

    def text(self) -> str:
        """The plan for a child."""
        return json.dumps(asdict(self))

    def variables(self, pythonpath: str | None) -> dict[str, str]:
        """What a child's environment needs, if the program wants it to have this PYTHONPATH."""
        plan = Plan(**{**asdict(self), "pythonpath": pythonpath})
        path = _SITE if not pythonpath else _SITE + os.pathsep + pythonpath
        return {FOLLOW_VARIABLE: plan.text(), "PYTHONPATH": path}


class ChildFollower:
    """From :meth:`start` to :meth:`stop`, children record themselves; a forked one calls ``forked`` first of all."""

    def __init__(self, plan: Plan, forked: Callable[[], None]) -> None:
        self._plan = plan
        self._forked = forked
        self._follows = False
        self._unwrap: Callable[[], None] | None = None

    def start(self) -> None:
        """Begin to follow."""
        if os.name != "posix":
            return
        self._follows = True
        self._put()
        os.register_at_fork(after_in_child=self._in_child)
        sys.addaudithook(audit_hook(["subprocess.Popen"], self._heard))

    def stop(self) -> None:
        """Follow no more: children that start now are no one's."""
        if not self._follows:
            return
        self._follows = False
        os.unsetenv(FOLLOW_VARIABLE)
        before = os.environ.get("PYTHONPATH")
        if before is None:
            os.unsetenv("PYTHONPATH")
        else:
            os.putenv("PYTHONPATH", before)
        if self._unwrap is not None:
            self._unwrap()
            self._unwrap = None

    def hide(self) -> None:
        """In a child that learned it from its environment: what it sees there is the program's."""
        os.environ.pop(FOLLOW_VARIABLE, None)
        if self._plan.pythonpath is None:
            os.environ.pop("PYTHONPATH", None)
        else:
            os.environ["PYTHONPATH"] = self._plan.pythonpath

    def _put(self) -> None:
        for name, value in self._plan.variables(os.environ.get("PYTHONPATH")).items():
            os.putenv(name, value)

    def _in_child(self) -> None:
        if self._follows:
            self._forked()

    def _heard(self, event: str, arguments: tuple[Any, ...]) -> None:
        if self._follows and self._unwrap is None:
            self._unwrap = self._wrap()

    def _wrap(self) -> Callable[[], None] | None:
        """A child that is given an environment of its own gets our two variables into it, unseen by the program."""
        subprocess: Any = sys.modules.get("subprocess")
        owner, name = (subprocess, "_fork_exec")
        if not hasattr(owner, name):
            owner, name = (sys.modules.get("_posixsubprocess"), "fork_exec")
        theirs = getattr(owner, name, None)
        if theirs is None:
            return None
        place = 5  # of the environment among the arguments, in every Python since 3.9

        def fork_exec(*arguments: Any) -> Any:
            if self._follows and len(arguments) > place and isinstance(arguments[place], list):
                given = [*arguments]
                given[place] = self._with_ours(arguments[place])
                arguments = tuple(given)
            return theirs(*arguments)

        # Python 3.13 starts most children by posix_spawn, with os.environ; its documentation has a switch for that.
        spawns = getattr(subprocess, "_USE_POSIX_SPAWN", None)

        def put(function: Any, spawn: Any) -> None:
            setattr(owner, name, function)
            if spawns is not None:
                subprocess._USE_POSIX_SPAWN = spawn

        put(fork_exec, False)
        return lambda: put(theirs, spawns)

    def _with_ours(self, environment: list[bytes]) -> list[bytes]:
        kept = [
            entry for entry in environment if not entry.startswith((b"PYTHONPATH=", FOLLOW_VARIABLE.encode() + b"="))
        ]
        path = next((entry[11:] for entry in environment if entry.startswith(b"PYTHONPATH=")), None)
        ours = self._plan.variables(None if path is None else os.fsdecode(path))
        return kept + [os.fsencode(f"{name}={value}") for name, value in ours.items()]
