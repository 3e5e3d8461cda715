"""Cures for drains: the changes with which a node can be drained and its pods scheduled, each tried by draining on.

Trials begin in the state in which the drain stopped, as ``kubectl drain`` goes on retrying while the operator makes the
change. ``options`` answers for missing options of kubectl, ``blocked`` for evictions that budgets refuse, ``pending``
for pods that find no other node.
"""

import dataclasses
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.cluster.cluster import Cluster
from kschedctl.cluster.records import PENDING
from kschedctl.common.errors import KschedctlError
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.disruption import BudgetedPods, counted_budget, find_workload, is_unready, scale_of
from kschedctl.controllers.workloads.ownership import workload_of
from kschedctl.diagnosis.diagnosis import Situation
from kschedctl.diagnosis.evictions import BlockedEviction, blocked_evictions, replicas_to_evict, with_limit
from kschedctl.diagnosis.evidence.containers import state_words, stopped_containers
from kschedctl.diagnosis.evidence.origin import scaler_field, scaler_of
from kschedctl.diagnosis.new_nodes import nodes_like
from kschedctl.diagnosis.node_health import is_unhealthy, silent_node_advice
from kschedctl.diagnosis.rules.volumes import volume_places
from kschedctl.diagnosis.why.proof import Suggestion
from kschedctl.diagnosis.why.search import suggest
from kschedctl.diagnosis.why.template import commands_of
from kschedctl.objects.pod import Pod
from kschedctl.objects.workload import Deployment, PodDisruptionBudget, StatefulSet
from kschedctl.questions.answer_parts import CureData
from kschedctl.questions.drain.request import DrainRequest
from kschedctl.questions.drain.run import DrainRun, run_drain
from kschedctl.questions.handle import AnalysisHandle
from kschedctl.questions.run_results import PendingCauses, suggested_cure
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.remedy import ObjectDeletion, Patch
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.volumes.attach_once import attach_once_claims
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.drain import DAEMON_SET, LOCAL_STORAGE, UNMANAGED, DrainedNode, DrainOptions
from kschedctl.trials.simulate.rollout import restarted, roll_out
from kschedctl.trials.simulate.simulated_cluster import newly_pending_pods
from kschedctl.trials.simulate.world import is_recreated
from kschedctl.trials.whatif.effects import set_replicas
from kschedctl.trials.whatif.patches import make_changes

# Trials of changes: each is made in the state in which the drain stopped, and the drain goes on from there.

#: The most drains that are tried for the suggestions of an answer.
_MOST_TRIES: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class DrainChange:
    """A change to try."""

    #: The change in a few words, in the imperative.
    summary: str
    #: The commands that make it.
    commands: tuple[str, ...]
    #: Makes the change in a cluster; returns ``None`` if that is not possible.
    make: Callable[[Cluster], Cluster | None]
    #: A side effect, as a clause; empty for none.
    note: str = ""
    #: The pods that were pending before the drain, and that the scheduler places after the change.
    places: tuple[str, ...] = ()


class Trials:
    """The trials for one drain that stopped.

    Args:
        cluster: The cluster before the drain.
    """

    def __init__(self, cluster: LoadedCluster, request: DrainRequest, run: DrainRun) -> None:
        self.cluster = cluster
        self.run = run
        self.end = run.simulation.cluster
        self.left = [each.node for each in run.drained if not each.drained]
        self._request = request
        self._nodes = (*self.left, *run.nodes[len(run.drained) :])
        self._tries = 0

    def tried(self, end: Cluster, changes: Sequence[DrainChange], options: DrainOptions) -> DrainRun | None:
        """Make changes and drain on; return ``None`` if they cannot be made."""
        try:
            for change in changes:
                made = change.make(end)
                if made is None:
                    return None
                end = made
        except KschedctlError:
            return None
        return self.drained_on(end, options, [key for change in changes for key in change.places])

    def drained_on(self, cluster: Cluster, options: DrainOptions, places: Sequence[str] = ()) -> DrainRun | None:
        """Drain the remaining nodes in the state of a cluster; return ``None`` after too many trials.

        Args:
            places: The pods that the scheduler places before, as ``namespace/name``.
        """
        if self._tries >= _MOST_TRIES:
            return None
        self._tries += 1
        request = dataclasses.replace(
            self._request,
            **dataclasses.asdict(options),
            nodes=self._nodes,
            selector="",
            zone="",
            surge=0,
            place_pending_first=False,
        )
        return run_drain(
            self.cluster.moved(cluster),
            request,
            AnalysisHandle(),
            [*newly_pending_pods(self.run.before, cluster), *places],
        )


