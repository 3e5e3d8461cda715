"""HorizontalPodAutoscalers and their targets."""

from collections.abc import Iterator
from typing import Final, NamedTuple

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
    autoscaler scales by 80 % of the CPU. The rule is not decided if a LimitRange of the namespace may set the request. It
    also reports a metric of a container that the pods do not have ("container web not present in metrics for pod"), unless
    webhooks commonly add a container of that name, such as istio-proxy.

    The API server accepts both objects, and the number of replicas does not follow the load.

    Repair: a request of the resource in each container, or a target of type AverageValue.
    """
    target = scale_target(scaler)
    names = [] if target is None else sorted(type_ for type_ in SCALED if type_.rpartition("/")[2] == target.kind)
    objects = [context.manifests.named(scaler, type_, target.name) for type_ in names if target is not None]
    found = [pods for pods in context.pods if pods.obj in objects and autoscaler(pods, context.manifests) is scaler]
    for pods in found:
        own = [container for container in pods.containers if not container.init]
        shown = f"{pods.obj.kind} {pods.obj.name}"
        for metric in _resource_metrics(scaler):
            measured = [each for each in own if metric.container in ("", each.name)]
            lacking = [each for each in measured if each.amount(metric.resource) is None]
            is_injected = metric.container in _INJECTED or not all(is_rendered(each.name) for each in own)
            if own and not measured and not is_injected:
                near = nearest(metric.container, {each.name for each in own})
                yield Problem(
                    message=f"the usage of {metric.resource} cannot be measured: {shown} has no container "
                    f"{metric.container}",
                    steps=metric.container_steps,
                    help=f"did you mean {near}?" if near else f"its containers: {listed([each.name for each in own])}",
                    related=(Related(pods.obj, pods.of_spec("containers"), "the containers"),),
                )
            is_set = at(pods.spec, "resources", "requests", metric.resource) is not None
            if not metric.is_utilization or not lacking or is_set:
                continue
            if _may_be_default(metric.resource, scaler, context):
                context.cannot_decide("KS215", scaler, f"a LimitRange may set the requests of {metric.resource}")
                continue
            one = len(lacking) == 1
            yield Problem(
                message=f"the utilization of {metric.resource} cannot be computed: "
                f"{'container' if one else 'containers'} {listed([each.name for each in lacking])} of {shown} "
                f"{'does' if one else 'do'} not request it",
                steps=metric.steps,
                help=f"request {metric.resource} in each container, or use a target of type AverageValue",
                related=(Related(pods.obj, lacking[0].steps, "the container"),),
            )


#: The names of containers that webhooks commonly add to pods.
_INJECTED: Final = frozenset(
    (
        *("istio-proxy", "linkerd-proxy", "envoy", "envoy-sidecar", "kuma-sidecar", "consul-dataplane", "daprd"),
        *("vault-agent", "cloud-sql-proxy", "csql-proxy", "gke-gcsfuse-sidecar", "otc-container", "jaeger-agent"),
    )
)


class _ResourceMetric(NamedTuple):
    """A metric of the usage of a resource."""

    #: The path of the target.
    steps: Steps
    resource: str
    #: The container that is measured, with the path of its name; empty for all.
    container: str = ""
    container_steps: Steps = ()
    #: True if the target is a percentage of the requests.
    is_utilization: bool = True


def _resource_metrics(scaler: LintObject) -> Iterator[_ResourceMetric]:
    """Yield the metrics of resources, without those that have placeholders."""
    spec = mapping(scaler.raw.get("spec"))
    old = "targetCPUUtilizationPercentage"
    if not items(spec.get("metrics")):
        yield _ResourceMetric(("spec", old) if spec.get(old) is not None else ("spec",), "cpu")
    for steps, metric in numbered(spec.get("metrics"), ("spec", "metrics")):
        for field in ("resource", "containerResource"):
            source = mapping(at(metric, field))
            resource, container = text(source.get("name")), text(source.get("container"))
            if resource and is_rendered([resource, container]):
                of_beta = source.get("targetAverageUtilization") is not None
                yield _ResourceMetric(
                    (*steps, field, "targetAverageUtilization" if of_beta else "target"),
                    resource,
                    container,
                    (*steps, field, "container"),
                    of_beta or at(source, "target", "averageUtilization") is not None,
                )


def _may_be_default(resource: str, scaler: LintObject, context: LintContext) -> bool:
    """Report whether a LimitRange in the namespace of an autoscaler may set the request of a resource.

    The namespace is that of the manifest set or of the snapshot. An API server derives the default from any limit.
    """
    beside = (obj.typed for obj in context.manifests.beside(scaler, "LimitRange"))
    known = context.overlay.cluster.cluster.list(LimitRange) if context.overlay is not None else ()
    in_cluster = (each for each in known if each.metadata.namespace == (scaler.namespace or "default"))
    for each in (*beside, *in_cluster):
        # One with a placeholder may limit any resource.
        limits = each.spec.limits if isinstance(each, LimitRange) else None
        if limits is None:
            return True
        ofs = (part for item in limits for part in (item.default_request, item.default, item.max, item.min))
        if any(resource in part for part in ofs):
            return True
    return False


def _sort_key(scaler: LintObject) -> tuple[str, int, str]:
    return scaler.file.name, scaler.document.number, scaler.name
