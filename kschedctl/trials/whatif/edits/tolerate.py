"""``--tolerate KEY=VALUE:EFFECT``: adds a toleration to the pods, or removes their tolerations of a key.

Without a value the toleration matches every value of the key (``operator: Exists``); without an effect it matches
every effect. The admission plugin DefaultTolerationSeconds still adds its two tolerations to a new pod.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edit import Option, PodEdit, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.objects.pod import Pod

_FLAG: Final = "--tolerate"
_EXPECTED: Final = (
    "KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT, such as gpu:NoSchedule; KEY- removes the tolerations of KEY"
)


@dataclass(frozen=True, slots=True)
class Tolerate(PodEdit):
    """An edit that adds a toleration to the pods, or removes their tolerations of a key.

    Attributes
    ----------
    key : str
        The key of the taint.
    value : str or None
        The value of the taint; ``None`` for any value.
    effect : str
        The effect of the taint; empty for any effect.
    remove : bool
        True to remove the tolerations of the key, restricted to ``effect`` if that is not empty. A toleration of all
        keys is not removed.
    """

    option: ClassVar[Option] = Option(
        _FLAG,
        "KEY=VALUE:EFFECT",
        "Answer as if the pod tolerated this taint; value and effect are optional; KEY- removes the tolerations.",
    )

    key: str
    value: str | None = None
    effect: str = ""
    remove: bool = False

    def __str__(self) -> str:
        return f"tolerate {self._taint}{'-' if self.remove else ''}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``KEY=VALUE:EFFECT``, where value and effect may be missing, or ``KEY-`` or ``KEY:EFFECT-``.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> print(*map(Tolerate.parse, ("gpu", "gpu=true:NoSchedule", "gpu-")), sep=" | ")
        tolerate gpu | tolerate gpu=true:NoSchedule | tolerate gpu-
        """
        from kschedctl.trials.whatif.values import check_effect, check_label

        remove = text.endswith("-")
        label, colon, effect = text.removesuffix("-").partition(":")
        key, equals, value = label.partition("=")
        if not key or (remove and equals):
            raise InputError(f'"{text}" is not a toleration', where=_FLAG, hint=_EXPECTED)
        if colon:
            check_effect(text, effect, where=_FLAG)
        check_label(text, key, value, where=_FLAG)
        return cls(key, value if equals else None, effect, remove)

    def apply_to_pod(self, pod: Pod, cluster: Cluster) -> Pod:
        """Add the toleration, or remove the tolerations of the key."""
        from msgspec.structs import replace

        from kschedctl.objects.pod import Toleration

        own = pod.spec.tolerations
        if self.remove:
            kept = tuple(t for t in own if t.key != self.key or self.effect not in ("", t.effect))
            return replace(pod, spec=replace(pod.spec, tolerations=kept))
        operator = "Exists" if self.value is None else "Equal"
        added = Toleration(key=self.key, operator=operator, value=self.value or "", effect=self.effect)
        return pod if added in own else replace(pod, spec=replace(pod.spec, tolerations=(*own, added)))

    def told(self, cluster: Cluster) -> str:
        """Describe the toleration that the pod has or lacks after the change."""
        return f"the pod has no toleration of {self._taint}" if self.remove else f"the pod tolerates {self._taint}"

    def things(self) -> Iterator[Thing]:
        """Yield the toleration, or all tolerations of the key."""
        if not self.remove:
            yield "toleration", self.key, self.effect, self.value
        else:
            yield ("toleration", self.key, self.effect) if self.effect else ("toleration", self.key)

    @property
    def _taint(self) -> str:
        value = "" if self.value is None else f"={self.value}"
        return f"{self.key}{value}{':' if self.effect else ''}{self.effect}"
