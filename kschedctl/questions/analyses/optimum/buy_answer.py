"""The answer of ``optimum --buy``: the nodes to buy."""

from __future__ import annotations

from collections import Counter
from decimal import Decimal
from typing import Any

from kschedctl.cluster.cluster import Cluster
from kschedctl.common.wording import counted
from kschedctl.objects.core import Node
from kschedctl.questions.analyses.provenance import Provenance, envelope
from kschedctl.questions.answers.optimum import BoughtKindData, BoughtNodeData, OptimumPlacementData, Purchased
from kschedctl.trials.optimum.purchase import UNIT, Purchase


def purchase_answer(before: Cluster, purchase: Purchase, provenance: Provenance) -> Purchased:
    """Return the answer.

    Parameters
    ----------
    before : Cluster
        The cluster before the purchase.
    provenance : Provenance
        The provenance of the answer.
    """
    question = purchase.question
    steps = purchase.proof.steps if purchase.proof is not None else ()
    waiting = [pod.key for kind in question.kinds for pod in kind.pods]
    placed = {step.pod.key for step in steps}
    pods = purchase.simulation.cluster.pods
    theirs = {key: _node(pods, key) for key in waiting}
    counts = Counter(kind.name for kind, _ in purchase.nodes)
    kinds = {kind.name: kind for kind, _ in purchase.nodes}
    cost, bound = purchase.cost, purchase.price.bound
    multi_step = sum(bool(node) for node in theirs.values())
    return Purchased(
        **envelope(before, provenance, ()),
        summary=_summary(purchase, len(waiting), len(placed), multi_step),
        proven=purchase.best.proven and purchase.proof is not None,
        cost=money(cost),
        least_cost=None if bound is None else money(bound),
        pods=len(waiting),
        placed=len(placed),
        multi_step_placed=multi_step,
        waiting=tuple(key for key in waiting if key not in placed),
        kinds=tuple(
            BoughtKindData(name, n, money(kinds[name].cost), money(n * kinds[name].cost)) for name, n in counts.items()
        ),
        nodes=tuple(
            BoughtNodeData(node.name, kind.name, tuple(step.pod.key for step in steps if step.node == node.name))
            for kind, node in purchase.nodes
        ),
        placements=tuple(OptimumPlacementData(s.pod.key, s.node, theirs.get(s.pod.key, ""), s.again) for s in steps),
        objects=tuple(manifest(node) for _, node in purchase.nodes),
    )


def _node(pods: Any, key: str) -> str:
    namespace, _, name = key.partition("/")
    index = pods.index.get((namespace, name))
    return str(pods.records[index].node_name) if index is not None else ""


def money(amount: int) -> str:
    """Return an amount, given in millionths, as decimal text.

    Examples
    --------
    >>> money(192_000), money(3_000_000), money(0)
    ('0.192', '3', '0')
    """
    text = f"{Decimal(amount) / UNIT:f}"
    return (text.rstrip("0").rstrip(".") if "." in text else text) or "0"


def manifest(node: Node) -> dict[str, Any]:
    """Return a node as a manifest."""
    taints = [{"key": t.key, **({"value": t.value} if t.value else {}), "effect": t.effect} for t in node.spec.taints]
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": node.name, "labels": dict(node.metadata.labels)},
        "spec": {"taints": taints} if taints else {},
        "status": {"capacity": dict(node.status.capacity), "allocatable": dict(node.status.allocatable)},
    }


def _summary(purchase: Purchase, n_pods: int, n_placed: int, multi_step: int) -> str:
    if not n_pods:
        return "no pod is pending, so no node is needed"
    if purchase.proof is None:
        return "no placement was found that the filters accept"
    pods = f"{n_placed} of {counted(n_pods, 'pod')} placed"
    if not purchase.nodes:
        return f"{pods} without new nodes"
    bought = f"{counted(len(purchase.nodes), 'node')} for {money(purchase.cost)}: {pods}"
    price = purchase.price
    if not purchase.best.proven:
        bought += "" if price.gap is None else f", within {price.gap:.1f} % of the cheapest"
    if multi_step < n_placed:
        bought += f"; the scheduler alone places {multi_step}"
    return bought
