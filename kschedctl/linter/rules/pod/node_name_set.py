"""The pod template sets nodeName, so no scheduler considers the pods.

``nodeName`` is written by a scheduler. If a manifest sets it, nothing checks resources, taints, affinity and volumes:
the kubelet admits the pod or fails it, and if the node does not exist, the pod is deleted. The rule ignores objects
that were read from a cluster and mirror pods of kubelets, where ``nodeName`` is correct.

The API server accepts the object, and the pods fail or wait for a node of that name.

Repair: nodeSelector kubernetes.io/hostname, or leave the choice to the scheduler.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at, is_rendered, items, mapping, text

FAILS = """v1 Pod web
nodeName: node-1  # <-
"""
PASSES = FAILS.replace("nodeName: node-1", "nodeSelector:\n  kubernetes.io/hostname: node-1")


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    name = text(pods.spec.get("nodeName"))
    if not name or pods.obj.live or not is_rendered(name):
        return
    owners = items(at(pods.obj.raw, "metadata", "ownerReferences"))
    if "kubernetes.io/config.mirror" in mapping(pods.metadata.get("annotations")):
        return
    if any(at(owner, "kind") == "Node" for owner in owners):
        return
    yield Problem(
        message=f"sets nodeName {name}, so no scheduler checks that the pods fit there",
        steps=pods.of_spec("nodeName"),
        help="select kubernetes.io/hostname instead, or leave the choice to the scheduler",
    )
