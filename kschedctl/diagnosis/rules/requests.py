"""Requests that are larger than any node within reach, and the parts of a pod that make them so large."""

import re
from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Final

import msgspec
from msgspec.structs import replace

from kschedctl.common.arrays import Mask
from kschedctl.common.wording import counted, listed
from kschedctl.diagnosis.diagnosis import Advice, Diagnosis, Situation
from kschedctl.diagnosis.rules import obstacles
from kschedctl.diagnosis.rules.obstacles import obstacles_on, scope_of, together
from kschedctl.diagnosis.rules.taints import only_unhealthy
from kschedctl.objects.core import Node
from kschedctl.objects.pod import Container, Pod, PodSpec
from kschedctl.objects.policies import PriorityClass
from kschedctl.objects.quantity import QuantityError, parse_quantity, value
from kschedctl.objects.resources import (
    CPU,
    EPHEMERAL_STORAGE,
    HUGEPAGES_PREFIX,
    MEMORY,
    PODS,
    RequestRules,
    exact_quantity,
    format_amount,
    is_extended_resource,
    parse_resources,
    pod_level_requests,
    scheduler_units,
)
from kschedctl.objects.workload import DaemonSet, Deployment, Job, ReplicaSet, StatefulSet
from kschedctl.scheduler.framework.remedy import Operation, Remedy, add_operation, patched
from kschedctl.scheduler.framework.risk import RemedyScope, Risk
from kschedctl.scheduler.plugins.node_resources.remedies import MOST_LOWERED


def requested_devices(situation: Situation) -> list[str]:
    """Return the extended resources that the pod requests and some node within reach is short of."""
    if not situation.filtered or not situation.in_reach.any():
        return []
    rejected = situation.in_reach & situation.rejected_by("NodeResourcesFit")
    return [
        name
        for name in situation.requests
        if is_extended_resource(name) and bool((situation.short_of(name) & rejected).any())
    ]


def offered_resources(situation: Situation, nodes: Mask | None = None) -> Iterator[str]:
    """Yield the extended resources that a node offers, by default any node of the cluster."""
    for name in situation.columns.index:
        offering = situation.offered(name) > 0
        if is_extended_resource(name) and bool(offering.any() if nodes is None else offering[nodes].any()):
            yield name


def offers_of_vendor(situation: Situation, resource: str, nodes: Mask) -> list[str]:
    """Return the other resources in the domain of a resource that the nodes offer: their device plugin works."""
    domain = resource.partition("/")[0]
    return [name for name in offered_resources(situation, nodes) if name.partition("/")[0] == domain]


_SIDECAR = "Always"


class Part(msgspec.Struct, frozen=True):
    """The request of one container."""

    container: Container
    #: ``containers`` or ``initContainers``.
    field: str
    #: The position in the field.
    index: int
    #: The container's own request: milli-CPU, bytes or a count.
    own: int
    #: The requests of sidecars that run at the same time as an init container; 0 for other containers.
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

    Args:
        pod: The pod, with defaults.
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


_FIT: Final = "NodeResourcesFit"
#: The repair of unhealthy devices is tried on at most 3 nodes.
_MOST_REPAIRED: Final = 3
#: A request of this many times the largest offer may have the wrong unit.
_OUT_OF_SCALE: Final = 10
_UNIT: Final = re.compile(r"(\d+(?:\.\d+)?)([KMGT]i?|k)?")
#: The unit that was meant, by the unit that was written.
_SMALLER: Final = {"G": "M", "Gi": "Mi", "T": "G", "Ti": "Gi", "M": "k", "Mi": "Ki"}
_TEMPLATES: Final = {each.__name__: each for each in (ReplicaSet, StatefulSet, DaemonSet, Job, Deployment)}