def cure(changes: Sequence[DrainChange], after: DrainRun, first: tuple[str, ...], before: DrainRun) -> CureData:
    """Return changes that help as data.

    Args:
        after: The drain that goes on after the changes.
        first: A summary and a command that come before the changes; empty for none.
    """
    notes = [change.note for change in changes if change.note]
    summaries = (*first[:1], *(change.summary for change in changes))
    commands = (*(command for change in changes for command in change.commands), *first[1:])
    return CureData(", and ".join(summaries), "; ".join((outcome(after, before), *notes)), commands)


def outcome(after: DrainRun, before: DrainRun | None = None) -> str:
    """Return the result of a drain that finishes, such as ``node-a is drained, 3 pods move``."""
    names = [each.node for each in after.drained]
    stopped = [each for each in before.drained if not each.drained] if before is not None else []
    text = f"{listed(names, most=3)} {'is' if len(names) == 1 else 'are'} drained, "
    text += evictions_in_words([*stopped, *after.drained])
    n_pending = len(newly_pending(after))
    if not n_pending:
        return text
    return f"{text}; {counted(n_pending, 'pod')} {'stays' if n_pending == 1 else 'stay'} pending"


def evictions_in_words(nodes: Sequence[DrainedNode]) -> str:
    """Return the number of pods that move, and of those that no controller recreates."""
    n_lost = len(lost_pods(nodes))
    n_moved = sum(len(each.evicted) for each in nodes) - n_lost
    parts = [f"{counted(n_moved, 'pod')} {'moves' if n_moved == 1 else 'move'}"] if n_moved else []
    if n_lost:
        lost = f"{counted(n_lost, 'pod')} {'is' if n_lost == 1 else 'are'} lost for good"
        parts.append(f"{lost}: no controller recreates {'it' if n_lost == 1 else 'them'}")
    return ", ".join(parts) or "no pod has to move"


def lost_pods(nodes: Sequence[DrainedNode]) -> list[Pod]:
    """Return the evicted pods that no controller recreates."""
    return [pod for each in nodes for pod in each.evicted if not is_recreated(pod)]


def is_drained(run: DrainRun) -> bool:
    """Report whether a drain finished for all of its nodes."""
    return all(each.drained for each in run.drained) and len(run.drained) == len(run.nodes)


def newly_pending(run: DrainRun) -> list[str]:
    """Return the pods that are pending after a drain and were not before it."""
    return newly_pending_pods(run.before, run.simulation.cluster)


# Changes that let a drain go on where a disruption budget refuses an eviction.
#
# Never proposed: to skip the budgets (``--disable-eviction``) and to delete pods by hand.

#: A workload is scaled to at most this multiple of its replicas; a larger one is no cure for a drain.
_MOST_TIMES: Final = 2


