"""The what-if edits that change the pods that a question is about."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Final, Self

from kschedctl.common.errors import InputError
from kschedctl.common.options import Option
from kschedctl.trials.whatif.edit import PodEdit, Thing

if TYPE_CHECKING:
    from kschedctl.cluster.cluster import Cluster
    from kschedctl.objects.pod import Container, ContainerStatus, Pod, PodAffinity, ResourceRequirements
    from kschedctl.objects.policies import PriorityClass


SPREAD: Final = "spread"
AFFINITY: Final = "affinity"
ANTI_AFFINITY: Final = "anti-affinity"
NODE_AFFINITY: Final = "node-affinity"
_IN_WORDS: Final = {
    SPREAD: "topology spread constraints",
    AFFINITY: "pod affinity",
    ANTI_AFFINITY: "pod anti-affinity",
    NODE_AFFINITY: "node affinity",
}
_EXPECTED: Final = "spread, affinity, anti-affinity, each also with :TOPOLOGYKEY, or node-affinity"


@dataclass(frozen=True, slots=True)
class DropConstraint(PodEdit):
    """An edit that removes the constraints of one type from the pods.

    Attributes
    ----------
    constraint : str
        ``spread``, ``affinity`` (to pods), ``anti-affinity`` (to pods) or ``node-affinity``.
    topology_key : str
        The topology key of the constraints to remove; empty for all constraints. Node affinity has no topology key.
    """

    option: ClassVar[Option] = Option(
        "--drop-constraint",
        "KIND",
        "Answer as if the pod had no such constraint: spread[:TOPOLOGYKEY], affinity, anti-affinity or node-affinity.",
    )

    constraint: str
    topology_key: str = ""

    def __str__(self) -> str:
        return f"drop constraint {self.constraint}{':' if self.topology_key else ''}{self.topology_key}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``spread``, ``affinity`` or ``anti-affinity``, each also with ``:TOPOLOGYKEY``, or ``node-affinity``.

        Raises
        ------
        InputError
            If the text is none of these.

        Examples
        --------
        >>> print(DropConstraint.parse("spread:rack"), DropConstraint.parse("node-affinity"), sep=" | ")
        drop constraint spread:rack | drop constraint node-affinity
        """
        from kschedctl.trials.whatif.targets import check_label

        constraint, colon, key = text.partition(":")
        if constraint not in _IN_WORDS or (colon and constraint == NODE_AFFINITY):
            raise InputError(f'"{text}" is not a constraint', where=cls.option.flag, hint=_EXPECTED)
        if colon:
            check_label(text, key, "", where=cls.option.flag)
        return cls(constraint, key)

    def apply_to_pod(self, pod: Pod, cluster: Cluster) -> Pod:
        """Remove the constraints."""
        from msgspec.structs import replace

        spec = pod.spec
        if self.constraint == SPREAD:
            kept = tuple(c for c in spec.topology_spread_constraints if not self._is_meant(c.topology_key))
            return replace(pod, spec=replace(spec, topology_spread_constraints=kept))
        affinity = spec.affinity
        if affinity is None:
            return pod
        if self.constraint == AFFINITY:
            affinity = replace(affinity, pod_affinity=self._remaining_terms(affinity.pod_affinity))
        elif self.constraint == ANTI_AFFINITY:
            affinity = replace(affinity, pod_anti_affinity=self._remaining_terms(affinity.pod_anti_affinity))
        else:
            affinity = replace(affinity, node_affinity=None)
        return replace(pod, spec=replace(spec, affinity=affinity))

    def told(self, cluster: Cluster) -> str:
        """Describe the constraints that the pod lacks after the change."""
        over = f" over {self.topology_key}" if self.topology_key else ""
        return f"the pod has no {_IN_WORDS[self.constraint]}{over}"

    def things(self) -> Iterator[Thing]:
        """Yield the constraints that the edit removes."""
        yield (self.constraint, self.topology_key) if self.topology_key else (self.constraint,)

    def _is_meant(self, topology_key: str) -> bool:
        return self.topology_key in ("", topology_key)

    def _remaining_terms(self, terms: PodAffinity | None) -> PodAffinity | None:
        """Return the terms without those that the edit removes."""
        from msgspec.structs import replace

        if terms is None:
            return None
        required = terms.required_during_scheduling_ignored_during_execution
        preferred = terms.preferred_during_scheduling_ignored_during_execution
        return replace(
            terms,
            required_during_scheduling_ignored_during_execution=tuple(
                term for term in required if not self._is_meant(term.topology_key)
            ),
            preferred_during_scheduling_ignored_during_execution=tuple(
                weighted for weighted in preferred if not self._is_meant(weighted.pod_affinity_term.topology_key)
            ),
        )


