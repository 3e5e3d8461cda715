"""``capacity``: the number of further copies of a pod that fit, one after another, and what stops the next one."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

import msgspec
import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.pod_groups import group_members
from kschedctl.cluster.records import PENDING
from kschedctl.common.errors import KschedctlError
from kschedctl.common.wording import counted
from kschedctl.controllers.workloads.ownership import MAKERS, SCALABLE, pods_made_by, workload_of
from kschedctl.controllers.workloads.pods import another
from kschedctl.controllers.workloads.template import MadePod, check_number
from kschedctl.objects.kinds import kind_by_name
from kschedctl.objects.pod import Pod, PodStatus
from kschedctl.objects.pod_group import PodGroup
from kschedctl.objects.workload import Job
from kschedctl.questions.capacity.answer import (
    DomainCopiesData,
    GangCopiesData,
    MoreCopiesData,
    NodeCopiesData,
    PodCapacity,
    ZoneCopiesData,
)
from kschedctl.questions.capacity.request import CapacityRequest
from kschedctl.questions.explain.analysis import suggestion_data
from kschedctl.questions.explain.explanation import Explained
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.pod_groups import pod_group_data
from kschedctl.questions.provenance import PodSubject, Provenance, provenance
from kschedctl.scheduler.cycle.outcome import Outcome
from kschedctl.scheduler.cycle.pod_group_decision import group_of
from kschedctl.scheduler.cycle.scheduler import Scheduler
from kschedctl.scheduler.framework.pod_groups import PodGroupInfo, not_modelled_in
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.capacity import CopyCount, Gang, GangCount, gang_capacity
from kschedctl.trials.simulate.capacity import capacity as count_copies
from kschedctl.trials.whatif.patches import make_changes

if TYPE_CHECKING:
    from kschedctl.diagnosis.why.proof import Suggestion

# The part of ``capacity`` that counts whole pod groups: the pods of one copy, and the answer.


def group_to_copy(cluster: LoadedCluster, pod: Pod) -> PodGroup | None:
    """Return the PodGroup with which a pod is scheduled; ``None`` if it is scheduled by itself, or there is none."""
    if cluster.scheduler.release.pod_groups is None or not pod.spec.pod_group_name:
        return None
    return cluster.cluster.get(PodGroup, pod.spec.pod_group_name, pod.namespace)


def gang_copies(
    cluster: LoadedCluster, group: PodGroup, asked: Sequence[PodSubject], most: int | None
) -> tuple[GangCount, GangCopiesData]:
    """Count the further copies of a group that fit whole, and describe one copy.

    Args:
        asked: The pods of the request that name the group, one per workload.
    """
    gang = Gang(group, tuple(_members(cluster, group, asked)))
    found = gang_capacity(cluster.scheduler, gang, most)
    info, notes = PodGroupInfo(group.namespace, group.name, group, ()), found.next.state.not_modelled
    notes += [note for note in not_modelled_in(info, cluster.scheduler.release, alone=True) if note not in notes]
    following = group_of(found.next)
    return found, GangCopiesData(
        namespace=group.namespace,
        name=group.name,
        asked=asked[0].pod.key,
        pods=len(gang.members),
        min_count=group.spec.min_count,
        domains=tuple(DomainCopiesData(name, copies) for name, copies in found.domains.items()),
        next=pod_group_data(following) if following is not None else None,
    )


def _members(cluster: LoadedCluster, group: PodGroup, asked: Sequence[PodSubject]) -> Iterator[Pod]:
    """Yield the pods of one copy; raise ``ManifestError`` if they are more than 10,000.

    These are the requested pods, with all replicas of their workloads. If they include a pod of the cluster, or are
    fewer than ``minCount``, the other pods of the group in the cluster are part of the copy as well.
    """
    n_asked = 0
    for one in asked:
        pod = cluster.admit(one.pod, where=one.where).pod
        replicas = one.workload.replicas if one.workload is not None else 1
        n_asked += max(replicas, 1)
        check_number(n_asked, one.where)
        yield from (_as_new(pod, f"-{number + 1}" if replicas > 1 else "") for number in range(max(replicas, 1)))
    pods = cluster.pods
    keys = {one.pod.key for one in asked}
    makers = {(one.workload.kind, one.workload.name) for one in asked if one.workload is not None}
    members = [pods.pod(index) for index in group_members(cluster.cluster, group.namespace, group.name).tolist()]
    if n_asked >= (group.spec.min_count or 0) and not any(pod.key in keys for pod in members):
        return
    for pod in members:
        kind, _, name = workload_of(cluster.cluster, pod.metadata)
        if pod.key not in keys and (kind, name) not in makers:
            yield _as_new(cluster.admit(pod).pod)


def _as_new(pod: Pod, suffix: str = "") -> Pod:
    metadata = replace(pod.metadata, name=f"{pod.metadata.name}{suffix}", uid="")
    return replace(pod, metadata=metadata, spec=replace(pod.spec, node_name=""), status=PodStatus())


def capacity(cluster: LoadedCluster, request: CapacityRequest, handle: AnalysisHandle) -> tuple[PodCapacity, ...]:
    """Count the further copies of each pod that fit, one after another, without any eviction."""
    cluster.require_nodes()
    units: dict[tuple[str, str], list[PodSubject]] = {}
    for one in request.copied:
        group = group_to_copy(cluster, one.pod)
        units.setdefault((group.key, "") if group is not None else ("", one.key), []).append(one)
    suggest = request.suggest if request.suggest is not None or len(units) == 1 else 0
    return tuple(
        _capacity(cluster, unit, request.max, suggest) for unit in handle.track(units.values(), "filling the cluster")
    )


def _capacity(cluster: LoadedCluster, unit: list[PodSubject], most: int | None, suggest: int | None) -> PodCapacity:
    one = unit[0]
    pods = [cluster.find(each.pod, where=each.where) for each in unit]
    missing = (each for pod in pods for each in cluster.missing_for(pod, preempts=False, is_scored=True))
    group = group_to_copy(cluster, one.pod)
    rests_on = provenance(cluster, dict.fromkeys(missing), pod=one.pod)
    if group is not None:
        copies, gang = gang_copies(cluster, group, unit, most)
        return capacity_answer(gang.title, copies, rests_on, gang)
    pod = cluster.admit(one.pod, where=one.where).pod
    pod = replace(pod, spec=replace(pod.spec, node_name=""))
    scheduler, name, due = cluster.scheduler, f"pod {pod.key}", 0
    if one.workload is not None:
        name = f"{one.workload.kind} {one.workload.namespace}/{one.workload.name}"
    if one.workload is not None and not one.where:
        # The first copies are the pods that the workload has no node for, so these take no place beside the copies.
        kind = kind_by_name(one.workload.kind)
        due = one.workload.missing if kind in (*SCALABLE, Job) else 0
        key = one.workload.namespace, one.workload.name
        own = pods_made_by(cluster.cluster, kind, *key) if kind in MAKERS else []
        pending = [index for index in own if cluster.pods.node_row[index] == PENDING]
        scheduler = scheduler.moved(cluster.cluster.with_pods(removed=pending)) if pending else scheduler

    def copy(number: int) -> MadePod:
        # No pod of the cluster can have such a name.
        return another(pod, f"{pod.name}+{number + 1}", cluster.cluster)

    found = count_copies(scheduler, copy, most)
    answer = capacity_answer(name, found, rests_on, due=due)
    if answer.diagnoses and (suggest is not None or found.total <= _MOST_COPIES):
        return replace(answer, suggestions=tuple(_suggestions(scheduler, pod, found, suggest)))
    return answer


#: Suggestions are searched for without being asked for if at most 500 copies fit.
_MOST_COPIES: Final = 500
#: With a suggestion, at most 100 copies more than without are counted.
_MOST_MORE: Final = 100


def _suggestions(scheduler: Scheduler, pod: Pod, found: CopyCount, most: int | None) -> Iterator[MoreCopiesData]:
    """Yield the changes with which more copies fit, each with their number; pods are not evicted for copies.

    Args:
        scheduler: The scheduler over the cluster without copies.
        pod: The pod that is copied.
    """
    from kschedctl.diagnosis.why.search import DEFAULT_MOST, suggest

    pods = found.next.cluster.pods
    kept = {pods.key(index) for index in pods.assigned.tolist()}
    searched = suggest(found.next, DEFAULT_MOST if most is None else most, kept=kept, rollouts=False)
    for each in searched.proven:
        if each.evicts:
            continue
        after = _count_with(scheduler, pod, found, each)
        if after is not None and after.total > found.total:
            told = msgspec.to_builtins(suggestion_data(each))
            told["changes"] = [one for one in told["changes"] if _is_there(scheduler, found, one)]
            text = msgspec.json.encode({**told, "copies": after.total, "bounded": after.bounded})
            # The changes are those of the pod, not of its next copy.
            text = text.replace(found.next.pod.name.encode(), pod.name.encode())
            yield msgspec.json.decode(text, type=MoreCopiesData)


def _is_there(scheduler: Scheduler, found: CopyCount, change: Mapping[str, Any]) -> bool:
    """Report whether the object of a change exists without the copies, or is the next copy."""
    name = change.get("name", "")
    if change.get("kind") != Pod.__name__ or name == found.next.pod.name:
        return True
    return (change.get("namespace", ""), name) in scheduler.cluster.pods.index


def _count_with(scheduler: Scheduler, pod: Pod, found: CopyCount, suggestion: "Suggestion") -> CopyCount | None:
    """Count the copies again after a suggestion for the next copy; return ``None`` if its changes cannot be made."""
    cluster, own = scheduler.cluster, found.next.pod.name
    made = [each for remedy in suggestion.remedies for each in (*remedy.changes, *remedy.follows)]
    changes = [each for each in made if _is_there(scheduler, found, msgspec.to_builtins(each))]
    try:
        after = make_changes(cluster, replace(pod, metadata=replace(pod.metadata, name=own)), changes)
        changed = replace(after.pod, metadata=replace(after.pod.metadata, name=pod.name))
        return count_copies(
            scheduler.moved(after.cluster),
            lambda number: another(changed, f"{pod.name}+{number + 1}", after.cluster),
            found.total + _MOST_MORE,
        )
    except KschedctlError:
        return None


def capacity_answer(
    name: str, found: CopyCount | GangCount, rests_on: Provenance, gang: GangCopiesData | None = None, due: int = 0
) -> PodCapacity:
    """Return the answer for one pod or pod group.

    Args:
        name: The pod, workload or group that is copied, with its kind.
        gang: The group that is copied; by default a single pod is.
        due: The number of copies that the workload is to have already: its pods without a node, and those not yet
            created.
    """
    decision = found.next
    told = Explained(decision, rests_on)
    nodes = decision.cluster.nodes
    order = np.lexsort((np.array(nodes.names), -found.counts)).tolist()
    copies = tuple(
        NodeCopiesData(nodes.names[row], nodes.zones[row], int(found.counts[row])) for row in order if found.counts[row]
    )
    kind, size = (gang.kind, f" of {counted(gang.pods, 'pod')}") if gang is not None else ("pod", "")
    if not found.total:
        summary = f"{name}: no more {kind}s{size} fit{_due(due, 0)}"
    else:
        verb = "fits" if found.total == 1 else "fit"
        least = "at least " if found.bounded else ""
        text = f"{name}: {least}{counted(found.total, f'more {kind}')}{size} {verb}, on {counted(len(copies), 'node')}"
        summary = f"{text}{_due(due, found.total)}"
    return PodCapacity(
        **told.envelope,
        summary=summary,
        name=name,
        pod=told.pod,
        copies=found.total,
        bounded=found.bounded,
        nodes=copies,
        zones=tuple(
            ZoneCopiesData(zone, len(own), sum(node.copies for node in own))
            for zone in sorted(set(nodes.zones))
            for own in ([node for node in copies if node.zone == zone],)
        ),
        message=decision.error or decision.event_message,
        # The next copy has a name that no object has.
        gate="" if found.total else re.sub(r"\+[0-9]+(?= )", "", decision.pre_enqueue.message),
        refusals=tuple(node for node in told.nodes if not node.fits),
        diagnoses=told.diagnoses if gang is None and decision.outcome is Outcome.UNSCHEDULABLE else (),
        gang=gang,
    )


def _due(number: int, n_fit: int) -> str:
    """Return the clause about the pods that the workload is to have already; empty if there are none."""
    if not number:
        return ""
    verb = "is" if number == 1 else "are"
    if not n_fit:
        return f"; {number} of its pods {verb} without a node"
    first = "first" if min(number, n_fit) == 1 else f"first {min(number, n_fit)}"
    return f", the {first} for {counted(number, 'pod')} that it lacks"