def scaled(cluster: LoadedCluster, end: Cluster, blocked: BlockedEviction) -> Iterator[DrainChange]:
    """Yield a larger number of replicas of a stateless workload.

    Replicas of a StatefulSet are members, often of a quorum, which one more member does not make safer. Replicas
    that share a disk cannot run on several nodes.
    """
    budget, pod = blocked.budgets[0], blocked.pods[0]
    found = BudgetedPods(end, budget)
    kind, namespace, name = key = workload_of(end, pod.metadata)
    if kind == StatefulSet.__name__:
        return
    scale, enough = scale_of(end, key), replicas_to_evict(found)
    if scale is None or enough is None or enough <= found.expected or next(attach_once_claims(end, pod), None):
        return
    wanted = scale + enough - found.expected
    if wanted > _MOST_TIMES * scale:
        return

    release = cluster.release_choice.release

    def make(before: Cluster) -> Cluster:
        larger, _ = set_replicas(before, kind, (namespace, name), wanted, release=release)
        return larger.with_added([counted_budget(larger, budget)])

    summary = f"scale {kind} {name} to {counted(wanted, 'replica')} for the time of the drain"
    command = f"kubectl scale {kind.lower()}/{name} -n {namespace} --replicas={wanted}"
    if (scaler := scaler_of(end, key)) is not None:
        # It would undo a change of the workload's own number.
        owner, maximum = scaler.metadata.controller, scaler.spec.max_replicas
        fields = scaler_field(scaler, "minReplicas" if maximum >= wanted else "minReplicas and maxReplicas")
        summary = f"set {fields}, which scales {kind} {name}, to {wanted} for the time of the drain"
        spec = {"minReplicas": wanted, **({"maxReplicas": wanted} if maximum < wanted else {})}
        patch = json.dumps({"spec": spec}, separators=(",", ":"))
        command = f"kubectl patch hpa {scaler.name} -n {namespace} --type=merge -p '{patch}'"
        if owner is not None:
            command = f"kubectl edit {owner.kind.lower()} -n {namespace} {owner.name}"
    yield DrainChange(summary=summary, commands=(command,), make=make)


def restart(trials: Trials, end: Cluster, blocked: BlockedEviction) -> Iterator[DrainChange]:
    """Yield a restart of the Deployment, whose surge pods avoid the cordoned node."""
    kind, namespace, name = key = workload_of(end, blocked.pods[0].metadata)
    workload = find_workload(end, key)
    if not isinstance(workload, Deployment):
        return

    def make(cluster: Cluster) -> Cluster | None:
        loaded = trials.cluster.moved(cluster)
        out = roll_out(
            loaded.scheduler, restarted(workload), admit=lambda pod: loaded.admit(pod).pod, where=workload.ref
        )
        return out.after if out.finished and out.lowest >= out.before else None

    cordoned = "the node is" if len(trials.left) == 1 else "the nodes are"
    yield DrainChange(
        summary=f"kubectl rollout restart of {kind} {name} while {cordoned} cordoned",
        commands=(
            f"kubectl cordon {' '.join(trials.left)}",
            f"kubectl rollout restart {kind.lower()}/{name} -n {namespace}",
        ),
        make=make,
        note="new pods are ready before old ones end",
    )


def one_may_go(end: Cluster, blocked: BlockedEviction) -> DrainChange:
    """Return the budget that allows one eviction at a time, with a number where the pods cannot be counted."""
    budget = blocked.budgets[0]
    found = BudgetedPods(end, budget)
    limit = found.limit or ("minAvailable", budget.status.desired_healthy)
    field, value = ("minAvailable", max(len(found.pods) - 1, 0)) if found.uncounted else ("maxUnavailable", 1)
    instead = f" instead of {limit[0]} {limit[1]}"
    other = "minAvailable" if field == "maxUnavailable" else "maxUnavailable"
    drop = f', "{other}": null' if limit[0] == other else ""
    owner = next(iter(budget.metadata.owner_references), None)
    down = "one pod at a time"
    if len(found.pods) == 1:
        kind, _, name = found.workloads[0]
        down = "nothing recreates it" if kind == "Pod" else f"{kind} {name} is down until its new pod is ready"
    summary = f"set {field}: {value} in budget {budget.namespace}/{budget.name}{instead}"
    command = f"kubectl patch pdb {budget.name} -n {budget.namespace} --type=merge "
    command += f'-p \'{{"spec": {{"{field}": {value}{drop}}}}}\''
    if owner is not None:
        # Its controller puts back what others change in the budget.
        summary = f"have {owner.kind} {owner.name} move {blocked.pods[0].key}, or allow one eviction: it owns budget "
        summary += f"{budget.name}, and puts back what others change there"
        command = f"kubectl edit {owner.kind.lower()} {owner.name} -n {budget.namespace}"
    return DrainChange(
        summary=summary,
        commands=(command,),
        make=lambda cluster: cluster.with_added([with_limit(cluster, _stored(cluster, budget), field, value)]),
        note=down if owner is None else "",
    )