# ``--node-selector KEY=VALUE``: adds an entry to the nodeSelector of the pods, or removes it.


@dataclass(frozen=True, slots=True)
class SetNodeSelector(PodEdit):
    """An edit that sets an entry of the pods' nodeSelector, or removes it if the value is ``None``.

    Node affinity is not changed. The RuntimeClass admission plugin still adds its entries to a new pod.
    """

    option: ClassVar[Option] = Option(
        "--node-selector", "KEY=VALUE", "Answer as if the pod had this nodeSelector entry; KEY- removes it."
    )

    key: str
    value: str | None

    def __str__(self) -> str:
        change = f"{self.key}-" if self.value is None else f"{self.key}={self.value}"
        return f"node selector {change}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``KEY=VALUE`` or ``KEY-``.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> print(SetNodeSelector.parse("disk=ssd"), SetNodeSelector.parse("disk-"), sep=" | ")
        node selector disk=ssd | node selector disk-
        """
        from kschedctl.trials.whatif.targets import split_entry

        hint = "KEY=VALUE sets an entry, KEY- removes it, such as disk=ssd"
        return cls(*split_entry(text, text, "nodeSelector entry", hint, where=cls.option.flag))

    def apply_to_pod(self, pod: Pod, cluster: Cluster) -> Pod:
        """Set the entry or remove it."""
        from msgspec.structs import replace

        selector = {key: value for key, value in pod.spec.node_selector.items() if key != self.key}
        if self.value is not None:
            selector[self.key] = self.value
        return replace(pod, spec=replace(pod.spec, node_selector=selector))

    def told(self, cluster: Cluster) -> str:
        """Describe the nodeSelector entry after the change."""
        if self.value is None:
            return f"the pod's nodeSelector has no entry {self.key}"
        return f"the pod's nodeSelector has {self.key}={self.value}"

    def things(self) -> Iterator[Thing]:
        """Yield the nodeSelector entry."""
        yield "nodeSelector", self.key


# ``--set-priority N|CLASS``: changes the priority of the pods.
#
# A PriorityClass also sets the pod's preemptionPolicy, as it does for a manifest that names the class. A number changes
# the priority alone, as if the value of the pod's class were different: the preemptionPolicy is kept. An API server
# rejects a manifest with a priority that no class defines, so a number applies after admission; ResourceQuotas with a
# PriorityClass scope therefore count the pod under the class that its manifest names.

_SET_PRIORITY_EXPECTED: Final = "a whole number, such as 1000, or the name of a PriorityClass"
_INT32: Final = range(-(2**31), 2**31)


@dataclass(frozen=True, slots=True)
class SetPriority(PodEdit):
    """An edit that changes the priority of the pods.

    Attributes
    ----------
    priority : int or str
        The priority, or the name of a PriorityClass.
    """

    option: ClassVar[Option] = Option(
        "--set-priority", "N|CLASS", "Answer as if the pod had this priority or this PriorityClass."
    )

    priority: int | str

    def __str__(self) -> str:
        return f"set priority {self.priority}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse a 32-bit integer or the name of a PriorityClass.

        Raises
        ------
        InputError
            If the text is neither.

        Examples
        --------
        >>> SetPriority.parse("1000"), SetPriority.parse("high")
        (SetPriority(priority=1000), SetPriority(priority='high'))
        """
        from kschedctl.objects.names import subdomain_problems

        if re.fullmatch(r"-?[0-9]{1,10}", text, re.ASCII) and int(text) in _INT32:
            return cls(int(text))
        if re.fullmatch(r"[-+]?[0-9.]+", text, re.ASCII) or subdomain_problems(text):
            raise InputError(f'"{text}" is not a priority', where=cls.option.flag, hint=_SET_PRIORITY_EXPECTED)
        return cls(text)

    @property
    def after_admission(self) -> bool:
        """True for a number: an API server rejects a manifest that sets one."""
        return isinstance(self.priority, int)

    def apply_to_pod(self, pod: Pod, cluster: Cluster) -> Pod:
        """Set the priority.

        Raises
        ------
        InputError
            If the cluster has no such PriorityClass.
        """
        from msgspec.structs import replace

        from kschedctl.objects.validation.pod_rejections import PREEMPT

        if isinstance(self.priority, int):
            return replace(pod, spec=replace(pod.spec, priority=self.priority, priority_class_name=""))
        found = _class_named(cluster, self.priority)
        spec = replace(
            pod.spec,
            priority=found.value,
            priority_class_name=found.name,
            preemption_policy=found.preemption_policy or PREEMPT,
        )
        return replace(pod, spec=spec)

    def told(self, cluster: Cluster) -> str:
        """Describe the pod's priority after the change.

        Raises
        ------
        InputError
            If the cluster has no such PriorityClass.
        """
        if isinstance(self.priority, int):
            return f"the pod has priority {self.priority}"
        return f"the pod has PriorityClass {self.priority} with priority {_class_named(cluster, self.priority).value}"

    def things(self) -> Iterator[Thing]:
        """Yield the pod's priority."""
        yield ("priority",)


