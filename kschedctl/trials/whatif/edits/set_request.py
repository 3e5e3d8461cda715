"""``--set-request RESOURCE=QUANTITY``: changes the amount of a resource that the pods request.

If the pod requests the resource at pod level (``spec.resources``), the edit changes the pod-level request, because that
one counts. Otherwise the edit changes the request of the pod's only container. A pod with several containers needs
``CONTAINER:RESOURCE=QUANTITY``; init containers and sidecars are changed only if they are named. A limit below the new
request is raised to the request. The limit of extended resources and huge pages is always set to the request, because
an API server requires them to be equal.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from kschedctl.common.errors import InputError
from kschedctl.trials.whatif.edit import Option, PodEdit, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.objects.pod import Container, ContainerStatus, Pod, ResourceRequirements

_FLAG: Final = "--set-request"
_EXPECTED: Final = "RESOURCE=QUANTITY or CONTAINER:RESOURCE=QUANTITY, such as cpu=500m or app:memory=2Gi"


@dataclass(frozen=True, slots=True)
class SetRequest(PodEdit):
    """An edit that changes the amount of a resource that the pods request.

    If the status reports resources, as for an in-place resize, the edit changes them to the same amount: the resize
    counts as complete.

    Attributes
    ----------
    quantity : str
        The amount, as written.
    container : str
        The name of the container; empty for the only container or the pod-level request.
    """

    option: ClassVar[Option] = Option(
        _FLAG,
        "RESOURCE=QUANTITY",
        "Answer as if the pod requested this; CONTAINER:RESOURCE=QUANTITY if it has several containers.",
    )

    resource: str
    quantity: str
    container: str = ""

    def __str__(self) -> str:
        return f"set request {self.container}{':' if self.container else ''}{self.resource}={self.quantity}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``RESOURCE=QUANTITY`` or ``CONTAINER:RESOURCE=QUANTITY``.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> SetRequest.parse("cpu=500m"), SetRequest.parse("app:nvidia.com/gpu=1").container
        (SetRequest(resource='cpu', quantity='500m', container=''), 'app')
        """
        from kschedctl.objects.quantity import NANO, QUANTITY_HINT, QuantityError, parse_quantity
        from kschedctl.objects.resources import CPU, EPHEMERAL_STORAGE, HUGEPAGES_PREFIX, MEMORY, is_extended_resource

        target, equals, quantity = text.partition("=")
        container, colon, resource = target.rpartition(":")
        if not equals or not resource or (colon and not container):
            raise InputError(f'"{text}" lacks a resource or a quantity', where=_FLAG, hint=_EXPECTED)
        is_extended = is_extended_resource(resource)
        if not (is_extended or resource in (CPU, MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGEPAGES_PREFIX)):
            hint = "give cpu, memory, ephemeral-storage, hugepages-SIZE or an extended resource such as nvidia.com/gpu"
            raise InputError(f'"{text}": "{resource}" is not a resource', where=_FLAG, hint=hint)
        try:
            nanos = parse_quantity(quantity)
        except QuantityError as error:
            raise InputError(f'"{text}": {error}', where=_FLAG, hint=QUANTITY_HINT) from None
        if nanos < 0 or (is_extended and nanos % NANO):
            problem = "a fraction cannot be requested" if nanos > 0 else "a negative amount cannot be requested"
            raise InputError(f'"{text}": {problem}', where=_FLAG, hint=_EXPECTED)
        return cls(resource, quantity, container)

    def apply_to_pod(self, pod: Pod, cluster: Cluster) -> Pod:
        """Set the request.

        Raises
        ------
        InputError
            If the pod has no such container, has several containers and none is named, or requests the resource at pod
            level and a container is named.
        """
        from msgspec.structs import replace

        spec, status = pod.spec, pod.status
        as_a_whole = self.resource in spec.resources.requests
        every = [container.name for container in (*spec.containers, *spec.init_containers)]
        if self.container and self.container not in every:
            hint = f"its containers are {', '.join(every)}"
            raise InputError(f"the pod has no container {self.container}", hint=hint)
        if self.container and as_a_whole:
            problem = f"the pod requests {self.resource} at pod level, not per container"
            raise InputError(problem, hint=f"leave out {self.container}:")
        if as_a_whole:
            spec = replace(spec, resources=self._requesting(spec.resources))
            if status.resources is not None:
                status = replace(
                    status,
                    resources=self._reporting(status.resources),
                    allocated_resources={**status.allocated_resources, self.resource: self.quantity},
                )
            return replace(pod, spec=spec, status=status)
        if not self.container and len(spec.containers) != 1:
            problem = f"the pod has {len(spec.containers)} containers"
            raise InputError(
                problem, hint=f"name one with CONTAINER:{self.resource}={self.quantity}: {', '.join(every)}"
            )
        name = self.container or spec.containers[0].name

        def requesting(containers: tuple[Container, ...]) -> tuple[Container, ...]:
            return tuple(
                replace(c, resources=self._requesting(c.resources)) if c.name == name else c for c in containers
            )

        def resized(statuses: tuple[ContainerStatus, ...]) -> tuple[ContainerStatus, ...]:
            return tuple(
                replace(
                    s,
                    resources=self._reporting(s.resources),
                    allocated_resources={**s.allocated_resources, self.resource: self.quantity},
                )
                if s.name == name and s.resources is not None
                else s
                for s in statuses
            )

        return replace(
            pod,
            spec=replace(
                spec,
                containers=requesting(spec.containers),
                init_containers=requesting(spec.init_containers) if self.container else spec.init_containers,
            ),
            status=replace(
                status,
                container_statuses=resized(status.container_statuses),
                init_container_statuses=resized(status.init_container_statuses),
            ),
        )

    def told(self, cluster: Cluster) -> str:
        """Describe the request of the pod or container after the change."""
        whose = f"the pod's container {self.container}" if self.container else "the pod"
        return f"{whose} requests {self.resource}={self.quantity}"

    def things(self) -> Iterator[Thing]:
        """Yield the request of the named container, or the request of any container."""
        yield ("request", self.resource, self.container) if self.container else ("request", self.resource)

    def _requesting(self, resources: ResourceRequirements) -> ResourceRequirements:
        from msgspec.structs import replace

        from kschedctl.objects.quantity import parse_quantity
        from kschedctl.objects.resources import HUGEPAGES_PREFIX, is_extended_resource

        limits = resources.limits
        handed_out_whole = is_extended_resource(self.resource) or self.resource.startswith(HUGEPAGES_PREFIX)
        limit = limits.get(self.resource)
        if handed_out_whole or (limit is not None and parse_quantity(limit) < parse_quantity(self.quantity)):
            limits = {**limits, self.resource: self.quantity}
        return replace(resources, requests={**resources.requests, self.resource: self.quantity}, limits=limits)

    def _reporting(self, resources: ResourceRequirements) -> ResourceRequirements:
        from msgspec.structs import replace

        return replace(resources, requests={**resources.requests, self.resource: self.quantity})
