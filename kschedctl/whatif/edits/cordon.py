"""``--cordon NODE``: a node that takes no new pods."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Self

from kschedctl.whatif.edit import Edit, Option, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.releases.release import Release
    from kschedctl.whatif.edit import Changed


@dataclass(frozen=True, slots=True)
class Cordon(Edit):
    """A node that takes no new pods."""

    option: ClassVar[Option] = Option("--cordon", "NODE", "What if this node were cordoned?")

    node: str

    def __str__(self) -> str:
        return f"cordon {self.node}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Read ``NODE``."""
        return cls(text)

    def apply(self, cluster: Cluster, *, release: Release) -> Changed:
        """Mark the node unschedulable."""
        from kschedctl.whatif.nodes import cordoned
        from kschedctl.whatif.targets import find_node

        row = find_node(cluster, self.node)
        before = " (it was before)" if cluster.nodes.objects[row].spec.unschedulable else ""
        return cordoned(cluster, row), (f"node {self.node} is cordoned{before}",)

    def things(self) -> Iterator[Thing]:
        """The node's being cordoned."""
        yield "cordon", self.node
