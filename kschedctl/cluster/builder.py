"""A builder that collects objects one by one, as a reader yields them, and creates a ``Cluster``."""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.nodes import Nodes
from kschedctl.cluster.pods import Pods
from kschedctl.cluster.records import FINISHED, PodInterner, PodRecord
from kschedctl.cluster.stored_objects import StoredObjects
from kschedctl.cluster.unread_objects import Unread
from kschedctl.common.errors import SnapshotError
from kschedctl.common.findings import Place, Subject, field_path
from kschedctl.common.wording import counted, listed
from kschedctl.objects.core import Node
from kschedctl.objects.defaults import DEFAULT_NAMESPACE, default_object
from kschedctl.objects.device import ResourceClaim, ResourceClaimTemplate, ResourceSlice
from kschedctl.objects.event import Event, NewestEvents, ObjectReference
from kschedctl.objects.meta import ApiObject, LabelSelector
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import CompositePodGroup, PodGroup
from kschedctl.objects.quantity import QUANTITY_HINT, QuantityError, check_quantities, parse_quantity, value
from kschedctl.objects.resources import parse_resources
from kschedctl.objects.selectors import SelectorError, parse_label_selector

#: At most this many Events are kept before the cluster is built; beyond that, the older half is dropped.
_MOST_EVENTS = 30_000
_LONG_AGO = datetime.min.replace(tzinfo=UTC)
#: The kinds whose quantities are parsed without a check where devices are allocated.
_OF_DEVICES = (ResourceSlice, ResourceClaim, ResourceClaimTemplate)