def one_node_more(cluster: Cluster, model: str) -> DrainChange:
    """Return one more node like a drained one."""
    remedy = nodes_like(cluster, model, 1)
    changes = (*remedy.changes, *remedy.follows)
    return DrainChange(
        summary=remedy.summary,
        commands=(remedy.command,),
        make=lambda other: make_changes(other, Pod(), changes).cluster,
    )


def always_allow(blocked: BlockedEviction) -> DrainChange:
    """Return the budget with the policy that lets pods go that are not ready."""
    budget = blocked.budgets[0]

    def make(cluster: Cluster) -> Cluster:
        stored = _stored(cluster, budget)
        spec = replace(stored.spec, unhealthy_pod_eviction_policy="AlwaysAllow")
        return cluster.with_added([replace(stored, spec=spec)])

    return DrainChange(
        summary=f"set unhealthyPodEvictionPolicy: AlwaysAllow in budget {budget.namespace}/{budget.name}",
        commands=(
            f"kubectl patch pdb {budget.name} -n {budget.namespace} --type=merge "
            '-p \'{"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}\'',
        ),
        make=make,
        note="only pods that are not ready may go",
    )


def one_budget(end: Cluster, blocked: BlockedEviction) -> Iterator[DrainChange]:
    """Yield the deletion of each budget but one, the narrowest first."""
    ordered = sorted(blocked.budgets, key=lambda budget: (len(BudgetedPods(end, budget).pods), budget.name))
    for budget in ordered:
        others = listed([other.name for other in ordered if other is not budget])
        yield DrainChange(
            summary=f"leave {blocked.pods[0].key} to one budget: delete {budget.name} or narrow its selector",
            commands=(f"kubectl delete pdb {budget.name} -n {budget.namespace}",),
            make=lambda cluster, budget=budget: cluster.without([_stored(cluster, budget)]),  # type: ignore[misc]
            note=f"budget {others} still protects the pods",
        )


def _stored(cluster: Cluster, budget: PodDisruptionBudget) -> PodDisruptionBudget:
    """Return the budget as it is in a cluster now."""
    return cluster.get(PodDisruptionBudget, budget.name, budget.namespace) or budget


# Cures for the pods of drained nodes that find no other node.

#: The most suggestions to search for, and the number of them that are offered for a pod that finds no other node.
_MOST: Final = 5
_MOST_FOR_POD: Final = 3


def pending_cures(trials: Trials) -> Iterator[CureData]:
    """Yield cures for one pod of each cause for which pods stay pending."""
    causes = PendingCauses(trials.run.attempts)
    new = set(newly_pending(trials.run))
    done: set[str] = set()
    for key in causes.last:
        decision = causes.decision(key) if key in new else None
        if decision is None or decision.schedulable or causes.of(key) in done:
            continue
        done.add(causes.of(key))
        suggestions = list(suggestions_during_drain(trials, decision))
        if not suggestions:
            yield from after_the_drain(trials, decision)
        yield from map(suggested_cure, suggestions)


def after_the_drain(trials: Trials, decision: Decision) -> Iterator[CureData]:
    """Yield the end of the cordon for a pod whose volumes can only be used on drained nodes."""
    for place in volume_places(Situation(decision)):
        names = [decision.cluster.nodes.names[row] for row in np.flatnonzero(place.nodes).tolist()]
        if names and set(names) <= set(trials.run.nodes):
            yield CureData(
                f"uncordon {listed(names, most=3)} after the maintenance: volume {place.volume.name} is there",
                "",
                (f"kubectl uncordon {' '.join(names)}",),
                f"{decision.pod.key} stays pending until then",
            )
            return