def _class_named(cluster: Cluster, name: str) -> PriorityClass:
    from kschedctl.common.wording import near
    from kschedctl.controllers.admission.priority import priority_class
    from kschedctl.objects.policies import SYSTEM_CLASSES, PriorityClass

    found = priority_class(cluster, name)
    if found is None:
        known = sorted(each.name for each in (*cluster.list(PriorityClass), *SYSTEM_CLASSES))
        raise InputError(f"the cluster has no PriorityClass {name}", hint=near(name, known, "PriorityClasses"))
    return found


# ``--set-request RESOURCE=QUANTITY``: changes the amount of a resource that the pods request.
#
# If the pod requests the resource at pod level (``spec.resources``), the edit changes the pod-level request, because
# that
# one counts. Otherwise the edit changes the request of the pod's only container. A pod with several containers needs
# ``CONTAINER:RESOURCE=QUANTITY``; init containers and sidecars are changed only if they are named. A limit below the
# new
# request is raised to the request. The limit of extended resources and huge pages is always set to the request, because
# an API server requires them to be equal.

_SET_REQUEST_EXPECTED: Final = "RESOURCE=QUANTITY or CONTAINER:RESOURCE=QUANTITY, such as cpu=500m or app:memory=2Gi"


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
        "--set-request",
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
            raise InputError(
                f'"{text}" lacks a resource or a quantity', where=cls.option.flag, hint=_SET_REQUEST_EXPECTED
            )
        is_extended = is_extended_resource(resource)
        if not (is_extended or resource in (CPU, MEMORY, EPHEMERAL_STORAGE) or resource.startswith(HUGEPAGES_PREFIX)):
            hint = "give cpu, memory, ephemeral-storage, hugepages-SIZE or an extended resource such as nvidia.com/gpu"
            raise InputError(f'"{text}": "{resource}" is not a resource', where=cls.option.flag, hint=hint)
        try:
            nanos = parse_quantity(quantity)
        except QuantityError as error:
            raise InputError(f'"{text}": {error}', where=cls.option.flag, hint=QUANTITY_HINT) from None
        if nanos < 0 or (is_extended and nanos % NANO):
            problem = "a fraction cannot be requested" if nanos > 0 else "a negative amount cannot be requested"
            raise InputError(f'"{text}": {problem}', where=cls.option.flag, hint=_SET_REQUEST_EXPECTED)
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


