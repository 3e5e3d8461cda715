"""The origin of a pod's values that are not in its owner's template: admission, a namespace, an autoscaler."""

from collections.abc import Iterator
from typing import Final

import msgspec

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.node_selection import required_node_selector
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.objects.core import Namespace, QuantityText
from kschedctl.objects.custom_resources import (
    HorizontalPodAutoscaler,
    OpenShiftScheduler,
    ResourceFlavor,
    VerticalPodAutoscaler,
)
from kschedctl.objects.defaults import default_pod_spec
from kschedctl.objects.kinds import kind_by_name
from kschedctl.objects.pod import Container, Pod
from kschedctl.objects.policies import LimitRange, RuntimeClass
from kschedctl.objects.quantity import QuantityError, parse_quantity
from kschedctl.objects.resources import CPU, MEMORY, known_amounts
from kschedctl.objects.workload import DaemonSet, PodTemplateSpec

#: The annotations with which a namespace gives its pods a node selector: OpenShift, and the plugin PodNodeSelector.
_PROJECT_SELECTOR: Final = "openshift.io/node-selector"
_NAMESPACE_SELECTOR: Final = "scheduler.alpha.kubernetes.io/node-selector"
_OFF: Final = "Off"
#: The annotations of a pod template that set the requests of injected proxies, by the name of the container.
_PROXY_REQUESTS: Final = {
    "istio-proxy": {CPU: "sidecar.istio.io/proxyCPU", MEMORY: "sidecar.istio.io/proxyMemory"},
    "linkerd-proxy": {CPU: "config.linkerd.io/proxy-cpu-request", MEMORY: "config.linkerd.io/proxy-memory-request"},
}


class RaisedRequest(msgspec.Struct, frozen=True):
    """A request of a container that differs from its owner's template."""

    #: The name of the container.
    container: str
    resource: str
    #: The requests of the pod and of the template: milli-CPU, bytes or a count.
    wanted: int
    written: int
    #: The object that sets the request, such as ``VerticalPodAutoscaler shop/web``; empty if it is not known.
    setter: str = ""
    #: The autoscaler, if one sets it.
    autoscaler: VerticalPodAutoscaler | None = None

    @property
    def annotation(self) -> str:
        """The annotation of the pod template that sets the request of an injected container; empty if none is known."""
        return _PROXY_REQUESTS.get(self.container, {}).get(self.resource, "")

    @property
    def is_capped(self) -> bool:
        """True if the autoscaler has a maximum for the request."""
        if self.autoscaler is None:
            return False
        policies = self.autoscaler.spec.resource_policy.container_policies
        return any(
            self.resource in policy.max_allowed
            for policy in policies
            if policy.container_name in (self.container, "*", "")
        )


class AddedSelector(msgspec.Struct, frozen=True):
    """A label of ``nodeSelector`` that the pod's owner does not ask for."""

    key: str
    value: str
    #: Its origin as a clause such as ``the annotation openshift.io/node-selector of namespace shop adds it``; empty
    #: if that is not known: a webhook, or an earlier template.
    setter: str
    #: The cure at that object, and its command; empty without one.
    cure: str
    command: str


def template_of(cluster: Cluster, pod: Pod) -> PodTemplateSpec | None:
    """Return the template from which a controller made a stored pod; ``None`` if it is not known.

    A pod without a uid has not been stored: it is made from a template, perhaps from a newer one.
    """
    owner = pod.metadata.controller
    if owner is None or not pod.metadata.uid:
        return None
    _, namespace, name = workload = workload_of(cluster, pod.metadata)
    for kind_name, of in ((owner.kind, owner.name), (workload[0], name)):
        kind = kind_by_name(kind_name)
        found = cluster.get(kind, of, namespace) if kind is not None else None
        template = getattr(getattr(found, "spec", None), "template", None)
        if isinstance(template, PodTemplateSpec):
            return template
    return None


def raised_requests(cluster: Cluster, pod: Pod) -> Iterator[RaisedRequest]:
    """Yield the requests of the pod's containers that differ from those of its owner's template.

    A container that the template does not have, such as an injected sidecar, has written requests of 0.
    """
    template = template_of(cluster, pod)
    if template is None:
        return
    written = default_pod_spec(template.spec)
    for own, theirs in ((pod.spec.containers, written.containers), (pod.spec.init_containers, written.init_containers)):
        known = {each.name: each for each in theirs}
        for container in own:
            before = known.get(container.name)
            amounts = known_amounts(container.resources.requests)
            meant = known_amounts(before.resources.requests) if before is not None else {}
            for resource, wanted in amounts.items():
                if wanted > meant.get(resource, 0):
                    autoscaler = autoscaler_of(cluster, pod) if before is not None else None
                    setter = _setter(cluster, pod, container, resource, autoscaler, injected=before is None)
                    yield RaisedRequest(container.name, resource, wanted, meant.get(resource, 0), setter, autoscaler)


def _setter(
    cluster: Cluster,
    pod: Pod,
    container: Container,
    resource: str,
    autoscaler: VerticalPodAutoscaler | None,
    *,
    injected: bool,
) -> str:
    if injected:
        return f"container {container.name} was injected at admission"
    if autoscaler is not None:
        return f"VerticalPodAutoscaler {autoscaler.namespace}/{autoscaler.name}"
    if "vpaUpdates" in pod.metadata.annotations:
        return "a VerticalPodAutoscaler (annotation vpaUpdates)"
    text = container.resources.requests.get(resource)
    for each in cluster.list(LimitRange):
        defaults = (item.default_request.get(resource, item.default.get(resource)) for item in each.spec.limits)
        if each.namespace == pod.namespace and any(_same(text, default) for default in defaults):
            return f"LimitRange {each.namespace}/{each.name}"
    return ""


