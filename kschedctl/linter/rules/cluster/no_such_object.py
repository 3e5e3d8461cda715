"""The pods name an object that neither the snapshot nor the manifest set has.

If a priority class or runtime class does not exist, the API server refuses the pods (B). If a claim, the storage class
of a volume claim template, a resource claim or its template does not exist, or if no profile has the scheduler name,
the pods stay pending (C). The rule reports nothing for priority, runtime and storage classes if the snapshot has none
of that kind, unless the snapshot states that the kind was listed.

Repair: add the object, or name an existing one.
"""

from __future__ import annotations

from collections.abc import Iterator

from kschedctl.common.wording import similar
from kschedctl.linter.cluster.queries import overlay_of
from kschedctl.linter.cluster.references import references
from kschedctl.linter.context import LintContext
from kschedctl.linter.examples import node, snapshot
from kschedctl.linter.pods import WorkloadPods
from kschedctl.linter.rule import Problem, Stage
from kschedctl.linter.values import is_rendered, text
from kschedctl.objects.device import DeviceClass
from kschedctl.objects.kinds import cannot_be_listed, is_namespaced
from kschedctl.objects.meta import ApiObject
from kschedctl.objects.policies import PriorityClass, RuntimeClass
from kschedctl.objects.volume import StorageClass

FAILS = """v1 Pod web
priorityClassName: shpo  # <-
"""
PASSES = FAILS.replace("shpo", "shop")
OPTIONS = {"snapshot": snapshot(node("a"), "scheduling.k8s.io/v1 PriorityClass shop\nvalue: 1000\n")}

#: The kinds without which the API server refuses the pods.
_REFUSED = (PriorityClass, RuntimeClass)


def check(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    cluster = overlay_of(context).cluster
    namespace = pods.namespace or "default"
    for kind, name, steps in references(pods):
        if not name or not is_rendered(name) or _is_there(kind, name, namespace, context):
            continue
        known = sorted(each.name for each in cluster.cluster.list(kind))
        if cluster.cluster.is_forbidden(kind, namespace if is_namespaced(kind) else ""):
            context.cannot_decide("KS507", pods.obj, cannot_be_listed(kind.__name__))
            continue
        if (
            kind in (PriorityClass, RuntimeClass, StorageClass, DeviceClass)
            and not known
            and kind.__name__ not in cluster.cluster.listed
        ):
            context.cannot_decide("KS507", pods.obj, f"the snapshot has no {kind.__name__}")
            continue
        near = similar(name, known)
        yield Problem(
            message=f"{kind.__name__} {name} not found" + (f" in namespace {namespace}" if is_namespaced(kind) else ""),
            steps=steps,
            help=f"did you mean {near[0]}?" if near else "add it, or name an existing one",
            stop=Stage.PODS_REFUSED if kind in _REFUSED else Stage.WAITS,
        )
    scheduler = text(pods.spec.get("schedulerName"))
    profiles = overlay_of(context).before.configuration.profiles
    if scheduler and scheduler not in profiles and is_rendered(scheduler):
        yield Problem(
            message=f"no profile of the scheduler's configuration has schedulerName {scheduler}",
            steps=pods.of_spec("schedulerName"),
            help=f"profiles: {', '.join(profiles)}; another scheduler may serve these pods",
        )


def _is_there(kind: type[ApiObject], name: str, namespace: str, context: LintContext) -> bool:
    cluster = overlay_of(context).cluster.cluster
    if cluster.get(kind, name, namespace if is_namespaced(kind) else "") is not None:
        return True
    # Variants, which several files contain, are not applied to the snapshot, but one of them will exist.
    return any(obj.kind == kind.__name__ and obj.name == name for obj in context.manifests.whole)
