"""Causes and cures of rollouts that do not finish; each change is tried by rolling out again.

Never proposed: deleting old pods. A weaker constraint comes last.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from typing import Final, TypeAlias

from msgspec.structs import replace

from kschedctl.common.errors import KschedctlError
from kschedctl.common.findings import Where
from kschedctl.common.wording import counted, listed
from kschedctl.controllers.workloads.ownership import pods_made_by
from kschedctl.controllers.workloads.pods import REVISION_HASH
from kschedctl.controllers.workloads.update_strategy import RECREATE, ROLLING, deployment_rolling, stateful_set_rolling
from kschedctl.diagnosis.diagnosis import Situation
from kschedctl.diagnosis.new_nodes import nodes_like
from kschedctl.diagnosis.why.proof import Suggestion
from kschedctl.diagnosis.why.search import suggest
from kschedctl.diagnosis.why.template import commands_of, through_templates
from kschedctl.objects.meta import ApiObject, LabelSelector
from kschedctl.objects.pod import Pod, PodSpec, WeightedPodAffinityTerm
from kschedctl.objects.selectors import SelectorError, matches, parse_label_selector
from kschedctl.objects.well_known import POD_TEMPLATE_HASH
from kschedctl.objects.workload import (
    Deployment,
    DeploymentStrategy,
    RollingUpdateDeployment,
    StatefulSet,
    StatefulSetUpdateStrategy,
)
from kschedctl.questions.answer_parts import CureData, DiagnosisData
from kschedctl.questions.run_results import PendingCauses
from kschedctl.scheduler.cycle.decision import Decision
from kschedctl.scheduler.framework.remedy import Change, ObjectDeletion, Patch
from kschedctl.scheduler.framework.risk import Risk
from kschedctl.scheduler.framework.status import Code
from kschedctl.trials.loaded_cluster import LoadedCluster
from kschedctl.trials.simulate.rollout import Rollout, roll_out
from kschedctl.trials.whatif.patches import make_changes

#: The most suggestions of an answer, and the most changes of the pod that are tried.
_MOST: Final = 6
_MOST_FOR_POD: Final = 3
#: The value of progressDeadlineSeconds that an API server writes.
_DEADLINE: Final = 600
#: The kinds whose rollout is modelled.
Rolled: TypeAlias = Deployment | StatefulSet


@dataclass(frozen=True, slots=True, kw_only=True)
class _Change:
    """A change to try."""

    #: The change in a few words, in the imperative.
    summary: str
    #: The commands that make it.
    commands: tuple[str, ...]
    #: The workload with the change.
    workload: Rolled
    changes: tuple[Change, ...] = ()
    #: True if an obvious mistake is corrected, such as a forgotten cordon.
    is_correction: bool = False


def rolls_out(cluster: LoadedCluster, workload: ApiObject, where: Where = "") -> Rollout:
    """Roll out a new revision of a workload."""
    return roll_out(cluster.scheduler, workload, admit=lambda pod: cluster.admit(pod, where=where).pod, where=where)


def rollout_causes(found: Rollout) -> tuple[DiagnosisData, ...]:
    """Return the cause for which a rollout does not finish; nothing if it does, or if its strategy holds it."""
    if found.finished or found.stopped:
        return ()
    evidence: tuple[str, ...] = ()
    if isinstance(found.workload, Deployment):
        seconds = found.workload.spec.progress_deadline_seconds
        seconds = _DEADLINE if seconds is None else seconds
        evidence = (f"after {seconds} s the Deployment reports ProgressDeadlineExceeded; nothing is rolled back",)
    for rule, cause in (
        ("rollout-attaches-twice", _attaching(found)),
        ("rollout-exceeds-quota", _refused(found)),
        ("rollout-pods-do-not-fit", _pending(found)),
        ("rollout-waits-for-broken-pod", _unready(found)),
    ):
        if cause:
            return (DiagnosisData(rule, cause, evidence, ()),)
    return ()


def _attaching(found: Rollout) -> str:
    for key, elsewhere in found.attaching.items():
        claim, node = elsewhere.claim, found.new.get(key, "")
        modes = listed(list(claim.spec.access_modes)) or "ReadWriteOnce"
        users = listed(list(elsewhere.users), most=2)
        verb = "uses" if len(elsewhere.users) == 1 else "use"
        return (
            f"claim {claim.namespace}/{claim.name} is {modes} and attached to {elsewhere.node}, where {users} {verb} "
            f"it: the new pod is on {node} and cannot attach it (Multi-Attach){_kept(found)}"
        )
    return ""


def _refused(found: Rollout) -> str:
    if not found.refused:
        return ""
    return f"the API server refuses a new pod: {found.refused}{_kept(found)}"


def _pending(found: Rollout) -> str:
    causes = PendingCauses(found.attempts)
    for group in found.waiting:
        for side, pods in (("new", group.new), ("old", group.old)):
            for key in pods[:1]:
                cause, decision = causes.of(key), causes.decision(key)
                if decision is None or not cause:
                    return f"the {side} pod {key} is pending: {group.message}" if group.message else ""
                n_nodes = len(decision.cluster.nodes)
                kept = _kept(found) if side == "new" else ""
                return f"the {side} pod fits on none of {counted(n_nodes, 'node')}: {cause}{kept}"
    return ""


def _unready(found: Rollout) -> str:
    if not found.unready:
        return ""
    names = listed([pod.key for pod in found.unready], most=3)
    verb = "is" if len(found.unready) == 1 else "are"
    text = f"{names} {verb} not ready and nothing suggests that this will change"
    workload = found.workload
    if isinstance(workload, StatefulSet) and stateful_set_rolling(workload, found.replicas).ordered:
        return f"{text}; OrderedReady replaces no pod, not even a broken one, before all pods are ready"
    return text


def _kept(found: Rollout) -> str:
    """Return the clause about old pods that stay until new ones are ready; empty if the strategy lets them go."""
    workload = found.workload
    if not isinstance(workload, Deployment) or not found.left:
        return ""
    rolling = deployment_rolling(workload, found.replicas)
    if rolling.recreate or rolling.max_unavailable:
        return ""
    them = "the old pod until the new one is ready" if found.left == 1 else "the old pods until a new one is ready"
    return f", and maxUnavailable 0 keeps {them}"


def rollout_cures(cluster: LoadedCluster, found: Rollout, where: Where = "") -> tuple[CureData, ...]:
    """Return the changes with which a rollout finishes."""
    workload = found.workload
    if not isinstance(workload, Rolled) or (found.finished and (found.steps or not found.left)):
        return ()
    if found.finished or found.stopped:
        return tuple(_RolloutCures(cluster, found, workload, where).begin())
    return tuple(islice(_RolloutCures(cluster, found, workload, where).search(), _MOST))


class _RolloutCures:
    """The search for cures of one rollout."""

    def __init__(self, cluster: LoadedCluster, found: Rollout, workload: Rolled, where: Where) -> None:
        self._cluster = cluster
        self._found = found
        self._workload = workload
        self._where = where
        self._done: set[str] = set()

    def begin(self) -> Iterator[CureData]:
        """Yield the changes with which a rollout begins that its own strategy holds."""
        workload = self._workload
        name = f"{type(workload).__name__.lower()}/{workload.name} -n {workload.namespace}"
        if isinstance(workload, Deployment):
            summary, command = f"kubectl rollout resume of Deployment {workload.name}", f"kubectl rollout resume {name}"
            begun: Rolled = replace(workload, spec=replace(workload.spec, paused=False))
        elif self._found.stopped:
            yield CureData(
                "delete its pods one after another, each once the one before is ready again, or leave that to the "
                "operator that uses OnDelete",
                "",
                (f"kubectl delete pod {workload.name}-{max(self._found.replicas - 1, 0)} -n {workload.namespace}",),
                "with OnDelete, the one who deletes the pods decides the order",
            )
            summary = "updateStrategy RollingUpdate instead of OnDelete"
            command = (
                f'kubectl patch {name} --type=merge -p \'{{"spec":{{"updateStrategy":{{"type":"RollingUpdate"}}}}}}\''
            )
            begun = replace(
                workload, spec=replace(workload.spec, update_strategy=StatefulSetUpdateStrategy(type=ROLLING))
            )
        else:
            summary = "partition 0 in the updateStrategy, or first a number that lets one pod be replaced"
            rolling = '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'
            command = f"kubectl patch {name} --type=merge -p '{rolling}'"
            begun = replace(
                workload, spec=replace(workload.spec, update_strategy=StatefulSetUpdateStrategy(type=ROLLING))
            )
        after = self._rollout_after(_Change(summary=summary, commands=(command,), workload=begun))
        if after is not None and after.finished:
            yield CureData(summary, _finished_words(after), (command,))

    def search(self) -> Iterator[CureData]:
        """Yield the cures, the first ones first."""
        cures: dict[tuple[str, ...], CureData] = {}
        for change in self._changes():
            known = cures.get(change.commands)
            if known is not None:
                # The later change is the same one, with its alternatives.
                cures[change.commands] = replace(known, summary=change.summary)
            elif change.summary not in self._done:
                self._done.add(change.summary)
                after = self._rollout_after(change)
                if after is not None and after.finished:
                    cures[change.commands] = CureData(change.summary, _finished_words(after), change.commands)
        yield from cures.values()
        yield from self._advice(bool(cures))
        if not cures and self._found.steps and not self._lacks_capacity:
            yield self._undo()

    @property
    def _pending(self) -> list[str]:
        """The pods that are pending at the end, the new ones first."""
        waiting = self._found.waiting
        return [key for group in waiting for key in group.new] + [key for group in waiting for key in group.old]

    @property
    def _lacks_capacity(self) -> bool:
        """True if a pod is pending that some node would have room for without the other pods."""
        causes, keys = PendingCauses(self._found.attempts), self._pending
        decision = causes.decision(keys[0]) if keys else None
        statuses = decision.statuses if decision is not None else None
        if decision is None or statuses is None:
            return False
        full = Situation(decision).rejected_by("NodeResourcesFit") & (statuses.code == Code.UNSCHEDULABLE)
        return bool(full.any())

    def _rollout_after(self, change: _Change) -> Rollout | None:
        try:
            cluster = make_changes(self._cluster.cluster, Pod(), change.changes).cluster
            loaded = self._cluster.moved(cluster) if cluster is not self._cluster.cluster else self._cluster
            return rolls_out(loaded, change.workload, self._where)
        except KschedctlError:
            return None

    def _changes(self) -> Iterator[_Change]:
        workload = self._workload
        if isinstance(workload, Deployment):
            rolling = deployment_rolling(workload, self._found.replicas)
            if not rolling.recreate and not (rolling.max_unavailable and not rolling.max_surge):
                yield _with_strategy(workload, "maxSurge: 0, maxUnavailable: 1", ROLLING)
            # A single pod, or a disk for one node, has to go first anyway; several pods should not all go at once.
            recreate = [] if rolling.recreate else [_with_strategy(workload, "strategy Recreate", RECREATE)]
            early = self._found.replicas == 1 or bool(self._found.attaching)
            yield from recreate if early else ()
            if self._keyed is not None:
                summary = f"matchLabelKeys: [{POD_TEMPLATE_HASH}] in the terms that count its own pods"
                command = f"# in the pod template of {workload.ref}: matchLabelKeys: [{POD_TEMPLATE_HASH}]"
                yield _Change(summary=summary, commands=(command,), workload=_with_spec(workload, self._keyed))
            yield from self._one_node_more()
            yield from () if early else recreate
            yield from self._of_pod()
        else:
            # An obvious mistake, such as a forgotten cordon, is corrected before a node is bought.
            of_pod = list(self._of_pod())
            yield from (change for change in of_pod if change.is_correction)
            yield from self._one_node_more()
            yield from (change for change in of_pod if not change.is_correction)
        yield from self._preferred()

    def _of_pod(self) -> Iterator[_Change]:
        """Yield the changes with which the first new pod that is pending is scheduled."""
        causes = PendingCauses(self._found.attempts)
        keys = [key for group in self._found.waiting for key in group.new]
        decision = causes.decision(keys[0]) if keys else None
        if decision is not None:
            found = (each for each in suggest(decision, rollouts=False).proven if _is_harmless(each))
            for each in islice(found, _MOST_FOR_POD):
                change = self._in_template(decision, each)
                if change is not None:
                    yield change

    @property
    def _keyed(self) -> PodSpec | None:
        """The spec of the template with the revision in its terms; ``None`` if there are none, or without the gate."""
        template = self._workload.spec.template
        # The pods of a StatefulSet have no such label, and take the place of their predecessor.
        if template is None or isinstance(self._workload, StatefulSet):
            return None
        release = self._cluster.release_choice.release
        spec, labels = template.spec, template.metadata.labels
        keyed = spec
        if release.enabled("MatchLabelKeysInPodTopologySpread"):
            # Constraints that must hold, and that count the pods themselves.
            constraints = tuple(
                replace(each, match_label_keys=(*each.match_label_keys, POD_TEMPLATE_HASH))
                if each.when_unsatisfiable == "DoNotSchedule"
                and POD_TEMPLATE_HASH not in each.match_label_keys
                and _matches_own(each.label_selector, labels)
                else each
                for each in spec.topology_spread_constraints
            )
            keyed = replace(spec, topology_spread_constraints=constraints)
        apart = keyed.affinity.pod_anti_affinity if keyed.affinity is not None else None
        if keyed.affinity is not None and apart is not None:
            terms = tuple(
                replace(term, match_label_keys=(*term.match_label_keys, POD_TEMPLATE_HASH))
                if POD_TEMPLATE_HASH not in term.match_label_keys and _matches_own(term.label_selector, labels)
                else term
                for term in apart.required_during_scheduling_ignored_during_execution
            )
            changed = replace(apart, required_during_scheduling_ignored_during_execution=terms)
            keyed = replace(keyed, affinity=replace(keyed.affinity, pod_anti_affinity=changed))
        return keyed if keyed != spec else None

    def _one_node_more(self) -> Iterator[_Change]:
        """Yield one more node like one that has a pod of the workload, if new pods are pending."""
        if not any(group.new for group in self._found.waiting):
            return
        cluster, workload = self._cluster.cluster, self._workload
        own = pods_made_by(cluster, type(workload), workload.namespace, workload.name)
        nodes = sorted({cluster.pods.records[index].node_name for index in own} & cluster.nodes.row.keys())
        if nodes:
            remedy = nodes_like(cluster, nodes[0], 1)
            yield _Change(
                summary=remedy.summary,
                commands=(remedy.command,),
                workload=workload,
                changes=(*remedy.changes, *remedy.follows),
            )

    def _in_template(self, decision: Decision, suggestion: Suggestion) -> _Change | None:
        """Return a suggestion for a pod as a change of the template and of other objects; ``None`` if impossible."""
        cluster = decision.cluster.with_added([self._workload])
        of_pod = [change for change in suggestion.changes if _is_of_pod(change)]
        through = through_templates(cluster, decision.pod, suggestion.remedies)
        if of_pod and not through:
            return None
        changed = make_changes(cluster, decision.pod, through).cluster
        workload = changed.get(type(self._workload), self._workload.name, self._workload.namespace)
        if workload is None:
            return None
        others = [change for change in suggestion.changes if not _is_of_pod(change)]
        follows = [change for remedy in suggestion.remedies for change in remedy.follows]
        return _Change(
            summary=suggestion.summary,
            commands=commands_of(cluster, suggestion.remedies, through),
            workload=workload,
            changes=(*others, *follows),
            is_correction=max(remedy.risk for remedy in suggestion.remedies) <= Risk.MISTAKE,
        )

    def _preferred(self) -> Iterator[_Change]:
        """Yield preferred anti-affinity in place of required; for spread constraints, the pod's own changes do it."""
        template = self._workload.spec.template
        if template is not None and _is_kept_apart(self._workload):
            yield _Change(
                summary="prefer the anti-affinity instead of requiring it",
                commands=(f"# in the pod template of {self._workload.ref}: preferredDuringSchedulingIgnoredDuring...",),
                workload=_with_spec(self._workload, _softened(template.spec)),
            )

    # Cures that cannot be tried.

    def _advice(self, has_cure: bool) -> Iterator[CureData]:
        found, workload = self._found, self._workload
        for elsewhere in islice(found.attaching.values(), 1):
            name = f"{elsewhere.claim.namespace}/{elsewhere.claim.name}"
            yield CureData(
                f"move claim {name} to storage with ReadWriteMany, such as NFS or CephFS",
                "",
                (f"# a new claim with accessModes: [ReadWriteMany], and the data of {name} copied to it",),
                "the storage has to support it, and the data must be copied",
            )
        if found.refused:
            yield CureData(
                "raise the quota by what one more pod requests",
                "",
                (f"kubectl edit resourcequota -n {workload.namespace}",),
                "the size of a quota is the decision of its owner",
            )
        if isinstance(workload, StatefulSet):
            yield from self._of_stateful_set(workload, has_cure)
        if self._keyed is not None and _is_kept_apart(workload) and found.waiting:
            yield CureData(
                f"matchLabelKeys: [{POD_TEMPLATE_HASH}] in the anti-affinity term, for later rollouts",
                "",
                (f"# in the pod template of {workload.ref}: matchLabelKeys: [{POD_TEMPLATE_HASH}]",),
                "this rollout still meets the terms of the old pods",
            )

    def _of_stateful_set(self, workload: StatefulSet, has_cure: bool) -> Iterator[CureData]:
        """Yield the repair of a broken pod, which blocks even the revision that repairs it (kubernetes 67250)."""
        found = self._found
        if not stateful_set_rolling(workload, found.replicas).ordered:
            return
        for key in [*(pod.key for pod in found.unready), *self._pending][:1]:
            name = key.partition("/")[2]
            if key not in found.new and self._is_outdated(workload, name):
                yield CureData(
                    f"delete {key} once: it is older than the template, and OrderedReady does not replace a broken pod "
                    "by itself",
                    "",
                    (f"kubectl delete pod {name} -n {workload.namespace}",),
                    "the snapshot does not show whether the pods of the new revision get ready",
                )
            elif found.unready or not (has_cure or self._lacks_capacity):
                why = "why the pod is not ready" if found.unready else "the repaired template"
                yield CureData(
                    f"repair the template, then delete {key} once: OrderedReady does not replace a broken pod by "
                    "itself",
                    "",
                    (f"kubectl describe pod {name} -n {workload.namespace}",),
                    f"the snapshot does not show {why}",
                )

    def _is_outdated(self, workload: StatefulSet, name: str) -> bool:
        """Report whether a pod of the snapshot was created from another template; a restart does not change it."""
        index = self._cluster.cluster.pods.index.get((workload.namespace, name))
        stored = self._cluster.cluster.get(StatefulSet, workload.name, workload.namespace)
        templates = [each.spec.template for each in (stored, workload) if each is not None and each.spec.template]
        if index is None or stored is None or len(templates) < 2:
            return False
        if templates[0].spec != templates[1].spec:
            return True
        latest = stored.status.update_revision
        labels = self._cluster.cluster.pods.pod(index).metadata.labels
        return bool(latest) and labels.get(REVISION_HASH, latest) != latest

    def _undo(self) -> CureData:
        workload = self._workload
        kind = type(workload).__name__.lower()
        return CureData(
            "kubectl rollout undo, until the template is repaired",
            "",
            (f"kubectl rollout undo {kind}/{workload.name} -n {workload.namespace}",),
            "the snapshot does not have the revision to go back to",
        )


