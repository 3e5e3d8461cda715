"""What plugins keep for each other and for themselves during one scheduling cycle."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TypeVar

from kschedctl.framework.effects import ObjectChange

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NotModelled:
    """Something that would bear on the answer and is not modelled.

    Attributes
    ----------
    feature : str
        What it is.
    effect : str
        What that means for the answer.
    """

    feature: str
    effect: str

    def __str__(self) -> str:
        return f"not modelled yet: {self.feature} ({self.effect})"


@dataclass(frozen=True, slots=True)
class Effects:
    """What a plugin did to the state of a cycle besides what it answered.

    Attributes
    ----------
    written : tuple of object
        The values that it wrote.
    not_modelled : tuple of NotModelled
        What it could not answer for.
    """

    written: tuple[object, ...] = ()
    not_modelled: tuple[NotModelled, ...] = ()


@dataclass(slots=True)
class CycleState:
    """The state of one scheduling cycle.

    Attributes
    ----------
    skip_filter_plugins : set of str
        Plugins that PreFilter said have nothing to filter.
    skip_score_plugins : set of str
        Plugins that PreScore said have nothing to score.
    not_modelled : list of NotModelled
        What the plugins could not answer for.
    effects : list of ObjectChange
        What Reserve, PreBind and Bind change in the cluster besides the pod.
    """

    skip_filter_plugins: set[str] = field(default_factory=set)
    skip_score_plugins: set[str] = field(default_factory=set)
    not_modelled: list[NotModelled] = field(default_factory=list)
    effects: list[ObjectChange] = field(default_factory=list)
    _data: dict[type, object] = field(default_factory=dict)

    def write(self, value: object) -> None:
        """Keep a value; its type is its key, so every plugin has a type of its own."""
        self._data[type(value)] = value

    def read(self, kind: type[T]) -> T | None:
        """The value of a type, or ``None`` where none was written."""
        value = self._data.get(kind)
        return value if isinstance(value, kind) else None

    def discard(self, kind: type) -> None:
        """Discard the value of a type, if there is one."""
        self._data.pop(kind, None)

    def recorded(self, ask: Callable[[], T]) -> tuple[T, Effects]:
        """Ask a plugin, and see what it does to the state."""
        before, n_notes = self._data.copy(), len(self.not_modelled)
        said = ask()
        written = tuple(value for kind, value in self._data.items() if before.get(kind) is not value)
        return said, Effects(written, tuple(self.not_modelled[n_notes:]))

    def replay(self, effects: Effects) -> None:
        """Do to the state what a plugin did when it was asked."""
        for value in effects.written:
            self._data[type(value)] = value
