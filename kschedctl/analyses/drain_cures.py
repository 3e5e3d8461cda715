"""Cures for drains: why a node cannot be drained, and the changes with which it can, each tried by draining again.

Trials begin in the state in which the drain stopped, as ``kubectl drain`` goes on retrying while the operator makes the
change. Never proposed: to skip the budgets (``--disable-eviction``) and to delete pods by hand. ``--force`` comes last.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from typing import Final

import numpy as np
from msgspec.structs import replace

from kschedctl.analyses.drain_run import DrainRequest, DrainRun, run_drain
from kschedctl.analyses.handle import AnalysisHandle
from kschedctl.analyses.pending_causes import PendingCauses
from kschedctl.analyses.pod_cures import suggested_cure
from kschedctl.answers.cures import CureData
from kschedctl.api.pod import Pod
from kschedctl.api.wording import counted, listed
from kschedctl.api.workload import Deployment, PodDisruptionBudget, StatefulSet
from kschedctl.cluster.cluster import Cluster
from kschedctl.diagnosis.evictions import BlockedEviction, blocked_evictions, replicas_to_evict, with_limit
from kschedctl.diagnosis.new_nodes import nodes_like
from kschedctl.diagnosis.situation import Situation
from kschedctl.diagnosis.volume_places import volume_places
from kschedctl.errors import KschedctlError
from kschedctl.framework.remedy import ObjectDeletion, Patch, Risk
from kschedctl.loaded_cluster import LoadedCluster
from kschedctl.scheduler.decision import Decision
from kschedctl.simulate.budgeted_pods import BudgetedPods, find_workload, scale_of
from kschedctl.simulate.disruption import counted_budget, is_unready
from kschedctl.simulate.drain import DAEMON_SET, LOCAL_STORAGE, UNMANAGED, DrainedNode, DrainOptions
from kschedctl.simulate.rollout import restarted, roll_out
from kschedctl.volumes.attach_once import attach_once_claims
from kschedctl.whatif.edits.set_replicas.effect import set_replicas
from kschedctl.whatif.patches import make_changes
from kschedctl.why.commands import commands_of
from kschedctl.why.proof import Suggestion
from kschedctl.why.search import suggest
from kschedctl.workloads.ownership import workload_of

#: The most suggestions of an answer, and the most drains that are tried for them.
_MOST: Final = 5
_MOST_TRIES: Final = 16
#: The number of suggestions for a pod that finds no other node.
_MOST_FOR_POD: Final = 3
#: A workload is scaled to at most this multiple of its replicas; a larger one is no cure for a drain.
_MOST_TIMES: Final = 2
#: The options by the refusals that they lift.
_OPTIONS: Final = {
    DAEMON_SET: "--ignore-daemonsets",
    LOCAL_STORAGE: "--delete-emptydir-data",
    UNMANAGED: "--force",
}
_FIELDS: Final = {
    DAEMON_SET: "ignore_daemon_sets",
    LOCAL_STORAGE: "delete_empty_dir_data",
    UNMANAGED: "force",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A change to try.

    Attributes
    ----------
    summary : str
        The change in a few words, in the imperative.
    commands : tuple of str
        The commands that make it.
    make : callable
        Makes the change in a cluster; returns ``None`` if that is not possible.
    note : str
        A side effect, as a clause; empty for none.
    """

    summary: str
    commands: tuple[str, ...]
    make: Callable[[Cluster], Cluster | None]
    note: str = ""


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


def node_causes(run: DrainRun, node: DrainedNode) -> list[BlockedEviction]:
    """Return the reasons why pods of a node cannot be evicted."""
    causes = PendingCauses(run.attempts)
    return blocked_evictions(run.simulation.cluster, node.blocked, causes.of_pod)


def drain_cures(cluster: LoadedCluster, request: DrainRequest, run: DrainRun) -> tuple[CureData, ...]:
    """Return the changes with which the nodes that could not be drained can be, and the pods be scheduled."""
    if not run.finished:
        return ()
    return tuple(islice(_DrainCures(cluster, request, run).search(), _MOST))