def oversized_request(situation: Situation) -> Iterator[Diagnosis]:
    """A request that is larger than any node within reach, and the container or other part of the pod that makes it so.

    The scheduler counts, per resource, the larger of two numbers: the sum over all containers, and the largest init
    container. A request at the level of the pod replaces both; the overhead of the runtime class is added. Where a
    container has a limit and no request, the API server takes the limit as the request. Operators correct that part: the
    init container, a missing request, or a wrong unit. A pod that really needs that much needs a larger node.

    A device that its plugin reports as unhealthy counts in a node's capacity, but not in what is allocatable. If a node
    has enough devices and some of them are unhealthy, operators repair or reset these.
    """
    # Yield the resources of which the pod requests more than any node within reach has.
    if not situation.filtered:
        return
    nodes = situation.in_reach & ~situation.rejected_by("TaintToleration", "NodeUnschedulable")
    if not nodes.any() or only_unhealthy(situation).any():
        return
    for resource, wanted in situation.requests.items():
        offered = situation.offered(resource)
        largest = int(offered[nodes].max())
        others = situation.in_reach & ~nodes & (offered >= wanted)
        cordoned = others & situation.rejected_by("NodeUnschedulable")
        if resource.startswith(HUGEPAGES_PREFIX) and not offered[situation.in_reach].any():
            yield _no_huge_pages(situation, resource)
        if resource != PODS and 0 < largest < wanted and not cordoned.any():
            yield _Oversized(situation, resource, nodes, others).diagnosis()


def _no_huge_pages(situation: Situation, resource: str) -> Diagnosis:
    """Return the diagnosis of huge pages that no node within reach offers, with the nodes that report others or 0."""
    base = next(obstacles.obstacles(situation))
    need = format_amount(resource, situation.requests[resource])
    others = [
        f"{listed(situation.names(found), most=3)} {'offers' if found.sum() == 1 else 'offer'} {name} instead"
        for name in situation.columns.index
        if name.startswith(HUGEPAGES_PREFIX) and (found := situation.in_reach & (situation.offered(name) > 0)).any()
    ]
    enough = situation.in_reach & ~situation.rejected_by(*(each for each in situation.rejected if each != _FIT))
    for name in situation.requests:
        enough = enough & ~situation.short_of(name) if name != resource else enough
    candidates = list(situation.nodes(enough))
    nodes = [node for node in candidates if resource in node.status.capacity] or candidates
    where = listed([node.name for node in nodes], "or", most=3) or "a node"
    return Diagnosis(
        rule="no-huge-pages",
        cause="; ".join((base.cause, *others)),
        evidence=("huge pages are reserved by the kernel of a node, and its kubelet counts them when it starts",),
        advice=(
            Advice(
                summary=f"reserve {need} of {resource} on {where}, if its kernel has not, and restart its kubelet",
                risk=Risk.SHARED,
                untried="the kernel reserves the pages, which takes their memory from other pods",
                command="# set vm.nr_hugepages or the kernel parameters hugepagesz and hugepages on the node",
            ),
        ),
        checks=("grep Huge /proc/meminfo  # on the node",),
    )


