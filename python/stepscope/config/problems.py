"""Everything that is wrong with a configuration, reported at once, each with its place."""

from __future__ import annotations

from dataclasses import dataclass

from ..errors import StepscopeError


@dataclass(frozen=True)
class Place:
    """Where a setting was written: a file (with its line, where known) or the command line."""

    source: str
    line: int | None = None

    def __str__(self) -> str:
        return self.source if self.line is None else f"{self.source}:{self.line}"


class Problems:
    """Collects problems, then raises them as one error."""

    def __init__(self, section: str) -> None:
        self._section = section
        self._found: list[tuple[Place, str]] = []

    def add(self, place: Place, sentence: str) -> None:
        """Note one problem."""
        self._found.append((place, sentence))

    def raise_if_any(self, known: list[str]) -> None:
        """Raise one error that names every problem; ``known`` are the settings there are."""
        if not self._found:
            return
        sentences = [f"{place}: {sentence}" for place, sentence in self._found]
        if len(sentences) == 1:
            message = sentences[0]
        else:
            message = f"{len(sentences)} problems with the settings of {self._section}:\n  " + "\n  ".join(sentences)
        raise StepscopeError(message, hint="available settings: " + ", ".join(known))
