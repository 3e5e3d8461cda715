"""Overview of a cluster's elections from its Leases: the holder, the times, and the bounds for a takeover."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from msgspec import structs

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PodRecord
from kschedctl.common.findings import Finding, ObjectRef, Severity, shortened
from kschedctl.common.wording import counted, listed, time_span
from kschedctl.leaderelection.bounds import Bounds, Conditions, bounds
from kschedctl.leaderelection.election import Election, ElectionCandidate, ElectionState
from kschedctl.leaderelection.settings import ElectionSettings
from kschedctl.objects.coordination import (
    LEADER_ANNOTATION,
    NODE_LEASES,
    ConfigMap,
    Endpoints,
    Lease,
    LeaseCandidate,
    lock_record,
)
from kschedctl.objects.meta import ApiObject, ObjectMeta
from kschedctl.objects.pod import Pod
from kschedctl.objects.selectors import parse_int64
from kschedctl.scheduler.framework.config.types import LeaderElection

#: The label of the heartbeat Leases of API servers, which are not elections.
_API_SERVER: Final = "apiserver.kubernetes.io/identity"
#: The tolerated lead of a holder's clock, in seconds: reading a running cluster takes some time.
AHEAD: Final = 60.0
#: A holder is late after 2 retry periods without a renewal.
_LATE: Final = 2
#: The part of a generated pod name after the name of its workload: a hash, a random part, or an ordinal.
_SUFFIX: Final = re.compile(r"(?:[a-z0-9]{5,10}-)?[a-z0-9]{5}|[0-9]+")
#: The labels of the nodes of the control plane, in current and in old clusters.
_CONTROL_PLANE_LABELS: Final = ("node-role.kubernetes.io/control-plane", "node-role.kubernetes.io/master")
#: The separator between the host name and the unique suffix in a candidate's identity.
_UNIQUE: Final = "_"


@dataclass(frozen=True, slots=True)
class Elections:
    """All elections of a cluster."""

    #: The elections, sorted by namespace and name, with those in ``kube-system`` first.
    elections: tuple[Election, ...]
    #: The number of Leases that are heartbeats of nodes and API servers.
    n_heartbeats: int = 0

    def find(self, namespace: str, name: str, kind: str = "Lease") -> Election | None:
        """Return the election with this kind of lock, namespace and name, or ``None``."""
        wanted = (kind, namespace, name)
        return next((one for one in self.elections if (one.ref.kind, one.ref.namespace, one.ref.name) == wanted), None)


def elections(cluster: Cluster, settings: ElectionSettings = ElectionSettings()) -> Elections:  # noqa: B008
    """Find the elections of a cluster.

    Args:
        settings: The settings of the candidates, for the retry period, which a Lease does not contain.
    """
    reader = _Reader(cluster, settings)
    leases = [lease for lease in cluster.list(Lease) if not _is_heartbeat(lease)]
    found = [*map(reader.of_lease, leases), *reader.of_annotations()]
    return Elections(
        tuple(sorted(found, key=lambda one: (one.ref.namespace != "kube-system", one.name, one.ref.kind))),
        sum(map(_is_heartbeat, cluster.list(Lease))),
    )


def host_of(identity: str) -> str:
    """Return the name of the host or pod in an identity.

    >>> host_of("cp-1_6f1d4c1e-9c3b-4b43-8b5e-0f6f8d3a7d52"), host_of("operator-0")
    ('cp-1', 'operator-0')
    """
    return identity.partition(_UNIQUE)[0]


def _is_heartbeat(lease: Lease) -> bool:
    return lease.namespace == NODE_LEASES or _API_SERVER in lease.metadata.labels


class _Reader:
    def __init__(self, cluster: Cluster, settings: ElectionSettings) -> None:
        self._cluster = cluster
        self._settings = settings
        self._control_plane = [
            node.name
            for node in cluster.nodes.objects
            if not node.metadata.labels.keys().isdisjoint(_CONTROL_PLANE_LABELS)
        ]
        self._pods: dict[str, list[str]] = {}
        self._in_namespace: dict[str, list[int]] = {}
        for index, record in enumerate(cluster.pods.records):
            self._pods.setdefault(record.metadata.name, []).append(record.metadata.namespace)
            self._in_namespace.setdefault(record.metadata.namespace, []).append(index)
        self._nodes = {name.partition(".")[0]: name for name in cluster.nodes.names} | {
            name: name for name in cluster.nodes.names
        }

    def of_lease(self, lease: Lease) -> Election:
        spec = lease.spec
        found = self._election(
            lease,
            spec.holder_identity,
            spec.lease_duration_seconds,
            spec.acquire_time,
            spec.renew_time,
            spec.lease_transitions,
        )
        given = [
            one
            for one in self._cluster.list(LeaseCandidate)
            if one.namespace == lease.namespace and one.spec.lease_name == lease.name
        ]
        best = _best(given)
        others = tuple(one.name for one in given if one.name != spec.holder_identity)
        return structs.replace(
            found,
            waiting=found.waiting or others,
            strategy=spec.strategy,
            preferred_holder=spec.preferred_holder,
            candidates=tuple(
                ElectionCandidate(
                    name=one.name,
                    binary_version=one.spec.binary_version,
                    emulation_version=one.spec.emulation_version,
                    strategy=one.spec.strategy,
                    renewed_ago=self._ago(one.spec.renew_time),
                    preferred=one is best,
                )
                for one in given
            ),
        )

    def of_annotations(self) -> Iterator[Election]:
        kinds: tuple[type[ConfigMap | Endpoints], ...] = (ConfigMap, Endpoints)
        for kind in kinds:
            for obj in self._cluster.list(kind):
                record = lock_record(obj.metadata.annotations.get(LEADER_ANNOTATION, ""))
                if record is not None:
                    yield self._election(
                        obj,
                        record.holder_identity,
                        record.lease_duration_seconds,
                        record.acquire_time,
                        record.renew_time,
                        record.leader_transitions,
                    )

    def _election(
        self,
        obj: ApiObject,
        holder: str,
        lease_duration: int,
        acquired: datetime | None,
        renewed: datetime | None,
        transitions: int,
    ) -> Election:
        age = self._ago(renewed)
        promised = bounds(replace(self._settings, lease_duration=float(lease_duration)), Conditions())
        state = self._state(holder, lease_duration, age, promised)
        if state is ElectionState.RELEASED and renewed is None and acquired is None:
            state = ElectionState.NEVER_HELD
        earliest, latest = _take_over(state, age, promised)
        pod, node = self._holder(obj, holder)
        others = self._others(obj, holder, pod)
        waiting = [key for key in others if self._can_lead(key)]
        unready = [key for key in (*filter(None, [pod]), *others) if not self._can_lead(key)]
        if not waiting and node in self._control_plane and obj.namespace == _CONTROL_PLANE:
            # Static pods are not part of every snapshot; each of these nodes runs the same components.
            waiting = [name for name in self._control_plane if name != node]
        gone = not pod and not node and any(_is_pod_of(host_of(holder), self._group(key)) for key in others)
        if pod and self._is_newer(pod, renewed):
            gone, waiting = True, [*([pod] if pod not in unready else []), *waiting]
        return Election(
            name=f"{obj.namespace}/{obj.name}",
            kind=obj.ref.kind,
            holder=holder,
            pod=pod,
            node=node,
            lease_duration_seconds=lease_duration,
            acquired_ago=self._ago(acquired),
            renewed_ago=age,
            transitions=transitions,
            expired=None if age is None or age < -AHEAD else age >= lease_duration,
            earliest=_rounded(earliest),
            latest=_rounded(latest),
            state=state,
            gone=gone,
            waiting=tuple(waiting),
            unready=tuple(unready),
        )

    def _can_lead(self, key: str) -> bool:
        """Report whether a pod has a node and is not known to be unready."""
        record = self._record(key)
        ready = next((each for each in record.status.conditions if each.type == "Ready"), None)
        return bool(record.node_name) and (ready is None or ready.status == "True")

    def _others(self, obj: ApiObject, holder: str, pod: str) -> list[str]:
        """Return the pods of a holder's workload without the holder itself, as ``namespace/name``.

        A lease that was released has no holder, and is that of the workload of its name.
        """
        namespace = pod.partition("/")[0] or obj.namespace
        own = _group(self._record(pod).metadata) if pod else ""
        found = []
        for index in self._in_namespace.get(namespace, ()):
            record = self._cluster.pods.records[index]
            key = f"{namespace}/{record.metadata.name}"
            ended = record.status.phase in ("Succeeded", "Failed")
            if key == pod or ended or record.metadata.deletion_timestamp is not None:
                continue
            of = _group(record.metadata)
            if of == own if pod else of == obj.name or _is_pod_of(host_of(holder), of):
                found.append(key)
        return found

    def _is_newer(self, pod: str, renewed: datetime | None) -> bool:
        """Report whether a pod was created after the last renewal, so that the holder was another one of its name."""
        created = self._record(pod).metadata.creation_timestamp
        return renewed is not None and created is not None and created > renewed

    def _group(self, key: str) -> str:
        return _group(self._record(key).metadata)

    def _record(self, key: str) -> PodRecord:
        namespace, _, name = key.partition("/")
        return self._cluster.pods.records[self._cluster.pods.index[namespace, name]]

    def _ago(self, moment: datetime | None) -> float | None:
        taken = self._cluster.taken_at
        return None if moment is None or taken is None else (taken - moment).total_seconds()

    def _state(self, holder: str, lease_duration: int, age: float | None, promised: Bounds) -> ElectionState:
        if not holder:
            return ElectionState.RELEASED
        if age is None:
            return ElectionState.UNKNOWN
        if age < -AHEAD:
            return ElectionState.CLOCK_AHEAD
        if age >= lease_duration:
            return ElectionState.OVERDUE if age > promised.latest else ElectionState.EXPIRED
        late = age > _LATE * retry_period(self._settings, lease_duration)
        return ElectionState.LATE if late else ElectionState.LED

    def _holder(self, obj: ApiObject, holder: str) -> tuple[str, str]:
        """Return the pod, as ``namespace/name``, and the node of a holder identity; empty if unknown."""
        host = host_of(holder)
        for name in (host, holder):
            if name and name in self._pods:
                namespaces = self._pods[name]
                namespace = obj.namespace if obj.namespace in namespaces else namespaces[0]
                key = f"{namespace}/{name}"
                return key, self._record(key).node_name
        node = self._nodes.get(host) or self._nodes.get(holder, "")
        # A static pod is named after its node.
        static = f"{obj.name}-{node}"
        return (f"{obj.namespace}/{static}" if obj.namespace in self._pods.get(static, ()) else ""), node


def _is_pod_of(pod: str, workload: str) -> bool:
    """Report whether a pod has a name that the controller of a workload generates.

    >>> _is_pod_of("web-6d8b9c5f7d-w7m4d", "web"), _is_pod_of("db-0", "db"), _is_pod_of("web-api-0", "web")
    (True, True, False)
    """
    return bool(workload) and pod.startswith(f"{workload}-") and bool(_SUFFIX.fullmatch(pod[len(workload) + 1 :]))


def retry_period(settings: ElectionSettings, lease_duration: float) -> float:
    """Return the assumed time between two renewals, in seconds: longer in proportion for a longer lease duration.

    >>> retry_period(ElectionSettings(), 15), retry_period(ElectionSettings(), 60)
    (2.0, 8.0)
    """
    return settings.retry_period * max(lease_duration / settings.lease_duration, 1.0)


def _take_over(state: ElectionState, age: float | None, promised: Bounds) -> tuple[float | None, float | None]:
    """Return the earliest and latest time of a takeover, in seconds after the snapshot; ``None`` if unknown or past."""
    if state in (ElectionState.RELEASED, ElectionState.NEVER_HELD):
        return (None, None) if age is not None and age > promised.released else (0.0, promised.released)
    if age is None or state in (ElectionState.CLOCK_AHEAD, ElectionState.OVERDUE):
        return None, None
    # A renewal after the time of the snapshot happened while the snapshot was taken.
    age = max(age, 0.0)
    return max(promised.earliest - age, 0.0), promised.latest - age


def _rounded(seconds: float | None) -> float | None:
    """Round to microseconds, to remove floating-point noise."""
    return None if seconds is None else round(seconds, 6)


def _best(candidates: Iterable[LeaseCandidate]) -> LeaseCandidate | None:
    """Return the candidate that ``OldestEmulationVersion`` elects.

    The order is emulation version, binary version, creation time, name; the smallest wins.
    """
    able = [
        (emulated, binary, one)
        for one in candidates
        if (emulated := _version(one.spec.emulation_version)) and (binary := _version(one.spec.binary_version))
    ]
    if not able:
        return None

    def order(item: tuple[tuple[int, ...], tuple[int, ...], LeaseCandidate]) -> tuple[object, ...]:
        emulated, binary, one = item
        created = one.metadata.creation_timestamp
        return emulated, binary, created.timestamp() if created is not None else 0.0, one.name

    return min(able, key=order)[2]


def _version(text: str) -> tuple[int, ...]:
    """Parse a version into numbers; return an empty tuple if the text is not a version."""
    numbers = [parse_int64(part) for part in text.removeprefix("v").partition("-")[0].split(".")]
    return tuple(number for number in numbers if number is not None) if None not in numbers else ()


# Checks of a cluster's leader elections, and of a scheduler configuration against them.

#: Identities are shortened to 80 characters.
_MOST_HOLDER: Final = 80
_SCHEDULER: Final = "scheduler"
_CONTROL_PLANE: Final = "kube-system"
_COMPONENT: Final = "component"
_HASH: Final = "pod-template-hash"


def settings_of(election: LeaderElection) -> ElectionSettings:
    """Return the election settings of a KubeSchedulerConfiguration; kube-scheduler releases the lease on exit."""
    return ElectionSettings(
        lease_duration=election.lease_duration.nanoseconds / 1e9,
        renew_deadline=election.renew_deadline.nanoseconds / 1e9,
        retry_period=election.retry_period.nanoseconds / 1e9,
    )


def check_elections(
    cluster: Cluster,
    found: Elections,
    settings: ElectionSettings = ElectionSettings(),  # noqa: B008
) -> Iterator[Finding]:
    """Yield the findings about the elections of a cluster."""
    for election in found.elections:
        yield from _state(election, settings)
        if cluster.not_listed.isdisjoint(("Node", "Pod")):
            yield from _holder(election)
        if election.ref.kind != "Lease":
            kind = election.ref.kind
            problem = f"the record is an annotation of {kind}, which current candidates neither read nor write"
            lease = found.find(election.ref.namespace, election.ref.name)
            if lease is None or not lease.led or not election.led:
                yield _about(election, problem, Severity.WARNING, "its candidates should use a Lease", rule="OldLock")
            elif lease.holder != election.holder:
                problem = (
                    f"{problem}: {election.holder} leads here, and {lease.holder} leads by the Lease of the same name"
                )
                yield _about(election, problem, Severity.ERROR, "stop the older candidates", rule="OldLock")
    yield from _without_lease(cluster, found)


def check_config(config: LeaderElection, found: Elections) -> Iterator[Finding]:
    """Yield the findings about a scheduler configuration that does not match the election that it names.

    Errors that kube-scheduler reports when it reads a configuration are reported when the configuration is loaded.
    """
    name = f"{config.resource_namespace}/{config.resource_name}"
    election = found.find(config.resource_namespace, config.resource_name)
    if not config.leader_elect:
        problem = "is false: this scheduler schedules pods even if another one leads"
        if election is not None and election.led:
            yield _of_config("leaderElect", f"{problem}, and {_who(election)} leads {name}", Severity.ERROR)
        else:
            yield _of_config("leaderElect", problem)
        return
    # kube-scheduler accepts the file, and exits with this error when it starts the election.
    refused = next(settings_of(config).problems(), None)
    if refused is not None:
        yield _of_config("", f"kube-scheduler exits with: {refused.problem}", Severity.ERROR)
    if election is None:
        others = [one.name for one in found.elections if one.ref.name == config.resource_name]
        hint = f"other Leases of this name: {listed(others)}" if others else ""
        yield _of_config(
            "resourceName", f"the cluster has no Lease {name}: no scheduler runs with these names", hint=hint
        )
        return
    wanted = settings_of(config).lease_duration_seconds
    if election.holder and election.lease_duration_seconds != wanted:
        problem = f"is {wanted} s in whole seconds, but the leader of {name} has {election.lease_duration_seconds} s"
        yield _of_config("leaseDuration", f"{problem}: it runs with another configuration")


def _of_config(field: str, problem: str, severity: Severity = Severity.WARNING, hint: str = "") -> Finding:
    path = f"leaderElection.{field}" if field else "leaderElection"
    return Finding(problem, path, hint, "--config", rule="LeaderElection", severity=severity)


def _about(election: Election, problem: str, severity: Severity, hint: str = "", rule: str = "Lease") -> Finding:
    return Finding(problem, "", hint, object=election.ref, rule=rule, severity=severity)


def _state(election: Election, settings: ElectionSettings) -> Iterator[Finding]:
    age, holder = election.renewed_ago or 0.0, _who(election)
    match election.state:
        case ElectionState.RELEASED:
            # Outside the control plane this is normal: components that run occasionally release their lease on exit.
            severity = Severity.ERROR if election.ref.namespace == _CONTROL_PLANE else Severity.INFO
            yield _about(election, "no leader: the last holder released the lease", severity)
        case ElectionState.NEVER_HELD:
            yield _about(election, "no leader: nobody has acquired the lease yet", Severity.INFO)
        case ElectionState.EXPIRED | ElectionState.OVERDUE:
            ended = time_span(age - election.lease_duration_seconds)
            problem = f"no leader: the lease of {holder} ended {ended} before the snapshot"
            overdue = election.state is ElectionState.OVERDUE
            hint = "no candidate is running: one would have acquired the lease by now" if overdue else ""
            if overdue and election.waiting:
                run = "runs, and has" if len(election.waiting) == 1 else "run, and have"
                hint = f"{listed(election.waiting, most=3)} {run} not acquired it"
            yield _about(election, problem, Severity.ERROR, hint)
        case ElectionState.LATE:
            period = retry_period(settings, election.lease_duration_seconds)
            problem = f"{holder} is late or dead: last renewed {time_span(age)} before the snapshot"
            hint = f"leaders renew about every {time_span(period)}: check that it runs and reaches the API server"
            if not election.gone:
                yield _about(election, problem, Severity.WARNING, hint)
        case ElectionState.CLOCK_AHEAD:
            problem = f"renewed {time_span(-age)} after the snapshot was taken: a clock is wrong"
            hint = "candidates measure the lease by their own clocks; only the ages shown here are unknown"
            yield _about(election, problem, Severity.WARNING, hint)


def _who(election: Election) -> str:
    return shortened(election.holder, _MOST_HOLDER)


def _holder(election: Election) -> Iterator[Finding]:
    if election.gone:
        problem = f"the holder {_who(election)} is gone and did not release the lease"
        hint = f"{listed(election.waiting)} can acquire it once it has expired" if election.waiting else ""
        yield _about(election, problem, Severity.WARNING, hint, rule="Holder")
    elif election.holder and not election.pod and not election.node:
        problem = f"the holder {_who(election)} is not a pod or node of the snapshot"
        yield _about(election, problem, Severity.WARNING, "it was deleted, or runs elsewhere", rule="Holder")


def _without_lease(cluster: Cluster, found: Elections) -> Iterator[Finding]:
    """Yield a finding per scheduler without a Lease of its name and without a pod that holds any Lease."""
    holders = {one.pod for one in found.elections} | {host_of(one.holder) for one in found.elections}
    groups: dict[tuple[str, str], list[Pod]] = {}
    for index, record in enumerate(cluster.pods.records):
        images = (
            container.image.partition("@")[0].rpartition("/")[2].partition(":")[0]
            for container in record.spec.containers
        )
        if _SCHEDULER in record.metadata.labels.get(_COMPONENT, "") or any(_SCHEDULER in image for image in images):
            pod = cluster.pods.pod(index)
            groups.setdefault((pod.namespace, _group(pod.metadata)), []).append(pod)
    for (namespace, name), pods in groups.items():
        if found.find(namespace, name) is not None or any({pod.key, pod.name} & holders for pod in pods):
            continue
        several = len(pods) > 1
        whose = f"{name} ({counted(len(pods), 'pod')}: {listed([pod.name for pod in pods])})"
        problem = f"no pod of {whose} holds a Lease" + (
            "; without an election all of them schedule pods" if several else ""
        )
        about = ObjectRef("Pod", pods[0].name, namespace)
        severity = Severity.WARNING if several else Severity.INFO
        yield Finding(problem, object=about, rule="NoElection", severity=severity)


def _group(pod: ObjectMeta) -> str:
    """Return the name of a pod's group: its ``component`` label or the workload that created the pod."""
    owner = pod.controller
    if owner is None or owner.kind == "Node":
        return pod.labels.get(_COMPONENT, pod.name)
    return owner.name.removesuffix(f"-{pod.labels.get(_HASH, '')}") if owner.kind == "ReplicaSet" else owner.name
