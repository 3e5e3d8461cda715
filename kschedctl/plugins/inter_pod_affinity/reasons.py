"""The operands behind the reasons of InterPodAffinity."""

from __future__ import annotations

from typing import Any

from kschedctl.api.selectors import Selector
from kschedctl.plugins.topology import InDomain


class NoPodNear(InDomain, frozen=True):
    """The node's domain has no pod that the pod's required affinity asks for.

    Attributes
    ----------
    selector : tuple of Requirement
        Which pods are asked for; empty for any.
    """

    selector: Selector

    @property
    def wanted(self) -> str:
        """Which pods are asked for, as text."""
        return " and ".join(map(str, self.selector)) or "any pod"

    def words(self) -> str:
        """Which pods there are none of, and where."""
        return f"no pod with {self.wanted} in {self.topology_key}={self.domain}"

    def data(self) -> dict[str, Any]:
        """The selector as text."""
        return {"topologyKey": self.topology_key, "domain": self.domain, "selector": self.wanted}


class NominatedPodInTheWay(InDomain, frozen=True):
    """Anti-affinity with a pod that is only nominated to the node."""

    def words(self) -> str:
        """That it is a nominated pod, and in which topology."""
        return f"a pod nominated to the node, by {self.topology_key}"


class PodsInTheWay(InDomain, frozen=True):
    """Anti-affinity with pods in the node's domain: the pod's own, or theirs.

    Attributes
    ----------
    pod : str
        ``namespace/name`` of the first of the pods.
    pods : int
        How many there are.
    """

    pod: str
    pods: int

    @property
    def who(self) -> str:
        """The pods and where they are, as text."""
        more = f" and {self.pods - 1} more" if self.pods > 1 else ""
        return f"{self.pod}{more} in {self.topology_key}={self.domain}"


class UnwantedPods(PodsInTheWay, frozen=True):
    """The pod's own anti-affinity keeps it away from them."""

    def words(self) -> str:
        """Who, and whose rule it is."""
        return f"{self.who} matches the pod's anti-affinity"


class UnwillingPods(PodsInTheWay, frozen=True):
    """Their anti-affinity keeps the pod away."""

    def words(self) -> str:
        """Who, and whose rule it is."""
        return f"{self.who} keeps the pod away"