class _DrainCures:
    """The search for cures of one drain."""

    def __init__(self, cluster: LoadedCluster, request: DrainRequest, run: DrainRun) -> None:
        self._cluster = cluster
        self._request = request
        self._run = run
        self._end = run.simulation.cluster
        self._left = [each.node for each in run.drained if not each.drained]
        self._not_tried = run.nodes[len(run.drained) :]
        self._tries = 0

    def search(self) -> Iterator[CureData]:
        """Yield the cures, the first ones first."""
        missing = dict.fromkeys(message for each in self._run.drained for message in each.refusals)
        if missing:
            yield from self._with_options(list(missing))
        elif self._left:
            yield from self._of_blocked(self._run, self._request.options, ())
        else:
            yield from self._of_pending()

    # Options of kubectl drain that are missing.

    def _with_options(self, missing: list[str]) -> Iterator[CureData]:
        told = [message for message in _OPTIONS if message in missing]
        options = self._request.options
        for message in told:
            options = _with_option(options, message)
        forced = UNMANAGED in told
        if forced:
            pods = [pod for each in self._run.drained for pod in each.refusals.get(UNMANAGED, ())]
            names = listed(pods, most=3)
            yield CureData(
                f"put {names} under a controller, such as a Deployment, which recreates it on another node",
                "",
                (f"# create a workload with the spec of {names}",),
                "a bare pod is lost with its node; only its owner knows how to start it elsewhere",
            )
        flags = " ".join(_OPTIONS[message] for message in told)
        after = self._drain(self._end, options)
        nodes = " ".join(self._left)
        if after is None:
            return
        command = f"kubectl drain {nodes} {' '.join([*_flags(self._request.options), flags])}"
        if all(each.drained for each in after.drained):
            lost = "; the pods without a controller are lost" if forced else ""
            yield CureData(f"drain with {flags}", f"{_outcome(after)}{lost}", (command,))
        elif not forced:
            yield from self._of_blocked(after, options, (f"drain with {flags}", command))

    # Budgets.

    def _of_blocked(self, run: DrainRun, options: DrainOptions, first: tuple[str, ...]) -> Iterator[CureData]:
        """Yield the changes after which a drain is no longer blocked.

        Parameters
        ----------
        run : DrainRun
            The drain that is blocked.
        options : DrainOptions
            The options of that drain.
        first : tuple of str
            A summary and a command that come before the changes; empty for none.
        """
        end = run.simulation.cluster
        causes = PendingCauses(run.attempts)
        moved = sum(len(each.evicted) for each in run.drained if not each.drained)
        keys = [key for each in run.drained for key in each.blocked]
        blocked = blocked_evictions(end, keys, causes.of_pod)
        if len(blocked) == 1:
            changes = list(self._changes(end, blocked[0], causes))
            cures = [*self._best(end, [(change,) for change in changes], options, first, moved), *_advice(blocked[0])]
            if not cures:
                found = (causes.decisions.get(pod.key) for pod in blocked[0].pending)
                cures += [
                    cure for decision in found if decision is not None for cure in self._after_the_drain(decision)
                ]
            yield from cures[:_MOST]
            return
        firsts = [self._first_helpful(end, each, causes, options) for each in blocked]
        helpful = [change for change in firsts if change is not None]
        if len(helpful) == len(blocked):
            yield from self._best(end, [tuple(helpful)], options, first, moved)
        for one in blocked:
            yield from _advice(one)

    def _best(
        self,
        end: Cluster,
        proposed: Sequence[tuple[_Change, ...]],
        options: DrainOptions,
        first: tuple[str, ...],
        moved: int,
    ) -> Iterator[CureData]:
        """Yield the changes after which no pod stays pending; else those with one node more, else the others."""
        tried = [(changes, self._tried(end, changes, options)) for changes in proposed]
        drained = [(changes, run) for changes, run in tried if run is not None and _is_drained(run)]
        clean = [(changes, run) for changes, run in drained if not _newly_pending(run)]
        if not clean and proposed:
            node = _one_node_more(end, self._left[0])
            more = ((node, *changes) for changes in proposed)
            again = [(changes, self._tried(end, changes, options)) for changes in more]
            clean = [(c, run) for c, run in again if run is not None and _is_drained(run) and not _newly_pending(run)]
        for changes, run in clean or drained:
            yield _cure(changes, run, first, moved)

    def _first_helpful(
        self, end: Cluster, blocked: BlockedEviction, causes: PendingCauses, options: DrainOptions
    ) -> _Change | None:
        """Return the first change after which these pods are no longer blocked; others may be."""
        keys = {pod.key for pod in blocked.pods}
        for candidate in self._changes(end, blocked, causes):
            trial = self._tried(end, (candidate,), options)
            if trial is not None and not any(key in each.blocked for each in trial.drained for key in keys):
                return candidate
        return None

    def _changes(self, end: Cluster, blocked: BlockedEviction, causes: PendingCauses) -> Iterator[_Change]:
        if len(blocked.budgets) != 1:
            yield from _one_budget(end, blocked)
            return
        if blocked.never:
            yield from self._scaled(end, blocked)
            yield from self._restarted(end, blocked)
        elif all(is_unready(pod) for pod in blocked.pods):
            yield _always_allow(blocked)
            return
        for pod in blocked.pending[:1]:
            decision = causes.decisions.get(pod.key)
            if decision is not None:
                yield from (_suggested(each) for each in self._suggestions(decision))
        if blocked.never:
            yield _one_may_go(end, blocked)

    def _scaled(self, end: Cluster, blocked: BlockedEviction) -> Iterator[_Change]:
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

        def make(cluster: Cluster) -> Cluster:
            release = self._cluster.release_choice.release
            larger, _ = set_replicas(cluster, kind, (namespace, name), wanted, release=release)
            return larger.with_added([counted_budget(larger, budget)])

        yield _Change(
            summary=f"scale {kind} {name} to {counted(wanted, 'replica')} for the time of the drain",
            commands=(f"kubectl scale {kind.lower()}/{name} -n {namespace} --replicas={wanted}",),
            make=make,
        )

    def _restarted(self, end: Cluster, blocked: BlockedEviction) -> Iterator[_Change]:
        """Yield a restart of the Deployment, whose surge pods avoid the cordoned node."""
        kind, namespace, name = key = workload_of(end, blocked.pods[0].metadata)
        workload = find_workload(end, key)
        if not isinstance(workload, Deployment):
            return

        def make(cluster: Cluster) -> Cluster | None:
            loaded = self._cluster.moved(cluster)
            out = roll_out(
                loaded.scheduler, restarted(workload), admit=lambda pod: loaded.admit(pod).pod, where=workload.ref
            )
            return out.after if out.finished and out.lowest >= out.before else None

        cordoned = "the node is" if len(self._left) == 1 else "the nodes are"
        yield _Change(
            summary=f"kubectl rollout restart of {kind} {name} while {cordoned} cordoned",
            commands=(
                f"kubectl cordon {' '.join(self._left)}",
                f"kubectl rollout restart {kind.lower()}/{name} -n {namespace}",
            ),
            make=make,
            note="new pods are ready before old ones end",
        )

    # Pods that find no other node.

    def _of_pending(self) -> Iterator[CureData]:
        causes = PendingCauses(self._run.attempts)
        before = self._run.before.pods
        pods = self._end.pods
        done: set[str] = set()
        for key, decision in causes.decisions.items():
            namespace, _, name = key.partition("/")
            index = pods.index.get((namespace, name))
            if index is None or pods.records[index].node_name or decision.schedulable:
                continue
            old = before.index.get((namespace, name))
            cause = causes.of(key)
            if (old is not None and not before.records[old].node_name) or cause in done:
                continue
            done.add(cause)
            suggestions = list(self._suggestions(decision))
            if not suggestions:
                yield from self._after_the_drain(decision)
            yield from map(suggested_cure, suggestions)

    def _after_the_drain(self, decision: Decision) -> Iterator[CureData]:
        """Yield the end of the cordon for a pod whose volumes can only be used on drained nodes."""
        for place in volume_places(Situation(decision)):
            names = [decision.cluster.nodes.names[row] for row in np.flatnonzero(place.nodes).tolist()]
            if names and set(names) <= set(self._run.nodes):
                yield CureData(
                    f"uncordon {listed(names, most=3)} after the maintenance: volume {place.volume.name} is there",
                    "",
                    (f"kubectl uncordon {' '.join(names)}",),
                    f"{decision.pod.key} stays pending until then",
                )
                return

    def _suggestions(self, decision: Decision) -> Iterator[Suggestion]:
        """Yield changes with which a pending pod is scheduled, without those that end the drain or evict pods."""
        found = (
            each
            for each in suggest(decision, _MOST).suggestions
            if not each.evicts
            and max(remedy.risk for remedy in each.remedies) < Risk.EVICTION
            and not any(isinstance(c, Patch) and c.kind == "Node" and c.name in self._run.nodes for c in each.changes)
            and not any(isinstance(c, ObjectDeletion) for c in each.changes)
        )
        return islice(found, _MOST_FOR_POD)

    # Trials.

    def _tried(self, end: Cluster, changes: Sequence[_Change], options: DrainOptions) -> DrainRun | None:
        """Make changes and drain again; return ``None`` if they cannot be made."""
        try:
            for change in changes:
                made = change.make(end)
                if made is None:
                    return None
                end = made
        except KschedctlError:
            return None
        return self._drain(end, options)

    def _drain(self, cluster: Cluster, options: DrainOptions) -> DrainRun | None:
        if self._tries >= _MOST_TRIES:
            return None
        self._tries += 1
        request = DrainRequest(nodes=(*self._left, *self._not_tried), options=options, seed=self._request.seed)
        return run_drain(self._cluster.moved(cluster), request, AnalysisHandle())


