"""HorizontalPodAutoscalers and their targets."""

from collections.abc import Iterator
from typing import Final

from kschedctl.common.findings import Severity
from kschedctl.common.wording import listed, meant, nearest
from kschedctl.linter.context import LintContext
from kschedctl.linter.fix import removing, setting
from kschedctl.linter.manifest_set import LintObject
from kschedctl.linter.pods import HPA, SCALED, SCALED_OBJECT, WorkloadPods, autoscaler, scale_target
from kschedctl.linter.rule import Problem, Related, Rule, RuleSubject
from kschedctl.linter.values import Steps, at, is_rendered, items, mapping, numbered, text
from kschedctl.objects.policies import LimitRange


@Rule(
    "KS211",
    "hpa-and-replicas",
    Severity.INFO,
    None,
    RuleSubject.PODS,
    on=False,
    fails="""apps/v1 Deployment web
replicas: 2  # <-
---
autoscaling/v2 HorizontalPodAutoscaler web
minReplicas: 2
maxReplicas: 10
""",
    repair={"replicas: 2  # <-\n": ""},
)
def hpa_and_replicas(pods: WorkloadPods, context: LintContext) -> Iterator[Problem]:
    """An autoscaler and spec.replicas both set the number of pods: each apply resets it to spec.replicas.

    Applying the manifest scales the workload to spec.replicas, and the autoscaler then scales it back. Some authors set
    spec.replicas on purpose for the first apply, so the rule runs only if it is selected.

    Nothing is blocked; the number of pods changes with each apply.

    Repair: leave spec.replicas out.
    """
    replicas = at(pods.obj.raw, "spec", "replicas")
    if replicas is None or pods.obj.live or not replicas:
        return
    scaler = autoscaler(pods, context.manifests)
    if scaler is not None:
        yield Problem(
            message=f"{scaler.kind} {scaler.name} scales the pods, and each apply resets spec.replicas to {replicas}",
            steps=("spec", "replicas"),
            help="leave spec.replicas out",
            related=(Related(scaler, ("spec",), "the autoscaler"),),
            fix=removing(pods.obj, "remove spec.replicas", ("spec", "replicas"), safe=False),
        )


_SERVED: Final = {"Deployment": "apps/v1", "StatefulSet": "apps/v1", "ReplicaSet": "apps/v1"}
_GROUP: Final = "apps"
_FIXED: Final = frozenset(("apps/DaemonSet", "batch/Job", "batch/CronJob"))


@Rule(
    "KS212",
    "hpa-target-mismatch",
    Severity.WARNING,
    None,
    "autoscaling/HorizontalPodAutoscaler",
    fails="""autoscaling/v2 HorizontalPodAutoscaler db
scaleTargetRef:
  apiVersion: apps/v1
  kind: Deployment  # <-
  name: db
maxReplicas: 5
---
apps/v1 StatefulSet db
""",
    repair={"Deployment": "StatefulSet"},
)
def hpa_target_mismatch(scaler: LintObject, context: LintContext) -> Iterator[Problem]:
    """The target of a HorizontalPodAutoscaler is not what the manifests have under its name, or cannot be scaled.

    ``scaleTargetRef`` names a kind other than that of the workload of this name (StatefulSet in place of Deployment), an
    API group without that kind (``extensions/v1beta1``, ``app/v1``), a misspelt kind (``deployment``), or a kind without
    replicas (DaemonSet, Job). The controller looks the target up by group and kind, finds nothing, and sets the condition
    AbleToScale to False with reason FailedGetScale (Kubernetes: ``pkg/controller/podautoscaler/horizontal.go``,
    ``scaleForResourceMappings``).

    The API server accepts the object, and the number of replicas never changes.

    Repair: the kind and API version of the workload.
    """
    target = scale_target(scaler)
    if target is None:
        return
    # The group of a custom resource has a dot.
    is_own_group = bool(target.group) and target.group != _GROUP and "." not in target.group
    if target.kind in _SERVED and is_own_group:
        version = _SERVED[target.kind]
        field = target.field("apiVersion")
        yield Problem(
            message=f'the target is not found: group "{target.group}" has no {target.kind}',
            steps=field,
            help=f"write apiVersion: {version}",
            fix=setting(scaler, f"write apiVersion: {version}", (field, version), safe=False),
        )
    elif target.type in _FIXED:
        yield Problem(
            message=f"the target is a {target.kind}, whose number of pods cannot be scaled",
            steps=target.field("kind"),
            help="remove the autoscaler, or name a Deployment or StatefulSet",
        )
    elif target.group == _GROUP and (correct := meant(target.kind, _SERVED)):
        yield Problem(
            message=f'the target is not found: group "{_GROUP}" has no {target.kind}',
            steps=target.field("kind"),
            help=f"did you mean {correct[0]}?",
            fix=setting(scaler, f"write kind: {correct[0]}", (target.field("kind"), correct[0]), safe=False),
        )
    elif target.kind in _SERVED and target.group == _GROUP and not context.manifests.has(target.type, target.name):
        others = (context.manifests.named(scaler, type_, target.name) for type_ in sorted(SCALED))
        found = [other for other in others if other is not None and not context.manifests.owners(other)]
        if len(found) == 1:
            yield Problem(
                message=f"the target {target.kind} {target.name} is not in the manifest set; {target.name} is a "
                f"{found[0].kind}",
                steps=target.field("kind"),
                help=f"write kind: {found[0].kind}, apiVersion: {found[0].api_version}",
                related=(Related(found[0], (), "the workload of this name"),),
            )


