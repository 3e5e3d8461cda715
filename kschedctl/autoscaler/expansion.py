"""The answer of a node autoscaler for one pod: the node that it would add, or what each node group has against it."""

from typing import Final

import msgspec

from kschedctl.common.wording import listed
from kschedctl.objects.core import Node
from kschedctl.scheduler.framework.remedy import Change

#: The node groups that a sentence tells of.
_MOST_TOLD: Final = 3


class NodeOffer(msgspec.Struct, frozen=True, kw_only=True):
    """A node that an autoscaler would add for a pod."""

    #: The kind and name of the node group: ``NodePool general``, ``node group eks-spot-1``.
    group: str
    #: A node as it would be, under a name that no node has.
    node: Node
    #: The names of its possible instance types, the cheapest first; empty if only the node's shape is known.
    types: tuple[str, ...] = ()
    zones: tuple[str, ...] = ()
    capacity_types: tuple[str, ...] = ()
    #: The price of the cheapest instance type per hour; ``None`` if it is not known.
    price: float | None = None
    #: Other groups that would add a node for the pod as well, in the order of preference.
    alternatives: tuple[str, ...] = ()
    #: The condition that nothing in the cluster shows: ``if nodegroup spot is not at its maximum size``.
    proviso: str = ""

    @property
    def words(self) -> str:
        """The node as it reads in a sentence: ``a node of NodePool general (m7g.large or 2 others, in eu-west-1b)``."""
        return self.several(1)

    def several(self, number: int) -> str:
        """Return some of these nodes as they read in a sentence."""
        parts = []
        if self.types:
            more = f" or {len(self.types) - 1} others" if len(self.types) > 2 else ""
            more = f" or {self.types[1]}" if len(self.types) == 2 else more
            parts.append(f"{self.types[0]}{more}")
        if 0 < len(self.zones) <= 2:
            parts.append(f"in zone {' or '.join(self.zones)}")
        others = f", or of {listed(self.alternatives, 'or')}" if self.alternatives else ""
        return (
            f"{'a node' if number == 1 else f'{number} nodes'} of {self.group}"
            + (f" ({', '.join(parts)})" if parts else "")
            + others
        )


class GroupRefusal(msgspec.Struct, frozen=True, kw_only=True):
    """A node group that adds no node for a pod."""

    group: str
    #: The reason as a clause after the group: ``is at its limit of 32 cpu (30 used)``.
    reason: str
    #: The autoscaler's own words; empty if it has none.
    said: str = ""
    #: True if it may add a node all the same: the cluster does not tell enough about its nodes.
    is_open: bool = False


class GroupChange(msgspec.Struct, frozen=True, kw_only=True):
    """A change after which an autoscaler adds a node; it was tried by the autoscaler's rules."""

    #: In the imperative: ``raise limits.cpu of NodePool general from 32 to 36``.
    summary: str
    command: str
    #: The change of the object, as it was tried.
    changes: tuple[Change, ...]
    offer: NodeOffer


class Repair(msgspec.Struct, frozen=True):
    """A step outside the scheduler and the autoscaler's rules, which cannot be tried."""

    #: In the imperative.
    summary: str
    command: str
    #: True if nothing is to be done but to wait.
    waits: bool = False


class Expansion(msgspec.Struct, frozen=True, kw_only=True):
    """The answer of an autoscaler for one pod."""

    #: ``Karpenter`` or ``Cluster Autoscaler``.
    autoscaler: str
    #: The node that it would add now; ``None`` if it adds none.
    offer: NodeOffer | None = None
    #: All nodes of the group that it would add for the pods of the same controller.
    nodes: tuple[Node, ...] = ()
    #: The number of these pods that get a node, and of those that are pending; 0 if they are not counted.
    served: int = 0
    alike: int = 0
    #: The groups that add no node, those that come closest first.
    refusals: tuple[GroupRefusal, ...] = ()
    #: The changes that would help, those that cost least first.
    changes: tuple[GroupChange, ...] = ()
    #: Repairs outside the scheduler without which it adds no node.
    repairs: tuple[Repair, ...] = ()
    #: The reason why it does not look at the pod, or does nothing at all, as a clause; empty if it looks.
    held: str = ""
    #: The source of what is known of the groups: ``the nodes of the cluster``; empty where it does not matter.
    source: str = ""

    @property
    def is_open(self) -> bool:
        """True if something that the cluster does not show decides whether it adds a node."""
        if self.offer is not None:
            return bool(self.offer.proviso)
        return not self.held and not self.changes and any(each.is_open for each in self.refusals)

    @property
    def words(self) -> str:
        """The answer as a clause."""
        if self.offer is not None:
            proviso = f", {self.offer.proviso}" if self.offer.proviso else ""
            whom = "it"
            if self.served < self.alike:
                whom = f"{self.served} of {self.alike} such pods"
            elif len(self.nodes) > 1:
                whom = f"{self.served} such pods"
            return f"{self.autoscaler} would add {self.offer.several(max(len(self.nodes), 1))} for {whom}{proviso}"
        if self.held:
            return f"{self.autoscaler} adds no node: {self.held}"
        told = [f"{each.group} {each.reason}" for each in self.refusals[:_MOST_TOLD]]
        more = len(self.refusals) - len(told)
        rest = f"; {more} others do not take it either" if more > 0 else ""
        adds = "adds a node only if the cloud has one that fits" if self.is_open else "adds no node"
        return f"{self.autoscaler} {adds}: {'; '.join(told)}{rest}"