def _cure(changes: Sequence[_Change], after: DrainRun, first: tuple[str, ...], moved: int) -> CureData:
    """Return changes that help as data.

    Parameters
    ----------
    first : tuple of str
        A summary and a command that come before the changes; empty for none.
    moved : int
        The number of pods that had left the nodes before the changes.
    """
    notes = [change.note for change in changes if change.note]
    summaries = (*first[:1], *(change.summary for change in changes))
    commands = (*(command for change in changes for command in change.commands), *first[1:])
    return CureData(", and ".join(summaries), "; ".join((_outcome(after, moved), *notes)), commands)


def _outcome(after: DrainRun, moved: int = 0) -> str:
    """Return the result of a drain that finishes, such as ``node-a is drained, 3 pods move``."""
    names = [each.node for each in after.drained]
    n_moved = moved + sum(len(each.evicted) for each in after.drained)
    told = f"{counted(n_moved, 'pod')} {'moves' if n_moved == 1 else 'move'}" if n_moved else "no pod has to move"
    text = f"{listed(names, most=3)} {'is' if len(names) == 1 else 'are'} drained, {told}"
    n_pending = len(_newly_pending(after))
    if not n_pending:
        return text
    return f"{text}; {counted(n_pending, 'pod')} {'stays' if n_pending == 1 else 'stay'} pending"