def suggestions_during_drain(trials: Trials, decision: Decision) -> Iterator[Suggestion]:
    """Yield changes with which a pending pod is scheduled, without those that end the drain or evict pods."""
    nodes = trials.run.nodes

    def is_usable(each: Suggestion) -> bool:
        return (
            not each.evicts
            and max(remedy.risk for remedy in each.remedies) < Risk.EVICTION
            and not any(isinstance(c, Patch) and c.kind == "Node" and c.name in nodes for c in each.changes)
            and not any(isinstance(c, ObjectDeletion) for c in each.changes)
        )

    # A drained node may be the first of several that could be uncordoned.
    ways = (
        [way for way in (dataclasses.replace(each, others=()), *each.others) if is_usable(way)]
        for each in suggest(decision, _MOST).proven
    )
    return islice(
        (dataclasses.replace(first, others=tuple(rest)) for first, *rest in filter(None, ways)), _MOST_FOR_POD
    )


def as_change(suggestion: Suggestion) -> DrainChange:
    """Return the changes with which a pending pod is scheduled as one change."""
    pod = suggestion.before.pod

    def make(cluster: Cluster) -> Cluster:
        follows = [change for remedy in suggestion.remedies for change in remedy.follows]
        after = make_changes(cluster, pod, (*suggestion.changes, *follows))
        return after.cluster if after.pod is pod else after.cluster.with_pods(added=[after.pod])

    return DrainChange(
        summary=suggestion.summary,
        commands=commands_of(suggestion.before.cluster, suggestion.remedies),
        make=make,
        places=(pod.key,),
    )


# Cures for evictions that disruption budgets refuse: the changes with which the drain goes on, each tried.

#: The most suggestions of an answer.
MOST_CURES: Final = 5


def node_causes(run: DrainRun, node: DrainedNode) -> list[BlockedEviction]:
    """Return the reasons why pods of a node cannot be evicted."""
    return blocked_evictions(run.simulation.cluster, node.blocked, _pending_causes(run).of_pod)


def _pending_causes(run: DrainRun) -> PendingCauses:
    """Return the causes for which pods are pending, also those that were pending before the drain."""
    cluster = run.simulation.cluster

    def decide(key: str) -> Decision | None:
        namespace, _, name = key.partition("/")
        index = cluster.pods.index.get((namespace, name))
        if index is None or cluster.pods.node_row[index] != PENDING:
            return None
        decision = run.simulation.scheduler.decide(cluster.pods.pod(index))
        return None if decision.schedulable else decision

    return PendingCauses(run.attempts, decide)


def blocked_cures(
    trials: Trials, run: DrainRun, options: DrainOptions, first: tuple[str, ...] = ()
) -> Iterator[CureData]:
    """Yield the changes after which a drain is no longer blocked.

    Args:
        first: A summary and a command that come before the changes; empty for none.
    """
    yield from _BlockedCures(trials, run, options, first).search()


