"""Pod groups in the question for the solver: a group is placed with ``minCount`` members or not at all.

Members that are placed share one domain of the group's topology constraint, also with the members on nodes. A group
that preemption evicts as a whole stays or leaves as a whole.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.labels import LabelColumn
from kschedctl.cluster.pod_groups import group_members, pod_group_of, scheduled_members
from kschedctl.objects.pod import Pod
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.releases.release import Release
from kschedctl.scheduler.cycle.group_decisions import pending_members
from kschedctl.scheduler.cycle.pod_group_checks import members_problem
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.cycle_state import NotModelled
from kschedctl.scheduler.framework.pod_groups import PodGroupInfo, not_modelled_in
from kschedctl.trials.optimum.kinds import Kind, Occupants, Placement


@dataclass(frozen=True, slots=True, kw_only=True)
class Gang:
    """A pod group with members to place or to evict."""

    #: The group's ``namespace/name``.
    key: str
    #: The kinds of its members to place.
    kinds: tuple[int, ...]
    #: The groups of occupants that are members.
    occupants: tuple[int, ...]
    #: The number of other members on nodes.
    staying: int
    #: The number of members with a node without which none is placed; 1 for the basic policy.
    min_count: int
    #: The label of the topology constraint; ``None`` without one.
    column: LabelColumn | None = None
    #: The domain of the members that stay; -1 if there are none.
    domain: int = -1
    #: True if preemption evicts all members or none.
    leaves_whole: bool = False

    def is_kept(self, placement: Placement, occupants: tuple[Occupants, ...]) -> bool:
        """Report whether a placement has enough members of the group with a node, in one domain, or places none."""
        rows = [row for (k, row), n in placement.placed.items() if n and k in self.kinds]
        if not rows:
            return True
        there = {o: len(occupants[o].pods) - placement.leaving.get(o, 0) for o in self.occupants}
        n_placed = sum(n for (k, _), n in placement.placed.items() if k in self.kinds)
        if n_placed + sum(there.values()) + self.staying < self.min_count:
            return False
        if self.column is None:
            return True
        rows += [occupants[o].row for o, n in there.items() if n]
        domains = {int(self.column.codes[row]) for row in rows} | ({self.domain} if self.domain >= 0 else set())
        return len(domains) == 1 and -1 not in domains


def whole_groups_only(scheduler: Scheduler, leaving: Iterable[int]) -> list[int]:
    """Return the pods that may be evicted without those of a group that is evicted as a whole and has to stay in part.

    Args:
        leaving: The pods that may be evicted, as indices into ``Cluster.pods``.
    """
    cluster, every = scheduler.cluster, list(leaving)
    if not scheduler.release.groups_preempt:
        return every
    may, staying = set(every), set[int]()
    groups = {group.key: group for index in every if (group := pod_group_of(cluster, index)) is not None}
    for group in groups.values():
        members = group_members(cluster, group.namespace, group.name)
        on_nodes = members[cluster.pods.node_row[members] >= 0].tolist()
        if group.spec.disrupts_all and not may.issuperset(on_nodes):
            staying.update(on_nodes)
    return [index for index in every if index not in staying]


def gangs_of(
    scheduler: Scheduler, emptied: Cluster, kinds: Iterable[Kind], occupants: Iterable[Occupants], *, preempts: bool
) -> tuple[Gang, ...]:
    """Return the groups of a question, by namespace and name.

    Args:
        scheduler: The scheduler over the initial cluster.
        emptied: The cluster without occupants.
        preempts: True if occupants leave by preemption.
    """
    if scheduler.release.pod_groups is None:
        return ()
    cluster = scheduler.cluster
    numbers: Mapping[tuple[str, str], tuple[list[int], list[int]]] = defaultdict(lambda: ([], []))
    for number, kind in enumerate(kinds):
        if kind.sample.spec.pod_group_name:
            numbers[kind.sample.namespace, kind.sample.spec.pod_group_name][0].append(number)
    for number, some in enumerate(occupants):
        record = cluster.pods.records[some.pods[0]]
        if record.spec.pod_group_name:
            numbers[record.metadata.namespace, record.spec.pod_group_name][1].append(number)
    out = []
    for (namespace, name), (own, leaving) in sorted(numbers.items()):
        group = cluster.get(PodGroup, name, namespace)
        info = PodGroupInfo(namespace, name, group, ())
        key = info.topology_key if scheduler.release.places_groups else ""
        column = emptied.nodes.labels[key] if key else None
        rows = emptied.pods.node_row[scheduled_members(emptied, namespace, name)]
        out.append(
            Gang(
                key=info.key,
                kinds=tuple(own),
                occupants=tuple(leaving),
                staying=len(rows),
                min_count=info.min_count if scheduler.release.gangs else 1,
                column=column,
                domain=int(column.codes[rows[0]]) if column is not None and len(rows) else -1,
                leaves_whole=preempts and scheduler.release.groups_preempt and bool(group and group.spec.disrupts_all),
            )
        )
    return tuple(out)


def notes_of(cluster: Cluster, release: Release, gangs: Iterable[Gang]) -> tuple[NotModelled, ...]:
    """Return what is not modelled of groups."""
    names = (gang.key.partition("/") for gang in gangs)
    infos = (PodGroupInfo.of(cluster, namespace, name) for namespace, _, name in names)
    return tuple(dict.fromkeys(note for info in infos for note in not_modelled_in(info, release, alone=True)))


def held_groups(scheduler: Scheduler, held: Iterable[str]) -> set[tuple[str, str]]:
    """Return the groups that are not tried because some of their pods are held back, by namespace and name.

    Args:
        held: The pods that PreEnqueue holds back, as ``namespace/name``.
    """
    rules = scheduler.release.pod_groups
    if rules is None or not rules.queues_groups:
        return set()
    pods = scheduler.cluster.pods
    records = (pods.records[pods.index[namespace, name]] for namespace, _, name in (key.partition("/") for key in held))
    return {(each.metadata.namespace, each.spec.pod_group_name) for each in records if each.spec.pod_group_name}


def refused_groups(scheduler: Scheduler, pods: Iterable[Pod]) -> set[tuple[str, str]]:
    """Return the groups of pods at which every attempt ends with an error, as the members do not agree."""
    if scheduler.release.pod_groups is None:
        return set()
    firsts = {(pod.namespace, pod.spec.pod_group_name): pod for pod in pods if pod.spec.pod_group_name}
    return {key for key, pod in firsts.items() if _is_refused(scheduler, pod)}


def _is_refused(scheduler: Scheduler, pod: Pod) -> bool:
    members = pending_members(scheduler.framework(pod.spec.scheduler_name), pod)
    first = members[0].spec
    info = PodGroupInfo.of(scheduler.cluster, pod.namespace, first.pod_group_name, members)
    return bool(members_problem(scheduler.framework(first.scheduler_name), info))