def _is_drained(run: DrainRun) -> bool:
    return all(each.drained for each in run.drained) and len(run.drained) == len(run.nodes)


def _newly_pending(run: DrainRun) -> list[str]:
    """Return the pods that are pending after a drain and were not before it."""
    now, before = run.simulation.cluster.pods, run.before.pods
    old = {key for key, index in before.index.items() if not before.records[index].node_name}
    return ["/".join(key) for key, index in now.index.items() if not now.records[index].node_name and key not in old]


def _with_option(options: DrainOptions, message: str) -> DrainOptions:
    return dataclasses.replace(options, **{_FIELDS[message]: True})


def _flags(options: DrainOptions) -> list[str]:
    """Return the options that the drain has already, as kubectl's flags."""
    return [flag for message, flag in _OPTIONS.items() if getattr(options, _FIELDS[message])]


def _one_may_go(end: Cluster, blocked: BlockedEviction) -> _Change:
    """Return the budget that allows one eviction at a time, with a number where the pods cannot be counted."""
    budget = blocked.budgets[0]
    found = BudgetedPods(end, budget)
    limit = found.limit or ("minAvailable", budget.status.desired_healthy)
    field, value = ("minAvailable", max(len(found.pods) - 1, 0)) if found.uncounted else ("maxUnavailable", 1)
    instead = f" instead of {limit[0]} {limit[1]}"
    other = "minAvailable" if field == "maxUnavailable" else "maxUnavailable"
    drop = f', "{other}": null' if limit[0] == other else ""
    return _Change(
        summary=f"set {field}: {value} in budget {budget.namespace}/{budget.name}{instead}",
        commands=(
            f"kubectl patch pdb {budget.name} -n {budget.namespace} --type=merge "
            f'-p \'{{"spec": {{"{field}": {value}{drop}}}}}\'',
        ),
        make=lambda cluster: cluster.with_added([with_limit(cluster, _stored(cluster, budget), field, value)]),
        note="; ".join((_while_down(found), *_set_back(budget))),
    )