def _finished_words(after: Rollout) -> str:
    least = f"never fewer than {after.lowest} available" if after.lowest else "at times no pod is available"
    return f"the rollout finishes: {counted(len(after.steps), 'step')}, {least}"


def _is_of_pod(change: Change) -> bool:
    return isinstance(change, Patch) and change.kind == Pod.__name__


def _is_harmless(suggestion: Suggestion) -> bool:
    """Report whether a suggestion for a pod neither evicts nor deletes pods nor drops a constraint."""
    risk = max(remedy.risk for remedy in suggestion.remedies)
    deletes = any(isinstance(change, ObjectDeletion) for change in suggestion.changes)
    return not suggestion.evicts and not deletes and (risk < Risk.EVICTION or risk is Risk.REDUCED)


def _with_strategy(workload: Deployment, summary: str, kind: str) -> _Change:
    """Return the change of a Deployment's strategy to Recreate, or to one that deletes a pod before it creates one."""
    rolling = RollingUpdateDeployment(max_surge=0, max_unavailable=1) if kind == ROLLING else None
    strategy = DeploymentStrategy(type=kind, rolling_update=rolling)
    written = '{"maxSurge": 0, "maxUnavailable": 1}' if rolling is not None else "null"
    patch = f'{{"spec": {{"strategy": {{"type": "{kind}", "rollingUpdate": {written}}}}}}}'
    return _Change(
        summary=summary,
        commands=(f"kubectl patch deployment {workload.name} -n {workload.namespace} --type=merge -p '{patch}'",),
        workload=replace(workload, spec=replace(workload.spec, strategy=strategy)),
    )


