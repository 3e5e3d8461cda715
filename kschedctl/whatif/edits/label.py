"""``--label NODE:KEY=VALUE``: a label of a node set, or taken away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kschedctl.errors import InputError
from kschedctl.whatif.edit import Edit, Option, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.releases.release import Release
    from kschedctl.whatif.edit import Changed


@dataclass(frozen=True, slots=True)
class LabelNode(Edit):
    """A label of a node set, or with the value ``None`` taken away."""

    option: ClassVar[Option] = Option(
        "--label", "NODE:KEY=VALUE", "What if this node had this label? NODE:KEY- takes it away."
    )

    node: str
    key: str
    value: str | None

    def __str__(self) -> str:
        change = f"{self.key}-" if self.value is None else f"{self.key}={self.value}"
        return f"label {self.node}:{change}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Read ``NODE:KEY=VALUE`` or ``NODE:KEY-``.

        Raises
        ------
        InputError
            Where it cannot be read.

        Examples
        --------
        >>> LabelNode.parse("node-1:disk=ssd"), LabelNode.parse("node-1:disk-")
        (LabelNode(node='node-1', key='disk', value='ssd'), LabelNode(node='node-1', key='disk', value=None))
        """
        from kschedctl.whatif.values import check_label, split_node

        node, label = split_node(text, "NODE:KEY=VALUE or NODE:KEY-, such as node-1:disk=ssd")
        key, equals, value = label.partition("=")
        if not equals and not key.endswith("-"):
            raise InputError(
                f'"{text}" gives the label no value', hint="NODE:KEY=VALUE sets a label, NODE:KEY- takes it away"
            )
        key = key if equals else key.removesuffix("-")
        check_label(text, key, value)
        return cls(node, key, value if equals else None)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Set the label or take it away.

        Raises
        ------
        InputError
            Where a label to take away is not there.
        """
        from msgspec.structs import replace

        from kschedctl.api.wording import listed
        from kschedctl.whatif.nodes import with_node
        from kschedctl.whatif.targets import find_node

        row = find_node(cluster, self.node)
        node = cluster.nodes.objects[row]
        before = node.metadata.labels.get(self.key)
        labels = {key: value for key, value in node.metadata.labels.items() if key != self.key}
        if self.value is not None:
            labels[self.key] = self.value
            change = f"node {self.node} has the label {self.key}={self.value}"
            change += f" instead of {before or 'an empty value'}" if before not in (None, self.value) else ""
        elif before is None:
            raise InputError(
                f"node {self.node} has no label {self.key}", hint=f"its labels are {listed(sorted(labels))}"
            )
        else:
            change = f"node {self.node} no longer has the label {self.key}={before}"
        return with_node(cluster, row, replace(node, metadata=replace(node.metadata, labels=labels))), (change,)

    def things(self) -> Iterator[Thing]:
        """The label of the node."""
        yield "label", self.key, "of", self.node
