"""The parts of a pod's request of a resource: the containers, the init containers, the overhead, the pod as a whole."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from kschedctl.objects.pod import Container, Pod
from kschedctl.objects.resources import RequestRules, parse_resources, pod_level_requests, scheduler_units

_SIDECAR = "Always"


@dataclass(frozen=True, slots=True)
class Part:
    """The request of one container.

    Attributes
    ----------
    container : Container
        The container.
    field : str
        ``containers`` or ``initContainers``.
    index : int
        The position in the field.
    own : int
        The container's own request: milli-CPU, bytes or a count.
    beside : int
        The requests of sidecars that run at the same time as an init container; 0 for other containers.
    """

    container: Container
    field: str
    index: int
    own: int
    beside: int = 0

    @property
    def words(self) -> str:
        """The container by its role and name."""
        role = "container"
        if self.field == "initContainers":
            role = "sidecar" if self.container.restart_policy == _SIDECAR else "init container"
        return f"{role} {self.container.name}"


class RequestParts:
    """The parts of a pod's request of one resource.

    Parameters
    ----------
    pod : Pod
        The pod, with defaults.
    rules : RequestRules
        The rules of the release.
    resource : str
        The resource.
    """

    def __init__(self, pod: Pod, rules: RequestRules, resource: str) -> None:
        self._pod = pod
        self._resource = resource
        self._rules = rules

    def _own(self, container: Container) -> int:
        return scheduler_units(parse_resources(container.resources.requests)).get(self._resource, 0)

    @cached_property
    def overhead(self) -> int:
        """The overhead of the runtime class."""
        return scheduler_units(parse_resources(self._pod.spec.overhead)).get(self._resource, 0)

    @cached_property
    def whole(self) -> int:
        """The request of the pod as a whole (``spec.resources``); 0 if there is none."""
        return scheduler_units(pod_level_requests(self._pod)).get(self._resource, 0) if self._rules.pod_level else 0

    @cached_property
    def running(self) -> tuple[Part, ...]:
        """The containers and sidecars that request the resource; they run at the same time."""
        spec = self._pod.spec
        sidecars = (
            Part(each, "initContainers", i, self._own(each))
            for i, each in enumerate(spec.init_containers)
            if each.restart_policy == _SIDECAR
        )
        containers = (Part(each, "containers", i, self._own(each)) for i, each in enumerate(spec.containers))
        return tuple(part for part in (*sidecars, *containers) if part.own)

    @cached_property
    def initializing(self) -> tuple[Part, ...]:
        """The init containers that request the resource; each runs beside the sidecars before it."""
        beside, out = 0, []
        for i, each in enumerate(self._pod.spec.init_containers):
            own = self._own(each)
            if each.restart_policy == _SIDECAR:
                beside += own
            elif own:
                out.append(Part(each, "initContainers", i, own, beside))
        return tuple(out)

    @property
    def while_running(self) -> int:
        """The sum over containers and sidecars."""
        return sum(part.own for part in self.running)

    @property
    def while_initializing(self) -> int:
        """The largest sum of an init container and the sidecars before it."""
        return max((part.own + part.beside for part in self.initializing), default=0)
