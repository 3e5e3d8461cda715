"""``--node-selector KEY=VALUE``: adds an entry to the nodeSelector of the pods, or removes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edit import Option, PodEdit, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.objects.pod import Pod

_FLAG: Final = "--node-selector"


@dataclass(frozen=True, slots=True)
class SetNodeSelector(PodEdit):
    """An edit that sets an entry of the pods' nodeSelector, or removes it if the value is ``None``.

    Node affinity is not changed. The RuntimeClass admission plugin still adds its entries to a new pod.
    """

    option: ClassVar[Option] = Option(
        _FLAG, "KEY=VALUE", "Answer as if the pod had this nodeSelector entry; KEY- removes it."
    )

    key: str
    value: str | None

    def __str__(self) -> str:
        change = f"{self.key}-" if self.value is None else f"{self.key}={self.value}"
        return f"node selector {change}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``KEY=VALUE`` or ``KEY-``.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> print(SetNodeSelector.parse("disk=ssd"), SetNodeSelector.parse("disk-"), sep=" | ")
        node selector disk=ssd | node selector disk-
        """
        from kschedctl.trials.whatif.values import check_label

        key, equals, value = text.partition("=")
        if not equals and not key.endswith("-"):
            hint = "KEY=VALUE sets an entry, KEY- removes it, such as disk=ssd"
            raise InputError(f'"{text}" has no value for the nodeSelector entry', where=_FLAG, hint=hint)
        key = key if equals else key.removesuffix("-")
        check_label(text, key, value, where=_FLAG)
        return cls(key, value if equals else None)

    def apply_to_pod(self, pod: Pod, cluster: Cluster) -> Pod:
        """Set the entry or remove it."""
        from msgspec.structs import replace

        selector = {key: value for key, value in pod.spec.node_selector.items() if key != self.key}
        if self.value is not None:
            selector[self.key] = self.value
        return replace(pod, spec=replace(pod.spec, node_selector=selector))

    def told(self, cluster: Cluster) -> str:
        """Describe the nodeSelector entry after the change."""
        if self.value is None:
            return f"the pod's nodeSelector has no entry {self.key}"
        return f"the pod's nodeSelector has {self.key}={self.value}"

    def things(self) -> Iterator[Thing]:
        """Yield the nodeSelector entry."""
        yield "nodeSelector", self.key