def _while_down(found: BudgetedPods) -> str:
    """Return the consequence of evicting one pod of a budget."""
    if len(found.pods) != 1:
        return "one pod at a time"
    kind, _, name = found.workloads[0]
    return "nothing recreates it" if kind == "Pod" else f"{kind} {name} is down until its new pod is ready"


def _set_back(budget: PodDisruptionBudget) -> tuple[str, ...]:
    """Return the controller that may undo a change of the budget."""
    owner = budget.metadata.controller
    return (f"{owner.kind} {owner.name} owns the budget and may set it back",) if owner is not None else ()


def _one_node_more(cluster: Cluster, model: str) -> _Change:
    """Return one more node like a drained one."""
    remedy = nodes_like(cluster, model, 1)
    changes = (*remedy.changes, *remedy.follows)
    return _Change(
        summary=remedy.summary,
        commands=(remedy.command,),
        make=lambda other: make_changes(other, Pod(), changes).cluster,
    )


def _always_allow(blocked: BlockedEviction) -> _Change:
    budget = blocked.budgets[0]

    def make(cluster: Cluster) -> Cluster:
        stored = _stored(cluster, budget)
        spec = replace(stored.spec, unhealthy_pod_eviction_policy="AlwaysAllow")
        return cluster.with_added([replace(stored, spec=spec)])

    return _Change(
        summary=f"set unhealthyPodEvictionPolicy: AlwaysAllow in budget {budget.namespace}/{budget.name}",
        commands=(
            f"kubectl patch pdb {budget.name} -n {budget.namespace} --type=merge "
            '-p \'{"spec": {"unhealthyPodEvictionPolicy": "AlwaysAllow"}}\'',
        ),
        make=make,
        note="only pods that are not ready may go",
    )


def _one_budget(end: Cluster, blocked: BlockedEviction) -> Iterator[_Change]:
    """Yield the deletion of each budget but one, the narrowest first."""
    ordered = sorted(blocked.budgets, key=lambda budget: (len(BudgetedPods(end, budget).pods), budget.name))
    for budget in ordered:
        others = listed([other.name for other in ordered if other is not budget])
        yield _Change(
            summary=f"leave {blocked.pods[0].key} to one budget: delete {budget.name} or narrow its selector",
            commands=(f"kubectl delete pdb {budget.name} -n {budget.namespace}",),
            make=lambda cluster, budget=budget: cluster.without([_stored(cluster, budget)]),  # type: ignore[misc]
            note=f"budget {others} still protects the pods",
        )


def _suggested(suggestion: Suggestion) -> _Change:
    """Return the changes with which a pending pod is scheduled as one change."""
    pod = suggestion.before.pod

    def make(cluster: Cluster) -> Cluster:
        follows = [change for remedy in suggestion.remedies for change in remedy.follows]
        after = make_changes(cluster, pod, (*suggestion.changes, *follows))
        return after.cluster if after.pod is pod else after.cluster.with_pods(added=[after.pod])

    return _Change(
        summary=suggestion.summary, commands=commands_of(suggestion.before.cluster, suggestion.remedies), make=make
    )


def _stored(cluster: Cluster, budget: PodDisruptionBudget) -> PodDisruptionBudget:
    """Return the budget as it is in a cluster now."""
    return cluster.get(PodDisruptionBudget, budget.name, budget.namespace) or budget


def _advice(blocked: BlockedEviction) -> Iterator[CureData]:
    """Yield the cures that cannot be tried: pods that have to become ready."""
    if blocked.unhealthy:
        names = listed([pod.key for pod in blocked.unhealthy], most=3)
        pod: Pod = blocked.unhealthy[0]
        yield CureData(
            f"repair {names}",
            "",
            (f"kubectl describe pod {pod.name} -n {pod.namespace}",),
            "the snapshot does not show why a container is not ready",
        )
