"""The answer of ``consolidate``."""

from typing import Annotated

from kschedctl.questions.answer import ClusterAnswer, Data


class NodeDecisionData(Data, frozen=True):
    """Karpenter's decision about a node, if it looks at this one alone."""

    node: Annotated[str, "The node."]
    pool: Annotated[str, "The name of its NodePool; empty for none."]
    decision: Annotated[str, "The decision: delete, replace or keep."]
    now: Annotated[bool, "False if the budgets of its NodePool do not let it go now."]
    certain: Annotated[bool, "False if something that is not known decides, such as prices."]
    reason: Annotated[str, "The reason, or the condition of the decision, in a clause; empty if nothing is to say."]
    said: Annotated[str, "The words of the Event that Karpenter writes about it; empty if it writes none."]
    event: Annotated[str, "The newest Event of Karpenter about it in the snapshot, if its words differ; else empty."]
    empty: Annotated[bool, "True if no pod counts that would have to move."]
    moves: Annotated[dict[str, str], "The existing nodes that its pods move to, by pod as namespace/name."]
    lost: Annotated[tuple[str, ...], "The pods without a controller, which are gone for good."]
    tied: Annotated[tuple[str, ...], "The pods with a volume that only this node can use: they stay pending."]
    instance_types: Annotated[tuple[str, ...], "The instance types that may replace it, the cheapest first."]
    capacity_types: Annotated[tuple[str, ...], "The capacity types that the replacement may have."]
    price: Annotated[float | None, "Its price per hour; null if it is not known."]
    new_price: Annotated[
        float | None, "The price per hour of the first instance type, where it costs most; null if it is not known."
    ]

    @property
    def is_kept(self) -> bool:
        """True if nothing is done with it."""
        return self.decision == "keep"

    @property
    def may_go(self) -> bool:
        """True if it is taken away for certain, and may be now."""
        return not self.is_kept and self.now and self.certain


class PoolBudgetData(Data, frozen=True):
    """The room in the disruption budgets of a NodePool."""

    pool: Annotated[str, "The name of the NodePool."]
    nodes: Annotated[int, "The number of its nodes."]
    empty: Annotated[int | None, "The number of its empty nodes that may go; null if any."]
    underutilized: Annotated[
        int | None, "The number of its other nodes that may go once the empty ones are gone; null if any."
    ]


class Consolidated(ClusterAnswer, frozen=True, kw_only=True):
    """Karpenter's decisions about nodes to save cost: empty nodes first, then each of the others alone."""

    summary: Annotated[str, "The answer in one sentence."]
    nodes: Annotated[tuple[NodeDecisionData, ...], "The nodes: first those that go, then those that stay."]
    budgets: Annotated[tuple[PoolBudgetData, ...], "The room in the disruption budgets of the NodePools."]
    source: Annotated[str, "The source of the instance types, in words."]

    @property
    def yes(self) -> bool:
        """True if a node may go now."""
        return any(each.may_go for each in self.nodes)

    def names(self, *, single: bool = True) -> tuple[str, ...]:
        """Return the nodes that go together now, as ``node/NAME``: the empty ones, or else the first of the others."""
        going = [each for each in self.nodes if each.may_go]
        chosen = [each for each in going if each.empty] or going[:1]
        return tuple(f"node/{each.node}" for each in chosen)