class _BlockedCures:
    """The search for changes after which a drain is no longer blocked; parameters are those of `blocked_cures`."""

    def __init__(self, trials: Trials, run: DrainRun, options: DrainOptions, first: tuple[str, ...]) -> None:
        self._trials = trials
        self._run = run
        self._end = run.simulation.cluster
        self._options = options
        self._first = first
        self._causes = _pending_causes(run)

    def search(self) -> Iterator[CureData]:
        """Yield the cures, the best first."""
        keys = [key for each in self._run.drained for key in each.blocked]
        blocked = blocked_evictions(self._end, keys, self._causes.of_pod)
        if len(blocked) == 1:
            cures = [*self._best([(change,) for change in self._changes(blocked[0])]), *_advice(self._end, blocked[0])]
            if not cures:
                decisions = filter(None, (self._causes.decision(pod.key) for pod in blocked[0].pending))
                cures = [each for decision in decisions for each in after_the_drain(self._trials, decision)]
            yield from cures[:MOST_CURES]
            return
        firsts = [self._first_helpful(each) for each in blocked]
        helpful = [change for change in firsts if change is not None]
        if len(helpful) == len(blocked):
            yield from self._best([tuple(helpful)])
        for one in blocked:
            yield from _advice(self._end, one)

    def _best(self, proposed: Sequence[tuple[DrainChange, ...]]) -> Iterator[CureData]:
        """Yield the changes after which no pod stays pending; else those with one node more, else the others."""
        drained = list(self._drained(proposed))
        clean = [(each, run) for each, run in drained if not newly_pending(run)]
        if not clean and proposed:
            node = one_node_more(self._end, self._trials.left[0])
            more = self._drained([(node, *each) for each in proposed])
            clean = [(each, run) for each, run in more if not newly_pending(run)]
        for each, run in clean or drained:
            yield cure(each, run, self._first, self._run)

    def _drained(
        self, proposed: Sequence[tuple[DrainChange, ...]]
    ) -> Iterator[tuple[tuple[DrainChange, ...], DrainRun]]:
        """Yield the changes after which the drain finishes, each with its drain."""
        for each in proposed:
            run = self._trials.tried(self._end, each, self._options)
            if run is not None and is_drained(run):
                yield each, run

    def _first_helpful(self, blocked: BlockedEviction) -> DrainChange | None:
        """Return the first change after which these pods are no longer blocked; others may be."""
        keys = {pod.key for pod in blocked.pods}
        for candidate in self._changes(blocked):
            trial = self._trials.tried(self._end, (candidate,), self._options)
            if trial is not None and not any(key in each.blocked for each in trial.drained for key in keys):
                return candidate
        return None

    def _changes(self, blocked: BlockedEviction) -> Iterator[DrainChange]:
        if len(blocked.budgets) != 1:
            yield from one_budget(self._end, blocked)
            return
        if blocked.never:
            yield from scaled(self._trials.cluster, self._end, blocked)
            yield from restart(self._trials, self._end, blocked)
        elif all(is_unready(pod) for pod in blocked.pods):
            yield always_allow(blocked)
            return
        for pod in blocked.pending[:1]:
            decision = self._causes.decision(pod.key)
            if decision is not None:
                yield from map(as_change, suggestions_during_drain(self._trials, decision))
        if blocked.never:
            yield one_may_go(self._end, blocked)


def _advice(cluster: Cluster, blocked: BlockedEviction) -> Iterator[CureData]:
    """Yield the cures that cannot be tried: pods that have to become ready, or to be gone."""
    yield from ending_cures(cluster, blocked.ending)
    if blocked.unhealthy:
        names = listed([pod.key for pod in blocked.unhealthy], most=3)
        pod: Pod = blocked.unhealthy[0]
        stopped = next((each for one in blocked.unhealthy for each in stopped_containers(one.status)), None)
        why = "the snapshot does not show why a container is not ready"
        if stopped is not None:
            why = f"the program has to run, and container {stopped.name} does not: {state_words(stopped)}"
        yield CureData(f"repair {names}", "", (f"kubectl describe pod {pod.name} -n {pod.namespace}",), why)


def ending_cures(cluster: Cluster, pods: Sequence[Pod]) -> Iterator[CureData]:
    """Yield the ways to get a pod to be gone whose deletion does not end, by the state of its node."""
    for pod in pods[:1]:
        names, node = listed([each.key for each in pods], most=3), pod.spec.node_name
        row = cluster.nodes.row.get(node)
        if row is not None and is_unhealthy(cluster.nodes.objects[row]):
            for each in silent_node_advice(node, f"get {node} back, so that its kubelet ends {names}"):
                yield CureData(each.summary, "", (each.command,), each.untried)
        else:
            does = "does" if len(pods) == 1 else "do"
            yield CureData(
                f"find out why {names} {does} not end{f' on {node}' if node else ''}: a finalizer, or the kubelet",
                "",
                (f"kubectl get pod -n {pod.namespace} {pod.name} -o jsonpath='{{.metadata.finalizers}}'",),
                "the controller that set a finalizer takes it off, and the kubelet ends the containers",
            )


