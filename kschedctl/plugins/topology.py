"""What the reasons of plugins have in common that look at domains of a topology."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.framework.operands import Operands
from kschedctl.framework.remedy import Remedy, RemedyContext
from kschedctl.plugins.topology_remedies import label_remedies, spread_remedies, term_remedies


class NoTopologyLabel(Operands, frozen=True):
    """The node lacks the label that makes the domains.

    Attributes
    ----------
    topology_key : str
        The label.
    """

    topology_key: str

    def words(self) -> str:
        """Which label."""
        return f"node has no label {self.topology_key}"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Drop what asks for the label, or put it on the node."""
        yield from spread_remedies(context, self.topology_key)
        yield from term_remedies(context, self.topology_key)
        yield from label_remedies(context, self.topology_key)


class InDomain(Operands, frozen=True):
    """Base of reasons that lie in the node's domain of a topology.

    Attributes
    ----------
    topology_key : str
        The label that makes the domains.
    domain : str
        The node's.
    """

    topology_key: str
    domain: str