@Rule(
    "KS213",
    "hpa-target-not-given",
    Severity.WARNING,
    None,
    "autoscaling/HorizontalPodAutoscaler",
    on=False,
    if_complete=True,
    fails="""autoscaling/v2 HorizontalPodAutoscaler web
scaleTargetRef:
  apiVersion: apps/v1
  kind: Deployment
  name: wbe  # <-
maxReplicas: 5
---
apps/v1 Deployment web
""",
    repair={"wbe": "web"},
)
def hpa_target_not_given(scaler: LintObject, context: LintContext) -> Iterator[Problem]:
    """The target of a HorizontalPodAutoscaler is neither in the manifest set nor in the snapshot.

    The controller cannot read the scale of a workload that does not exist, and sets the condition AbleToScale to False with
    reason FailedGetScale (Kubernetes: ``pkg/controller/podautoscaler/horizontal.go``). The workload may be in other files.
    Therefore the rule runs only if the settings declare the manifest set complete (``complete: true``), with a snapshot, or
    if it is selected. It checks kinds that are built into Kubernetes.

    The API server accepts the object, and the autoscaler scales nothing.

    Repair: the name of an existing workload, or remove the autoscaler.
    """
    target = scale_target(scaler)
    if target is None or target.type not in SCALED or any(context.manifests.has(each, target.name) for each in SCALED):
        return
    if context.overlay is not None:
        found = context.overlay.has_object(target.type, target.name, scaler.namespace)
        if found is None:
            context.cannot_decide("KS213", scaler, f"the snapshot has no {target.kind}")
        if found is not False:
            return
    if context.may_be_elsewhere("KS213", scaler):
        return
    near = nearest(target.name, {each.name for each in context.manifests.beside(scaler, target.type)})
    yield Problem(
        message=f"the target {target.kind} {target.name} does not exist",
        steps=target.field("name"),
        help=f"did you mean {near}?" if near else "name an existing workload",
    )


_HPAS_CONFLICT = """autoscaling/v2 HorizontalPodAutoscaler web-cpu
scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}
maxReplicas: 5
---
autoscaling/v2 HorizontalPodAutoscaler web-memory
scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}  # <-
maxReplicas: 8
"""


@Rule(
    "KS214",
    "hpas-conflict",
    Severity.WARNING,
    None,
    "autoscaling/HorizontalPodAutoscaler",
    fails=_HPAS_CONFLICT,
    passes=_HPAS_CONFLICT.partition("---\n")[0],
)
def hpas_conflict(scaler: LintObject, context: LintContext) -> Iterator[Problem]:
    """Two autoscalers have the same target, so neither scales it.

    The controller detects that pods are selected by several HorizontalPodAutoscalers, and sets the condition ScalingActive
    of each to False with reason AmbiguousSelector (Kubernetes since 1.26: ``pkg/controller/podautoscaler/horizontal.go``,
    "pods by selector ... are controlled by multiple HPAs"). A ScaledObject of KEDA creates a HorizontalPodAutoscaler, so it
    counts as one. The rule compares autoscalers of one folder, as those of several folders are often variants.

    The API server accepts both objects, and the number of replicas never changes.

    Repair: one autoscaler with all metrics: the metric that asks for the most replicas decides.
    """
    target = scale_target(scaler)
    # KEDA creates an autoscaler for a ScaledObject.
    if target is None or context.manifests.owner(scaler) is not None:
        return
    for type_ in (HPA, SCALED_OBJECT):
        for other in context.manifests.beside(scaler, type_):
            if other.key == scaler.key or other.file.folder != scaler.file.folder:
                continue
            if context.manifests.owner(other) is not None:
                continue
            # Each pair is reported once: two HorizontalPodAutoscalers at the later one.
            if type_ == HPA and _sort_key(other) > _sort_key(scaler):
                continue
            if (same := scale_target(other)) is not None and (same.kind, same.name) == (target.kind, target.name):
                yield Problem(
                    message=f"{other.kind} {other.name} has the same target, {target.kind} {target.name}: neither "
                    "scales it",
                    steps=("spec", "scaleTargetRef"),
                    help="keep one autoscaler, with the metrics of both",
                    related=(Related(other, ("spec", "scaleTargetRef"), "the other autoscaler"),),
                )


