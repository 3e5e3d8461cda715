"""``--taint NODE:KEY=VALUE:EFFECT``: a taint put on a node, or taken away."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kschedctl.errors import InputError
from kschedctl.whatif.edit import Edit, Option, Thing

if TYPE_CHECKING:
    from kschedctl.api.core import Node, Taint
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.releases.release import Release
    from kschedctl.whatif.edit import Changed


@dataclass(frozen=True, slots=True)
class TaintNode(Edit):
    """A taint put on a node, where it replaces one of the same key and effect, or taken away.

    Attributes
    ----------
    node : str
        The node.
    taint : Taint
        The taint. Of one to take away the value does not matter, and without an effect all of its key are meant.
    remove : bool
        Whether it is taken away.
    """

    option: ClassVar[Option] = Option(
        "--taint", "NODE:KEY=VALUE:EFFECT", "What if this node had this taint? A - behind takes it away."
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
        """Read ``NODE:KEY=VALUE:EFFECT``, where the value may be missing; with ``-`` behind also without the effect.

        Raises
        ------
        InputError
            Where it cannot be read.

        Examples
        --------
        >>> print(TaintNode.parse("node-1:gpu=true:NoSchedule"), TaintNode.parse("node-1:gpu-"), sep=" | ")
        taint node-1:gpu=true:NoSchedule | taint node-1:gpu-
        """
        from kschedctl.api.core import Taint
        from kschedctl.whatif.values import check_effect, check_label, split_node

        expected = "NODE:KEY=VALUE:EFFECT, such as node-1:gpu=true:NoSchedule, or with - behind to take it away"
        node, rest = split_node(text, expected)
        remove = rest.endswith("-")
        label, colon, effect = rest.removesuffix("-").partition(":")
        key, _, value = label.partition("=")
        if not colon and not remove:
            raise InputError(f'"{text}" gives the taint no effect', hint=expected)
        if colon:
            check_effect(text, effect)
        check_label(text, key, value)
        return cls(node, Taint(key=key, value=value, effect=effect), remove)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Put the taint on the node or take it away.

        Pods that do not tolerate a new one with the effect NoExecute are evicted; those that do for some time stay.

        Raises
        ------
        InputError
            Where a taint to take away is not there.
        """
        from kschedctl.api.tolerations import NO_EXECUTE, tolerated
        from kschedctl.api.wording import listed
        from kschedctl.whatif.eviction import evict
        from kschedctl.whatif.nodes import with_node
        from kschedctl.whatif.targets import find_node

        row = find_node(cluster, self.node)
        node = cluster.nodes.objects[row]
        same = [old for old in node.spec.taints if old.key == self.taint.key and self.taint.effect in ("", old.effect)]
        kept = tuple(old for old in node.spec.taints if old not in same)
        if self.remove:
            if not same:
                has = f"its taints are {listed(sorted(map(str, kept)))}" if kept else "it has no taints"
                raise InputError(f"node {self.node} has no such taint", hint=has)
            change = f"node {self.node} no longer has the taint {listed([str(old) for old in same])}"
            return with_node(cluster, row, _tainted(node, kept)), (change,)
        cluster = with_node(cluster, row, _tainted(node, (*kept, self.taint)))
        change = f"node {self.node} has the taint {self.taint}"
        if self.taint.effect == NO_EXECUTE and self.taint not in same:
            records = cluster.pods.records
            leaving = [
                i for i in cluster.pods.on_node(row).tolist() if not tolerated(records[i].spec.tolerations, self.taint)
            ]
            if leaving:
                evicted = evict(cluster, leaving, node_bound_stay=False)
                return evicted.cluster, (f"{change}: {evicted}",)
        return cluster, (change,)

    def things(self) -> Iterator[Thing]:
        """The taint of the node; to take one away without an effect is about that of every effect."""
        from kschedctl.api.tolerations import EFFECTS

        for each in (self.taint.effect,) if self.taint.effect else EFFECTS:
            yield "taint", f"{self.taint.key}:{each}", "of", self.node


def _tainted(node: Node, taints: tuple[Taint, ...]) -> Node:
    from msgspec.structs import replace

    return replace(node, spec=replace(node.spec, taints=taints))
