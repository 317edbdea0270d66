"""What middleware needs of a monitor."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from .._native import ServiceRequest


class RequestFactory(Protocol):
    """Makes requests of a route."""

    def __call__(
        self, route: Any, id: Any = None, batch: int | None = None, waited: float | None = None
    ) -> ServiceRequest: ...


class Counter(Protocol):
    """A monitor, as far as middleware knows it."""

    @property
    def request(self) -> RequestFactory:
        """Makes requests."""

    def flush(self) -> None:
        """Writes what was counted."""
