"""The aggregated limits of a pod's containers, computed by the same rules as its requests."""

from __future__ import annotations

from msgspec.structs import replace

from kschedctl.objects.pod import Container, Pod, PodSpec, ResourceRequirements
from kschedctl.objects.resources import Nanos, RequestRules, container_requests


def container_limits(pod: Pod) -> Nanos:
    """Return the aggregated limits of a pod's containers according to its spec, in nano-units by resource."""
    as_requests = RequestRules(pod_level=False, status=False, pod_level_status=False)
    return container_requests(replace(pod, spec=_limits_as_requests(pod.spec)), as_requests)


def _limits_as_requests(spec: PodSpec) -> PodSpec:
    def turn(containers: tuple[Container, ...]) -> tuple[Container, ...]:
        return tuple(replace(c, resources=ResourceRequirements(requests=c.resources.limits)) for c in containers)

    return replace(spec, containers=turn(spec.containers), init_containers=turn(spec.init_containers))
