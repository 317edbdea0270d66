"""What a fix is: something put into a program from outside that says whether it took effect."""

from __future__ import annotations

import os
import sys
from dataclasses import dataclass
from typing import Any, Callable, ClassVar

from ..._launch.late_import import ImportWatch

#: Whether results stay bit for bit, or only close.
SAME, CLOSE = "same", "close"


@dataclass(frozen=True)
class Effect:
    """Whether a fix took effect, and how one knows."""

    took: bool
    #: One short sentence; if it was not taken, why.
    evidence: str


class Refused(Exception):
    """The fix stays out of this program; the text says why."""


class Fix:
    """A change that can be put into a program before its first line runs.

    A subclass changes PyTorch in :meth:`prepare` and says in :meth:`observe` what came of it. Whatever goes wrong in
    either is a reason not to have taken effect, never an error in the program.
    """

    #: What users type, what tables show, ``SAME`` or ``CLOSE``, and the code that keeps it.
    name: ClassVar[str]
    title: ClassVar[str]
    numbers: ClassVar[str]
    #: Fixes of one group exclude each other.
    group: ClassVar[str | None] = None
    code: ClassVar[str]

    def __init__(self) -> None:
        self.torch: Any = None
        #: Why the fix stays out, as soon as that is known.
        self.refusal: str | None = None
        #: Why it left something out (a loader, an optimizer), which counts if nothing else took it.
        self.reason: str | None = None
        self._process = os.getpid()

    def install(self) -> None:
        """Wait for PyTorch, then prepare."""
        self.when_imported("torch", self._imported)

    def effect(self) -> Effect:
        """What came of it, after the program's iterations."""
        if self.refusal is not None:
            return Effect(False, self.refusal)
        if self.torch is None:
            return Effect(False, "the program did not import PyTorch")
        try:
            return Effect(True, self.observe())
        except Refused as refused:
            return Effect(False, str(refused))
        except Exception as error:
            return Effect(False, f"whether it took effect could not be checked: {first_line(error)}")

    def prepare(self, torch: Any) -> None:
        """Change PyTorch, which was just imported."""

    def observe(self) -> str:
        """How one knows that it took effect; raises :class:`Refused` if it did not."""
        raise NotImplementedError

    def refuse(self, why: str) -> None:
        """Stay out from now on; the first reason counts."""
        if self.refusal is None:
            self.refusal = why

    def safely(self, do: Callable[[], None]) -> None:
        """Call something in the middle of the program that must not fail there."""
        try:
            do()
        except Exception as error:
            self.refuse(_why(error))

    def consider(self, do: Callable[[], None]) -> None:
        """Call something about one of several candidates: where it refuses, others may still take the fix."""
        try:
            do()
        except Exception as error:
            if self.reason is None:
                self.reason = _why(error)

    def when_imported(self, name: str, do: Callable[[Any], None]) -> None:
        """Call ``do`` with a module as soon as the program has imported it."""
        ImportWatch(name, lambda module: self.safely(lambda: do(module))).start()

    @property
    def elsewhere(self) -> bool:
        """Whether this is a process that the program forked, such as a worker of a loader."""
        return os.getpid() != self._process

    def needs_cuda(self) -> None:
        """Refuse where there is no CUDA device."""
        if not self.torch.cuda.is_available():
            raise Refused("there is no CUDA device")

    def _imported(self, torch: Any) -> None:
        self.torch = torch
        self.prepare(torch)


def _why(error: Exception) -> str:
    return str(error) if isinstance(error, Refused) else f"it could not be put in: {first_line(error)}"


def first_line(error: BaseException) -> str:
    """What an error says, short enough for a table."""
    lines = str(error).strip().splitlines()
    return shortened(f"{type(error).__name__}: {lines[0]}" if lines else type(error).__name__)


def shortened(text: str, most: int = 120) -> str:
    """A text that is cut where it is too long, without a period."""
    return (text if len(text) <= most else text[: most - 1] + "…").rstrip(".")


def counted(count: int, noun: str, nouns: str | None = None) -> str:
    """``1 loader``, ``2 loaders``."""
    return f"{count:,} {noun if count == 1 else nouns or noun + 's'}"


def called_by(*packages: str) -> bool:
    """Whether the function that calls the caller of this one belongs to one of these packages."""
    name = sys._getframe(2).f_globals.get("__name__")
    return isinstance(name, str) and name.partition(".")[0] in packages