class _Oversized:
    """A request that no node can hold.

    Args:
        nodes: The nodes within reach without untolerated taints.
        others: The other nodes within reach that are large enough.
    """

    def __init__(self, situation: Situation, resource: str, nodes: Mask, others: Mask) -> None:
        self._situation, self._resource, self._nodes, self._others = situation, resource, nodes, others
        self._parts = RequestParts(situation.pod, situation.decision.framework.handle.request_rules, resource)
        self._wanted = situation.requests[resource]
        self._largest = int(situation.offered(resource)[nodes].max())
        free = (situation.offered(resource) - situation.used(resource))[nodes]
        self._free = max(int(free.max()), 0)

    def diagnosis(self) -> Diagnosis:
        """Return the diagnosis, with the part that is too large."""
        # The nodes that have enough devices, of which too few are healthy; those with most of them first.
        offering = self._nodes & (self._situation.offered(self._resource) > 0)
        candidates = self._situation.nodes(offering) if is_extended_resource(self._resource) else ()
        enough = [node for node in candidates if self._kubelet_capacity(node) >= self._wanted]
        unhealthy = sorted(enough, key=lambda node: -self._allocatable(node))
        blame = self._unhealthy_devices(unhealthy) if unhealthy else self._blame()
        need, largest = f"{self._amount_words(self._wanted)} {self._resource}", self._amount_words(self._largest)
        scope = scope_of(self._situation)[1]
        if blame:
            of_daemon_set = self._situation.is_of_daemon_set
            where = f"its node {self._situation.names(self._nodes)[0]}" if of_daemon_set else f"the largest node{scope}"
            cause = blame if unhealthy else f"{blame}, {where} has {largest}"
            cause = together(self._situation, cause, obstacles_on(self._situation, self._others))
        elif self._others.any() or int(self._situation.in_reach.sum()) == 1:
            cause = next(obstacles.obstacles(self._situation)).cause
        else:
            cause = f"no node{scope} has {need}, the largest offers {largest}"
        excluded = int((~self._situation.selected & (self._situation.offered(self._resource) >= self._wanted)).sum())
        have, them = ("has", "it") if excluded == 1 else ("have", "them")
        selection = f"{excluded} node{'s' * (excluded > 1)} {have} {need}, but the pod's node selection excludes {them}"
        remedies = tuple(self._remedies())
        advice: tuple[Advice, ...] = ()
        # A larger node is tried by the search; it is none for a pod that belongs to its node.
        if not remedies and is_extended_resource(self._resource) and self._situation.is_of_daemon_set:
            kind, namespace, name = self._situation.workload
            node = self._situation.names(self._nodes)[0]
            advice = (
                Advice(
                    summary=f"keep {kind} {namespace}/{name} off {node} by its node affinity",
                    risk=Risk.REDUCED,
                    untried="the controller of the DaemonSet then deletes the pod",
                ),
            )
        return Diagnosis(
            rule="oversized-request",
            cause=cause,
            evidence=(selection,) if excluded else (),
            remedies=(*map(self._repaired, unhealthy[:_MOST_REPAIRED]), *remedies),
            advice=advice,
        )

    def _kubelet_capacity(self, node: Node) -> int:
        try:
            return value(parse_quantity(node.status.capacity.get(self._resource, 0)))
        except QuantityError:
            # Only allocatable amounts are validated when a snapshot is read.
            return 0

    def _allocatable(self, node: Node) -> int:
        return int(self._situation.offered(self._resource)[self._situation.cluster.nodes.row[node.name]])

    def _unhealthy_devices(self, nodes: Sequence[Node]) -> str:
        """Return a clause about the unhealthy devices of the node with the most healthy ones."""
        has, healthy = self._kubelet_capacity(nodes[0]), self._allocatable(nodes[0])
        only = "only 1 is" if healthy == 1 else f"only {healthy} are"
        lost = "1 is" if has - healthy == 1 else f"{has - healthy} are"
        others, have = len(nodes) - 1, "has" if len(nodes) == 2 else "have"
        more = f"; {counted(others, 'other node')} {have} unhealthy devices as well" if others else ""
        return f"{nodes[0].name} has {has} {self._resource}, but {only} allocatable: {lost} unhealthy{more}"

    def _repaired(self, node: Node) -> Remedy:
        """Return the repair of a node's unhealthy devices: all that it has are allocatable."""
        lost = self._kubelet_capacity(node) - self._allocatable(node)
        which = "the unhealthy device" if lost == 1 else f"the {lost} unhealthy devices"
        summary = f"repair or reset {which} ({self._resource}) on {node.name}"
        healthy = {**node.status.allocatable, self._resource: node.status.capacity[self._resource]}
        return Remedy(
            summary=summary,
            scope=RemedyScope.NODE,
            changes=(patched(node, add_operation(healthy, "status", "allocatable")),),
            risk=Risk.MISTAKE,
            family="unhealthy devices",
            within=-self._allocatable(node),
            once=True,
            command=f"# {summary}; its device plugin then reports it as healthy",
        )

    def _amount_words(self, amount: int) -> str:
        return format_amount(self._resource, amount)

    def _blame(self) -> str:
        """Return the part that is too large as a clause; empty if it is the request of the only container."""
        parts, resource = self._parts, self._resource
        asks = f"asks for {self._amount_words(self._wanted)} {resource}"
        if parts.whole:
            return f"the pod-level request (spec.resources) {asks}"
        if parts.while_initializing > parts.while_running:
            worst = max(self._parts.initializing, key=lambda part: part.own + part.beside)
            beside = f" beside the {self._amount_words(worst.beside)} of sidecars" if worst.beside else ""
            later = self._parts.while_running
            rest = f" (the containers ask for {self._amount_words(later)} afterwards)" if later else ""
            return f"{worst.words} asks for {self._amount_words(worst.own)} {self._resource}{beside}{rest}"
        if parts.overhead and self._wanted - parts.overhead <= self._largest:
            rest = f"the {self._amount_words(self._wanted - parts.overhead)} that its containers ask for"
            name = self._situation.pod.spec.runtime_class_name
            adds = f"adds an overhead of {self._amount_words(parts.overhead)} {resource} to {rest}"
            return f"runtime class {name} {adds}" if name else f"the pod {adds}"
        running, resource = self._parts.running, self._resource
        most = max(running, key=lambda part: part.own, default=None)
        if most is None:
            return ""
        if most.own > self._largest and (len(running) > 1 or self._copied(most)):
            limit = ", its limit (where only a limit is set, the API server takes it as the request)"
            if not self._copied(most):
                limit = ""
            elif _container_of_template(self._situation, most) is not None:
                limit = " (only a limit is set, and the API server takes it as the request)"
            return f"{most.words} asks for {self._amount_words(most.own)} {resource}{limit}"
        if len(running) > 1:
            each = listed([f"{part.words} {self._amount_words(part.own)}" for part in running])
            return (
                f"the containers ask for {self._amount_words(self._parts.while_running)} {resource} together ({each})"
            )
        return ""

    def _copied(self, part: Part) -> bool:
        """Report whether the request of a container is, or may be, its limit."""
        own = part.container.resources
        if self._is_exact() or own.requests.get(self._resource) != own.limits.get(self._resource):
            return False
        written = _container_of_template(self._situation, part)
        return written is None or self._resource not in written.resources.requests

    def _is_exact(self) -> bool:
        """Report whether request and limit of the resource must be equal: devices and huge pages."""
        return is_extended_resource(self._resource) or self._resource.startswith(HUGEPAGES_PREFIX)

    def _remedies(self) -> Iterator[Remedy]:
        parts = self._parts
        if parts.whole or self._is_exact():
            return
        if parts.while_initializing > parts.while_running:
            yield from self._smaller_init_containers()
            return
        most = max(parts.running, key=lambda part: part.own, default=None)
        if most is None:
            return
        meant = self._other_unit(most)
        if meant:
            text = most.container.resources.requests[self._resource]
            yield self._patched(f"request {meant} {self._resource} instead of {text} in {most.words}", [(most, meant)])
        elif self._copied(most):
            target = self._free - (self._wanted - most.own)
            if target > 0:
                yield self._patched(
                    f"set a request of its own in {most.words}: {self._rounded_down(target)} {self._resource} or less; "
                    f"the limit of {self._amount_words(most.own)} stays",
                    [(most, exact_quantity(self._resource, target))],
                )

    def _smaller_init_containers(self) -> Iterator[Remedy]:
        """Yield smaller requests of the init containers that are too large, if the containers themselves fit."""
        parts, room = self._parts, self._free - self._parts.overhead
        if parts.while_running > room:
            return
        large = [part for part in parts.initializing if part.own + part.beside > room]
        least = min((room - part.beside for part in large), default=0)
        # With less CPU an init container takes longer; with much less memory it fails.
        fails = self._resource != CPU and any(room - part.beside < part.own * (1 - MOST_LOWERED) for part in large)
        if least <= 0 or fails:
            return
        names = listed([part.words for part in large])
        was = listed([self._amount_words(part.own) for part in large])
        yield self._patched(
            f"request {self._rounded_down(least)} {self._resource} or less instead of {was} in {names}",
            [(part, exact_quantity(self._resource, room - part.beside)) for part in large],
            risk=Risk.POD if self._resource == CPU else Risk.REDUCED,
        )

    def _rounded_down(self, amount: int) -> str:
        """Return an amount as text that is not larger than the amount."""
        if self._resource in (MEMORY, EPHEMERAL_STORAGE):
            unit = 1 << max((amount.bit_length() - 1) // 10 * 10, 0)
            amount -= amount % max(unit // 100, 1)
        return self._amount_words(amount)

    def _other_unit(self, part: Part) -> str:
        """Return the amount in a smaller unit, if the amount is far too large as written; empty otherwise."""
        text = str(part.container.resources.requests.get(self._resource, ""))
        found = _UNIT.fullmatch(text)
        if found is None or part.own < self._largest * _OUT_OF_SCALE or self._is_large_otherwise():
            return ""
        number, unit = found.group(1), found.group(2) or ""
        meant = f"{number}m" if self._resource == CPU and not unit else ""
        if self._resource in (MEMORY, EPHEMERAL_STORAGE):
            meant = f"{number}{_SMALLER[unit]}" if unit in _SMALLER else ""
        if not meant:
            return ""
        amount = scheduler_units({self._resource: parse_quantity(meant)})[self._resource]
        return meant if amount <= self._largest else ""

    def _is_large_otherwise(self) -> bool:
        """Report whether the pod asks for more than a node has of something else, as a pod that is meant to be large."""
        others = (
            (wanted, int(self._situation.offered(name)[self._nodes].max()))
            for name, wanted in self._situation.requests.items()
            if name != self._resource
        )
        return any(0 < largest < wanted < largest * _OUT_OF_SCALE for wanted, largest in others)

    def _patched(self, summary: str, targets: Sequence[tuple[Part, str]], *, risk: Risk = Risk.MISTAKE) -> Remedy:
        patch: list[Operation] = []
        for part, quantity in targets:
            own = part.container.resources
            limits = own.limits
            if self._resource in limits and parse_quantity(limits[self._resource]) < parse_quantity(quantity):
                limits = {**limits, self._resource: quantity}
            changed = replace(own, requests={**own.requests, self._resource: quantity}, limits=limits)
            patch.append(add_operation(changed, "spec", part.field, part.index, "resources"))
        return self._situation.context().pod_patch(
            summary,
            *patch,
            risk=risk,
            # The family of the remedies that lower the whole request, which add nothing then.
            family=("request", self._resource),
            within=-1,
            once=True,
            resource=self._resource,
        )


def _container_of_template(situation: Situation, part: Part) -> Container | None:
    """Return the container as its controller's template has it, without defaults; ``None`` if it is not known."""
    owner = situation.pod.metadata.controller
    kind = _TEMPLATES.get(owner.kind) if owner is not None else None
    if owner is None or kind is None:
        return None
    found = situation.cluster.get(kind, owner.name, situation.pod.namespace)
    template = getattr(getattr(found, "spec", None), "template", None)
    spec: PodSpec | None = template.spec if template is not None else None
    if spec is None:
        return None
    containers = spec.containers if part.field == "containers" else spec.init_containers
    return next((each for each in containers if each.name == part.container.name), None)


def daemon_set_node(situation: Situation) -> Iterator[Diagnosis]:
    """A DaemonSet's pod whose node is full.

    The controller of a DaemonSet makes one pod per node and ties it to that node, so room on other nodes and new nodes do
    not help. Operators give the DaemonSet a PriorityClass, so that its pods may evict others on their nodes, or move a pod
    off the node. They do not take the tie to the node away.
    """
    # Yield the full node, and a higher priority as the cure if the cluster has no PriorityClass to try.
    if not situation.filtered or not situation.is_of_daemon_set or int(situation.in_reach.sum()) != 1:
        return
    others = [plugin for plugin in situation.rejected if plugin != _FIT]
    node = situation.in_reach & situation.rejected_by(_FIT) & ~situation.rejected_by(*others)
    short = [name for name in situation.requests if (situation.short_of(name) & node).any()]
    if not short or any(int(situation.offered(name)[node][0]) < situation.requests[name] for name in short):
        return
    base = next(obstacles.obstacles(situation))
    own = situation.pod.spec.priority or 0
    kind, namespace, name = situation.workload
    where = situation.names(node)[0]
    advice = Advice(
        summary=f"give {kind} {namespace}/{name} a PriorityClass above {own}, so that its pods evict others on {where}",
        risk=Risk.EVICTION,
        untried="the snapshot has no PriorityClass of a higher value",
        command="# kubectl create priorityclass NAME --value=1000000, and priorityClassName in the DaemonSet",
    )
    higher = any(each.value > own for each in situation.cluster.list(PriorityClass))
    higher |= situation.cluster.is_forbidden(PriorityClass)
    yield Diagnosis(
        rule="daemon-set-node-full",
        cause=base.cause,
        evidence=(f"{kind} {namespace}/{name} makes one pod per node: this one is for {where}", *base.evidence),
        advice=() if higher else (advice,),
    )
