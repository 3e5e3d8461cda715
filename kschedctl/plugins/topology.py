"""What the reasons of plugins have in common that look at domains of a topology."""

from __future__ import annotations

from kschedctl.framework.operands import Operands


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
