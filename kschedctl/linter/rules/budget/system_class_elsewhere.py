"""The pods use a system priority class outside kube-system, which some clusters allow only with a quota.

If the API server is configured so, as on GKE, pods with ``system-cluster-critical`` or ``system-node-critical`` need a
ResourceQuota in their namespace whose PriorityClass scope names the class; without one they are refused, while the
Deployment is accepted. The rule reports nothing if the manifest set has such a quota, if the object names no namespace,
or if there is a snapshot whose nodes are not those of GKE.

The API server accepts the workload, and in such clusters refuses its pods ("insufficient quota to match these
scopes").

Repair: a ResourceQuota with scope PriorityClass in that namespace, or a class of your own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from kschedctl.linter.context import LintContext
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem
from kschedctl.linter.values import at, items, text

FAILS = """v1 Pod web
namespace: shop
priorityClassName: system-cluster-critical  # <-
"""
PASSES = f"""{FAILS}---
v1 ResourceQuota critical
namespace: shop
hard:
  pods: "10"
scopeSelector:
  matchExpressions:
  - scopeName: PriorityClass
    operator: In
    values: [system-cluster-critical]
"""

_SYSTEM: Final = ("system-cluster-critical", "system-node-critical")
#: The beginning of labels of GKE's nodes.
_GKE: Final = "cloud.google.com/gke-"
_KUBE_SYSTEM: Final = "kube-system"


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    name = text(pods.spec.get("priorityClassName"))
    if name not in _SYSTEM or pods.namespace in ("", _KUBE_SYSTEM):
        return
    if context.nodes and not context.has_nodes_of(_GKE):
        return
    for quota in context.manifests.beside(pods.obj, "ResourceQuota"):
        for scope in items(at(quota.raw, "spec", "scopeSelector", "matchExpressions")):
            if at(scope, "scopeName") == "PriorityClass" and (
                name in items(at(scope, "values")) or at(scope, "operator") == "Exists"
            ):
                return
    yield Problem(
        message=f"{name} in namespace {pods.namespace}: some clusters, GKE among them, refuse such pods without a "
        "quota that names the class",
        steps=pods.of_spec("priorityClassName"),
        help="add a ResourceQuota with scope PriorityClass, or use a class of your own",
    )
