"""Two decisions for one pod side by side, and in what they differ."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from operator import attrgetter
from typing import Final

from kschedctl.scheduler.decision import Decision

#: What is compared, in the order of what matters more.
_COMPARED: Final = ("outcome", "best", "victims", "message", "error")


@dataclass(frozen=True, slots=True, repr=False)
class Difference:
    """What two clusters decide for a pod.

    Attributes
    ----------
    pod : str
        The pod, ``namespace/name``.
    before, after : Decision or None
        The decisions; ``None`` where the cluster does not have the pod, or no profile is responsible for it.
    """

    pod: str
    before: Decision | None
    after: Decision | None

    @property
    def what(self) -> tuple[str, ...]:
        """The attributes of the decisions that differ, of outcome, best, victims, message and error."""
        return tuple(self._differing())

    def _differing(self) -> Iterator[str]:
        if self.before is None or self.after is None:
            if self.before is not self.after:
                yield "outcome"
            return
        for name in _COMPARED:
            value = attrgetter(name)
            if value(self.before) != value(self.after):
                yield name

    def __repr__(self) -> str:
        return f"<Difference {self.pod}: {', '.join(self.what) or 'none'}>"
