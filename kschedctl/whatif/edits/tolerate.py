"""``--tolerate KEY=VALUE:EFFECT``: pods with a toleration more, or without those of a key.

Without a value the toleration is of the key whatever its value (``operator: Exists``), without an effect of every
effect. An API server adds the two of DefaultTolerationSeconds to a new pod all the same.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from kschedctl.errors import InputError
from kschedctl.whatif.edit import Option, PodEdit, Thing

if TYPE_CHECKING:
    from kschedctl.api.pod import Pod
    from kschedctl.cluster.cluster import Cluster

_FLAG: Final = "--tolerate"
_EXPECTED: Final = "KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT, such as gpu:NoSchedule; KEY- takes those of it away"


@dataclass(frozen=True, slots=True)
class Tolerate(PodEdit):
    """Pods with a toleration more, or without those of a key.

    Attributes
    ----------
    key : str
        The key of the taint.
    value : str or None
        Its value; ``None`` for any.
    effect : str
        Its effect; empty for any.
    remove : bool
        Whether tolerations of the key are taken away, with an effect those of this effect alone. A toleration of all
        keys stays.
    """

    option: ClassVar[Option] = Option(
        _FLAG, "KEY=VALUE:EFFECT", "What if the pod tolerated this? Value and effect may be missing; KEY- drops them."
    )

    key: str
    value: str | None = None
    effect: str = ""
    remove: bool = False

    def __str__(self) -> str:
        return f"tolerate {self._taint}{'-' if self.remove else ''}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Read ``KEY=VALUE:EFFECT``, where value and effect may be missing, or ``KEY-`` or ``KEY:EFFECT-``.

        Raises
        ------
        InputError
            Where it cannot be read.

        Examples
        --------
        >>> print(*map(Tolerate.parse, ("gpu", "gpu=true:NoSchedule", "gpu-")), sep=" | ")
        tolerate gpu | tolerate gpu=true:NoSchedule | tolerate gpu-
        """
        from kschedctl.whatif.values import check_effect, check_label

        remove = text.endswith("-")
        label, colon, effect = text.removesuffix("-").partition(":")
        key, equals, value = label.partition("=")
        if not key or (remove and equals):
            raise InputError(f'"{text}" does not say what is tolerated', where=_FLAG, hint=_EXPECTED)
        if colon:
            check_effect(text, effect, where=_FLAG)
        check_label(text, key, value, where=_FLAG)
        return cls(key, value if equals else None, effect, remove)

    def apply_to_pod(self, pod: Pod, cluster: Cluster) -> Pod:
        """Add the toleration, or take those of the key away."""
        from msgspec.structs import replace

        from kschedctl.api.pod import Toleration

        own = pod.spec.tolerations
        if self.remove:
            kept = tuple(t for t in own if t.key != self.key or self.effect not in ("", t.effect))
            return replace(pod, spec=replace(pod.spec, tolerations=kept))
        operator = "Exists" if self.value is None else "Equal"
        added = Toleration(key=self.key, operator=operator, value=self.value or "", effect=self.effect)
        return pod if added in own else replace(pod, spec=replace(pod.spec, tolerations=(*own, added)))

    def told(self, cluster: Cluster) -> str:
        """What the pod tolerates."""
        return f"the pod has no toleration of {self._taint}" if self.remove else f"the pod tolerates {self._taint}"

    def things(self) -> Iterator[Thing]:
        """The toleration, or all of the key."""
        if not self.remove:
            yield "toleration", self.key, self.effect, self.value
        else:
            yield ("toleration", self.key, self.effect) if self.effect else ("toleration", self.key)

    @property
    def _taint(self) -> str:
        value = "" if self.value is None else f"={self.value}"
        return f"{self.key}{value}{':' if self.effect else ''}{self.effect}"
