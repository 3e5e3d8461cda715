"""``--label NODE:KEY=VALUE``: sets a label of a node or removes it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edit import Option, Thing
from kschedctl.trials.whatif.node_edit import NodeEdit, nodes_in_words

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.objects.core import Node
    from kschedctl.objects.releases.release import Release
    from kschedctl.trials.whatif.edit import Changed


@dataclass(frozen=True, slots=True)
class LabelNode(NodeEdit):
    """An edit that sets a label of nodes, or removes it if the value is ``None``."""

    option: ClassVar[Option] = Option(
        "--label", "NODE:KEY=VALUE", "Answer as if the node had this label; NODE:KEY- removes it."
    )

    node: str
    key: str
    value: str | None

    def __str__(self) -> str:
        change = f"{self.key}-" if self.value is None else f"{self.key}={self.value}"
        return f"label {self.node}:{change}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``NODE:KEY=VALUE`` or ``NODE:KEY-``.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> LabelNode.parse("node-1:disk=ssd"), LabelNode.parse("node-1:disk-")
        (LabelNode(node='node-1', key='disk', value='ssd'), LabelNode(node='node-1', key='disk', value=None))
        """
        from kschedctl.trials.whatif.values import check_label, split_node

        node, label = split_node(text, "NODE:KEY=VALUE or NODE:KEY-, such as node-1:disk=ssd")
        key, equals, value = label.partition("=")
        if not equals and not key.endswith("-"):
            raise InputError(
                f'"{text}" has no value for the label', hint="NODE:KEY=VALUE sets a label, NODE:KEY- removes it"
            )
        key = key if equals else key.removesuffix("-")
        check_label(text, key, value)
        return cls(node, key, value if equals else None)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Set the label or remove it.

        Raises
        ------
        InputError
            If the label is to be removed and none of the nodes has it.
        """
        from kschedctl.common.wording import listed
        from kschedctl.trials.whatif.nodes import with_replaced

        nodes = {row: cluster.nodes.objects[row] for row in self.rows(cluster)}
        if self.value is None:
            having = {row: node for row, node in nodes.items() if self.key in node.metadata.labels}
            if not having:
                whose = nodes_in_words(cluster, list(nodes), "has", "have")
                known = sorted({key for node in nodes.values() for key in node.metadata.labels})
                labels = f"{'its' if len(nodes) == 1 else 'their'} labels are {listed(known)}"
                raise InputError(f"{whose} no label {self.key}", hint=labels)
            nodes = having
        before = sorted({label for node in nodes.values() if (label := node.metadata.labels.get(self.key)) is not None})
        if self.value is None:
            told = listed([f"{self.key}={value}" for value in before], "or")
            change = nodes_in_words(cluster, list(nodes), "no longer has", "no longer have") + f" the label {told}"
        else:
            change = nodes_in_words(cluster, list(nodes), "has", "have") + f" the label {self.key}={self.value}"
            others = [value or "an empty value" for value in before if value != self.value]
            change += f" instead of {listed(others, 'or')}" if others else ""
        return with_replaced(cluster, {row: self._labelled(node) for row, node in nodes.items()}), (change,)

    def _labelled(self, node: Node) -> Node:
        from msgspec.structs import replace

        labels = {key: value for key, value in node.metadata.labels.items() if key != self.key}
        if self.value is not None:
            labels[self.key] = self.value
        return replace(node, metadata=replace(node.metadata, labels=labels))

    def things_of(self, node: str) -> Iterator[Thing]:
        """Yield the label of the node."""
        yield "label", self.key, "of", node
