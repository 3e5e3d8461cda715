"""The operands shared by the reasons of plugins that count pods per topology domain."""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.scheduler.framework.operands import Operands
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.plugins.topology_remedies import label_remedies, spread_remedies, term_remedies


class NoTopologyLabel(Operands, frozen=True):
    """The node lacks the label that defines the topology domains.

    Attributes
    ----------
    topology_key : str
        The label's key.
    """

    topology_key: str

    def words(self) -> str:
        """State the missing label."""
        return f"node has no label {self.topology_key}"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to drop the constraints and terms that need the label, or to label the node."""
        yield from spread_remedies(context, self.topology_key)
        yield from term_remedies(context, self.topology_key)
        yield from label_remedies(context, self.topology_key)


class InDomain(Operands, frozen=True):
    """Base class of operands that refer to the node's topology domain.

    Attributes
    ----------
    topology_key : str
        The key of the label that defines the domains.
    domain : str
        The node's domain, which is its value of that label.
    """

    topology_key: str
    domain: str