def _with_spec(workload: Rolled, spec: PodSpec) -> Rolled:
    """Return a workload with another spec in its template."""
    template = workload.spec.template
    if template is None:
        return workload
    changed = replace(template, spec=spec)
    if isinstance(workload, Deployment):
        return replace(workload, spec=replace(workload.spec, template=changed))
    return replace(workload, spec=replace(workload.spec, template=changed))


def _matches_own(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    try:
        return selector is not None and matches(parse_label_selector(selector), labels)
    except SelectorError:
        return False


def _is_kept_apart(workload: Rolled) -> bool:
    """Report whether a required anti-affinity term of the template matches the workload's own pods."""
    template = workload.spec.template
    affinity = template.spec.affinity if template is not None else None
    apart = affinity.pod_anti_affinity if affinity is not None else None
    terms = apart.required_during_scheduling_ignored_during_execution if apart is not None else ()
    return template is not None and any(_matches_own(t.label_selector, template.metadata.labels) for t in terms)


def _softened(spec: PodSpec) -> PodSpec:
    """Return the spec with preferred anti-affinity terms in place of required ones."""
    apart = spec.affinity.pod_anti_affinity if spec.affinity is not None else None
    if spec.affinity is None or apart is None:
        return spec
    preferred = tuple(
        WeightedPodAffinityTerm(weight=100, pod_affinity_term=term)
        for term in apart.required_during_scheduling_ignored_during_execution
    )
    changed = replace(
        apart,
        required_during_scheduling_ignored_during_execution=(),
        preferred_during_scheduling_ignored_during_execution=(
            *apart.preferred_during_scheduling_ignored_during_execution,
            *preferred,
        ),
    )
    return replace(spec, affinity=replace(spec.affinity, pod_anti_affinity=changed))
