"""The operands behind the reasons of InterPodAffinity."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kschedctl.objects.selectors import Selector
from kschedctl.scheduler.framework.remedy import Remedy, RemedyContext
from kschedctl.scheduler.plugins.topology import InDomain
from kschedctl.scheduler.plugins.topology_remedies import term_remedies


class NoPodNear(InDomain, frozen=True):
    """The node's domain has no pod that the pod's required affinity selects.

    Attributes
    ----------
    selector : tuple of Requirement
        The selector of the required pods; empty for any pod.
    """

    selector: Selector

    @property
    def wanted(self) -> str:
        """The selector as text."""
        return " and ".join(map(str, self.selector)) or "any pod"

    def words(self) -> str:
        """State the selector and the domain."""
        labels = f" with {self.wanted}" if self.selector else ""
        return f"no pod{labels} in {self.topology_key}={self.domain}"

    def data(self) -> dict[str, Any]:
        """Return the selector as text, with the domain."""
        return {"topologyKey": self.topology_key, "domain": self.domain, "selector": self.wanted}

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to drop a required term."""
        return term_remedies(context, self.topology_key)


class NominatedPodInTheWay(InDomain, frozen=True):
    """Anti-affinity with a pod that is nominated to the node."""

    def words(self) -> str:
        """State the topology key."""
        return f"a pod nominated to the node, by {self.topology_key}"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to drop an anti-affinity term of the pod with this key, if there is one."""
        return term_remedies(context, self.topology_key)


class PodsInTheWay(InDomain, frozen=True):
    """Anti-affinity with pods in the node's domain, by a term of the pod or of these pods.

    Attributes
    ----------
    pod : str
        ``namespace/name`` of the first of the pods.
    pods : int
        The number of these pods.
    """

    pod: str
    pods: int

    @property
    def who(self) -> str:
        """The pods and their domain, as text."""
        more = f" and {self.pods - 1} more" if self.pods > 1 else ""
        return f"{self.pod}{more} in {self.topology_key}={self.domain}"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to delete the pod, if it is the only one."""
        if self.pods == 1:
            yield from context.pod_removed(self.pod)


class OwnAntiAffinity(PodsInTheWay, frozen=True):
    """The pod's own anti-affinity matches pods in the domain."""

    def words(self) -> str:
        """State the pods that match."""
        return f"{self.who} matches the pod's anti-affinity"

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to drop a term, or to delete the pod."""
        yield from term_remedies(context, self.topology_key)
        yield from super().remedies(context)


class ExistingAntiAffinity(PodsInTheWay, frozen=True):
    """The anti-affinity of pods in the domain matches the pod."""

    def remedies(self, context: RemedyContext) -> Iterator[Remedy]:
        """Propose to delete the pod, if no controller recreates it: it would be pending instead of this pod."""
        namespace, _, name = self.pod.partition("/")
        index = context.cluster.pods.index.get((namespace, name))
        if index is not None and context.cluster.pods.owner(index) is None:
            yield from super().remedies(context)

    def words(self) -> str:
        """State the pods whose anti-affinity matches."""
        return f"anti-affinity of {self.who} matches the pod"
