"""The data that plugins store and share during one scheduling cycle."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final, TypeVar

import msgspec

from kschedctl.common.arrays import PodIndices
from kschedctl.scheduler.framework.events import ObjectChange

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class NotModelled:
    """A feature that could change the answer and is not modelled.

    Attributes
    ----------
    feature : str
        The feature.
    effect : str
        The consequence for the answer.
    """

    feature: str
    effect: str

    def __str__(self) -> str:
        return f"not modelled: {self.feature}; {self.effect}"


class Effects(msgspec.Struct, frozen=True):
    """The changes that a plugin call made to the cycle state, besides its return value."""

    #: The values that the plugin wrote.
    written: tuple[object, ...] = ()
    #: The features that the plugin reported as not modelled.
    not_modelled: tuple[NotModelled, ...] = ()


NO_EFFECTS: Final = Effects()


class PodsToActivate(msgspec.Struct, frozen=True):
    """Pods that are to be tried again now if they wait in the queue (upstream ``PodActivator``)."""

    #: Indices into the pods of the cluster that the plugin runs over.
    pods: PodIndices


class CycleState(msgspec.Struct):
    """The state of one scheduling cycle."""

    #: Plugins that returned Skip from PreFilter.
    skip_filter_plugins: set[str] = msgspec.field(default_factory=set)
    #: Plugins that returned Skip from PreScore.
    skip_score_plugins: set[str] = msgspec.field(default_factory=set)
    #: The features that the plugins reported as not modelled.
    not_modelled: list[NotModelled] = msgspec.field(default_factory=list)
    #: The changes that Reserve, PreBind and Bind make to objects other than the pod.
    effects: list[ObjectChange] = msgspec.field(default_factory=list)
    _data: dict[type, object] = msgspec.field(default_factory=dict)
    #: The values written during ``recorded``; ``None`` outside it.
    _record: dict[type, object] | None = None

    def write(self, value: object) -> None:
        """Store a value under its type; each plugin uses a type of its own."""
        self._data[type(value)] = value
        if self._record is not None:
            self._record[type(value)] = value

    def read(self, kind: type[T]) -> T | None:
        """Return the value of the given type, or ``None`` if none was written."""
        value = self._data.get(kind)
        return value if isinstance(value, kind) else None

    def clone(self) -> "CycleState":
        """Return a state with the same values, for plugins that run again without changing this state."""
        return CycleState(
            set(self.skip_filter_plugins),
            set(self.skip_score_plugins),
            list(self.not_modelled),
            list(self.effects),
            dict(self._data),
        )

    def discard(self, kind: type) -> None:
        self._data.pop(kind, None)

    def recorded(self, ask: Callable[[], T]) -> tuple[T, Effects]:
        """Call ``ask``, and return its result together with its effects on this state."""
        outer, n_notes = self._record, len(self.not_modelled)
        record = self._record = {}
        try:
            said = ask()
        finally:
            self._record = outer
        if outer is not None:
            outer.update(record)
        if not record and len(self.not_modelled) == n_notes:
            return said, NO_EFFECTS
        return said, Effects(tuple(record.values()), tuple(self.not_modelled[n_notes:]))

    def replay(self, effects: Effects) -> None:
        """Write the values that an earlier plugin call wrote."""
        for value in effects.written:
            self.write(value)