class ClusterBuilder:
    """A collector of a cluster's objects. A later object replaces one of the same kind and name, with a warning."""

    def __init__(self) -> None:
        self.warnings: list[str] = []
        self.unread: list[Unread] = []
        self.listed: dict[str, str] = {}
        self.not_listed: set[str] = set()
        self._nodes: dict[str, Node] = {}
        self._pods: dict[tuple[str, str], PodRecord] = {}
        self._objects: dict[type[ApiObject], dict[tuple[str, str], ApiObject]] = {}
        self._places: dict[tuple[type[ApiObject], str, str], Place] = {}
        #: The objects of which there are copies that differ, each as a sentence.
        self._twice: list[str] = []
        self._interner = PodInterner()
        self._events = NewestEvents()
        self._texts: dict[str, str] = {}

    def add(self, obj: ApiObject, place: Place = "") -> None:
        """Add an object.

        Args:
            obj: An object of any kind that scheduling depends on.
            place: The location it was read from, for warnings and errors.

        Raises SnapshotError if a quantity, a selector, the namespace or the minCount of the object is invalid.
        """
        if type(obj) is Event:
            self._add_event(obj)
            return
        if "/" in obj.namespace:
            raise SnapshotError(
                f'"{obj.namespace}" is not a valid namespace',
                where=Subject(place, obj.ref),
                path="metadata.namespace",
                hint="objects are known as NAMESPACE/NAME",
            )
        if type(obj) is Pod:
            with _errors_at(place, obj):
                pod = obj
                if not pod.namespace:
                    pod = replace(pod, metadata=replace(pod.metadata, namespace=DEFAULT_NAMESPACE))
                record = self._interner.record(pod) if pod.status.phase not in FINISHED else None
            self._add_pod((pod.namespace, pod.name), record, place)
            return
        if type(obj) is Node:
            with _errors_at(place, obj):
                parse_resources(obj.status.allocatable, "status.allocatable")
            self._note(Node, (obj.namespace, obj.name), place, is_same=self._nodes.get(obj.name) == obj)
            self._nodes[obj.name] = obj
            return
        obj = default_object(obj)
        with _errors_at(place, obj):
            if isinstance(obj, _OF_DEVICES):
                check_quantities(obj)
            if isinstance(obj, ResourceSlice):
                _check_steps(obj)
        if isinstance(obj, PodGroup | CompositePodGroup) and obj.spec.least < 1:
            field, what = ("minCount", "pod") if isinstance(obj, PodGroup) else ("minGroupCount", "group")
            problem, path = f"{obj.spec.least} is less than 1", f"spec.schedulingPolicy.gang.{field}"
            raise SnapshotError(problem, where=Subject(place, obj.ref), path=path, hint=f"a gang has 1 {what} or more")
        selector = getattr(getattr(obj, "spec", None), "selector", None)
        if isinstance(selector, LabelSelector):
            try:
                parse_label_selector(selector)
            except SelectorError as error:
                self.warnings.append(f"{obj.ref} is ignored: spec.selector.{error.path}: {error}")
        of_kind = self._objects.setdefault(type(obj), {})
        name = obj.namespace, obj.name
        self._note(type(obj), name, place, is_same=of_kind.get(name) == obj)
        of_kind[name] = obj

    def add_stored(self, stored: StoredObjects) -> None:
        """Add objects that another process has read.

        Raises SnapshotError as ``add`` does.
        """
        for obj, place in stored.objects(self._interner):
            if isinstance(obj, PodRecord):
                self._add_pod(obj.name, obj, place)
            else:
                self.add(obj, place)

    def build(self, *, server_version: str = "", taken_at: datetime | None = None) -> Cluster:
        """Return the cluster of all objects added so far.

        Args:
            server_version: The control plane's version; empty if it is unknown.
            taken_at: The time of the state; by default the newest time at which a pod was created or started, or a
                claim was created or allocated.
        """
        if self._events:
            self._objects[Event] = self._settled_events()
            self._events = NewestEvents()
        nodes = Nodes(tuple(self._nodes.values()))
        if self._twice:
            others = counted(len(self._twice) - 1, "other object")
            self.warnings.append(self._twice[0] + (f"; so it is with {others}" if len(self._twice) > 1 else ""))
        self.warnings.extend(_circles(self._objects.get(CompositePodGroup, {}).values()))
        pods = Pods(tuple(self._pods.values()), self._interner.classes, nodes)
        return Cluster(
            nodes,
            pods,
            self._objects,
            server_version=server_version,
            taken_at=taken_at or max(filter(None, self._times()), default=None),
            warnings=self.warnings,
            unread=self.unread,
            listed=self.listed,
            not_listed=self.not_listed,
        )

    def _add_pod(self, name: tuple[str, str], record: PodRecord | None, place: Place) -> None:
        """Add a pod; it has no record if it has finished."""
        # Removed first, so that a duplicate takes its own position in the order of the snapshot.
        earlier = self._pods.pop(name, None)
        if record is not None:
            self._pods[name] = record
        self._note(Pod, name, place, is_same=record == earlier)

    def _add_event(self, event: Event) -> None:
        """Keep the newest Event of each object and reporter, unless it is about a pod that runs or is gone."""
        about = event.about
        if about.kind == Pod.__name__ and self._pods and not self._is_troubled(about):
            return
        self._events.add(event)
        if len(self._events) > _MOST_EVENTS:
            newest = sorted(self._events.items(), key=lambda item: _seen(item[1]))[_MOST_EVENTS // 2 :]
            self._events = NewestEvents(newest)

    def _is_troubled(self, about: ObjectReference) -> bool:
        """Report whether a pod has been read and is not known to run well, so that an Event may say why."""
        record = self._pods.get((about.namespace, about.name))
        if record is None:
            return False
        status = record.status
        unready = any(each.type == "Ready" and each.status == "False" for each in status.conditions)
        return status.phase != "Running" or unready or bool(status.container_statuses or status.init_container_statuses)

    def _settled_events(self) -> dict[tuple[str, str], ApiObject]:
        """Return the Events in their short form, without those about pods that run or are gone."""
        events = (
            event.short(self._texts)
            for (about, _), event in self._events.items()
            if about.kind != Pod.__name__ or self._is_troubled(about)
        )
        return {(event.namespace, event.name): event for event in events}

    def _times(self) -> Iterator[datetime | None]:
        for record in self._pods.values():
            yield record.metadata.creation_timestamp
            yield record.status.start_time
        for claim in self._objects.get(ResourceClaim, {}).values():
            yield claim.metadata.creation_timestamp
            if isinstance(claim, ResourceClaim) and claim.status.allocation is not None:
                yield claim.status.allocation.allocation_timestamp

    def _note(self, kind: type[ApiObject], name: tuple[str, str], place: Place, *, is_same: bool) -> None:
        """Record the place of an object, and a warning about a copy that differs: every must-gather has equal ones."""
        if place == "":
            return
        key = (kind, *name)
        earlier = self._places.get(key)
        if earlier is not None and not is_same:
            shown = "/".join(part for part in name if part)
            self._twice.append(f"{kind.__name__} {shown} is in {earlier} and again in {place}; the later counts")
        self._places[key] = place


def _seen(event: Event) -> datetime:
    return event.seen or _LONG_AGO


def _circles(groups: Iterable[ApiObject]) -> Iterator[str]:
    """Yield a warning for each circle of composite groups, each of which is the parent of the next."""
    parents = {
        (group.namespace, group.name): (group.namespace, group.spec.parent_composite_pod_group_name)
        for group in groups
        if isinstance(group, CompositePodGroup)
    }
    seen: set[tuple[str, str]] = set()
    for start in parents:
        way: dict[tuple[str, str], None] = {}
        here = start
        while here in parents and here not in seen and here not in way:
            way[here] = None
            here = parents[here]
        if here in way:
            names = ["/".join(each) for each in way]
            circle = listed(names[list(way).index(here) :])
            yield f"CompositePodGroup {circle}: spec.parentCompositePodGroupName leads in a circle"
        seen |= way.keys()


def _check_steps(obj: ResourceSlice) -> None:
    """Raise QuantityError if a range of capacities has a step that is not positive, on which kube-scheduler crashes."""
    for i, device in enumerate(obj.spec.devices):
        for name, capacity in device.capacity.items():
            policy = capacity.request_policy
            step = policy.valid_range.step if policy is not None and policy.valid_range is not None else None
            if step is not None and value(parse_quantity(step)) <= 0:
                path = ("spec", "devices", i, "capacity", name, "requestPolicy", "validRange", "step")
                raise QuantityError(f"{step} is not greater than 0", field_path(path))


@contextmanager
def _errors_at(place: Place, obj: ApiObject) -> Iterator[None]:
    """Add the location of the object to errors about an invalid quantity or selector."""
    try:
        yield
    except (QuantityError, SelectorError) as error:
        raise SnapshotError(
            str(error),
            where=Subject(place, obj.ref),
            path=error.path,
            hint=QUANTITY_HINT if isinstance(error, QuantityError) else "",
        ) from None
