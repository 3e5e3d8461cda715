"""``--taint NODE:KEY=VALUE:EFFECT``: adds a taint to a node or removes it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edit import Option, Thing
from kschedctl.trials.whatif.node_edit import NodeEdit, nodes_in_words

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.objects.core import Node, Taint
    from kschedctl.objects.releases.release import Release
    from kschedctl.trials.whatif.edit import Changed


@dataclass(frozen=True, slots=True)
class TaintNode(NodeEdit):
    """An edit that adds a taint to nodes, replacing one of the same key and effect, or removes it.

    Attributes
    ----------
    node : str
        The node's name, or a glob.
    taint : Taint
        The taint. For a removal its value is ignored, and an empty effect matches all taints of the key.
    remove : bool
        True to remove the taint.
    """

    option: ClassVar[Option] = Option(
        "--taint", "NODE:KEY=VALUE:EFFECT", "Answer as if the node had this taint; a trailing - removes it."
    )

    node: str
    taint: Taint
    remove: bool = False

    def __str__(self) -> str:
        taint = self.taint
        if self.remove:
            return f"taint {self.node}:{taint.key}{':' if taint.effect else ''}{taint.effect}-"
        return f"taint {self.node}:{taint}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``NODE:KEY=VALUE:EFFECT``; the value may be missing, and with a trailing ``-`` also the effect.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> print(TaintNode.parse("node-1:gpu=true:NoSchedule"), TaintNode.parse("node-1:gpu-"), sep=" | ")
        taint node-1:gpu=true:NoSchedule | taint node-1:gpu-
        """
        from kschedctl.objects.core import Taint
        from kschedctl.trials.whatif.values import check_effect, check_label, split_node

        expected = "NODE:KEY=VALUE:EFFECT, such as node-1:gpu=true:NoSchedule; a trailing - removes it"
        node, rest = split_node(text, expected)
        remove = rest.endswith("-")
        label, colon, effect = rest.removesuffix("-").partition(":")
        key, _, value = label.partition("=")
        if not colon and not remove:
            raise InputError(f'"{text}" has no effect of the taint, such as NoSchedule', hint=expected)
        if colon:
            check_effect(text, effect)
        check_label(text, key, value)
        return cls(node, Taint(key=key, value=value, effect=effect), remove)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Add the taint to the nodes or remove it.

        Pods that do not tolerate a new NoExecute taint are evicted. Pods that tolerate the taint for a limited time
        (``tolerationSeconds``) stay.

        Raises
        ------
        InputError
            If the taint is to be removed and none of the nodes has it.
        """
        from kschedctl.objects.pod import NO_EXECUTE, tolerated
        from kschedctl.trials.whatif.eviction import evict
        from kschedctl.trials.whatif.nodes import with_replaced

        nodes = {row: cluster.nodes.objects[row] for row in self.rows(cluster)}
        if self.remove:
            return self._taken_away(cluster, nodes)
        change = f"{nodes_in_words(cluster, list(nodes), 'has', 'have')} the taint {self.taint}"
        cluster = with_replaced(cluster, {row: self._tainted(node) for row, node in nodes.items()})
        if self.taint.effect == NO_EXECUTE:
            records = cluster.pods.records
            leaving = [
                index
                for row, node in nodes.items()
                if self.taint not in node.spec.taints
                for index in cluster.pods.on_node(row).tolist()
                if not tolerated(records[index].spec.tolerations, self.taint)
            ]
            if leaving:
                evicted = evict(cluster, leaving, release=release, node_bound_stay=False)
                return evicted.cluster, (f"{change}: {evicted}",)
        return cluster, (change,)

    def things_of(self, node: str) -> Iterator[Thing]:
        """Yield the taint of the node; without an effect, one thing per effect."""
        from kschedctl.objects.pod import EFFECTS

        for each in (self.taint.effect,) if self.taint.effect else EFFECTS:
            yield "taint", f"{self.taint.key}:{each}", "of", node

    def _taken_away(self, cluster: Cluster, nodes: Mapping[int, Node]) -> Changed:
        """Remove the taint from the nodes that have it; raise ``InputError`` if none has it."""
        from kschedctl.common.wording import listed
        from kschedctl.trials.whatif.nodes import with_replaced

        taken = {row: node for row, node in nodes.items() if any(map(self._is_same, node.spec.taints))}
        if not taken:
            its, it = ("its", "it has") if len(nodes) == 1 else ("their", "they have")
            known = sorted({str(old) for node in nodes.values() for old in node.spec.taints})
            has = f"{its} taints are {listed(known)}" if known else f"{it} no taints"
            raise InputError(f"{nodes_in_words(cluster, list(nodes), 'has', 'have')} no such taint", hint=has)
        gone = dict.fromkeys(str(old) for node in taken.values() for old in node.spec.taints if self._is_same(old))
        change = nodes_in_words(cluster, list(taken), "no longer has", "no longer have")
        cluster = with_replaced(cluster, {row: self._tainted(node) for row, node in taken.items()})
        return cluster, (f"{change} the taint {listed(list(gone))}",)

    def _is_same(self, old: Taint) -> bool:
        """Report whether a taint is the one to be replaced or removed: same key and, if given, same effect."""
        return old.key == self.taint.key and self.taint.effect in ("", old.effect)

    def _tainted(self, node: Node) -> Node:
        from msgspec.structs import replace

        kept = tuple(old for old in node.spec.taints if not self._is_same(old))
        return replace(node, spec=replace(node.spec, taints=kept if self.remove else (*kept, self.taint)))