# Options of ``kubectl drain`` that are missing: why no pod of a node is evicted, and the drain with them.

#: The options by the refusals that they lift.
_OPTIONS: Final = {DAEMON_SET: "--ignore-daemonsets", LOCAL_STORAGE: "--delete-emptydir-data", UNMANAGED: "--force"}
_FIELDS: Final = {DAEMON_SET: "ignore_daemonsets", LOCAL_STORAGE: "delete_emptydir_data", UNMANAGED: "force"}


def refusal_cause(message: str, pods: Sequence[str]) -> str:
    """Return the reason why ``kubectl drain`` evicts no pod of a node, as one clause."""
    names = listed(list(pods), most=3)
    one = len(pods) == 1
    if message == DAEMON_SET:
        verb = "belongs to a DaemonSet" if one else "belong to DaemonSets"
        told = "stays on the node" if one else "stay on the node"
        return f"{names} {verb} and {told}, which kubectl drain accepts only with --ignore-daemonsets"
    if message == LOCAL_STORAGE:
        verb = "has an emptyDir" if one else "have emptyDir volumes"
        return f"{names} {verb}: the data would be lost, which kubectl drain accepts only with --delete-emptydir-data"
    if message == UNMANAGED:
        verb = "has no controller that would recreate it" if one else "have no controllers that would recreate them"
        return f"{names} {verb} on another node"
    return message


def option_cures(trials: Trials, options: DrainOptions) -> Iterator[CureData]:
    """Yield the drain with the missing options; if that is blocked, the changes with which it is not.

    ``--force`` comes last: its pods are lost.
    """
    drained = trials.run.drained
    missing = dict.fromkeys(message for each in drained for message in each.refusals)
    told = [message for message in _OPTIONS if message in missing]
    had = [flag for message, flag in _OPTIONS.items() if getattr(options, _FIELDS[message])]
    for message in told:
        options = dataclasses.replace(options, **{_FIELDS[message]: True})
    forced = UNMANAGED in told
    if forced:
        yield own_controller([pod for each in drained for pod in each.refusals.get(UNMANAGED, ())])
    flags = " ".join(_OPTIONS[message] for message in told)
    after = trials.drained_on(trials.end, options)
    if after is None:
        return
    command = f"kubectl drain {' '.join(trials.left)} {' '.join([*had, flags])}"
    if all(each.drained for each in after.drained):
        yield CureData(f"drain with {flags}", outcome(after), (command,))
    elif not forced:
        yield from blocked_cures(trials, after, options, (f"drain with {flags}", command))


def own_controller(pods: Sequence[str]) -> CureData:
    """Return the advice to put pods under a controller."""
    names = listed(list(pods), most=3)
    return CureData(
        f"put {names} under a controller, such as a Deployment, which recreates it on another node",
        "",
        (f"# create a workload with the spec of {names}",),
        "a bare pod is lost with its node; only its owner knows how to start it elsewhere",
    )


def drain_cures(cluster: LoadedCluster, request: DrainRequest, run: DrainRun) -> tuple[CureData, ...]:
    """Return the changes with which the nodes can be drained without the loss of pods, and the pods be scheduled."""
    if not run.finished:
        return ()
    trials = Trials(cluster, request, run)
    return tuple(islice(_cures(trials, request), MOST_CURES))


def _cures(trials: Trials, request: DrainRequest) -> Iterator[CureData]:
    """Yield the cures, the best first."""
    lost = lost_pods(trials.run.drained)
    if lost:
        yield own_controller([pod.key for pod in lost])
    if any(each.refusals for each in trials.run.drained):
        yield from option_cures(trials, request.flags)
    elif trials.left:
        stuck = {key for each in trials.run.drained for key in each.stuck}
        yield from ending_cures(
            trials.run.before, [pod for each in trials.run.drained for pod in each.ending if pod.key in stuck]
        )
        if any(each.blocked for each in trials.run.drained):
            yield from blocked_cures(trials, trials.run, request.flags)
    else:
        yield from pending_cures(trials)