def _same(one: QuantityText | None, other: QuantityText | None) -> bool:
    try:
        return one is not None and other is not None and parse_quantity(one) == parse_quantity(other)
    except QuantityError:
        return False


def autoscaler_of(cluster: Cluster, pod: Pod) -> VerticalPodAutoscaler | None:
    """Return the VerticalPodAutoscaler that sets the requests of the pod; ``None`` if none does."""
    owner = pod.metadata.controller
    if owner is None:
        return None
    kind, _, name = workload_of(cluster, pod.metadata)
    targets = {(kind, name), (owner.kind, owner.name)}
    for each in cluster.list(VerticalPodAutoscaler):
        target = each.spec.target_ref
        active = each.spec.update_policy.update_mode != _OFF
        if each.namespace == pod.namespace and active and (target.kind, target.name) in targets:
            return each
    return None


def scaler_of(cluster: Cluster, workload: tuple[str, str, str]) -> HorizontalPodAutoscaler | None:
    """Return the HorizontalPodAutoscaler that sets the number of replicas of a workload; ``None`` if none does."""
    kind, namespace, name = workload
    for each in cluster.list(HorizontalPodAutoscaler):
        target = each.spec.scale_target_ref
        if each.namespace == namespace and (target.kind, target.name) == (kind, name):
            return each
    return None


def scaler_field(scaler: HorizontalPodAutoscaler, field: str) -> str:
    """Return the field that sets a limit of an autoscaler, with its object: that of KEDA, if KEDA makes the autoscaler.

    Args:
        field: ``minReplicas`` or ``maxReplicas``.
    """
    owner = scaler.metadata.controller
    if owner is None:
        return f"{field} of HorizontalPodAutoscaler {scaler.namespace}/{scaler.name}"
    of_keda = field.replace("Replicas", "ReplicaCount") if owner.kind == "ScaledObject" else field
    return f"{of_keda} of {owner.kind} {scaler.namespace}/{owner.name}"


def has_added_affinity(cluster: Cluster, pod: Pod) -> bool:
    """Report whether the pod has a required node affinity that its owner's template does not ask for."""
    template, owner = template_of(cluster, pod), pod.metadata.controller
    required = required_node_selector(pod.spec)
    # The controller of a DaemonSet ties each pod to its node.
    if template is None or required is None or (owner is not None and owner.kind == DaemonSet.__name__):
        return False
    return required != required_node_selector(template.spec)


def is_added_scheduler(cluster: Cluster, pod: Pod) -> bool:
    """Report whether the pod has another ``schedulerName`` than its owner's template."""
    template = template_of(cluster, pod)
    return template is not None and default_pod_spec(template.spec).scheduler_name != pod.spec.scheduler_name


def maker_of(cluster: Cluster, pod: Pod) -> tuple[str, str] | None:
    """Return kind and name of the object of another project that makes the pod's workload; ``None`` if none does."""
    kind_name, namespace, name = workload_of(cluster, pod.metadata)
    kind = kind_by_name(kind_name)
    found = cluster.get(kind, name, namespace) if kind is not None else None
    owner = found.metadata.controller if found is not None else None
    return (owner.kind, owner.name) if owner is not None else None


def added_selectors(cluster: Cluster, pod: Pod) -> Iterator[AddedSelector]:
    """Yield the labels of ``nodeSelector`` that neither the pod's template nor its RuntimeClass asks for."""
    template = template_of(cluster, pod)
    if template is None:
        return
    runtime = cluster.get(RuntimeClass, pod.spec.runtime_class_name) if pod.spec.runtime_class_name else None
    of_class = runtime.scheduling.node_selector if runtime is not None and runtime.scheduling is not None else {}
    for key, value in pod.spec.node_selector.items():
        if template.spec.node_selector.get(key) != value and of_class.get(key) != value:
            yield AddedSelector(key, value, *_selector_setter(cluster, pod.namespace, key, value))


def _selector_setter(cluster: Cluster, namespace: str, key: str, value: str) -> tuple[str, str, str]:
    found = cluster.get(Namespace, namespace)
    annotations = found.metadata.annotations if found is not None else {}
    for name in (_PROJECT_SELECTOR, _NAMESPACE_SELECTOR):
        if _labels(annotations.get(name, "")).get(key) == value:
            return (
                f"the annotation {name} of namespace {namespace} adds it",
                f"take {key}={value} out of the annotation {name} of namespace {namespace}",
                f"kubectl edit namespace {namespace}",
            )
    for flavor in cluster.list(ResourceFlavor):
        if flavor.spec.node_labels.get(key) == value:
            return (
                f"ResourceFlavor {flavor.name} of Kueue adds it (nodeLabels)",
                f"correct {key}={value} in the nodeLabels of ResourceFlavor {flavor.name}",
                f"kubectl edit resourceflavors.kueue.x-k8s.io {flavor.name}",
            )
    for each in cluster.list(OpenShiftScheduler):
        given = _PROJECT_SELECTOR in annotations
        if not given and _labels(each.spec.default_node_selector).get(key) == value:
            return (
                f"the defaultNodeSelector of the cluster (Scheduler {each.name}) adds it, as namespace {namespace} has "
                f"no annotation {_PROJECT_SELECTOR}",
                f'give namespace {namespace} the annotation {_PROJECT_SELECTOR}: "", so that its pods get no default '
                "node selector",
                f"kubectl annotate namespace {namespace} {_PROJECT_SELECTOR}= --overwrite",
            )
    return "", "", ""


def _labels(text: str) -> dict[str, str]:
    """Return the labels of a selector such as ``a=b,c=``."""
    pairs = (part.strip().partition("=") for part in text.split(",") if part.strip())
    return {key.strip(): value.strip() for key, _, value in pairs}
