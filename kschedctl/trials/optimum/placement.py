"""A placement of pods on nodes, as numbers of pods."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class Placement:
    """A placement: pods per kind and node row, and evicted pods per group of occupants."""

    placed: Mapping[tuple[int, int], int] = field(default_factory=dict)
    leaving: Mapping[int, int] = field(default_factory=dict)

    @property
    def rows(self) -> frozenset[int]:
        """The rows of nodes that receive pods."""
        return frozenset(row for (_, row), n in self.placed.items() if n)
