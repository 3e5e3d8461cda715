"""The operands behind the reasons of InterPodAffinity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedctl.api.selectors import Selector
from kschedctl.framework.remedy import Remedy, RemedyContext
from kschedctl.plugins.topology import InDomain
from kschedctl.plugins.topology_remedies import term_remedies


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

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Drop a term that asks for such pods."""
        return term_remedies(context, self.topology_key)


class NominatedPodInTheWay(InDomain, frozen=True):
    """Anti-affinity with a pod that is only nominated to the node."""

    def words(self) -> str:
        """That it is a nominated pod, and in which topology."""
        return f"a pod nominated to the node, by {self.topology_key}"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Drop a term of the pod, if it is one of these."""
        return term_remedies(context, self.topology_key)


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

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Do without a pod, where it is the only one."""
        if self.pods == 1:
            yield from context.pod_removed(self.pod)


class UnwantedPods(PodsInTheWay, frozen=True):
    """The pod's own anti-affinity keeps it away from them."""

    def words(self) -> str:
        """Who, and whose rule it is."""
        return f"{self.who} matches the pod's anti-affinity"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Drop a term, or do without a pod."""
        yield from term_remedies(context, self.topology_key)
        yield from super().remedies(context)


class UnwillingPods(PodsInTheWay, frozen=True):
    """Their anti-affinity keeps the pod away."""

    def words(self) -> str:
        """Who, and whose rule it is."""
        return f"{self.who} keeps the pod away"
