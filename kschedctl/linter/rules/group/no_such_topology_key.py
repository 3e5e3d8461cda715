"""A PodGroup requires that its pods share the value of a label that no node of the snapshot has.

The scheduler tries the group on the nodes of one value after the other, and there is none. Nodes that an autoscaler
would add are not in a snapshot, and may have the label.

The API server accepts the group, and all its pods stay pending ("no feasible placements found").

Repair: a label that the nodes have; the help has the most similar one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.common.wording import nearest
from kschedctl.linter.cluster.queries import overlay_of
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pod_groups import has_placements
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import Steps, at, is_rendered, numbered, text

FAILS = """scheduling.k8s.io/v1beta1 PodGroup train
schedulingPolicy: {gang: {minCount: 4}}
schedulingConstraints:
  topology:
  - key: rak  # <-
"""
PASSES = FAILS.replace("rak", "rack")
OPTIONS = {"snapshot": snapshot(node("a", rack="r1"), node("b", rack="r2"))}


_TOPOLOGY: Final[Steps] = ("spec", "schedulingConstraints", "topology")


def check(group: LintObject, context: LintContext) -> Iterator[Problem]:
    if not has_placements(context):
        return
    values = overlay_of(context).label_values
    for steps, constraint in numbered(at(group.raw, *_TOPOLOGY), _TOPOLOGY):
        key = text(at(constraint, "key"))
        if key and is_rendered(key) and not values.get(key):
            near = nearest(key, values)
            yield Problem(
                message=f"no node has the label {key}, so the group has no placement",
                steps=(*steps, "key"),
                help=f"did you mean {near}?" if near else "kubectl get nodes --show-labels lists the labels",
            )