_WITHOUT_REQUESTS = """autoscaling/v2 HorizontalPodAutoscaler web
maxReplicas: 5
metrics:
- type: Resource
  resource:
    name: cpu
    target: {type: Utilization, averageUtilization: 70}  # <-
---
apps/v1 Deployment web
"""


@Rule(
    "KS215",
    "hpa-without-requests",
    Severity.WARNING,
    None,
    "autoscaling/HorizontalPodAutoscaler",
    fails=_WITHOUT_REQUESTS,
    passes=f"""{_WITHOUT_REQUESTS}resources:
  requests: {{cpu: 500m}}
""",
)
def hpa_without_requests(scaler: LintObject, context: LintContext) -> Iterator[Problem]:
    """An autoscaler scales by the utilization of a resource that a container of its target does not request.

    Utilization is usage as a percentage of the requests of all containers of a pod, or of one container for a metric of the
    type ContainerResource. If one of them has no request, the controller cannot compute it ("missing request for cpu in
    container"), and sets the condition ScalingActive to False with reason FailedGetResourceMetric (Kubernetes:
    ``pkg/controller/podautoscaler/replica_calculator.go``). A limit is the default of the request. Without metrics, an
    autoscaler scales by 80 % of the CPU. The rule reports nothing if a LimitRange of the namespace may set the request.

    The API server accepts both objects, and the number of replicas does not follow the load.

    Repair: a request of the resource in each container, or a target of type AverageValue.
    """
    target = scale_target(scaler)
    names = [] if target is None else sorted(type_ for type_ in SCALED if type_.rpartition("/")[2] == target.kind)
    objects = [context.manifests.named(scaler, type_, target.name) for type_ in names if target is not None]
    found = [pods for pods in context.pods if pods.obj in objects and autoscaler(pods, context.manifests) is scaler]
    for pods in found:
        if _has_limit_range(scaler, context):
            context.cannot_decide("KS215", scaler, "a LimitRange may set the requests")
            return
        for steps, resource, only in _utilizations(scaler):
            lacking = [
                container
                for container in pods.containers
                if not container.init and only in ("", container.name) and container.amount(resource) is None
            ]
            if lacking and at(pods.spec, "resources", "requests", resource) is None:
                yield Problem(
                    message=f"the utilization of {resource} cannot be computed: container "
                    f"{listed([each.name for each in lacking])} of {pods.obj.kind} {pods.obj.name} does not request it",
                    steps=steps,
                    help=f"request {resource} in each container, or use a target of type AverageValue",
                    related=(Related(pods.obj, lacking[0].steps, "the container"),),
                )


def _utilizations(scaler: LintObject) -> Iterator[tuple[Steps, str, str]]:
    """Yield the metrics that are a utilization: the path of the target, the resource, and the container or nothing."""
    spec = mapping(scaler.raw.get("spec"))
    old = "targetCPUUtilizationPercentage"
    if not items(spec.get("metrics")):
        yield ("spec", old) if spec.get(old) is not None else ("spec",), "cpu", ""
    for steps, metric in numbered(spec.get("metrics"), ("spec", "metrics")):
        for field in ("resource", "containerResource"):
            source = mapping(at(metric, field))
            resource, container = text(source.get("name")), text(source.get("container"))
            of_target = (*steps, field, "target")
            is_wanted = resource and is_rendered([resource, container])
            if is_wanted and at(source, "target", "averageUtilization") is not None:
                yield of_target, resource, container
            elif is_wanted and source.get("targetAverageUtilization") is not None:
                yield (*steps, field, "targetAverageUtilization"), resource, container


def _has_limit_range(scaler: LintObject, context: LintContext) -> bool:
    """Report whether the namespace of an autoscaler has a LimitRange, in the manifest set or the snapshot."""
    if any(context.manifests.beside(scaler, "LimitRange")):
        return True
    known = context.overlay.cluster.cluster.list(LimitRange) if context.overlay is not None else ()
    return any(each.metadata.namespace == (scaler.namespace or "default") for each in known)


def _sort_key(scaler: LintObject) -> tuple[str, int, str]:
    return scaler.file.name, scaler.document.number, scaler.name