# ``--tolerate KEY=VALUE:EFFECT``: adds a toleration to the pods, or removes their tolerations of a key.
#
# Without a value the toleration matches every value of the key (``operator: Exists``); without an effect it matches
# every effect. The admission plugin DefaultTolerationSeconds still adds its two tolerations to a new pod.

_TOLERATE_EXPECTED: Final = (
    "KEY, KEY=VALUE, KEY:EFFECT or KEY=VALUE:EFFECT, such as gpu:NoSchedule; KEY- removes the tolerations of KEY"
)


@dataclass(frozen=True, slots=True)
class Tolerate(PodEdit):
    """An edit that adds a toleration to the pods, or removes their tolerations of a key.

    Attributes
    ----------
    key : str
        The key of the taint.
    value : str or None
        The value of the taint; ``None`` for any value.
    effect : str
        The effect of the taint; empty for any effect.
    remove : bool
        True to remove the tolerations of the key, restricted to ``effect`` if that is not empty. A toleration of all
        keys is not removed.
    """

    option: ClassVar[Option] = Option(
        "--tolerate",
        "KEY=VALUE:EFFECT",
        "Answer as if the pod tolerated this taint; value and effect are optional; KEY- removes the tolerations.",
    )

    key: str
    value: str | None = None
    effect: str = ""
    remove: bool = False

    def __str__(self) -> str:
        return f"tolerate {self._taint}{'-' if self.remove else ''}"

    @classmethod
    def parse(cls, text: str, namespace: str = "") -> Self:
        """Parse ``KEY=VALUE:EFFECT``, where value and effect may be missing, or ``KEY-`` or ``KEY:EFFECT-``.

        Raises
        ------
        InputError
            If the text cannot be parsed.

        Examples
        --------
        >>> print(*map(Tolerate.parse, ("gpu", "gpu=true:NoSchedule", "gpu-")), sep=" | ")
        tolerate gpu | tolerate gpu=true:NoSchedule | tolerate gpu-
        """
        from kschedctl.trials.whatif.targets import check_effect, check_label

        remove = text.endswith("-")
        label, colon, effect = text.removesuffix("-").partition(":")
        key, equals, value = label.partition("=")
        if not key or (remove and equals):
            raise InputError(f'"{text}" is not a toleration', where=cls.option.flag, hint=_TOLERATE_EXPECTED)
        if colon:
            check_effect(text, effect, where=cls.option.flag)
        check_label(text, key, value, where=cls.option.flag)
        return cls(key, value if equals else None, effect, remove)

    def apply_to_pod(self, pod: Pod, cluster: Cluster) -> Pod:
        """Add the toleration, or remove the tolerations of the key."""
        from msgspec.structs import replace

        from kschedctl.objects.pod import Toleration

        own = pod.spec.tolerations
        if self.remove:
            kept = tuple(t for t in own if t.key != self.key or self.effect not in ("", t.effect))
            return replace(pod, spec=replace(pod.spec, tolerations=kept))
        operator = "Exists" if self.value is None else "Equal"
        added = Toleration(key=self.key, operator=operator, value=self.value or "", effect=self.effect)
        return pod if added in own else replace(pod, spec=replace(pod.spec, tolerations=(*own, added)))

    def told(self, cluster: Cluster) -> str:
        """Describe the toleration that the pod has or lacks after the change."""
        return f"the pod has no toleration of {self._taint}" if self.remove else f"the pod tolerates {self._taint}"

    def things(self) -> Iterator[Thing]:
        """Yield the toleration, or all tolerations of the key."""
        if not self.remove:
            yield "toleration", self.key, self.effect, self.value
        else:
            yield ("toleration", self.key, self.effect) if self.effect else ("toleration", self.key)

    @property
    def _taint(self) -> str:
        value = "" if self.value is None else f"={self.value}"
        return f"{self.key}{value}{':' if self.effect else ''}{self.effect}"
