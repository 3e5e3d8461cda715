"""The answer of ``provision``."""

from typing import Annotated

from kschedctl.questions.answer import ClusterAnswer, Data


class LaunchedNodeData(Data, frozen=True):
    """A node that Karpenter would launch."""

    node: Annotated[str, "The name that stands for it."]
    round: Annotated[int, "The number of the round that launches it, from 1."]
    pool: Annotated[str, "The name of the NodePool."]
    instance_types: Annotated[tuple[str, ...], "The instance types that it may have, the cheapest first."]
    zones: Annotated[tuple[str, ...], "The zones that it may be in; empty if any."]
    capacity_types: Annotated[tuple[str, ...], "The capacity types that it may have, such as on-demand and spot."]
    price: Annotated[float | None, "The price of the cheapest instance type per hour; null if it is not known."]
    requirements: Annotated[tuple[str, ...], "The requirements of the NodeClaim: KEY OPERATOR VALUES."]
    planned: Annotated[tuple[str, ...], "The pods that Karpenter launches it for, as namespace/name."]
    placed: Annotated[tuple[str, ...], "The pods that kube-scheduler then puts on it, as namespace/name."]


class WaitingPodData(Data, frozen=True):
    """A pod that stays pending."""

    pod: Annotated[str, "The pod, as namespace/name."]
    why: Annotated[str, "The reason in a clause; empty if Karpenter does not look at the pod."]
    said: Annotated[str, "The reason in Karpenter's own words; empty if it has none."]


class ElsewhereData(Data, frozen=True):
    """A pod that kube-scheduler puts on another node than Karpenter has planned."""

    pod: Annotated[str, "The pod, as namespace/name."]
    planned: Annotated[str, "The node of the plan."]
    node: Annotated[str, "The node that kube-scheduler chooses; empty if the pod stays pending."]


class EvictedPodData(Data, frozen=True):
    """A pod that kube-scheduler evicts."""

    pod: Annotated[str, "The pod, as namespace/name."]
    by: Annotated[str, "The pod that it makes room for, as namespace/name."]


class Provisioning(ClusterAnswer, frozen=True, kw_only=True):
    """The nodes that Karpenter would launch for pending pods, and what becomes of the pods."""

    summary: Annotated[str, "The answer in one sentence."]
    pending: Annotated[int, "The number of pending pods at first."]
    fitting: Annotated[
        dict[str, str], "The pods that fit on existing nodes, with the node that kube-scheduler chooses."
    ]
    nodes: Annotated[tuple[LaunchedNodeData, ...], "The nodes that would be launched, in order."]
    elsewhere: Annotated[tuple[ElsewhereData, ...], "The pods that kube-scheduler puts elsewhere than planned."]
    evicted: Annotated[tuple[EvictedPodData, ...], "The pods that kube-scheduler evicts, which come back as new ones."]
    waiting: Annotated[tuple[WaitingPodData, ...], "The pods that stay pending."]
    rounds: Annotated[int, "The number of rounds."]
    price: Annotated[float | None, "The price of the launched nodes per hour; null if a price is not known."]
    source: Annotated[str, "The source of the instance types, in words."]

    @property
    def yes(self) -> bool:
        """True if every pending pod gets a node."""
        return not self.waiting

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the launched nodes, one per line: ``nodepool/NAME INSTANCETYPE``, the cheapest that it may have."""
        return tuple(f"nodepool/{each.pool} {each.instance_types[0]}" for each in self.nodes)
