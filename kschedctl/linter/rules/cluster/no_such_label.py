"""The pods require a node label, or a value of one, that no node of the snapshot has.

The rule also reports a tolerated taint that no node has. Such a toleration does no harm (info); taints that Kubernetes
itself sets temporarily are ignored. Nodes that an autoscaler would add are not in a snapshot, and may have the label or
taint.

The API server accepts the object, and the pods stay pending. If a term is one of several, only the term has no effect
(info).

Repair: write a label and value that the nodes have; the help has the most similar one.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.findings import Severity
from kschedctl.common.wording import nearest
from kschedctl.linter.cluster.queries import overlay_of
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.node_terms import Demand, demands_of, selector_demands
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem

FAILS = """v1 Pod web
nodeSelector:
  pool: memroy  # <-
"""
PASSES = FAILS.replace("memroy", "memory")
OPTIONS = {"snapshot": snapshot(node("a", pool="memory"), node("b", pool="cpu"))}

_OF_KUBERNETES = ("node.kubernetes.io/", "node.cloudprovider.kubernetes.io/", "node-role.kubernetes.io/")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    values = overlay_of(context).label_values
    for demand in selector_demands(pods):
        if (why := _missing(demand, values)) is not None:
            yield Problem(message=why[0], steps=demand.steps, help=why[1])
    terms = pods.node_terms or []
    for steps, term in terms:
        for demand in demands_of(term, steps):
            why = _missing(demand, values)
            if why is not None:
                severity = None if len(terms) == 1 else Severity.INFO
                yield Problem(message=why[0], steps=demand.steps, help=why[1], severity=severity)
    known = overlay_of(context).taint_keys
    for part in pods.tolerations:
        key = part.value.key if part.value is not None else ""
        if key and key not in known and not key.startswith(_OF_KUBERNETES):
            near = nearest(key, known)
            yield Problem(
                message=f"no node has a taint {key}",
                steps=(*part.steps, "key"),
                help=f"did you mean {near}?" if near else "leave it out, unless nodes will have this taint",
                severity=Severity.INFO,
            )


def _missing(demand: Demand, values: dict[str, set[str]]) -> tuple[str, str] | None:
    """Return what no node has of a requirement, and a hint; ``None`` if some node meets the requirement."""
    if demand.key.startswith("field ") or demand.operator not in ("In", "Exists", "Gt", "Lt"):
        return None
    have = values.get(demand.key)
    if not have:
        near = nearest(demand.key, values)
        hint = f"did you mean {near}?" if near else "kubectl get nodes --show-labels lists the labels"
        return f"no node has the label {demand.key}", hint
    if demand.operator != "In" or not have.isdisjoint(demand.values):
        return None
    wanted = " or ".join(demand.values)
    near = nearest(demand.values[0], have)
    there = ", ".join(sorted(have)[:5])
    return (
        f"no node has {demand.key}={wanted}",
        f"did you mean {near}? nodes have {there}" if near else f"nodes have {there}",
    )
